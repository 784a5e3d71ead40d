"""Exact quotients of decimals, which DuckDB has as doubles only, and long products: functions of ours that it calls.

One function divides two decimals of known scales and gives a decimal of a known type: `paimon_quotient_2_0_14_6` takes
two and no digits after the point, and gives a DECIMAL(14, 6). The last digit is rounded half up, away from zero, as in
Java's `BigDecimal`.
"""

import re
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError

if TYPE_CHECKING:
    import duckdb

_NAME = re.compile(r"paimon_(quotient|share|product|short|total|part)_(\d+)_(\d+)_(\d+)_(\d+)", re.IGNORECASE)
# Arrow gives a quotient four digits after the point at least: one more than the divisor has digits.
_LEAST_DIVISOR = 3
_MOST, _DIGITS = 76, 38
_TOO_LONG = "Cast what it is made of to DOUBLE, or run it with `--engine spark`."
_lock = threading.Lock()
_known: dict[int, set[str]] = {}


def quotient_function(
    dividend_scale: int, divisor_scale: int, precision: int, scale: int, *, is_null: bool = False
) -> str:
    """The name of the function, which `register_quotients` gives DuckDB. `is_null`: what does not fit is NULL."""
    return f"paimon_{'share' if is_null else 'quotient'}_{dividend_scale}_{divisor_scale}_{precision}_{scale}"


def product_function(scale: int, other_scale: int, target_scale: int, *, is_null: bool) -> str:
    """The name of the function that multiplies. `is_null`: what does not fit is NULL, and no error."""
    return f"paimon_{'short' if is_null else 'product'}_{scale}_{other_scale}_{_DIGITS}_{target_scale}"


def total_function(scale: int, other_scale: int, target_scale: int, *, is_null: bool) -> str:
    """The name of the function that adds. `is_null`: what does not fit is NULL, and no error."""
    return f"paimon_{'part' if is_null else 'total'}_{scale}_{other_scale}_{_DIGITS}_{target_scale}"


def register_quotients(connection: "duckdb.DuckDBPyConnection", query: str, process: int) -> None:
    """Give DuckDB the functions that a query calls, for all connections of a process."""
    create: Any = connection.create_function
    for match in _NAME.finditer(query):
        name = match[0].lower()
        with _lock:
            known = _known.setdefault(process, set())
            if name in known:
                continue
            of_one, of_other, precision, scale = map(int, match.groups()[1:])
            takes = [f"DECIMAL(38, {of_one})", f"DECIMAL(38, {of_other})"]
            target = pa.decimal128(precision, scale)
            if match[1].lower() in ("quotient", "share"):
                function = _function(of_one, of_other, target, is_null=match[1].lower() == "share")
            elif match[1].lower() in ("total", "part"):
                function = _total((of_one, of_other), target, is_null=match[1].lower() == "part")
            else:
                function = _product(of_one + of_other, target, is_null=match[1].lower() == "short")
            create(name, function, takes, f"DECIMAL({precision}, {scale})", type="arrow", null_handling="special")
            known.add(name)


def _function(
    of_dividend: int, of_divisor: int, target: pa.Decimal128Type, *, is_null: bool
) -> Callable[[pa.ChunkedArray | pa.Array, pa.ChunkedArray | pa.Array], pa.Array]:
    return lambda a, b: quotients(_unscaled(a), _unscaled(b), of_dividend - of_divisor, target, is_null=is_null)


def _product(
    scale: int, target: pa.Decimal128Type, *, is_null: bool
) -> Callable[[pa.ChunkedArray | pa.Array, pa.ChunkedArray | pa.Array], pa.Array]:
    return lambda a, b: products(_unscaled(a), _unscaled(b), scale, target, is_null=is_null)


def _total(
    scales: tuple[int, int], target: pa.Decimal128Type, *, is_null: bool
) -> Callable[[pa.ChunkedArray | pa.Array, pa.ChunkedArray | pa.Array], pa.Array]:
    def added(a: pa.ChunkedArray | pa.Array, b: pa.ChunkedArray | pa.Array) -> pa.Array:
        # Every decimal fits into these digits, and their total.
        wide = pa.decimal256(_MOST - 1, max(scales))
        one, other = (
            pc.cast(_unscaled(side).view(pa.decimal128(_DIGITS, scale)), wide)
            for side, scale in zip((a, b), scales, strict=True)
        )
        rounded = pc.round(pc.add(one, other), target.scale, "half_towards_infinity")
        return _fitting(rounded, target, "sum", is_null=is_null)

    return added


