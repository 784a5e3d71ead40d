"""Internal values (see `maintenance/types/values.py`) as objects of the Java core, and back.

Nested values have the forms of `tests/nested_values.py`: lists, lists of pairs, tuples. Variants are JSON texts.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import jpype

Getter = Callable[[Any, int], Any]

_NUMBERS = {
    "TINYINT": "Byte",
    "SMALLINT": "Short",
    "INTEGER": "Integer",
    "BIGINT": "Long",
    "DATE": "Integer",
    "TIME_WITHOUT_TIME_ZONE": "Integer",
}
_PRIMITIVES = {
    "BOOLEAN": "JBoolean",
    "TINYINT": "JByte",
    "SMALLINT": "JShort",
    "INTEGER": "JInt",
    "BIGINT": "JLong",
    "FLOAT": "JFloat",
    "DOUBLE": "JDouble",
}
_GETTERS: dict[str, Getter] = {
    "BOOLEAN": lambda row, i: bool(row.getBoolean(i)),
    "TINYINT": lambda row, i: int(row.getByte(i)),
    "SMALLINT": lambda row, i: int(row.getShort(i)),
    "INTEGER": lambda row, i: int(row.getInt(i)),
    "DATE": lambda row, i: int(row.getInt(i)),
    "TIME_WITHOUT_TIME_ZONE": lambda row, i: int(row.getInt(i)),
    "BIGINT": lambda row, i: int(row.getLong(i)),
    "FLOAT": lambda row, i: float(row.getFloat(i)),
    "DOUBLE": lambda row, i: float(row.getDouble(i)),
    "CHAR": lambda row, i: str(row.getString(i)),
    "VARCHAR": lambda row, i: str(row.getString(i)),
    "BINARY": lambda row, i: bytes(row.getBinary(i)),
    "VARBINARY": lambda row, i: bytes(row.getBinary(i)),
    "BLOB": lambda row, i: bytes(row.getBlob(i).toData()),
    "VARIANT": lambda row, i: str(row.getVariant(i).toJson()),
}


def to_java(paimon: Any, value: Any, data_type: Any) -> Any:
    """A value as Paimon's internal Java object. `data_type`: Java's type of the column."""
    if value is None:
        return None
    root = str(data_type.getTypeRoot().name())
    lang = jpype.java.lang
    if root in _NUMBERS:
        return getattr(lang, _NUMBERS[root])(int(value))
    match root:
        case "BOOLEAN":
            return lang.Boolean(value)
        case "FLOAT":
            return lang.Float(value)
        case "DOUBLE":
            return lang.Double(value)
        case "CHAR" | "VARCHAR":
            return paimon.data.BinaryString.fromString(value)
        case "VARIANT":
            return paimon.data.variant.GenericVariant.fromJson(value)
        case "BLOB":
            return paimon.data.BlobData(jpype.JArray(jpype.JByte)(value))
        case "BINARY" | "VARBINARY":
            return jpype.JArray(jpype.JByte)(value)
        case "DECIMAL":
            number = jpype.java.math.BigDecimal(str(value))
            return paimon.data.Decimal.fromBigDecimal(number, data_type.getPrecision(), data_type.getScale())
        case "ARRAY" | "MAP" | "MULTISET" | "ROW" | "VECTOR":
            return _nested_to_java(paimon, value, data_type, root)
    millis, nanos = divmod(int(value), 10**6)
    return paimon.data.Timestamp.fromEpochMillis(millis, nanos)


def _nested_to_java(paimon: Any, value: Any, data_type: Any, root: str) -> Any:
    if root == "ARRAY":
        element = data_type.getElementType()
        return paimon.data.GenericArray(_objects(to_java(paimon, item, element) for item in value))
    if root == "VECTOR":
        kind = getattr(jpype, _PRIMITIVES[str(data_type.getElementType().getTypeRoot().name())])
        return paimon.data.BinaryVector.fromPrimitiveArray(jpype.JArray(kind)(value))
    if root == "ROW":
        types = data_type.getFieldTypes()
        parts = (to_java(paimon, item, part) for item, part in zip(value, types, strict=True))
        return paimon.data.GenericRow.of(_objects(parts))
    key, item = _map_types(paimon, data_type)
    pairs = jpype.java.util.LinkedHashMap()
    for k, v in value:
        pairs.put(to_java(paimon, k, key), to_java(paimon, v, item))
    return paimon.data.GenericMap(pairs)


def _objects(items: Iterable[Any]) -> Any:
    return jpype.JArray(jpype.JObject)(list(items))


def _map_types(paimon: Any, data_type: Any) -> tuple[Any, Any]:
    """Java's types of keys and values; counts for a MULTISET."""
    if str(data_type.getTypeRoot().name()) == "MULTISET":
        return data_type.getElementType(), paimon.types.IntType(False)
    return data_type.getKeyType(), data_type.getValueType()


def getter(data_type: Any) -> Getter:
    """Reads a column of that Java type from a Java row."""
    root = str(data_type.getTypeRoot().name())
    read = _GETTERS.get(root)
    if root == "DECIMAL":
        read = _decimal_getter(data_type.getPrecision(), data_type.getScale())
    elif root in ("ARRAY", "VECTOR", "MAP", "MULTISET", "ROW"):
        read = _nested_getter(data_type, root)
    elif read is None:
        read = _moment_getter(data_type.getPrecision())
    return lambda row, i: None if row.isNullAt(i) else read(row, i)


def _nested_getter(data_type: Any, root: str) -> Getter:
    if root == "ROW":
        parts = [getter(part) for part in data_type.getFieldTypes()]

        def fields(row: Any, i: int) -> Any:
            inner = row.getRow(i, len(parts))
            return tuple(part(inner, n) for n, part in enumerate(parts))

        return fields
    if root == "VECTOR":
        number = getter(data_type.getElementType())
        return lambda row, i: _items(row.getVector(i), number)
    if root == "ARRAY":
        element = getter(data_type.getElementType())
        return lambda row, i: _items(row.getArray(i), element)
    key, item = map(getter, _map_types(jpype.JPackage("org").apache.paimon, data_type))

    def pairs(row: Any, i: int) -> Any:
        actual = row.getMap(i)
        return list(zip(_items(actual.keyArray(), key), _items(actual.valueArray(), item), strict=True))

    return pairs


def _items(array: Any, element: Getter) -> list[Any]:
    return [element(array, n) for n in range(int(array.size()))]


def _decimal_getter(precision: int, scale: int) -> Getter:
    return lambda row, i: Decimal(str(row.getDecimal(i, precision, scale).toBigDecimal().toPlainString()))


def _moment_getter(precision: int) -> Getter:
    def read(row: Any, i: int) -> int:
        moment = row.getTimestamp(i, precision)
        return int(moment.getMillisecond()) * 10**6 + int(moment.getNanoOfMillisecond())

    return read
