"""Spark's functions that DuckDB has not, or gives another value: where DuckDB runs a query of Spark's dialect.

Source: Spark's built-in functions with ANSI mode, its default since 4.0: a division by zero is an error.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.query.decimal_types import MOST_DIGITS, Rules
from maintenance.sql.query.digests import digest_call, sha2, soundex_call
from maintenance.sql.query.flink_functions import guarded
from maintenance.sql.query.templates import made
from maintenance.sql.query.text_functions import elt, parse_url, str_to_map, width_bucket
from maintenance.types.data_type import DataType

_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ")
_INSTANTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)
_TIME_CASTS = {*exp.DataType.TEMPORAL_TYPES}
_DISTINCT = "LIST_FILTER(:t, (e, n) -> LIST_POSITION(:t, e) = n)"
_AT_LEAST_ONE = "CASE WHEN :t IS NULL OR LEN(:t) = 0 THEN [NULL] ELSE :t END"
# By the initials of the arguments.
_BY_TEMPLATE: Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.ArrayDistinct: (_DISTINCT, ("this",)),
    exp.ArrayRemove: ("LIST_FILTER(:t, e -> e IS DISTINCT FROM :e)", ("this", "expression")),
    exp.ArrayPosition: (
        "CASE WHEN :t IS NULL OR :e IS NULL THEN NULL ELSE CAST(COALESCE(LIST_POSITION(:t, :e), 0) AS BIGINT) END",
        ("this", "expression"),
    ),
    exp.Negative: ("-:t", ("this",)),
    exp.Rint: ("ROUND_EVEN(CAST(:t AS DOUBLE), 0)", ("this",)),
    exp.Nanvl: ("CASE WHEN ISNAN(:t) THEN :e ELSE :t END", ("this", "expression")),
    exp.Quantile: ("CAST(QUANTILE_CONT(:t, :q) AS DOUBLE)", ("this", "quantile")),
}
# Functions with as many arguments.
_TEMPLATES: Mapping[tuple[str, int], str] = {
    ("positive", 1): ":a",
    ("bround", 2): "ROUND_EVEN(:a, :b)",
    ("hypot", 2): "SQRT(:a * :a + :b * :b)",
    ("weekday", 1): "CAST(ISODOW(:a) - 1 AS INT)",
    ("array_union", 2): _DISTINCT.replace(":t", "LIST_CONCAT(:a, :b)"),
}
_PREFIXES = {"10": "", "16": "0x", "2": "0b"}


def shape_spark(tree: exp.Expr, types: Mapping[str, DataType], rules: Rules) -> None:
    """Give a query of Spark's dialect the values that Spark gives. Raises: SqlError: arguments that cannot be had."""
    for node in reversed(list(tree.find_all(exp.Func, exp.Div, exp.IntDiv))):
        shaped = _shaped(node, types, rules)
        if shaped is not None:
            node.replace(shaped)


def _shaped(node: exp.Expr, types: Mapping[str, DataType], rules: Rules) -> exp.Expr | None:
    """What stands in the place of a function; None = it stays."""
    if type(node) in _BY_TEMPLATE:
        template, names = _BY_TEMPLATE[type(node)]
        if any(node.args.get(name) is None for name in names):
            raise SqlError(f"{node.key.upper()} gets too few arguments", "query", f"Give {len(names)}.")
        return made(template, **{name[0]: node.args[name] for name in names})
    match node:
        case exp.Cast() if node.to.this in _INSTANTS:
            return _instant(node, types, rules)
        case exp.Div():
            return _division(node, types, rules)
        case exp.SHA2():
            return sha2(node, types)
        case exp.Anonymous() if str(node.this).lower() == "crc32" and len(node.expressions) == 1:
            return digest_call("crc32", node.expressions[0], types)
        case exp.Anonymous() if str(node.this).lower() == "format_number":
            return _format_number(node, rules)
        case exp.Floor() | exp.Ceil() if rules.of(node) is None:
            return exp.cast(node.copy(), "BIGINT")
        case exp.Reverse() if _is_array(node.this, types):
            return made("LIST_REVERSE(:t)", t=node.this)
        case exp.StrToUnix() if _is_time(node.this, types):
            return made("CAST(TRUNC(EPOCH(CAST(:time AS TIMESTAMPTZ))) AS BIGINT)", time=node.this)
        case exp.Exists() if isinstance(node.expression, exp.Lambda):
            return _any(node.this, node.expression)
    return _special(node)


