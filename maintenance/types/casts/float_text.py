"""Floats as Java prints them: ``1.0``, ``1.0E10``, ``NaN``.

From 10^-3 up to 10^7 plainly, else with an exponent; at least one digit after the decimal point. The digits are the
fewest that tell the number from its neighbours, but for integers beyond the mantissa: of those Java up to 18 prints the
digits of the integer itself, as far as the mantissa carries them, which may be one more. Java since 19 leaves that one
out.
Source: Java `Double.toString`, JDK-4511638.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PARTS = r"^(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<fraction>\d+))?(?:e(?P<exponent>[+-]?\d+))?$"
# Numbers that one digit tells apart, but of which Java prints the closest two: those next to zero.
_LEAST = {pa.float64(): 5e-324, pa.float32(): 2.0**-149}
_TINY_COUNT = 64
_MANTISSA_BITS = {pa.float64(): 53, pa.float32(): 24}


def float_texts(array: pa.Array) -> pa.Array:
    """Texts of floats (float32 or float64)."""
    plain = array.cast(pa.string())
    size = pc.abs(array)
    is_plain = pc.or_(pc.equal(size, 0.0), pc.and_(pc.greater_equal(size, 1e-3), pc.less(size, 1e7)))
    has_point = pc.match_substring(plain, ".")
    decimal = pc.if_else(has_point, plain, pc.binary_join_element_wise(plain, ".0", ""))
    if pc.all(is_plain, min_count=0).as_py() and not pc.any(pc.is_nan(array)).as_py():
        return pc.if_else(array.is_valid(), decimal, pa.scalar(None, pa.string()))
    special = pc.if_else(pc.is_nan(array), "NaN", pc.if_else(pc.less(array, 0.0), "-Infinity", "Infinity"))
    shown = _with_integers(_without_tiny(plain, array, size), array)
    finite = pc.if_else(is_plain, decimal, _scientific(shown))
    return pc.if_else(pc.is_finite(array), finite, special)


def _without_tiny(plain: pa.Array, array: pa.Array, size: pa.Array) -> pa.Array:
    """The numbers next to zero with their two closest digits."""
    least = _LEAST[array.type]
    tiny = pc.and_(pc.greater(size, 0.0), pc.less(size, _TINY_COUNT * least))
    if not pc.any(tiny).as_py():
        return plain
    numbers = pa.array([k * least for k in range(1, _TINY_COUNT)], array.type)
    shortest = [str(text) for text in numbers.cast(pa.string()).to_pylist()]
    two = [f"{k * least:.1e}" if "." not in text else text for k, text in enumerate(shortest, 1)]
    texts = pc.take(pa.array(two), pc.index_in(size, numbers))
    signed = pc.if_else(pc.less(array, 0.0), pc.binary_join_element_wise("-", texts, ""), texts)
    return pc.if_else(tiny, signed, plain)


def _with_integers(plain: pa.Array, array: pa.Array) -> pa.Array:
    """Integers beyond the mantissa, that a long can hold, by their own digits, rounded to what the mantissa carries."""
    bits = _MANTISSA_BITS[array.type]
    with np.errstate(invalid="ignore"):  # a NaN may be a signalling one
        values = np.abs(array.fill_null(0.0).to_numpy(zero_copy_only=False).astype(np.float64))
    large = (values >= 2.0**bits) & (values < 2.0**63)
    if not large.any():
        return plain
    whole = np.where(large, values, 1).astype(np.int64)
    exponent = np.frexp(np.where(large, values, 1))[1] - 1
    # Digits of the largest power of ten below the weight of the last bit.
    spare = np.maximum(exponent - bits - 1, 0)
    dropped = np.where(spare > 1, np.floor(spare * np.log10(2)), 0).astype(np.int64)
    power = 10**dropped
    digits = pa.array(whole // power + (whole % power >= np.maximum(power // 2, 1))).cast(pa.string())
    zeros = pa.array(["0" * count for count in range(20)]).take(pa.array(dropped))
    sign = pc.if_else(pc.less(array, 0.0), "-", "")
    return pc.if_else(pa.array(large), pc.binary_join_element_wise(sign, digits, zeros, ""), plain)


def _scientific(texts: pa.Array) -> pa.Array:
    """``0.000015`` and ``1.5e-05`` as ``1.5E-5``. Null where a text is not a finite number."""
    parts = pc.extract_regex(texts, _PARTS)
    sign, whole, fraction, exponent = (pc.struct_field(parts, i) for i in range(4))
    digits = pc.binary_join_element_wise(whole, fraction, "")
    significant = pc.utf8_ltrim(digits, "0")
    leading = pc.subtract(pc.utf8_length(digits), pc.utf8_length(significant))
    shown = pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+")).cast(pa.int32())
    power = pc.subtract(pc.add(shown, pc.subtract(pc.utf8_length(whole), 1)), leading)
    significant = pc.utf8_rtrim(significant, "0")
    rest = pc.utf8_slice_codeunits(significant, 1)
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    first = pc.utf8_slice_codeunits(significant, 0, 1)
    return pc.binary_join_element_wise(sign, first, ".", rest, "E", power.cast(pa.string()), "")
