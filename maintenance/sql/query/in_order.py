"""Values of nested types for Spark, whose casts go by position: the fields of their ROWs in the order of a table's."""

from collections.abc import Sequence
from dataclasses import replace

from maintenance.operations.rows.merge_clauses import TARGET, Clause, quoted
from maintenance.spark.types import spark_type
from maintenance.sql.by_name import ByName, lacks_fields
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataField, DataType


def has_rows(kind: DataType) -> bool:
    """Whether it is a ROW, or there is one in it."""
    return any(part.root == "ROW" for part in kind.walk())


def in_order(
    clauses: Sequence[Clause],
    keeps: Sequence[bool],
    fields: Sequence[DataField],
    given: Sequence[DataType],
    names: ByName,
) -> list[Clause]:
    """Clauses of a MERGE whose new values have the fields of the table's columns, in their order.

    Args: `keeps`: whether a clause lets fields that a value has not stay; `given`: the types of the values that are
        for ROWs, clause by clause. Raises: SqlError, as `ByName.like`.
    """
    kinds = iter(given)
    types = {field.name: field.type for field in fields}
    made = []
    for clause, is_kept in zip(clauses, keeps, strict=True):
        values = dict(clause.values or {})
        for name, text in values.items():
            if has_rows(types[name]):
                kind, old = next(kinds), f"{TARGET}.{quoted(name)}" if is_kept else None
                values[name] = _value(text, kind, names.like(kind, types[name], (name,)), types[name], old)
        made.append(clause if clause.values is None else replace(clause, values=values))
    return made


def _value(text: str, given: DataType, like: DataType, target: DataType, old: str | None, depth: int = 0) -> str:
    """Args: `given`: the type of the value; `like`: of `ByName.like`; `old`: what has the fields that are missing."""
    if given.root != target.root or _is_in_order(like, target):
        return text
    if target.root == "ROW":
        places, parts = {field.name: number for number, field in enumerate(like.fields)}, []
        for number, field in enumerate(target.fields):
            before = None if old is None else f"{old}.{quoted(field.name)}"
            if field.name in places:
                own = given.fields[places[field.name]]
                kind = like.fields[places[field.name]].type
                part = _value(f"{text}.{quoted(own.name)}", own.type, kind, field.type, before, depth)
            else:
                part = before or f"CAST(NULL AS {spark_type(field.type)})"
            parts.append(f"'f{number}', {part}")
        is_kept = old is not None and lacks_fields(like, target)
        nothing = f"{text} IS NULL AND {old} IS NULL" if is_kept else f"{text} IS NULL"
        return f"IF({nothing}, NULL, named_struct({', '.join(parts)}))"
    if target.root == "ARRAY":
        return _each(text, element_of(given), element_of(like), element_of(target), depth)
    pairs = zip(map_parts(given), map_parts(like), map_parts(target), strict=True)
    keys, values = (
        _each(f"{side}({text})", *kinds, depth) for side, kinds in zip(("map_keys", "map_values"), pairs, strict=True)
    )
    return f"map_from_arrays({keys}, {values})"


def _each(text: str, given: DataType, like: DataType, target: DataType, depth: int) -> str:
    variable = f"paimon_part_{depth}"
    return f"transform({text}, {variable} -> {_value(variable, given, like, target, None, depth + 1)})"


def _is_in_order(like: DataType, target: DataType) -> bool:
    if like.root != target.root:
        return True
    if [field.name for field in like.fields] != [field.name for field in target.fields]:
        return False
    inner = [(like.element, target.element), (like.key, target.key), (like.value, target.value)]
    inner += [(one.type, other.type) for one, other in zip(like.fields, target.fields, strict=True)]
    return all(_is_in_order(one, other) for one, other in inner if one is not None and other is not None)
