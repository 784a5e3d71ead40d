"""What DuckDB is given before the first query: macros and functions over whole columns that entries call.

Source: Spark's `UTF8String.toLong`, `Cast`, `SparkDateTimeUtils`; Java's `Double.toString`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maintenance.sql.query.carried import MICROS, REST
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.casts.cast import STRING, cast

if TYPE_CHECKING:
    import duckdb

_SPACE = r"'^[\x00-\x20]+|[\x00-\x20]+$'"
_NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
_DAY = r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
_CLOCK = r"([01]?\d|2[0-3])(?::([0-5]?\d)(?::([0-5]?\d)(?:\.(\d*))?)?)?"
_ZONE = r"( ?(?:Z|UTC|GMT|UT)?(?:[+-](?:0?\d|1[0-8])(?::?\d{2}){0,2})?| [A-Za-z]+(?:/[A-Za-z0-9_+-]+)*)"
_CLOCK_OF_TODAY = rf"(?:[01]?\d|2[0-3]):[0-5]?\d(?::[0-5]?\d(?:\.\d*)?)?{_ZONE}"
_MOMENT = rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_CLOCK}{_ZONE})?)?)?"
_PLAIN_MOMENT = r"\d{4}-\d{2}-\d{2}([ T]([01]\d|2[0-3]):[0-5]\d:[0-5]\d([.]\d{1,6})?)?"
_FAR_SECONDS = "these seconds are further from 1970 than a timestamp here: run it with `--engine spark`"
_DAY_MICROS = 86_400_000_000
MACROS = (
    # The microseconds of a time that are behind some digits are taken away: `step` is the smallest that stays.
    "paimon_cut(x, step) AS x - to_microseconds(((epoch_us(x) % step) + step) % step)",
    f"paimon_wide(x, y) AS CASE WHEN x IS NOT NULL THEN {{'{MICROS}': x, '{REST}': CAST(y AS SMALLINT)}} END",
    f"paimon_same(x, y) AS x.{MICROS} = y.{MICROS}",
    f"paimon_before(x, y) AS x.{MICROS} < y.{MICROS} OR (paimon_same(x, y) AND x.{REST} < y.{REST})",
    f"paimon_until(x, y) AS x.{MICROS} < y.{MICROS} OR (paimon_same(x, y) AND x.{REST} <= y.{REST})",
    "paimon_found(x) AS rpad(regexp_extract(x, '[.][0-9]{6}([0-9]{1,3})', 1), 3, '0')",
    "paimon_rest(x) AS COALESCE(TRY_CAST(paimon_found(x) AS SMALLINT), 0)",
    "paimon_local(x) AS regexp_replace(CAST(x AS VARCHAR), '[+-][0-9:]+$', '')",
    # Of all types: the type of the argument is known when a query is bound.
    "paimon_is_instant(x) AS typeof(x) = 'TIMESTAMP WITH TIME ZONE'",
    ("paimon_shown(x) AS CASE WHEN paimon_is_instant(x) THEN paimon_local(x) ELSE CAST(x AS VARCHAR) END"),
    # Of an instant in front of the year 1 DuckDB has the year without its sign.
    "paimon_year(x) AS CASE WHEN paimon_is_instant(x) THEN year(CAST(x AS TIMESTAMP)) ELSE year(x) END",
    # The year in front of the year 1 is 0, and years of five digits have a sign.
    (
        "paimon_text(x) AS CASE WHEN NOT ends_with(split_part(paimon_shown(x), ' ', 2), 'BC)') AND"
        " substring(paimon_shown(x), 5, 1) = '-' THEN paimon_shown(x)"
        " WHEN paimon_year(x) > 9999 THEN '+' || paimon_shown(x)"
        " ELSE CASE WHEN paimon_year(x) < 0 THEN '-' ELSE '' END"
        " || lpad(CAST(abs(paimon_year(x)) AS VARCHAR), 4, '0') ||"
        " regexp_replace(substring(paimon_shown(x), 5), ' .BC.', '') END"
    ),
    "paimon_second(x) AS regexp_replace(CAST(x AS VARCHAR), '([.][0-9]+)?([+-][0-9:]+)?$', '')",
    "paimon_padded(x, digits) AS lpad(CAST(x AS VARCHAR), digits, '0')",
    "paimon_micros(x) AS ((epoch_us(x) % 1000000) + 1000000) % 1000000",
    "paimon_fraction(x, y) AS paimon_padded(paimon_micros(x), 6) || paimon_padded(y, 3)",
    (
        "paimon_digits(x, y, digits) AS paimon_second(x) || '.' || left(paimon_fraction(x, y), digits)"
        " || rtrim(substring(paimon_fraction(x, y), digits + 1), '0')"
    ),
    "paimon_plain(x, y) AS paimon_second(x) || regexp_replace('.' || paimon_fraction(x, y), '[.]?0*$', '')",
    f"paimon_trimmed(t) AS regexp_replace(t, {_SPACE}, '', 'g')",
    (
        "paimon_joined(l, t) AS CASE WHEN l IS NULL OR t IS NULL THEN NULL WHEN len(l) = 0 THEN ''"
        " ELSE list_reduce(l, lambda x, y: x || t || y) END"
    ),
    (
        "paimon_piece(t, n) AS CAST(COALESCE(NULLIF(regexp_extract(t,"
        " '^\\s*(\\d{1,4})(-(\\d{1,2})(-(\\d{1,2}))?)?', n), ''), '1') AS BIGINT)"
    ),
    (
        "paimon_turn(t, n) AS CAST(COALESCE(NULLIF(regexp_extract(t,"
        " '^\\s*0*(\\d{1,2})(:(\\d{1,2})(:(\\d{1,2}))?)?', n), ''), '0') AS BIGINT)"
    ),
    "paimon_not_negative(x) AS CASE WHEN x < 0 THEN 0 ELSE x END",
    "paimon_nonzero(x, y) AS CASE WHEN y = 0 AND x IS NOT NULL THEN error('division by zero') ELSE y END",
    "paimon_is_whole(t) AS regexp_full_match(paimon_trimmed(t), '[+-]?[0-9]+')",
    "paimon_with_zeros(w, n) AS lpad(w, CAST(greatest(length(w), n + 1) AS INTEGER), '0')",
    (
        "paimon_shifted(s, w, f, n) AS s || substring(paimon_with_zeros(w, n), 1, greatest(length(w) - n, 1)) || '.'"
        " || right(paimon_with_zeros(w, n), n) || f"
    ),
    # DuckDB counts the digits in front of the point before it moves the point to the left.
    (
        "paimon_pointed(t) AS CASE WHEN regexp_matches(t, '[eE]-') THEN paimon_shifted(regexp_extract(t, '^[+-]?'),"
        " regexp_extract(t, '^[+-]?([0-9]*)', 1), regexp_extract(t, '[.]([0-9]*)', 1),"
        " least(CAST('0' || regexp_extract(t, '[eE]-0*([0-9]{1,8})', 1) AS INTEGER), length(t) + 99)) ELSE t END"
    ),
    f"paimon_is_decimal(t) AS regexp_full_match(paimon_trimmed(t), '{_NUMBER}')",
    (f"paimon_is_floating(t) AS regexp_full_match(paimon_trimmed(t), '{_NUMBER}[dDfF]?|(?i:[+-]?inf(inity)?|nan)')"),
    "paimon_floating(t) AS regexp_replace(paimon_trimmed(t), '^([^nN]*[0-9.])[dDfF]$', '\\1')",
    "paimon_is_true(t) AS lower(paimon_trimmed(t)) IN ('t', 'true', 'y', 'yes', '1')",
    "paimon_is_false(t) AS lower(paimon_trimmed(t)) IN ('f', 'false', 'n', 'no', '0')",
    f"paimon_day_part(t, n) AS CAST(COALESCE(NULLIF(regexp_extract(t, '^{_DAY}([ T].*)?$', n), ''), '1') AS BIGINT)",
    f"paimon_is_day(t) AS regexp_matches(t, '^{_DAY}([ T].*)?$')",
    (
        "paimon_day(t) AS CASE WHEN paimon_is_day(t) THEN"
        " make_date(paimon_day_part(t, 1), paimon_day_part(t, 2), paimon_day_part(t, 3)) END"
    ),
    (
        "paimon_try_day(t) AS CASE WHEN paimon_is_day(t) THEN"
        " TRY_CAST(concat_ws('-', paimon_day_part(t, 1), paimon_day_part(t, 2), paimon_day_part(t, 3)) AS DATE) END"
    ),
    # A time as Flink reads it. A day that a month has not is its last one.
    (
        "paimon_is_flink_moment(t) AS regexp_full_match(t, '\\d{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12]\\d|3[01])"
        "( (([01]?\\d|2[0-3]):[0-5]?\\d:[0-5]?\\d([.]\\d{0,9})?|24:00:00))?') AND NOT starts_with(t, '0000')"
    ),
    "paimon_flink_part(t, n) AS CAST(regexp_extract(t, '^(\\d+)-(\\d+)-(\\d+)', n) AS INTEGER)",
    "paimon_flink_month(t) AS make_date(paimon_flink_part(t, 1), paimon_flink_part(t, 2), 1)",
    (
        "paimon_flink_moment(t) AS CAST(CAST(paimon_flink_month(t) + CAST(least(paimon_flink_part(t, 3),"
        " day(last_day(paimon_flink_month(t)))) - 1 AS INTEGER) AS DATE) AS VARCHAR) || regexp_extract(t, ' .*$')"
    ),
    # `step`: of microseconds, whole milliseconds.
    "paimon_cut_millis(x, step) AS paimon_cut(x, 1000) - to_microseconds(epoch_us(paimon_cut(x, 1000)) % step)",
    # A time of Spark's: what may be left out of it, and years that DuckDB writes otherwise.
    f"paimon_is_plain_moment(t) AS regexp_full_match(t, '{_PLAIN_MOMENT}')",
    f"paimon_is_moment(t) AS regexp_full_match(t, '{_MOMENT}')",
    f"paimon_is_clock(t) AS regexp_full_match(t, 'T?{_CLOCK_OF_TODAY}')",
    f"paimon_moment_part(t, n) AS regexp_extract(t, '^{_MOMENT}$', n)",
    (
        "paimon_moment_day(t, y) AS lpad(CAST(CASE WHEN y > 0 THEN y ELSE 1 - y END AS VARCHAR),"
        " CAST(greatest(4, length(CAST(abs(y) AS VARCHAR))) AS INTEGER), '0') || '-' ||"
        " COALESCE(NULLIF(paimon_moment_part(t, 2), ''), '01') || '-' ||"
        " COALESCE(NULLIF(paimon_moment_part(t, 3), ''), '01')"
    ),
    (
        "paimon_moment_clock(t) AS ' ' || COALESCE(NULLIF(paimon_moment_part(t, 4), ''), '0') || ':' ||"
        " COALESCE(NULLIF(paimon_moment_part(t, 5), ''), '0') || ':' || COALESCE(NULLIF(paimon_moment_part(t, 6), ''),"
        " '0') || regexp_replace('.' || left(paimon_moment_part(t, 7), 6), '[.]$', '')"
    ),
    (
        "paimon_moment_zone(z) AS CASE WHEN regexp_full_match(z, '(Z|UTC|GMT|UT)') THEN '+00:00' WHEN"
        " regexp_matches(z, '[+-]') AND NOT contains(z, '/') THEN regexp_extract(z, '[+-]') || lpad(regexp_extract(z,"
        " '[0-9]{1,2}'), 2, '0') || ':' || COALESCE(NULLIF(regexp_extract(z, '[0-9]{1,2}:?([0-9]{2})', 1), ''), '00')"
        " ELSE ' ' || z END"
    ),
    (
        "paimon_moment(t, has_zone) AS paimon_moment_day(t, TRY_CAST(paimon_moment_part(t, 1) AS INTEGER))"
        " || CASE WHEN TRY_CAST(paimon_moment_part(t, 1) AS INTEGER) > 0 THEN ''"
        " ELSE ' (BC)' END || paimon_moment_clock(t)"
        " || CASE WHEN has_zone AND paimon_moment_part(t, 8) <> ''"
        " THEN paimon_moment_zone(trim(paimon_moment_part(t, 8))) ELSE '' END"
    ),
    # Of a time that the clock of a named zone shows twice, the first one: `t` ends in the name.
    "paimon_region(t) AS regexp_extract(t, ' ([A-Za-z]+(/[A-Za-z0-9_+-]+)*)$', 1)",
    "paimon_is_region(z) AS z <> '' AND TRY_CAST('2000-01-01 00:00:00 ' || z AS TIMESTAMPTZ) IS NOT NULL",
    (
        "paimon_first_there(t) AS list_transform([t], lambda _t: CASE WHEN paimon_is_region(paimon_region(_t))"
        " AND NOT contains(_t, '(BC)') THEN CAST(timezone('UTC', paimon_at(paimon_region(_t),"
        " TRY_CAST(regexp_replace(_t, ' [^ ]*$', '') AS TIMESTAMP))) AS VARCHAR) || '+00:00' ELSE _t END)[1]"
    ),
    # As Flink has the parts of a time: of its milliseconds, cut off towards 1970.
    "paimon_millis(x) AS (epoch_us(x) - ((epoch_us(x) % 1000) + 1000) % 1000) // 1000",
    "paimon_flink_day(x) AS CAST('1970-01-01' AS DATE) + CAST(paimon_millis(x) // 86400000 AS INTEGER)",
    # Flink cuts nothing off where the nanoseconds of a second, written as a number, have no more than so many digits.
    "paimon_is_short(x, y, digits) AS paimon_micros(x) * 1000 + y < pow(10, digits)",
    (
        "paimon_without_nanos(x, y, digits) AS CASE WHEN y <> 0 AND paimon_is_short(x, y, digits) THEN error("
        "'a cast of few nanoseconds behind a second to fewer digits is not supported: run it in Flink') ELSE x END"
    ),
    # Flink reckons days before 1582-10-15 as the Julian calendar has them, and takes the result for one of ours.
    "paimon_julian_year(x) AS (4 * (CAST(x - CAST('1970-01-01' AS DATE) AS BIGINT) + 2472670) + 3) // 1461",
    (
        "paimon_flink_calendar(x) AS CASE WHEN x < CAST('1582-10-15' AS DATE) THEN CAST(x + CAST(38"
        " - paimon_julian_year(x) // 100 + paimon_julian_year(x) // 400 AS INTEGER) AS DATE) ELSE x END"
    ),
    # A time of day has milliseconds, and one before 1970 is none that Flink can give out.
    (
        "paimon_time_of(x) AS CASE WHEN paimon_millis(x) % 86400000 < 0"
        " THEN error('a TIME of a timestamp before 1970 is not supported: run it in Flink')"
        " ELSE CAST('00:00:00' AS TIME) + to_milliseconds(paimon_millis(x) % 86400000) END"
    ),
    "paimon_whole_seconds(x) AS (epoch_us(x) - ((epoch_us(x) % 1000000) + 1000000) % 1000000) // 1000000",
    "paimon_seconds(x) AS CAST(epoch_us(x) AS DOUBLE) / 1000000",
    "paimon_wrapped(x, whole) AS ((x + whole // 2) % whole + whole) % whole - whole // 2",
    (
        "paimon_date(t) AS CASE WHEN regexp_matches(t, '^\\s*\\d{1,4}(-\\d{1,2}(-\\d{1,2}([ T].*)?)?)?\\s*$')"
        " THEN TRY_CAST(concat_ws('-', paimon_padded(paimon_piece(t, 1), 4), paimon_piece(t, 3), paimon_piece(t, 5))"
        " AS DATE) END"
    ),
    (
        "paimon_clock(t) AS CASE WHEN regexp_matches(t, '^\\s*0*\\d{1,2}(:\\d{1,2}(:\\d{1,2}([.]\\d*)?)?)?\\s*$')"
        " AND paimon_turn(t, 1) < 24 THEN TRY_CAST(concat_ws(':', paimon_padded(paimon_turn(t, 1), 2),"
        " paimon_padded(paimon_turn(t, 3), 2), paimon_padded(paimon_turn(t, 5), 2)) AS TIME)"
        " + to_milliseconds(CAST(rpad(regexp_extract(t, '[.](\\d{0,3})', 1), 3, '0') AS BIGINT)) END"
    ),
    (
        "paimon_saturated(x, least, most) AS CASE WHEN isnan(x) THEN 0 WHEN x >= most THEN most"
        " WHEN x <= least THEN least ELSE CAST(trunc(x) AS BIGINT) END"
    ),
    "paimon_size(n) AS CASE n WHEN 32 THEN 4294967296::HUGEINT ELSE 18446744073709551616::HUGEINT END",
    "paimon_left(x, b, n) AS paimon_wrapped(x::HUGEINT * (1::HUGEINT << (b & (n - 1))), paimon_size(n))",
    "paimon_right(x, b, n) AS x::BIGINT >> (b & (n - 1))",
    (
        "paimon_right_zeros(x, b, n) AS"
        " paimon_wrapped(((x::HUGEINT + paimon_size(n)) % paimon_size(n)) >> (b & (n - 1)), paimon_size(n))"
    ),
    "paimon_bit(x, b) AS (x::BIGINT >> paimon_not_negative(b)) & 1",
    (
        "paimon_micros_of(x) AS CASE WHEN x BETWEEN -9223372022400 AND 9223372036854 THEN CAST(x AS BIGINT) * 1000000"
        f" WHEN x IS NOT NULL THEN error('{_FAR_SECONDS}') END"
    ),
    "paimon_bigint(x) AS CAST(x AS BIGINT)",
    # A whole number from 0 to 64 bits in the digits of another base, of a text that has its sign.
    (
        "paimon_digits_of(v, b) AS CASE WHEN v < b THEN to_base(CAST(v AS BIGINT), b)"
        " ELSE to_base(CAST(v // b AS BIGINT), b) || to_base(CAST(v % b AS BIGINT), b) END"
    ),
    (
        "paimon_based(t, v, b) AS CASE WHEN t <> '' THEN paimon_digits_of(CASE WHEN v = 0 OR NOT starts_with(t, '-')"
        " THEN v WHEN v >= 9223372036854775808 THEN 18446744073709551615::HUGEINT"
        " ELSE 18446744073709551616::HUGEINT - v END, b) END"
    ),
    (
        "paimon_signed(t, v, b) AS CASE WHEN t <> '' THEN CASE WHEN v >= 9223372036854775808 OR starts_with(t, '-')"
        " THEN '-' ELSE '' END || paimon_digits_of(CASE WHEN v >= 9223372036854775808"
        " THEN 18446744073709551616::HUGEINT - v ELSE v END, b) END"
    ),
    # The first of the two instants of a time that a clock shows twice: the clock was put back within the day before.
    f"paimon_put_back(now, before) AS epoch_us(before) - epoch_us(now) + {_DAY_MICROS}",
    (
        "paimon_moved_by(t, gap) AS CASE WHEN gap <> 0 AND (t - to_microseconds(gap))::TIMESTAMP = t::TIMESTAMP"
        " THEN t - to_microseconds(gap) ELSE t END"
    ),
    (
        "paimon_first(t) AS paimon_moved_by(t, greatest(0,"
        " paimon_put_back(t::TIMESTAMP, (t - to_hours(24))::TIMESTAMP)))"
    ),
    (
        "paimon_at_by(z, t, back) AS CASE WHEN back > 0 AND timezone(z, t - to_microseconds(back)) = timezone(z, t)"
        " THEN t - to_microseconds(back) ELSE t END"
    ),
    "paimon_at_of(z, t) AS paimon_at_by(z, t, paimon_put_back(timezone(z, t), timezone(z, t - to_hours(24))))",
    "paimon_at(z, a) AS paimon_at_of(z, timezone(z, a))",
    # Of two instants that a clock shows alike the one that is as far from UTC as another one.
    "paimon_ahead(t) AS epoch_us(t::TIMESTAMP) - epoch_us(t)",
    "paimon_beside(t, u) AS paimon_moved_by(u, paimon_ahead(t) - paimon_ahead(u))",
    # The first byte of a VARIANT says what it holds.
    "paimon_mark(v) AS TRY_CAST('0x' || hex(array_slice(struct_extract(v, 'value'), 1, 1)) AS INTEGER)",
    "paimon_marks_number(m) AS m % 4 = 0 AND (m // 4 BETWEEN 3 AND 10 OR m // 4 = 14)",
    # How many letters are two of Java's signs.
    r"paimon_pairs(x) AS length(regexp_replace(x, '[^\x{10000}-\x{10FFFF}]', '', 'g'))",
    # Errors also of TRY_CAST and its like.
    (
        "paimon_order_decides(x) AS error('an average of large BIGINTs of both signs depends on the order of rows:"
        " run it with `--engine spark`')"
    ),
    (
        "paimon_infinite(x) AS error('a covariance with an infinity depends on the order of rows:"
        " run it with `--engine spark`')"
    ),
    (
        "paimon_tied(x) AS error('a mode of values that are equally often there depends on the order of rows:"
        " run it with `--engine spark`')"
    ),
    "paimon_no_decimal(x) AS error(concat('Could not convert string ''', x, ''' to DECIMAL'))",
    "paimon_below_zero(x) AS CASE WHEN x = 0 AND 1 / x < 0 THEN -4.9e-324 ELSE x END",
    "paimon_unsigned(x) AS CASE WHEN x = 0 THEN abs(x) ELSE x END",
)


def register_macros(connection: "duckdb.DuckDBPyConnection") -> None:
    """Make them for all connections of a process."""
    for macro in MACROS:
        connection.execute(f"CREATE OR REPLACE MACRO {macro}")
    create: Any = connection.create_function
    for kind in ("FLOAT", "DOUBLE"):
        create(f"paimon_{kind.lower()}_text", _text, [kind], "VARCHAR", type="arrow")

    for name, function in (("log1p", np.log1p), ("expm1", np.expm1), ("cbrt", _cube_root)):
        create(f"paimon_{name}", _of_one(function), ["DOUBLE"], "DOUBLE", type="arrow")
    for name, change in (("upper", str.upper), ("lower", str.lower), ("initcap", _capitalised)):
        create(f"paimon_{name}", _of_each(change), ["VARCHAR"], "VARCHAR", type="arrow")
    create("paimon_signs", _signs, ["BLOB"], "VARCHAR", type="arrow")
    create("paimon_hypot", _hypotenuse, ["DOUBLE", "DOUBLE"], "DOUBLE", type="arrow")


def _of_one(function: Callable[..., Any]) -> Callable[[Any], pa.Array]:
    """A function of a whole column; DuckDB gives it no nulls."""

    def apply(column: pa.ChunkedArray | pa.Array) -> pa.Array:
        with np.errstate(all="ignore"):
            return pa.array(function(np.asarray(column)), pa.float64())

    return apply


def _of_each(change: Callable[[str], str]) -> Callable[[Any], pa.Array]:
    """The same of texts with rare letters, of each of which DuckDB and Arrow make one letter."""
    return lambda column: pa.array([change(text) for text in column.to_pylist()], pa.string())


def _capitalised(text: str) -> str:
    return " ".join(word[:1].title() + word[1:] for word in text.lower().split(" "))


def _cube_root(values: Any) -> Any:
    """Cube roots with the last bit that Java gives them. Source: fdlibm's `s_cbrt.c`, which `Math.cbrt` is."""
    size = np.abs(values)
    is_small = size < np.finfo(np.float64).tiny
    bits = np.where(is_small, size * 2.0**54, size).view(np.int64)
    third = ((bits >> 32) // 3 + np.where(is_small, 696219795, 715094163)) << 32
    near = (third | np.where(is_small, bits & 0xFFFFFFFF, 0)).view(np.float64)
    rest = near * near / size * near + 19.0 / 35.0
    near = near * (5.0 / 14.0 + 45.0 / 28.0 / (rest + 99.0 / 70.0 + -864.0 / 1225.0 / rest))
    near = (((near.view(np.int64) >> 32) + 1) << 32).view(np.float64)
    root = size / (near * near)
    root = near + near * ((root - near) / (near + near + root))
    return np.where(np.isfinite(values) & (values != 0), np.copysign(root, values), values)


def _hypotenuse(one: Any, other: Any) -> pa.Array:
    return pa.array(np.hypot(np.asarray(one), np.asarray(other)), pa.float64())


def _signs(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Bytes as texts, with a sign of replacement for what is no UTF-8."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    try:
        return whole.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode(errors="replace") for value in whole.to_pylist()]
        return pa.array(texts, pa.string())


def _text(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Numbers as texts, as Java writes them."""
    whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    shown = cast(whole, data_type_of_arrow(whole.type), STRING)
    return shown.combine_chunks() if shown.num_chunks != 1 else shown.chunk(0)
