"""Names that differ only in case, told apart in DuckDB, which takes them for one.

Names of Paimon are different if their letters are, also inside a ROW. Where a query reads such names, those with
capitals get a mark that says which letters these are: in the relations, in the query, and nowhere outside. All other
names stay, so that they are found in any case as before.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from maintenance.types.data_type import DataField, DataType
from maintenance.types.nested import retyped

# A word joiner, which no keyboard has.
_MARK = "\u2060"
_MARKED = re.compile(f"{_MARK}[0-9a-f]+")


def marked(name: str, same: frozenset[str]) -> str:
    """The name as DuckDB gets it. `same`: the names that stand for several, in lower case."""
    lower = name.lower()
    if lower not in same or len(lower) != len(name):
        return name
    capitals = sum(1 << place for place, (one, other) in enumerate(zip(name, lower, strict=True)) if one != other)
    return f"{name}{_MARK}{capitals:x}" if capitals else name


def plain(text: str) -> str:
    """A text with names as they are."""
    return _MARKED.sub("", text)


def marked_field(field: DataField, same: frozenset[str]) -> DataField:
    """A column under the names that DuckDB gets."""
    return replace(field, name=marked(field.name, same), type=_marked_type(field.type, same))


def _marked_type(data_type: DataType, same: frozenset[str]) -> DataType:
    return _type_with(data_type, lambda name: marked(name, same))


def plain_type(data_type: DataType) -> DataType:
    """A type whose fields have their own names."""
    return _type_with(data_type, plain)


def _type_with(data_type: DataType, named: Callable[[str], str]) -> DataType:
    element, key, value = (
        None if inner is None else _type_with(inner, named)
        for inner in (data_type.element, data_type.key, data_type.value)
    )
    fields = tuple(
        replace(field, name=named(field.name), type=_type_with(field.type, named)) for field in data_type.fields
    )
    return replace(data_type, element=element, key=key, value=value, fields=fields)


def marked_rows(rows: pa.Table, same: frozenset[str]) -> pa.Table:
    """Rows under the names that DuckDB gets."""
    return _renamed(rows, {name: marked(name, same) for name in _names_of_arrow(rows.schema)})


def plain_rows(rows: pa.Table) -> pa.Table:
    """Rows under their own names."""
    return _renamed(rows, {name: plain(name) for name in _names_of_arrow(rows.schema) if _MARK in name})


def _renamed(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    if all(name == other for name, other in names.items()):
        return rows

    def named(of: pa.Field, kind: pa.DataType) -> pa.Field:
        return of.with_type(kind).with_name(names.get(of.name, of.name))

    columns = []
    for column in rows.columns:
        kind = retyped(column.type, lambda _: None, named)
        columns.append(pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind))
    return pa.Table.from_arrays(columns, names=[names.get(name, name) for name in rows.column_names])


def _names_of_arrow(fields: Iterable[pa.Field]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names_of_arrow(field.type.field(number) for number in range(field.type.num_fields))


def same_but_case(
    columns: Iterable[Sequence[DataField]], bound: Iterable[pa.Table], tree: exp.Expr, *, is_case_sensitive: bool
) -> frozenset[str]:
    """The names that stand for several in a query, in lower case.

    Args: `columns`: of each relation; `bound`: the other rows that it reads; `is_case_sensitive`: the dialect tells
        names of the query apart, too, and columns of different tables.
    """
    same: set[str] = set()
    together: set[str] = set()
    for fields in columns:
        together.update(field.name for field in fields)
        for names in _levels([(field.name, field.type) for field in fields]):
            same.update(_twice(names))
    for rows in bound:
        together.update(rows.column_names)
        for names in _arrow_levels(rows.schema):
            same.update(_twice(names))
    if is_case_sensitive:
        given = [node.alias for node in tree.find_all(exp.Alias, exp.CTE, exp.Table, exp.Subquery) if node.alias]
        renamed = [part.name for node in tree.find_all(exp.TableAlias) for part in node.args.get("columns") or ()]
        same.update(_twice({*together, *renamed, *(node.alias for node in tree.find_all(exp.Alias))}))
        same.update(_twice({*given}))
    return frozenset(same)


def _levels(fields: Sequence[tuple[str, DataType]]) -> Iterator[list[str]]:
    """The names that stand beside each other: of columns, and of the fields of each ROW."""
    yield [name for name, _ in fields]
    kinds = [kind for _, kind in fields]
    while kinds:
        kind = kinds.pop()
        kinds += [inner for inner in (kind.element, kind.key, kind.value) if inner is not None]
        if kind.fields:
            yield from _levels([(field.name, field.type) for field in kind.fields])


def _arrow_levels(fields: Iterable[pa.Field]) -> Iterator[list[str]]:
    listed = list(fields)
    yield [field.name for field in listed]
    for field in listed:
        if field.type.num_fields:
            yield from _arrow_levels(field.type.field(number) for number in range(field.type.num_fields))


def _twice(names: Iterable[str]) -> set[str]:
    counted = Counter(name.lower() for name in {*names})
    return {name for name, count in counted.items() if count > 1}


def mark_names(tree: exp.Expr, same: frozenset[str]) -> None:
    """Put the names that DuckDB gets in the place of a query's own."""
    for node in tree.find_all(exp.Identifier):
        name = marked(node.name, same)
        if name != node.name:
            node.set("this", name)
            node.set("quoted", True)
