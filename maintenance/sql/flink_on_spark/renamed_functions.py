"""Flink's functions in the words of Spark, where that runs the query.

Source: Flink's built-in functions. Weeks begin on Sunday in FLOOR and CEIL, as in Calcite's `DateTimeUtils`.
"""

from collections.abc import Mapping

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.dialects import PaimonSpark
from maintenance.sql.flink_on_spark.decimal_types import MOST_DIGITS, Rules
from maintenance.sql.flink_on_spark.parts_of_times import part_of_time
from maintenance.sql.flink_on_spark.templates import made
from maintenance.sql.flink_on_spark.text_functions import elt, flink_text_function, parse_url, str_to_map
from maintenance.sql.windows import WINDOW_START
from maintenance.types.data_type import DataType

_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_START = "CAST(TIMESTAMP_MICROS(UNIX_MICROS(:time) - PMOD(UNIX_MICROS(:time) - :offset, :length)) AS TIMESTAMP)"
# An object or array is no value, and a value no object or array.
_IS_NESTED = "LEFT(:text, 1) IN ('{', '[')"

_IS_JSON = "TRY_PARSE_JSON(:json) IS NOT NULL"


def shape_flink(tree: exp.Expr, types: Mapping[str, DataType], rules: Rules) -> None:
    """Give a query of Flink's dialect the values that Flink gives.

    Raises: SqlError: arguments that cannot be had.
    """
    for node in reversed(list(tree.find_all(exp.Func, exp.JSONValue))):
        shaped = _shaped(node, types, rules)
        if shaped is not None:
            node.replace(shaped)


def _shaped(node: exp.Expr, types: Mapping[str, DataType], rules: Rules) -> exp.Expr | None:
    """What stands in the place of a function; None = it stays."""
    match node:
        case exp.Floor() | exp.Ceil() if node.args.get("to") is not None:
            return _to_unit(node, types)
        case exp.Floor() | exp.Ceil() | exp.Sign():
            return _whole(node, rules)
        case exp.Trunc():
            return _cut_off(node, rules)
        case exp.JSONValue():
            return _json_value(node)
        case exp.Cast() if node.to.this == exp.DType.TIMESTAMP:
            return exp.cast(node.this.copy(), exp.DType.TIMESTAMPNTZ)
        case exp.StrToTime() | exp.Localtimestamp() if not isinstance(node.parent, exp.Cast):
            return exp.cast(node.copy(), exp.DType.TIMESTAMPNTZ)
        case exp.Anonymous():
            return _named(node) or flink_text_function(node)
    shaped = _of_texts(node)
    return part_of_time(node, _known_kind(_time_of(node), types)) if shaped is None else shaped


def _time_of(node: exp.Expr) -> object:
    return node.expression if isinstance(node, exp.Extract) else node.this


def _known_kind(time: object, types: Mapping[str, DataType]) -> DataType | None:
    time = time.this if isinstance(time, exp.TsOrDsToDate) else time
    plain = time.unnest() if isinstance(time, exp.Expr) else None
    if isinstance(plain, exp.Cast) and plain.to.this in (exp.DType.DATE, exp.DType.TIME):
        return DataType(plain.to.this.name)
    return types.get(plain.name) if isinstance(plain, exp.Column) else None


