"""Partition directory names. They are only a location: the partition value of a file is in the manifest.

Source: seed 000 (file layout), Java `PartitionPathUtils`; options `partition.default-name`, `partition.legacy-name`.
"""

import datetime as dt
from collections.abc import Sequence

import pyarrow as pa

from maintenance.errors import ROLL_BACK, CorruptFileError, UnsupportedError
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value, arrow_of_values, text_of_value

_ESCAPED = frozenset([chr(code) for code in range(0x20)] + ["\x7f", *"\"#%'*/:=?\\{}[]^"])

# White space to Python, and none to Java's `Character.isWhitespace`.
_NO_BREAKS = frozenset("\x85\xa0\u2007\u202f")


def escape(text: str) -> str:
    """`text` with each character that a path must not hold as ``%`` and two upper-case hex digits."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def partition_text(value: Value, data_type: DataType, legacy: bool, zone: str = UTC) -> str:
    """The text of a partition value, not null.

    Args:
        legacy: as Java's objects print themselves: dates as day numbers, times as milliseconds, timestamps without zero
            seconds. Otherwise as Paimon casts the value to STRING.
        zone: of that cast, for TIMESTAMP_LTZ.
    Raises: UnsupportedError: a type whose objects print their address.
    """
    if data_type.is_bytes and not legacy:
        return bytes(value).decode(errors="replace")  # type: ignore[arg-type]
    if not legacy or data_type.root in ("FLOAT", "DOUBLE"):
        column = cast(pa.chunked_array([arrow_of_values([value], data_type)]), data_type, STRING, zone)
        return str(column[0].as_py())
    if data_type.is_bytes:
        raise UnsupportedError(
            f"{data_type} as a partition column, which Paimon names folders by in a way that cannot be repeated",
            "partition path",
            "Set 'partition.legacy-name' = 'false', or partition by another column.",
        )
    if data_type.root in ("DATE", "TIME"):
        return str(value)
    if data_type.is_timestamp:
        return _iso_local(int(value or 0))
    if data_type.root == "DECIMAL":
        return format(value, "f")
    return text_of_value(value, data_type)


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


def value_texts(values: Sequence[Value], fields: Sequence[DataField], legacy: bool, zone: str = UTC) -> list[str]:
    """The texts of partition values, empty for null. Raises: CorruptFileError: one is not of its type."""
    texts = []
    for field, value in zip(fields, values, strict=True):
        try:
            texts.append("" if value is None else partition_text(value, field.type, legacy, zone))
        except (OverflowError, ValueError) as error:
            raise CorruptFileError(
                f"{value!r} is not a {field.type}", f"partition column {field.name}", ROLL_BACK
            ) from error
    return texts


def partition_spec(
    values: Sequence[Value], fields: Sequence[DataField], default_name: str, legacy: bool, zone: str = UTC
) -> dict[str, str]:
    """Partition columns and the texts of their folders; null and blank texts are `default_name`."""
    texts = value_texts(values, fields, legacy, zone)
    return {field.name: default_name if is_blank(text) else text for field, text in zip(fields, texts, strict=True)}


def is_blank(text: str) -> bool:
    """Whether a text has no character but white space, as Java understands it: a no-break space is a character."""
    return not text.strip() and _NO_BREAKS.isdisjoint(text)


def partition_path(spec: dict[str, str]) -> str:
    """The relative directory of a partition: ``a=1/b=2``, empty for a table without partitions."""
    return "/".join(f"{escape(name)}={escape(text)}" for name, text in spec.items())
