"""Flink's windowing table functions TUMBLE, HOP, CUMULATE and SESSION as plain SQL over the rows that there are.

Each gives the columns of its table, and `window_start`, `window_end` and `window_time`, one millisecond before the end.
A row is in one window of TUMBLE and SESSION, and in several of the others; one without a time is in none. Source:
Flink's `WindowTableFunction`; its `TimeWindow`, of which those that touch are one session.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.tokens import TokenType

from maintenance.sql.literals import UnreadableError

WINDOW_START = "paimon_window_start"
"""The function of a time, the distance of windows and their offset, both in microseconds."""
# What each takes behind the table and the column, by name and in order; the offset may be left out.
_SIZES: Mapping[str, tuple[str, ...]] = {
    "TUMBLE": ("SIZE", "OFFSET"),
    "HOP": ("SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("STEP", "SIZE", "OFFSET"),
    "SESSION": ("GAP",),
}
_MICROS = {"SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": 86_400_000_000}
_MOST_WINDOWS = 10_000


def parse_window(parser: Any) -> exp.Expr | None:
    """The query that a windowing function stands for; None = there is none at this place. `parser`: of sqlglot."""
    start = parser._index
    is_wrapped = parser._match_text_seq("TABLE", "(")
    name = next((name for name in _SIZES if parser._match_text_seq(name, "(")), None)
    if name is None:
        parser._retreat(start)
        return None
    arguments = _arguments(parser, ("DATA", "TIMECOL", *_SIZES[name]))
    if is_wrapped:
        parser._match_r_paren()
    needed = [each for each in _SIZES[name] if each != "OFFSET"]
    missing = [each for each in ("DATA", "TIMECOL", *needed) if each not in arguments]
    if missing:
        _refuse(parser, f"the function {name} lacks {missing[0]}", "Give it.")
    sizes = {each: _micros(parser, arguments[each]) for each in _SIZES[name] if each in arguments}
    if name == "SESSION":
        query = _sessions(parser, arguments["DATA"], arguments["TIMECOL"], arguments.get("KEYS", []), sizes["GAP"])
    else:
        query = _query(parser, arguments["DATA"], arguments["TIMECOL"], sizes, is_cumulating=name == "CUMULATE")
    alias = parser._parse_table_alias() or exp.TableAlias(this=exp.to_identifier("windows"))
    return exp.Subquery(this=query, alias=alias)


def _arguments(parser: Any, names: Sequence[str]) -> dict[str, Any]:
    """The arguments by name, as given by name or in order."""
    found: dict[str, Any] = {}
    for number in range(len(names)):
        given = next((name for name in names if parser._match_text_seq(name, "=>")), names[number])
        if given == "DATA":
            parser._match_text_seq("TABLE")
            found[given] = parser._parse_table()
            if "GAP" in names and parser._match(TokenType.PARTITION_BY):
                found["KEYS"] = _keys(parser)
        elif given == "TIMECOL":
            if not parser._match_text_seq("DESCRIPTOR", "("):
                _refuse(parser, "the column of the time is expected as DESCRIPTOR(column)", "Write it so.")
            found[given] = parser._parse_column()
            parser._match_r_paren()
        else:
            found[given] = parser._parse_interval()
        if not parser._match_text_seq(","):
            break
    parser._match_r_paren()
    return found


def _refuse(parser: Any, problem: str, fix: str) -> NoReturn:
    raise UnreadableError(parser._curr or parser._prev, problem, fix)


def _keys(parser: Any) -> list[exp.Expr]:
    """The columns of each of whose values the sessions are counted apart."""
    if parser._match(TokenType.L_PAREN):
        keys: list[exp.Expr] = parser._parse_csv(parser._parse_column)
        parser._match_r_paren()
        return keys
    return [parser._parse_column()]


def _micros(parser: Any, interval: exp.Expr | None) -> int:
    """The length of an interval in microseconds."""
    unit = str(interval.args.get("unit") or "").upper().rstrip("S") if interval is not None else ""
    text = interval.this.name if interval is not None and interval.this is not None else ""
    if unit not in _MICROS or not text.lstrip("-").isdecimal():
        _refuse(parser, "an interval such as INTERVAL '10' MINUTES is expected", "Write one, of days or less.")
    return int(text) * _MICROS[unit]


def _query(parser: Any, data: exp.Expr, time: exp.Expr, sizes: Mapping[str, int], *, is_cumulating: bool) -> exp.Expr:
    size = sizes["SIZE"]
    step = sizes.get("SLIDE", sizes.get("STEP", size))
    if step <= 0 or size <= 0 or size % step or size // step > _MOST_WINDOWS:
        _refuse(parser, "the size of windows is a multiple of the step between them", "Change one of them.")
    offset = exp.Literal.number(sizes.get("OFFSET", 0))
    distance = exp.Literal.number(size if is_cumulating else step)
    newest = exp.Anonymous(this=WINDOW_START, expressions=[time.copy(), distance, offset])
    first = exp.select(exp.Star(), exp.alias_(newest, "window_newest", quoted=True)).from_(data)
    first = first.where(_is_there(time))
    numbers = [exp.Tuple(expressions=[exp.Literal.number(number)]) for number in range(size // step)]
    columns = exp.TableAlias(this=exp.to_identifier("paimon_steps"), columns=[exp.to_identifier("paimon_step")])
    steps = exp.Values(expressions=numbers, alias=columns)
    started: exp.Expr = exp.column("window_newest", quoted=True)
    if is_cumulating:
        end = _later(started, step, 1)
    else:
        started = _later(started, -step, 0)
        end = _later(started, size)
    windows = exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier("paimon_rows")),
        exp.alias_(_in_millis(started.copy()), "window_start"),
        exp.alias_(_in_millis(end), "window_end"),
        exp.alias_(_in_millis(_later(end, -1000)), "window_time"),
    )
    windows = windows.from_(exp.Subquery(this=first, alias=exp.TableAlias(this=exp.to_identifier("paimon_rows"))))
    windows = windows.join(steps, join_type="CROSS")
    if is_cumulating:
        windows = windows.where(exp.GT(this=end.copy(), expression=time.copy()))
    all_but = exp.Star(except_=[exp.to_identifier("window_newest")])
    inner = exp.Subquery(this=windows, alias=exp.TableAlias(this=exp.to_identifier("paimon_windows")))
    return exp.select(all_but).from_(inner)


def _sessions(parser: Any, data: exp.Expr, time: exp.Expr, keys: Sequence[exp.Expr], gap: int) -> exp.Expr:
    """A session ends where no row follows within the gap."""
    if gap <= 0:
        _refuse(parser, "the gap between sessions is longer than nothing", "Give a longer one.")
    apart = [key.copy() for key in keys]
    before = exp.Window(
        this=exp.Lag(this=time.copy()), partition_by=apart, order=exp.Order(expressions=[exp.Ordered(this=time.copy())])
    )
    rows = exp.select(exp.Star(), exp.alias_(before, "window_before", quoted=True)).from_(data).where(_is_there(time))
    limit = _later(exp.column("window_before", quoted=True), gap)
    begins = exp.Case(ifs=[exp.If(this=exp.LTE(this=time.copy(), expression=limit), true=exp.Literal.number(0))])
    begins.set("default", exp.Literal.number(1))
    number = exp.Window(
        this=exp.Sum(this=begins),
        partition_by=[part.copy() for part in apart],
        order=exp.Order(expressions=[exp.Ordered(this=time.copy())]),
        spec=exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"),
    )
    numbered = exp.select(exp.Star(), exp.alias_(number, "window_number", quoted=True))
    numbered = numbered.from_(_aliased(rows, "paimon_rows"))
    of_one = [*(part.copy() for part in apart), exp.column("window_number", quoted=True)]
    first, last = (
        exp.Window(this=kind(this=time.copy()), partition_by=[part.copy() for part in of_one])
        for kind in (exp.Min, exp.Max)
    )
    end = _later(last, gap)
    columns = (
        exp.Star(except_=[exp.to_identifier("window_before"), exp.to_identifier("window_number")]),
        exp.alias_(_in_millis(first), "window_start"),
        exp.alias_(_in_millis(end), "window_end"),
        exp.alias_(_in_millis(_later(end.copy(), -1000)), "window_time"),
    )
    return exp.select(*columns).from_(_aliased(numbered, "paimon_sessions"))


def _aliased(query: exp.Expr, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def _is_there(time: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=time.copy(), expression=exp.null()))


def _in_millis(time: exp.Expr) -> exp.Expr:
    """The time as a TIMESTAMP(3), which all times of windows are."""
    digits = exp.DataTypeParam(this=exp.Literal.number(3))
    return exp.Cast(this=time.copy(), to=exp.DataType(this=exp.DType.TIMESTAMPNTZ, expressions=[digits]))


def _later(time: exp.Expr, micros: int, first: int | None = None) -> exp.Expr:
    """A time some microseconds later. `first`: as many times as the step counts, which begins there."""
    length = exp.Interval(this=exp.Literal.string(str(abs(micros))), unit=exp.var("MICROSECOND"))
    times: exp.Expr = length
    if first is not None:
        count = exp.Add(this=exp.column("paimon_step"), expression=exp.Literal.number(first))
        times = exp.Mul(this=length, expression=exp.paren(count))
    kind = exp.Add if micros >= 0 else exp.Sub
    return exp.paren(kind(this=time.copy(), expression=times))