def _of_texts(node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.ParseUrl():
            return parse_url(node)
        case exp.StrToMap():
            return str_to_map(node)
        case exp.Elt():
            return elt(node)
    return None


def _named(node: exp.Anonymous) -> exp.Expr | None:
    name, arguments = str(node.this).upper(), node.expressions
    if name == WINDOW_START.upper():
        time, length, offset = arguments
        instant = exp.cast(time.copy(), exp.DType.TIMESTAMPLTZ)
        shaped = made(_START, time=instant, length=length, offset=offset)
        return exp.cast(shaped.this, exp.DType.TIMESTAMPNTZ)
    if name == "JSON_QUERY" and len(arguments) == 2:
        return made(f"CASE WHEN {_IS_NESTED} THEN :text END", text=_json_text(*arguments))
    if name == "JSON_EXISTS" and len(arguments) == 2:
        is_there = made(":text IS NOT NULL", text=_json_text(*arguments))
        return made("CASE WHEN :json IS NOT NULL THEN :is_there END", json=arguments[0], is_there=is_there)
    if name == "ELEMENT" and len(arguments) == 1:
        return exp.Bracket(this=arguments[0].copy(), expressions=[exp.Literal.number(0)], offset=0)
    return made("EXP(1)") if name == "E" and not arguments else None


def _json_text(json: exp.Expr, path: exp.Expr) -> exp.Expr:
    """The text at a path, that of objects and arrays among them; NULL if the text around is no JSON."""
    if not isinstance(path, exp.Literal):
        raise SqlError("a path in JSON is a text in quotes", "query", "Write '$.a.b'.")
    steps = PaimonSpark().to_json_path(exp.Literal.string(path.name.removeprefix("lax ").removeprefix("strict ")))
    return exp.JSONExtractScalar(this=json.copy(), expression=steps)


def _json_value(node: exp.JSONValue) -> exp.Expr:
    """``JSON_VALUE(text, path RETURNING type DEFAULT value ON EMPTY)``: a plain value at a path."""
    text = _json_text(node.this, node.args["path"])
    value = made(f"CASE WHEN NOT ({_IS_NESTED}) THEN :text END", text=text)
    kind, condition = node.args.get("returning"), node.args.get("on_condition")
    if isinstance(kind, exp.Expr):
        value = exp.TryCast(this=value, to=kind.copy())
    empty, error = (_instead(condition, when) for when in ("empty", "error"))
    if empty is None and error is None:
        return value
    return made(
        f"CASE WHEN :json IS NULL THEN NULL WHEN {_IS_JSON} THEN COALESCE(:value, :empty) ELSE :error END",
        json=node.this,
        value=value,
        empty=empty or exp.null(),
        error=error or exp.null(),
    )


def _instead(condition: exp.Expr | None, when: str) -> exp.Expr | None:
    """What is given where there is no value, or a fault. Raises: SqlError: an error is."""
    instead = condition.args.get(when) if condition is not None else None
    if instead == f"ERROR ON {when.upper()}":
        raise SqlError(f"JSON_VALUE with ERROR ON {when.upper()}", "query", f"Use NULL ON {when.upper()}.")
    return instead if isinstance(instead, exp.Expr) else None


def _to_unit(node: exp.Floor | exp.Ceil, types: Mapping[str, DataType]) -> exp.Expr:
    """``FLOOR(time TO unit)``: the beginning of a unit; of CEIL the next one, if the time is not at the beginning."""
    unit = node.args["to"].name.upper()
    if unit not in _UNITS:
        raise SqlError(f"FLOOR and CEIL to {unit}", "query", f"Use one of {', '.join(_UNITS)}.")
    time, day = node.this, exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY"))
    moved = exp.Add(this=time.copy(), expression=day.copy()) if unit == "WEEK" else time.copy()
    floor: exp.Expr = exp.TimestampTrunc(this=moved, unit=exp.var(unit))
    if unit == "WEEK":
        floor = exp.Sub(this=floor, expression=day)
    kind = _kind_of(time, types)
    floor = exp.cast(floor, kind)
    if isinstance(node, exp.Floor):
        return floor
    many, of = ("3", "MONTH") if unit == "QUARTER" else ("7", "DAY") if unit == "WEEK" else ("1", unit)
    length = exp.Interval(this=exp.Literal.string(many), unit=exp.var(of))
    following = exp.cast(exp.Add(this=floor.copy(), expression=length), kind)
    return made("CASE WHEN :floor = :time THEN :floor ELSE :following END", floor=floor, time=time, following=following)


def _kind_of(time: exp.Expr, types: Mapping[str, DataType]) -> exp.DType:
    plain = time.unnest()
    if isinstance(plain, exp.Cast):
        return exp.DType(plain.to.this)
    column = types.get(plain.name) if isinstance(plain, exp.Column) else None
    kinds = {"DATE": exp.DType.DATE, "TIMESTAMP_LTZ": exp.DType.TIMESTAMPLTZ}
    return kinds.get(column.root, exp.DType.TIMESTAMPNTZ) if column is not None else exp.DType.TIMESTAMPNTZ


def _whole(node: exp.Floor | exp.Ceil | exp.Sign, rules: Rules) -> exp.Expr | None:
    """FLOOR, CEIL and SIGN give the type that they are given."""
    number = rules.of(node.this)
    if number is not None and number.is_decimal and not isinstance(node, exp.Sign):
        return None
    return exp.cast(node.copy(), "DOUBLE" if number is None else number.cast)


def _cut_off(node: exp.Trunc, rules: Rules) -> exp.Expr:
    """``TRUNCATE(x, digits)``, which Spark has not: rounded towards zero."""
    digits = node.args.get("decimals") or exp.Literal.number(0)
    number = rules.of(node.this)
    kind = "DOUBLE"
    if number is not None:
        kept = min(int(digits.name), number.scale) if digits.name.isdecimal() else number.scale
        kind = number._replace(precision=min(MOST_DIGITS, number.precision - number.scale + kept + 1), scale=kept).cast
        kind = kind if number.is_decimal else number.cast
    template = "CASE WHEN :value < 0 THEN CEIL(:value, :digits) ELSE FLOOR(:value, :digits) END"
    return exp.cast(made(template, value=node.this, digits=digits), kind)
