"""The types of expressions, and which one holds the values of several.

They are Paimon's, and those that only expressions have: NULL, and intervals. Source: Spark's `AnsiTypeCoercion` and
`DecimalPrecision`; Flink's `LogicalTypeMerging`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from maintenance.types.data_type import MAX_LENGTH, DataField, DataType, parse_type

NULL = DataType("NULL")
BOOLEAN = DataType("BOOLEAN")
TINYINT, SMALLINT, INT, BIGINT = (DataType(name) for name in ("TINYINT", "SMALLINT", "INT", "BIGINT"))
FLOAT, DOUBLE = DataType("FLOAT"), DataType("DOUBLE")
STRING = DataType("VARCHAR", length=MAX_LENGTH)
BINARY = DataType("VARBINARY", length=MAX_LENGTH)
DATE = DataType("DATE")
NTZ, LTZ = DataType("TIMESTAMP", precision=6), DataType("TIMESTAMP_LTZ", precision=6)
MONTHS, MICROS = DataType("INTERVAL YEAR TO MONTH"), DataType("INTERVAL DAY TO SECOND")
VARIANT = DataType("VARIANT")

MOST_DIGITS, LEAST_SCALE = 38, 6
DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 20}
"""How many digits a decimal has that holds every integer of a type."""
BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_NUMBERS = (*_INTEGERS, "FLOAT", "DOUBLE")
_NAMED = {
    "STRING": STRING, "BINARY": BINARY, "BYTES": BINARY, "NTZ": NTZ, "LTZ": LTZ, "NULL": NULL, "MONTHS": MONTHS,
    "MICROS": MICROS, "VARIANT": VARIANT,
}  # fmt: skip


def decimal(precision: int, scale: int) -> DataType:
    return DataType("DECIMAL", precision=precision, scale=scale)


def array(element: DataType) -> DataType:
    return DataType("ARRAY", element=element)


def map_of(key: DataType, value: DataType) -> DataType:
    return DataType("MAP", key=key, value=value)


def row(parts: Iterable[tuple[str, DataType]]) -> DataType:
    return DataType("ROW", fields=tuple(DataField(number, name, kind) for number, (name, kind) in enumerate(parts)))


@lru_cache(maxsize=1024)
def named(text: str) -> DataType:
    """The type of a name such as ``STRING``, ``DECIMAL(10, 2)`` or ``NTZ``."""
    return _NAMED[text] if text in _NAMED else plain(parse_type(text))


def plain(kind: DataType) -> DataType:
    """A type without NOT NULL, its parts as well; texts and bytes have no length."""
    if kind.is_string:
        return STRING
    if kind.is_bytes or kind.root == "BLOB":
        return BINARY
    match kind.root:
        case "ARRAY" | "MULTISET" | "VECTOR":
            assert kind.element is not None
            inner = plain(kind.element)
            if kind.root == "MULTISET":
                return map_of(inner, INT)
            return DataType(kind.root, element=inner, length=kind.length)
        case "MAP":
            assert kind.key is not None
            assert kind.value is not None
            return map_of(plain(kind.key), plain(kind.value))
        case "ROW":
            return row((part.name, plain(part.type)) for part in kind.fields)
    return kind.as_nullable()


def is_integer(kind: DataType) -> bool:
    return kind.root in _INTEGERS


def is_number(kind: DataType) -> bool:
    return kind.root in _NUMBERS or kind.root == "DECIMAL"


def is_fraction(kind: DataType) -> bool:
    return kind.root in ("FLOAT", "DOUBLE", "DECIMAL")


def is_interval(kind: DataType) -> bool:
    return kind.root.startswith("INTERVAL")


def is_time(kind: DataType) -> bool:
    return kind.is_timestamp or kind.root == "DATE"


def is_atomic(kind: DataType) -> bool:
    return kind.root not in ("ARRAY", "MAP", "ROW", "VARIANT", "VECTOR")


def has_order(kind: DataType) -> bool:
    """Whether values can be compared: there is no map in them."""
    if kind.root in ("MAP", "VARIANT"):
        return False
    return all(map(has_order, kind.parts))


def are_named_alike(found: Sequence[DataType]) -> bool:
    """Whether the fields of rows have the same names, as Spark asks of what becomes one type."""
    for one, other in pairwise(found):
        parts = [(one.element, other.element), (one.key, other.key), (one.value, other.value),
                 *((a.type, b.type) for a, b in zip(one.fields, other.fields, strict=False))]  # fmt: skip
        names = ([part.name.lower() for part in each.fields] for each in (one, other))
        if one.root == other.root == "ROW" and next(names) != next(names):
            return False
        if not all(are_named_alike([a, b]) for a, b in parts if a is not None and b is not None):
            return False
    return True


def is_storable(kind: DataType) -> bool:
    """Whether it is the type of a column that any table can have."""
    is_plain = kind.root not in (NULL.root, "BLOB", "MULTISET") and not is_interval(kind) and kind.length != 0
    return is_plain and all(map(is_storable, kind.parts))


def shown(kind: DataType) -> str:
    """A type as errors name it."""
    return str(kind)


def as_decimal(kind: DataType) -> DataType:
    """The decimal that holds the values of an integer or a decimal."""
    return kind if kind.root == "DECIMAL" else decimal(DIGITS[kind.root], 0)


def fitting(precision: int, scale: int) -> DataType:
    """A decimal: digits after the point are given up before those in front of it, down to six."""
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, LEAST_SCALE)))


def digits(kind: DataType) -> tuple[int, int]:
    kind = as_decimal(kind)
    return kind.precision or 10, kind.scale or 0


def widest_of_two(one: DataType, other: DataType, *, is_flink: bool) -> DataType | None:
    """The type that values of both become where either may stand; None if there is none."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if is_number(one) and is_number(other):
        return widest_number(one, other, is_flink=is_flink)
    if one.is_timestamp or other.is_timestamp:
        return _widest_time(one, other, is_flink=is_flink)
    if is_flink and one.root == other.root == "TIME":
        return DataType("TIME", precision=0)  # whatever their digits, which the values keep
    if one.root == other.root == "ARRAY" and one.element is not None and other.element is not None:
        inner = widest_of_two(one.element, other.element, is_flink=is_flink)
        return None if inner is None else array(inner)
    if one.root == other.root == "MAP":
        assert one.key
        assert one.value
        assert other.key
        assert other.value
        key, value = (
            widest_of_two(a, b, is_flink=is_flink) for a, b in ((one.key, other.key), (one.value, other.value))
        )
        return None if key is None or value is None else map_of(key, value)
    if one.root == other.root == "ROW" and len(one.fields) == len(other.fields):
        kinds = [
            widest_of_two(a.type, b.type, is_flink=is_flink) for a, b in zip(one.fields, other.fields, strict=True)
        ]
        known = [kind for kind in kinds if kind is not None]
        if len(known) < len(kinds):
            return None
        return row((part.name, kind) for part, kind in zip(one.fields, known, strict=True))
    return None if is_flink else _with_text(one, other)


