"""The layout of a serialized row, shared by the scalar and the columnar writer.

A row is `[kind byte and null bits][8 bytes per field][variable part]`, little endian, all sizes multiples of 8:

- The first byte is the row kind, always 0 here; field i is null where bit i + 8 of the first part is set.
- A value of fixed size is in its slot. Texts and bytes up to 7 bytes are there too, with `0x80 | length` in the
  slot's last byte. Everything else is in the variable part, and the slot holds length and offset from the row's start.
- DECIMAL beyond 18 digits (16 bytes) and timestamps beyond milliseconds (8 bytes) are in the variable part, and keep
  their place there even when they are null.

Source: metadata section 4.4, Java `BinaryRow`.
"""

from maintenance.errors import UnsupportedError
from maintenance.types.data_type import DataType

COMPACT_DECIMAL_DIGITS = 18
COMPACT_TIMESTAMP_DIGITS = 3
INLINE_BYTES = 7

FIXED_WIDTHS = {
    "BOOLEAN": 1,
    "TINYINT": 1,
    "SMALLINT": 2,
    "INT": 4,
    "BIGINT": 8,
    "FLOAT": 4,
    "DOUBLE": 8,
    "DATE": 4,
    "TIME": 4,
}


def null_bits_size(arity: int) -> int:
    """Bytes of the row kind and the null bits of that many fields."""
    return (arity + 63 + 8) // 64 * 8


def is_compact(data_type: DataType) -> bool:
    """Whether a DECIMAL or timestamp fits into its slot."""
    limit = COMPACT_DECIMAL_DIGITS if data_type.root == "DECIMAL" else COMPACT_TIMESTAMP_DIGITS
    return (data_type.precision or 0) <= limit


def reserved_bytes(data_type: DataType) -> int:
    """Bytes of the variable part that every value of the type takes, null too; 0 for all but the two large types."""
    if data_type.root == "DECIMAL" and not is_compact(data_type):
        return 16
    return 8 if data_type.is_timestamp and not is_compact(data_type) else 0


def is_supported(data_type: DataType) -> bool:
    """Whether values of the type can be keys, partitions and bounds of statistics; null can be of every type."""
    return (
        data_type.root in FIXED_WIDTHS
        or data_type.root == "DECIMAL"
        or data_type.is_string
        or data_type.is_bytes
        or data_type.is_timestamp
    )


def unsupported(data_type: DataType, where: str) -> UnsupportedError:
    """The error for a value of a type that has no form here."""
    return UnsupportedError(
        f"{data_type} in a serialized row", where, "Use other columns as keys, partitions and for statistics."
    )
