"""Partition directory names. They are a location only: a file's partition value stands in the manifest.

Source: seed 000 (file layout), Java `PartitionPathUtils`; options `partition.default-name`, `partition.legacy-name`.
"""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, text_of_value

_ESCAPED = frozenset([chr(code) for code in range(0x20)] + ["\x7f", *"\"#%'*/:=?\\{}[]^"])


def escape(text: str) -> str:
    """`text` with each character that a path must not hold as ``%`` and two upper-case hex digits."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def partition_text(value: Value, data_type: DataType, legacy: bool) -> str:
    """The text of a partition value. `legacy`: dates as day numbers and timestamps without zero seconds.

    Raises: UnsupportedError: a type without a text form that Paimon and this engine agree on.
    """
    if data_type.is_bytes or data_type.is_nested:
        raise UnsupportedError(
            f"type {data_type} as a partition column is not supported yet",
            "partition path",
            "Partition by another column.",
        )
    if data_type.root in ("FLOAT", "DOUBLE"):
        return _java_float(float(0.0 if value is None else value), single=data_type.root == "FLOAT")
    if legacy and data_type.root == "DATE":
        return str(value)
    if legacy and data_type.is_timestamp:
        return _iso_local(int(value or 0))
    if data_type.root == "DECIMAL":
        return format(value, "f")
    return text_of_value(value, data_type)


def _java_float(value: float, *, single: bool) -> str:
    """A number as Java prints it: plain from 0.001 up to ten millions, else as ``1.5E10``; the fewest digits."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return sign + "0.0"
    number: np.floating[Any] = np.float32(abs(value)) if single else np.float64(abs(value))
    shortest = np.format_float_scientific(number, trim="0")
    mantissa, exponent = shortest.split("e")
    power = int(exponent)
    if not -3 <= power < 7:
        return f"{sign}{mantissa}E{power}"
    return sign + np.format_float_positional(number, trim="0")


def _iso_local(nanos: int) -> str:
    """A timestamp as Java's LocalDateTime prints it: seconds only if not zero, fraction in groups of three digits."""
    seconds, fraction = divmod(nanos, 10**9)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    text = moment.isoformat("T", "seconds" if moment.second or fraction else "minutes")
    if fraction:
        digits = f"{fraction:09d}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += "." + digits
    return text


def partition_spec(
    values: Sequence[Value], fields: Sequence[DataField], default_name: str, legacy: bool
) -> dict[str, str]:
    """Partition columns and the texts of their values; null and blank texts are `default_name`."""
    spec = {}
    for field, value in zip(fields, values, strict=True):
        try:
            text = "" if value is None else partition_text(value, field.type, legacy)
        except (OverflowError, ValueError) as error:
            raise CorruptFileError(
                f"{value!r} is no {field.type}", f"partition column {field.name}", "Roll back to a snapshot."
            ) from error
        spec[field.name] = text if text.strip() else default_name
    return spec


def partition_path(spec: dict[str, str]) -> str:
    """The relative directory of a partition: ``a=1/b=2``, empty for a table without partitions."""
    return "/".join(f"{escape(name)}={escape(text)}" for name, text in spec.items())
