"""Internal values (see `maintenance/types/values.py`) as objects of the Java core, and back."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jpype

from maintenance.types.values import Value

Getter = Callable[[Any, int], Value]

_NUMBERS = {
    "TINYINT": "Byte",
    "SMALLINT": "Short",
    "INTEGER": "Integer",
    "BIGINT": "Long",
    "DATE": "Integer",
    "TIME_WITHOUT_TIME_ZONE": "Integer",
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
}


def to_java(paimon: Any, value: Value, data_type: Any) -> Any:
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
        case "BINARY" | "VARBINARY":
            return jpype.JArray(jpype.JByte)(value)
        case "DECIMAL":
            number = jpype.java.math.BigDecimal(str(value))
            return paimon.data.Decimal.fromBigDecimal(number, data_type.getPrecision(), data_type.getScale())
    millis, nanos = divmod(int(value), 10**6)
    return paimon.data.Timestamp.fromEpochMillis(millis, nanos)


def getter(data_type: Any) -> Getter:
    """Reads a column of that Java type from a Java row."""
    root = str(data_type.getTypeRoot().name())
    read = _GETTERS.get(root)
    if root == "DECIMAL":
        read = _decimal_getter(data_type.getPrecision(), data_type.getScale())
    elif read is None:
        read = _moment_getter(data_type.getPrecision())
    return lambda row, i: None if row.isNullAt(i) else read(row, i)


def _decimal_getter(precision: int, scale: int) -> Getter:
    return lambda row, i: Decimal(str(row.getDecimal(i, precision, scale).toBigDecimal().toPlainString()))


def _moment_getter(precision: int) -> Getter:
    def read(row: Any, i: int) -> int:
        moment = row.getTimestamp(i, precision)
        return int(moment.getMillisecond()) * 10**6 + int(moment.getNanoOfMillisecond())

    return read
