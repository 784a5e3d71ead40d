"""Which types a column may change to. Source: Java `DataTypeCasts`, `CastExecutors`, data section of the docs.

Paimon asks two tables: what casts *mean* something (implicit ones lose nothing, explicit ones may), and what casts it
can *do*. A change of a column's type needs both.
"""

from maintenance.types.data_type import MAX_LENGTH, DataType

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_PRIMITIVES = _INTEGERS | {"FLOAT", "DOUBLE"}
_NUMERIC = _PRIMITIVES | {"DECIMAL"}
_STRINGS = frozenset({"CHAR", "VARCHAR"})
_BYTES = frozenset({"BINARY", "VARBINARY"})
_STAMPS = frozenset({"TIMESTAMP", "TIMESTAMP_LTZ"})
_NESTED = frozenset({"ARRAY", "MAP", "ROW"})
_ANY = frozenset(
    _NUMERIC | _STRINGS | _BYTES | _STAMPS | _NESTED | {"BOOLEAN", "DATE", "TIME", "MULTISET", "VARIANT", "BLOB"}
)

# Target -> sources that lose nothing. A type is always one of its own sources.
_IMPLICIT: dict[str, frozenset[str]] = {
    "VARCHAR": _STRINGS,
    "VARBINARY": _BYTES,
    "DECIMAL": _NUMERIC,
    "SMALLINT": frozenset({"TINYINT"}),
    "INT": frozenset({"TINYINT", "SMALLINT"}),
    "BIGINT": frozenset({"TINYINT", "SMALLINT", "INT"}),
    "FLOAT": _INTEGERS | {"DECIMAL"},
    "DOUBLE": _NUMERIC,
    "DATE": frozenset({"TIMESTAMP"}),
    "TIME": frozenset({"TIMESTAMP"}),
    "TIMESTAMP": _STAMPS,
    "TIMESTAMP_LTZ": _STAMPS,
}
_TO_NUMBER = _NUMERIC | _STRINGS | _STAMPS | {"BOOLEAN"}
_TO_STAMP = _STAMPS | _STRINGS | _NUMERIC | {"DATE", "TIME"}
_EXPLICIT: dict[str, frozenset[str]] = {
    "CHAR": _ANY,
    "VARCHAR": _ANY,
    "BOOLEAN": _STRINGS | _INTEGERS,
    "BINARY": _STRINGS | {"VARBINARY"},
    "VARBINARY": _STRINGS | {"BINARY"},
    **dict.fromkeys(_NUMERIC, _TO_NUMBER),
    "DATE": _STAMPS | _STRINGS,
    "TIME": _STAMPS | _STRINGS,
    "TIMESTAMP": _TO_STAMP,
    "TIMESTAMP_LTZ": _TO_STAMP,
}

# Target -> sources that values can be cast from.
_CASTABLE: dict[str, frozenset[str]] = {
    **dict.fromkeys(_STRINGS, _NUMERIC | _STRINGS | _BYTES | _NESTED | {"BOOLEAN"}),
    "BOOLEAN": _INTEGERS | _STRINGS,
    **dict.fromkeys(_BYTES, _STRINGS | _BYTES),
    **dict.fromkeys(_PRIMITIVES | {"DECIMAL"}, _NUMERIC | _STRINGS | {"BOOLEAN"}),
    "INT": _NUMERIC | _STRINGS | _STAMPS | {"BOOLEAN"},
    "BIGINT": _NUMERIC | _STRINGS | _STAMPS | {"BOOLEAN"},
    "DATE": _STAMPS | _STRINGS,
    "TIME": _STAMPS | _STRINGS,
    **dict.fromkeys(_STAMPS, _STAMPS | _STRINGS | {"DATE", "TIME", "INT", "BIGINT"}),
}
_MOMENTS = _STAMPS | {"DATE", "TIME"}


def may_change(source: DataType, target: DataType, *, explicit: bool) -> bool:
    """Whether a column of type `source` may become one of type `target`. `explicit`: casts that lose are allowed."""
    return _is_meaningful(source, target, explicit=explicit) and is_castable(source, target)


def _is_meaningful(source: DataType, target: DataType, *, explicit: bool) -> bool:
    if source.nullable and not target.nullable and not explicit:
        return False
    if source.as_nullable() == target.as_nullable():
        return True
    if source.root == target.root or source.root in _IMPLICIT.get(target.root, frozenset()):
        return True
    return explicit and source.root in _EXPLICIT.get(target.root, frozenset())


def is_castable(source: DataType, target: DataType) -> bool:
    """Whether Paimon has an executor for the cast. Dates and times become text in STRING only, not in VARCHAR(n)."""
    if target.is_string and source.root in _MOMENTS:
        return target.root == "VARCHAR" and target.length == MAX_LENGTH and target.nullable
    if target.is_string and source.is_nested:
        return source.root in _NESTED and all(_has_text(part) for part in source.parts)
    return source.root in _CASTABLE.get(target.root, frozenset())


def _has_text(part: DataType) -> bool:
    return is_castable(part, DataType("VARCHAR", length=MAX_LENGTH))


_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_EXACT_BITS = {"FLOAT": 24, "DOUBLE": 53}
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def keeps_values(source: DataType, target: DataType) -> bool:
    """Whether each value of `source` is the same value in `target`, in the same order: nothing is cut, filled or lost.

    Such a cast can be undone, so that what is known of the old values (least, largest, how many nulls) stays known.
    """
    if source.as_nullable() == target.as_nullable():
        return True
    if source.is_integer:
        bits = _BITS[source.root]
        if target.is_integer:
            return _BITS[target.root] >= bits
        if target.root == "DECIMAL":
            return _whole_digits(target) >= _DIGITS[source.root]
        return _EXACT_BITS.get(target.root, 0) >= bits - 1
    if source.root == "DECIMAL" and target.root == "DECIMAL":
        return (target.scale or 0) >= (source.scale or 0) and _whole_digits(target) >= _whole_digits(source)
    if source.is_string or source.is_bytes:
        alike = "VARCHAR" if source.is_string else "VARBINARY"
        return target.root == alike and (target.length or 0) >= (source.length or 0)
    if source.is_timestamp and source.root == target.root:
        return (target.precision or 0) >= (source.precision or 0)
    return source.root == "FLOAT" and target.root == "DOUBLE"


def _whole_digits(data_type: DataType) -> int:
    return (data_type.precision or 10) - (data_type.scale or 0)