def _unscaled(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The digits as whole numbers."""
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    return column.view(pa.decimal128(38, 0))


def quotients(
    dividends: pa.Array, divisors: pa.Array, shift: int, target: pa.Decimal128Type, *, is_null: bool = False
) -> pa.Array:
    """Quotients of decimals, given as their digits.

    Args: `shift`: how many more digits after the point the dividends have; `is_null`: those that do not fit are NULL.
        Raises: DataError: a divisor is 0, or the digits of two numbers are too many.
    """
    by_zero = pc.equal(divisors, pa.scalar(0, divisors.type))
    if pc.any(pc.and_(by_zero, pc.is_valid(dividends))).as_py():
        raise DataError("division by zero", "query", "Divide by NULLIF(x, 0), which gives NULL.")
    divisors = pc.if_else(by_zero, pa.scalar(None, divisors.type), divisors)
    width = max(_LEAST_DIVISOR, _digits(divisors))
    # Arrow cuts the quotient off behind `digits` digits. One beyond the last decides how that is rounded.
    digits = max(target.scale + 1 - shift, width + 1)
    raised, grown = digits - width - 1, _digits(dividends)
    if grown + digits > _MOST:
        zeros = [_zeros(side) for side in (dividends, divisors)]
        if not any(zeros):
            raise DataError("a quotient of decimals has too many digits", "query", _TOO_LONG)
        shorter = [_without(side, count) for side, count in zip((dividends, divisors), zeros, strict=True)]
        return quotients(shorter[0], shorter[1], shift - zeros[0] + zeros[1], target, is_null=is_null)
    whole = pc.cast(dividends, pa.decimal256(_MOST, raised)).view(pa.decimal256(_MOST, 0))
    exact = pc.divide(_of_width(whole, max(1, grown + raised)), _of_width(divisors, width))
    shown = exact.view(pa.decimal256(_MOST, digits + shift))
    return _fitting(pc.round(shown, target.scale, "half_towards_infinity"), target, "quotient", is_null=is_null)


def _zeros(numbers: pa.Array) -> int:
    """How many zeros all of some whole numbers end with."""
    texts = pc.cast(numbers.filter(pc.not_equal(numbers, pa.scalar(0, numbers.type))), pa.string())
    counts = pc.subtract(pc.utf8_length(texts), pc.utf8_length(pc.utf8_rtrim(texts, "0")))
    return pc.min(counts).as_py() or 0


def _without(numbers: pa.Array, zeros: int) -> pa.Array:
    """Whole numbers without so many zeros behind them."""
    return pc.cast(numbers.view(pa.decimal128(_DIGITS, zeros)), pa.decimal128(_DIGITS, 0))


def _fitting(numbers: pa.Array, target: pa.Decimal128Type, what: str, *, is_null: bool) -> pa.Array:
    """Numbers as decimals of a type; those that are too large are NULL, or an error."""
    whole = target.precision - target.scale
    if whole >= numbers.type.precision - numbers.type.scale:
        return pc.cast(numbers, target)
    fits = pc.less(pc.abs(numbers), pa.scalar(Decimal(10) ** whole, numbers.type))
    if not is_null and pc.any(pc.invert(fits)).as_py():
        raise DataError(f"a {what} of decimals is out of the range of its type", "query", "Cast to fewer digits first.")
    return pc.cast(pc.if_else(fits, numbers, pa.scalar(None, numbers.type)), target)


def products(one: pa.Array, other: pa.Array, scale: int, target: pa.Decimal128Type, *, is_null: bool) -> pa.Array:
    """Products of decimals, given as their digits.

    Args: `scale`: of the products; `is_null`: those that do not fit are NULL. Raises: DataError: the digits of two
        numbers are too many.
    """
    limit = pa.scalar(Decimal(10) ** (_DIGITS - target.scale), pa.decimal256(_MOST, scale))
    about = pc.multiply(*(pc.abs(pc.cast(side, pa.float64())) for side in (one, other)))
    # Those that are far too large would need more digits than Arrow has.
    small = pc.less(about, 2.0 * 10.0 ** (_DIGITS - target.scale + scale))
    one, other = (pc.if_else(small, side, pa.scalar(0, side.type)) for side in (one, other))
    widths = [_digits(one), _digits(other)]
    if sum(widths) >= _MOST:
        raise DataError("a product of decimals has too many digits", "query", _TOO_LONG)
    exact = pc.multiply(*(_of_width(side, width) for side, width in zip((one, other), widths, strict=True)))
    whole = pc.cast(exact, pa.decimal256(_MOST, 0)).view(pa.decimal256(_MOST, scale))
    rounded = pc.round(whole, target.scale, "half_towards_infinity")
    fits = pc.and_(small, pc.less(pc.abs(rounded), limit))
    if not is_null and pc.any(pc.invert(fits)).as_py():
        raise DataError("a product of decimals is out of the range of its type", "query", "Cast to fewer digits first.")
    return pc.cast(pc.if_else(fits, rounded, pa.scalar(None, rounded.type)), target)


def _of_width(numbers: pa.Array, digits: int) -> pa.Array:
    return pc.cast(numbers, pa.decimal256(digits, 0))


def _digits(numbers: pa.Array) -> int:
    """How many digits the longest of the numbers has."""
    bounds = pc.min_max(numbers)
    return max((len(str(abs(int(b.as_py())))) for b in bounds.values() if b.is_valid), default=1)