def widest_number(one: DataType, other: DataType, *, is_flink: bool) -> DataType:
    """The number that holds those of both types."""
    roots = {one.root, other.root}
    if "DOUBLE" in roots:
        return DOUBLE
    if "FLOAT" in roots:
        return FLOAT if roots == {"FLOAT"} or (is_flink and "DECIMAL" not in roots) else DOUBLE
    if "DECIMAL" in roots:
        (p1, s1), (p2, s2) = _digits_with(one, is_flink=is_flink), _digits_with(other, is_flink=is_flink)
        scale, whole = max(s1, s2), max(p1 - s1, p2 - s2)
        # What does not fit loses digits after the point.
        precision = min(MOST_DIGITS, whole + scale)
        return decimal(precision, max(0, min(scale, MOST_DIGITS - whole)))
    return one if _INTEGERS.index(one.root) >= _INTEGERS.index(other.root) else other


def _digits_with(kind: DataType, *, is_flink: bool) -> tuple[int, int]:
    return (19, 0) if is_flink and kind.root == "BIGINT" else digits(kind)


def _widest_time(one: DataType, other: DataType, *, is_flink: bool) -> DataType | None:
    if is_flink and "DATE" in (one.root, other.root):
        return None  # it has no type for both
    if (one.is_timestamp or one.root == "DATE") and (other.is_timestamp or other.root == "DATE"):
        root = "TIMESTAMP_LTZ" if "TIMESTAMP_LTZ" in (one.root, other.root) else "TIMESTAMP"
        return DataType(root, precision=max(one.precision or 0, other.precision or 0))
    return None if is_flink else _with_text(one, other)


