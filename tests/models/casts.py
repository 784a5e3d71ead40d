"""Casts of single values, slowly and plainly, among a few types; texts are never parsed."""

import datetime as dt
import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from maintenance.types.data_type import DataType

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def cast_value(value: Any, source: DataType, target: DataType) -> Any:
    """A value (internal form) of one type as the other has it."""
    if value is None or source.as_nullable() == target.as_nullable():
        return value
    if target.is_string:
        # Java takes bytes as they are, whatever the length of the target.
        return text_of(value, source)[: None if source.is_bytes else target.length]
    if target.is_bytes:
        raw = value.encode() if isinstance(value, str) else value
        return raw[: target.length]
    if target.root == "DOUBLE":
        return float(value)
    if target.root == "BOOLEAN":
        return value != 0
    if target.root == "DECIMAL":
        return _decimal(value, target)
    return _integer(value, _BITS[target.root])


def text_of(value: Any, source: DataType) -> str:
    """A value as Java writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    if source.root == "DATE":
        return (dt.date(1970, 1, 1) + dt.timedelta(days=value)).isoformat()
    if isinstance(value, float):
        return java_double(value)
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def java_double(value: float) -> str:
    """A double, none next to zero, as `Double.toString` writes it."""
    if math.isnan(value) or math.isinf(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    sign, digits, exponent = Decimal(_integer_text(value) or repr(value)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    point = len(text) + exponent
    text = text.rstrip("0")
    minus = "-" if sign else ""
    if not text:
        return f"{minus}0.0"
    if 1e-3 <= abs(value) < 1e7:
        whole = text[:point].ljust(point, "0") if point > 0 else "0"
        rest = "0" * -point + text if point <= 0 else text[point:]
        return f"{minus}{whole}.{rest or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _integer_text(value: float) -> str | None:
    """An integer beyond the mantissa, which Java up to 18 prints by its own digits; None for every other number."""
    whole = int(abs(value))
    if whole != abs(value) or not 2**53 <= whole < 2**63:
        return None
    spare = whole.bit_length() - 1 - 53 - 1
    power = 10 ** len(str(2**spare)[1:]) if spare > 1 else 1
    kept = whole // power + (power > 1 and whole % power >= power // 2)
    return f"{'-' if value < 0 else ''}{kept * power}"


def _integer(value: Any, bits: int) -> int:
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        wide = max(bits, 32)
        limit = 1 << (wide - 1)
        value = limit - 1 if value >= limit else -limit if value <= -limit else math.trunc(value)
    whole = math.trunc(value) & ((1 << bits) - 1)
    return whole - (1 << bits) if whole >> (bits - 1) else whole


def _decimal(value: Any, target: DataType) -> Decimal | None:
    exact = Decimal(java_double(value) if isinstance(value, float) else value)
    rounded = exact.quantize(Decimal(1).scaleb(-(target.scale or 0)), ROUND_HALF_UP)
    return rounded if abs(rounded) < 10 ** ((target.precision or 0) - (target.scale or 0)) else None