def _special(node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.IntDiv():
            return exp.cast(node.copy(), "BIGINT")
        case exp.TimestampTrunc():
            return exp.cast(node.copy(), exp.DType.TIMESTAMPLTZ)
        case exp.JSONExtractScalar() | exp.JSONExtract() if not isinstance(node.this, exp.Case):
            return type(node)(**{**node.copy().args, "this": guarded(node.this)})
        case exp.SubstringIndex():
            return _substring_index(node)
        case exp.Median():
            return exp.cast(exp.Median(this=exp.cast(node.this.copy(), "DOUBLE")), "DOUBLE")
        case exp.Explode() if isinstance(node.parent, exp.Lateral) and node.parent.args.get("outer"):
            return exp.Explode(this=made(_AT_LEAST_ONE, t=node.this))
        case exp.Anonymous():
            return _named(node)
    return _of_texts(node)


def _of_texts(node: exp.Expr) -> exp.Expr | None:
    match node:
        case exp.Soundex():
            return soundex_call(node.this)
        case exp.ParseUrl():
            return parse_url(node, is_flink=False, embedded=True)
        case exp.StrToMap():
            return str_to_map(node, is_flink=False, embedded=True)
        case exp.Elt():
            return elt(node, is_flink=False)
        case exp.WidthBucket():
            return width_bucket(node)
        case exp.FromJson():
            raise SqlError("from_json needs Spark", "query", "Use get_json_object, or a session with Spark.")
    return None


def _instant(cast: exp.Cast, types: Mapping[str, DataType], rules: Rules) -> exp.Expr:
    """TIMESTAMP is an instant in Spark; a number counts seconds."""
    plain = cast.this.unnest()
    kind = types.get(plain.name) if isinstance(plain, exp.Column) else None
    if rules.of(plain) is not None or (kind is not None and kind.root in ("FLOAT", "DOUBLE")):
        return exp.Anonymous(this="to_timestamp", expressions=[exp.cast(plain.copy(), "DOUBLE")])
    changed = cast.copy()
    changed.set("to", exp.DataType(this=exp.DType.TIMESTAMPLTZ))
    return changed


def _named(node: exp.Anonymous) -> exp.Expr | None:
    name, arguments = str(node.this).lower(), node.expressions
    if name in _NAMED:
        return _NAMED[name](node)
    template = _TEMPLATES.get((name, len(arguments)))
    return None if template is None else made(template, **dict(zip("abc", arguments, strict=False)))


def _is_array(node: exp.Expr, types: Mapping[str, DataType]) -> bool:
    kind = types.get(node.name) if isinstance(node, exp.Column) else None
    return isinstance(node, exp.Array) or (kind is not None and kind.root == "ARRAY")


def _division(node: exp.Div, types: Mapping[str, DataType], rules: Rules) -> exp.Expr | None:
    """A quotient of doubles, which an error stands for where the divisor is zero."""
    number = rules.of(node)
    if (number is not None and number.is_decimal) or any(True for _ in node.find_all(exp.Query)):
        return None
    dividend, divisor = node.this.copy(), node.expression.copy()
    plain = dividend.unnest()
    kind = types.get(plain.name) if isinstance(plain, exp.Column) else None
    is_cast = isinstance(plain, exp.Cast) and plain.to.this == exp.DType.FLOAT
    if is_cast or (kind is not None and kind.root == "FLOAT"):
        dividend = exp.cast(dividend, "DOUBLE")
    plain = divisor.unnest()
    if not (isinstance(plain, exp.Literal) and not plain.is_string and float(plain.name)):
        template = "CASE WHEN :divisor = 0 AND :dividend IS NOT NULL THEN ERROR('division by zero') ELSE :divisor END"
        divisor = made(template, divisor=divisor, dividend=dividend)
    return exp.Div(this=dividend, expression=divisor, typed=False, safe=False)


def _is_time(node: exp.Expr, types: Mapping[str, DataType]) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Cast):
        return node.to.this in _TIME_CASTS
    kind = types.get(node.name) if isinstance(node, exp.Column) else None
    return isinstance(node, exp.CurrentTimestamp | exp.CurrentDate) or (kind is not None and kind.root in _TIMES)