def _with_text(one: DataType, other: DataType) -> DataType | None:
    """What a text and another value become."""
    if other.is_string:
        one, other = other, one
    if not one.is_string:
        return None
    if is_integer(other):
        return BIGINT
    if is_fraction(other):
        return DOUBLE
    return None if is_interval(other) or not is_atomic(other) else other


def widest(found: Sequence[DataType], *, is_flink: bool) -> DataType | None:
    """The type that values of all become; None if there is none."""
    result: DataType | None = NULL
    for kind in found:
        result = None if result is None else widest_of_two(result, kind, is_flink=is_flink)
    return result


def merged(found: Sequence[DataType]) -> DataType | None:
    """The same for the arguments of Flink's functions, where a FLOAT behind a DECIMAL decides."""
    result: DataType | None = NULL
    for kind in found:
        if result is not None and result.root == "DECIMAL" and kind.root == "FLOAT":
            result = FLOAT
        else:
            result = None if result is None else widest_of_two(result, kind, is_flink=True)
    return result


def first_of(found: Sequence[DataType], common: DataType | None) -> DataType | None:
    """The same for operators, CASE and IF in Flink, where the first of FLOAT and DOUBLE decides.

    Of timestamps and instants it is the last one with another number of digits.
    """
    if common is not None and common.is_timestamp:
        return _last_stamp(found, common)
    roots = [kind.root for kind in found]
    is_mixed = {"FLOAT", "DOUBLE"} <= set(roots) and "DECIMAL" not in roots
    return next(kind for kind in found if kind.root in ("FLOAT", "DOUBLE")) if is_mixed else common


def _last_stamp(found: Sequence[DataType], common: DataType) -> DataType:
    stamps = [kind for kind in found if kind != NULL]
    chosen = stamps[0]
    for kind in stamps[1:]:
        if kind.precision != chosen.precision:
            chosen = DataType(kind.root, precision=max(kind.precision or 0, chosen.precision or 0))
    return DataType(chosen.root, precision=common.precision)


def without_texts(found: Sequence[DataType]) -> DataType | None:
    """The same where Spark makes no texts of others. Source: `findWiderTypeWithoutStringPromotionForTwo`."""
    has_both = len({kind.is_string for kind in found if kind != NULL}) > 1
    return None if has_both else widest(found, is_flink=False)


def closest(found: Sequence[DataType], *, of_float: DataType = FLOAT) -> DataType | None:
    """The one of some types that holds the values of all where Spark makes no third one of two; None if there is none.

    Source: `findTightestCommonType`. `of_float`: what a FLOAT and an integer become.
    """
    result: DataType | None = NULL
    for kind in found:
        result = None if result is None else _closest(result, kind, of_float)
    return result


def _closest(one: DataType, other: DataType, of_float: DataType) -> DataType | None:
    if one == other or NULL in (one, other):
        return other if one == NULL else one
    if is_number(one) and is_number(other):
        return _closest_number(one, other, of_float)
    if is_time(one) and is_time(other):
        return widest_of_two(one, other, is_flink=False)
    if one.root != other.root:
        return None
    pairs = list(zip(one.parts, other.parts, strict=False))
    has_same_names = [part.name.lower() for part in one.fields] == [part.name.lower() for part in other.fields]
    if not has_same_names:
        return one if [kind for kind, _ in pairs] == [kind for _, kind in pairs] else None
    found = [_closest(a, b, of_float) for a, b in pairs]
    known = [kind for kind in found if kind is not None]
    if not found or len(known) < len(found):
        return None
    if one.root == "ARRAY":
        return array(known[0])
    return map_of(*known) if one.root == "MAP" else row(zip([part.name for part in one.fields], known, strict=True))


def _closest_number(one: DataType, other: DataType, of_float: DataType) -> DataType | None:
    if "DECIMAL" not in (one.root, other.root):
        wide = widest_number(one, other, is_flink=False)
        return of_float if "FLOAT" in (one.root, other.root) and "DOUBLE" not in (one.root, other.root) else wide
    if other.root == "DECIMAL":
        one, other = other, one
    has_room = is_integer(other) and widest_number(one, other, is_flink=False) == one
    return one if has_room else None
