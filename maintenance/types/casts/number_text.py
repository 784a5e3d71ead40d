"""Texts to numbers, as Java reads them. A text that is not a number raises DataError. Source: `BinaryStringUtils`."""

import decimal

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.arrays import refuse
from maintenance.types.data_type import DataType

_INTEGER = r"^(?P<sign>[+-]?)(?P<whole>\d*)(?P<fraction>\.\d*)?$"
_FLOAT = r"^[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)$"
_HEX_FLOAT = r"^[+-]?0[xX]"
_DECIMAL = r"^(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<fraction>\d*))?(?:[eE](?P<exponent>[+-]?\d+))?$"
_CONTROLS = "".join(map(chr, range(33)))
_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_ZERO, _ONE = (pa.scalar(decimal.Decimal(digit), pa.decimal256(1, 0)) for digit in (0, 1))


def to_boolean(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    lower = pc.utf8_lower(array)
    true = pc.is_in(lower, _TRUE)
    refuse(array, pc.and_(array.is_valid(), pc.invert(pc.or_(true, pc.is_in(lower, _FALSE)))), target)
    return pc.if_else(array.is_valid(), true, pa.scalar(None, pa.bool_()))


def to_integer(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """A fraction is cut off; blanks are not allowed."""
    parts = pc.extract_regex(array, _INTEGER)
    no_number = pc.is_in(array, pa.array(["", "+", "-"]))
    refuse(array, pc.and_(array.is_valid(), pc.or_kleene(parts.is_null(), no_number)), target)
    digits = pc.utf8_ltrim(pc.struct_field(parts, 1), "0")
    digits = pc.if_else(pc.equal(digits, ""), "0", digits)
    refuse(array, pc.greater(pc.utf8_length(digits), 19), target)
    negative = pc.equal(pc.struct_field(parts, 0), "-")
    wide = pc.if_else(negative, pc.binary_join_element_wise("-", digits, ""), digits).cast(pa.decimal128(38, 0))
    wide = pc.if_else(array.is_valid(), wide, pa.scalar(None, wide.type))
    kind = arrow_type(target)
    most = decimal.Decimal(2 ** (kind.bit_width - 1))
    low, high = pa.scalar(-most, wide.type), pa.scalar(most - 1, wide.type)
    refuse(array, pc.or_(pc.less(wide, low), pc.greater(wide, high)), target)
    return wide.cast(kind)


def to_float(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Java's literals, blanks around them allowed; ``NaN`` and ``Infinity`` only in this spelling."""
    text = pc.utf8_trim(array, _CONTROLS)
    if pc.any(pc.match_substring_regex(text, _HEX_FLOAT)).as_py():
        raise UnsupportedError("a hexadecimal float in a text", "cast", "Leave the column out of the read.")
    refuse(array, pc.invert(pc.match_substring_regex(text, _FLOAT)), target)
    plain = pc.if_else(pc.match_substring_regex(text, r"\d[.]?[fFdD]$"), pc.utf8_slice_codeunits(text, 0, -1), text)
    plain = pc.utf8_ltrim(pc.replace_substring_regex(plain, r"\.([eE]|$)", r".0\1"), "+")
    return plain.cast(arrow_type(target))


def to_decimal(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return decimals_of_texts(array, target)


def decimals_of_texts(array: pa.Array, target: DataType) -> pa.Array:
    """Decimals of texts, rounded half away from zero; null where the precision does not suffice.

    Raises: DataError: a text is not a number. Source: Java `Decimal.fromBigDecimal`.
    """
    parts = pc.extract_regex(array, _DECIMAL)
    sign, whole, fraction, exponent = (pc.struct_field(parts, i) for i in range(4))
    empty = pc.and_(pc.equal(whole, ""), pc.equal(fraction, ""))
    refuse(array, pc.and_(array.is_valid(), pc.or_kleene(parts.is_null(), empty)), target)
    power = pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+"))
    refuse(array, pc.greater(pc.utf8_length(power), 9), target)
    digits = pc.binary_join_element_wise(whole, fraction, "")
    point = pc.add(pc.utf8_length(whole), power.cast(pa.int32()))
    shift = pc.add(point, target.scale or 0)  # digits to keep
    kept, next_digit = _cut(digits, shift)
    too_long = pc.greater(pc.utf8_length(kept), 38)
    wide = pc.if_else(too_long, "0", kept).cast(pa.decimal256(40, 0))
    carry = pc.if_else(pc.greater_equal(next_digit, "5"), _ONE, _ZERO)
    wide = pc.add(wide, carry).cast(pa.decimal256(40, 0))
    limit = pa.scalar(decimal.Decimal(10) ** (target.precision or 10), wide.type)
    fits = pc.and_(pc.less(wide, limit), pc.invert(too_long))
    wide = pc.if_else(pc.and_(array.is_valid(), fits), wide, pa.scalar(None, wide.type))
    signed = pc.if_else(pc.equal(sign, "-"), pc.negate(wide), wide).cast(pa.decimal128(38, 0))
    return pa.Array.from_buffers(arrow_type(target), len(signed), signed.buffers(), signed.null_count, signed.offset)


def _cut(digits: pa.Array, keep: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The first `keep` digits without leading zeros, filled with zeros where there are fewer, and the digit behind.

    Each distinct number of digits is one pass: exponents and lengths are few in a column.
    """
    kept = pa.nulls(len(digits), pa.string())
    behind = pa.nulls(len(digits), pa.string())
    for count in pc.unique(keep).drop_null().to_pylist():
        here = pc.equal(keep, count)
        if count < 0:
            first, following = "0", "0"
        else:
            # Beyond 80 zeros nothing changes: zero stays zero, and anything else is too long.
            width = min(count, len_limit(digits) + 80)
            first = pc.utf8_rpad(pc.utf8_slice_codeunits(digits, 0, count), width, "0")
            first = pc.utf8_ltrim(first, "0")
            first = pc.if_else(pc.equal(first, ""), "0", first)
            following = pc.utf8_slice_codeunits(digits, count, count + 1)
        kept = pc.if_else(here, first, kept)
        behind = pc.if_else(here, following, behind)
    return kept, behind


def len_limit(digits: pa.Array) -> int:
    """The length of the longest text."""
    return int(pc.max(pc.utf8_length(digits)).as_py() or 0)