def _substring_index(node: exp.SubstringIndex) -> exp.Expr:
    return made(
        "CASE WHEN :count > 0 THEN ARRAY_TO_STRING(LIST_SLICE(STRING_SPLIT(:text, :mark), 1, :count), :mark)"
        " WHEN :count < 0 THEN ARRAY_TO_STRING(LIST_SLICE(STRING_SPLIT(:text, :mark),"
        " GREATEST(1, LEN(STRING_SPLIT(:text, :mark)) + :count + 1), LEN(STRING_SPLIT(:text, :mark))), :mark)"
        " WHEN :count = 0 THEN SUBSTRING(:text, 1, 0) END",
        text=node.this,
        mark=node.args["delimiter"],
        count=node.args["count"],
    )


def _any(values: exp.Expr, test: exp.Lambda) -> exp.Expr:
    """Whether one of the values passes a test; NULL if none does and the test gives NULL for one."""
    unknown = test.copy()
    unknown.set("this", exp.Is(this=exp.paren(unknown.this), expression=exp.null()))
    passing, doubtful = (exp.ArrayFilter(this=values.copy(), expression=each) for each in (test.copy(), unknown))
    return made(
        "CASE WHEN :all IS NULL THEN NULL WHEN LEN(:passing) > 0 THEN TRUE WHEN LEN(:doubtful) > 0 THEN NULL"
        " ELSE FALSE END",
        all=values,
        passing=passing,
        doubtful=doubtful,
    )


def _for_all(node: exp.Anonymous) -> exp.Expr | None:
    """`forall`: none fails the test."""
    if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Lambda):
        return None
    values, test = node.expressions
    failed = test.copy()
    failed.set("this", exp.Not(this=exp.paren(failed.this)))
    return exp.Not(this=exp.paren(_any(values, failed)))


def _format_number(node: exp.Anonymous, rules: Rules) -> exp.Expr:
    """A number with commas, rounded to the even digit; a decimal or an integer exactly."""
    if len(node.expressions) != 2 or not node.expressions[1].name.isdecimal():
        raise SqlError("format_number takes a number and how many digits to show", "query", "Write (x, 2).")
    value, digits = node.expressions[0], int(node.expressions[1].name)
    number = rules.of(value)
    if number is None:
        return made("FORMAT(:shown, CAST(:number AS DOUBLE))", shown=f"{{:,.{digits}f}}", number=value)
    kept = min(number.scale, digits)
    whole = min(MOST_DIGITS, number.precision - number.scale + 1 + kept)
    rounded = f"CAST(ROUND_EVEN(:number, {kept}) AS DECIMAL({whole}, {kept}))"
    text = f"CAST(ABS({rounded}) AS TEXT)"
    shown = f"FORMAT('{{:,}}', CAST(SPLIT_PART({text}, '.', 1) AS INT128))"
    if digits:
        shown = f"CONCAT({shown}, '.', RPAD(SPLIT_PART({text}, '.', 2), {digits}, '0'))"
    return made(f"CASE WHEN :number IS NOT NULL THEN CONCAT(CASE WHEN :number < 0 THEN '-' ELSE '' END, {shown}) END",
                number=value)  # fmt: skip


def _conv(node: exp.Anonymous) -> exp.Expr:
    """`conv`: the digits of a whole number to another base."""
    bases = [base.name for base in node.expressions[1:] if isinstance(base, exp.Literal)]
    if len(node.expressions) != 3 or len(bases) != 2 or bases[0] not in _PREFIXES or not 2 <= int(bases[1]) <= 36:
        raise SqlError("conv from this base", "query", "Write conv(x, 10, 16): from 2, 10 or 16, to 2 up to 36.")
    template = "TO_BASE(CAST(CONCAT(:prefix, CAST(:digits AS TEXT)) AS BIGINT), :base)"
    return made(template, prefix=_PREFIXES[bases[0]], digits=node.expressions[0], base=int(bases[1]))


_NAMED: Mapping[str, Callable[[exp.Anonymous], exp.Expr | None]] = {
    "forall": _for_all,
    "conv": _conv,
}
