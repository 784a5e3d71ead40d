"""What a query gives to the columns of a table, in their types: what Paimon's Spark connector and Flink's sinks take.

The connector casts whatever Spark can cast, unlike Spark itself for its own tables. Source: Java
`PaimonOutputResolver`, Flink's `LogicalTypeCasts`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.dialects import Flink
from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted, raises
from maintenance.sql.expressions.declared import filled_up, filled_with_zeros
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.kinds import NULL, STRING, plain
from maintenance.sql.expressions.stamps import with_earlier
from maintenance.sql.expressions.templates import filled
from maintenance.sql.query.resolve import Resolved
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

# By the type of a column: what becomes a value of it in Flink without a cast.
_IN_FLINK = {
    "TINYINT": ("TINYINT",),
    "SMALLINT": ("TINYINT", "SMALLINT"),
    "INT": ("TINYINT", "SMALLINT", "INT"),
    "BIGINT": ("TINYINT", "SMALLINT", "INT", "BIGINT"),
    "FLOAT": ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DECIMAL"),
    "TIMESTAMP": ("TIMESTAMP", "TIMESTAMP_LTZ"),
    "TIMESTAMP_LTZ": ("TIMESTAMP", "TIMESTAMP_LTZ"),
    "DATE": ("DATE", "TIMESTAMP"),
    "TIME": ("TIME",),
}

Takes = Callable[[DataType, DataType], bool]


def assigned(resolved: Resolved, fields: Sequence[DataField], *, is_update: bool = False) -> Resolved:
    """The query with its columns in the types of a table's. Raises: SqlError: they cannot be."""
    if len(resolved.columns) != len(fields):
        return resolved  # the number of columns is an error of its own
    is_flink = resolved.source.dialect is Flink
    declared = resolved.declared or [None] * len(fields)
    names = [exp.to_identifier(f"column_{number}") for number in range(len(fields))]
    outputs, is_same = list[exp.Expr](), True
    for (_, kind), own, field, name in zip(resolved.columns, declared, fields, names, strict=True):
        column = exp.column(name.copy())
        given = Typed(column, kind, resolved.tree, declared=own)
        takes = (_takes_in_update if is_update else _takes_in_flink) if is_flink else _takes_all
        made = _made(given, field, takes, is_flink=is_flink)
        is_same = is_same and made is column
        outputs.append(exp.alias_(made, name.name, quoted=True))
    if is_same:
        return resolved
    select = exp.select(*outputs)
    with_earlier(select, resolved.zone)
    alias = exp.TableAlias(this=exp.to_identifier("paimon_given"), columns=names)
    query = resolved.tree if isinstance(resolved.tree, exp.Query) else resolved.tree.copy()
    return replace(resolved, tree=select.from_(exp.Subquery(this=query, alias=alias)), text=None)


def _made(value: Typed, field: DataField, takes: Takes, *, is_flink: bool) -> exp.Expr:
    """A value in the type of a column; what it is where a writer has its own way with the type."""
    if any(part.root in ("VARIANT", "VECTOR", "MULTISET", "BLOB") for part in field.type.walk()):
        return value.node
    if value.kind.root == field.type.root == "TIME":
        return value.node
    target = _like(value.kind, plain(field.type), is_flink=is_flink)
    if value.kind == NULL and any(map(raises, value.written.walk())):
        # As a text first: a NULL without a type may be of any, and it is to be computed.
        return cast_node(cast_node(value.node, STRING), target)
    wanted = Wanted(target, is_flink, is_written=not is_flink)
    made = converted(value, wanted) if takes(value.kind, target) else None
    if is_flink and made is not None:
        made = _of_length_in_flink(value, made, field.type)
    if made is None:
        problem = f"column '{field.name}' is {field.type}, and the query gives {kinds.shown(value.kind)}"
        raise SqlError(problem, "query", "Cast it in the query.")
    return made if is_flink else _of_length(made, field.type)


def _like(of: DataType, to: DataType, *, is_flink: bool) -> DataType:
    """A type with the names of fields that are given, which differ where DuckDB would not tell them apart.

    In Spark's dialect with the digits of times, too: what writes them cuts off those that a column has not.
    """
    if to.root != of.root:
        return to
    if to.is_timestamp:
        return to if is_flink else of
    if to.root == "ARRAY" and to.element and of.element:
        return kinds.array(_like(of.element, to.element, is_flink=is_flink))
    if to.root == "MAP" and to.key and to.value and of.key and of.value:
        return kinds.map_of(_like(of.key, to.key, is_flink=is_flink), _like(of.value, to.value, is_flink=is_flink))
    if to.root == "ROW" and len(to.fields) == len(of.fields):
        pairs = zip(of.fields, to.fields, strict=True)
        return kinds.row((one.name, _like(one.type, other.type, is_flink=is_flink)) for one, other in pairs)
    return to


def _takes_all(_: DataType, __: DataType) -> bool:
    """What there is no cast for is refused by it."""
    return True


def _takes_in_flink(of: DataType, to: DataType) -> bool:
    if of in (NULL, to) or of.root in _IN_FLINK.get(to.root, ()):
        return True
    if to.root in ("DECIMAL", "DOUBLE"):
        return kinds.is_number(of)
    return _takes_parts(of, to, _takes_in_flink)


def _takes_in_update(of: DataType, to: DataType) -> bool:
    return _takes_in_flink(of, to) and not (of.is_timestamp and to.root == "DATE")


def _takes_parts(of: DataType, to: DataType, takes: Takes) -> bool:
    """The same of what is inside."""
    one, other = of.parts, to.parts
    is_alike = of.root == to.root and len(one) == len(other) > 0
    return is_alike and all(takes(a, b) for a, b in zip(one, other, strict=True))


def _of_length(node: exp.Expr, to: DataType) -> exp.Expr:
    """A text without the blanks at its end that the length of a column leaves no room for, as Spark stores it."""
    if not to.is_string or to.length in (None, MAX_LENGTH):
        return node
    parts = {"a": node, "n": exp.Literal.number(to.length)}
    return filled("CASE WHEN length(a) > n AND trim(substr(a, n + 1), ' ') = '' THEN left(a, n) ELSE a END", parts)


def _of_length_in_flink(value: Typed, node: exp.Expr, to: DataType) -> exp.Expr | None:
    """A text or bytes, cut to the length of a column, a CHAR filled up to it; None: only a CHAR becomes one."""
    own = value.declared
    if value.kind == NULL or not (to.is_string or to.is_bytes) or to.length is None or to.length == MAX_LENGTH:
        return node
    if own is not None and (own.root, own.length) == (to.root, to.length):
        return node
    if to.root in ("CHAR", "BINARY") and (own is None or own.root not in ("CHAR", "BINARY")):
        return None  # what is computed has no length, or any up to one
    if to.is_bytes:
        return filled_with_zeros(node, to.length)
    return filled_up(node, to.length, is_padded=to.root == "CHAR")
