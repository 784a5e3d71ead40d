"""Parts of times and days in Flink's dialect where Spark runs the query, and whole numbers that do not fit.

Flink counts a time before 1970 back from there: its day is the next one, and its hours are negative. Of a DATE it takes
the number of days for milliseconds. Numbers wrap around in casts to smaller types.
"""

from sqlglot import exp

from maintenance.sql.flink_on_spark.templates import made
from maintenance.types.data_type import DataType

_OF_DAYS = (exp.Year, exp.Quarter, exp.Month, exp.Week, exp.DayOfYear, exp.DayOfMonth, exp.DayOfWeek)
_DAY_MILLIS = 86_400_000
# How many milliseconds a unit has, and how many that it is a part of.
_CLOCK = {"HOUR": (3_600_000, _DAY_MILLIS), "MINUTE": (60_000, 3_600_000), "SECOND": (1000, 60_000),
          "MILLISECOND": (1, 1000), "EPOCH": (1000, 1 << 62)}  # fmt: skip
_DAYS = "CAST(UNIX_DATE(CAST(:time AS DATE)) AS BIGINT)"
_MILLIS = (
    f"({_DAYS} * {_DAY_MILLIS} + HOUR(:clock) * 3600000 + MINUTE(:clock) * 60000"
    " + CAST(FLOOR(EXTRACT(SECOND FROM :clock) * 1000) AS BIGINT))"
)
_SIZES = {exp.DType.TINYINT: 1 << 8, exp.DType.SMALLINT: 1 << 16, exp.DType.INT: 1 << 32}


_WRITTEN = "paimon_written"
"""This key is in the `meta` of parts of times that a statement names itself."""


def mark_parts(tree: exp.Expr) -> None:
    """Mark the parts of times in a query, before others are made in it."""
    for node in tree.find_all(exp.Extract, exp.Hour, exp.Minute, exp.Second, *_OF_DAYS):
        node.meta[_WRITTEN] = True


def part_of_time(node: exp.Expr, kind: DataType | None) -> exp.Expr | None:
    """A part of a time as Flink has it; None: Spark's is the same. `kind`: of the time, if it is known."""
    if _WRITTEN not in node.meta:
        return None
    if isinstance(node, exp.Extract):
        unit, time = node.this.name.upper(), node.expression
    elif isinstance(node, (exp.Hour, exp.Minute, exp.Second, *_OF_DAYS)):
        unit, time = node.sql_name().upper(), node.this
    else:
        return None
    time = time.this if isinstance(time, exp.TsOrDsToDate) else time
    if isinstance(time.unnest(), exp.Interval) or (kind is not None and kind.root == "TIME"):
        return None
    if unit in _CLOCK:
        return _of_clock(unit, time, kind)
    is_day = kind is not None and kind.root == "DATE"
    day = time.copy() if is_day else flink_day(time)
    if isinstance(node, exp.Week):
        return exp.Anonymous(this="WEEKOFYEAR", expressions=[day])
    if is_day:
        return None
    call = node.copy()
    call.set("expression" if isinstance(node, exp.Extract) else "this", day)
    return call


def _of_clock(unit: str, time: exp.Expr, kind: DataType | None) -> exp.Expr:
    length, whole = _CLOCK[unit]
    is_day = kind is not None and kind.root == "DATE"
    of_day = made(f"{_DAYS} * {_DAY_MILLIS if unit == 'EPOCH' else 1}", time=time)
    millis = of_day if is_day else _millis(time)
    if kind is None:
        millis = made(
            "CASE WHEN TYPEOF(:time) = 'date' THEN :days ELSE :millis END", time=time, days=of_day, millis=millis
        )
    rest = exp.paren(made(f":millis % CAST({whole} AS BIGINT)", millis=millis))
    return exp.paren(exp.IntDiv(this=rest, expression=exp.Literal.number(length)))


def _millis(time: exp.Expr) -> exp.Expr:
    clock = exp.cast(time.copy(), exp.DType.TIMESTAMPNTZ)
    return made(_MILLIS, time=clock, clock=clock)


def flink_day(time: exp.Expr) -> exp.Expr:
    """The day of a time, which before 1970 is the next one, but at midnight."""
    number = exp.IntDiv(this=exp.paren(_millis(time)), expression=exp.Literal.number(_DAY_MILLIS))
    earlier = exp.Anonymous(this="DATE_FROM_UNIX_DATE", expressions=[exp.cast(number, "INT")])
    clock = exp.cast(time.copy(), exp.DType.TIMESTAMPNTZ)
    start = exp.cast(exp.Literal.string("1970-01-01 00:00:00"), exp.DType.TIMESTAMPNTZ)
    template = "CASE WHEN :clock < :start THEN :earlier ELSE CAST(:clock AS DATE) END"
    return made(template, clock=clock, start=start, earlier=earlier)


def wrapped_around(whole: exp.Expr, to: exp.DataType) -> exp.Expr:
    """A BIGINT as a smaller integer, of which it keeps the last bits."""
    size = _SIZES[exp.DType(to.this)]
    template = f"CAST(PMOD((:whole & {size - 1}) + {size // 2}, {size}) - {size // 2} AS {to.sql()})"
    return made(template.replace(f"{size}", f"CAST({size} AS BIGINT)") if size > 1 << 31 else template, whole=whole)
