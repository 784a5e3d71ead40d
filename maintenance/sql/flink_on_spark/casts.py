"""Casts of Flink's dialect in queries that Spark runs.

Spark's times have six digits of a second, whatever is declared: a cast to fewer cuts off, and a time as a text has as
many digits as its type says. A cast to CHAR(n) or VARCHAR(n) cuts and pads, and truth values are texts in capitals.
"""

from sqlglot import exp

from maintenance.sql.flink_on_spark.expression_types import ExpressionTypes
from maintenance.sql.flink_on_spark.parts_of_times import flink_day, wrapped_around
from maintenance.sql.flink_on_spark.templates import made
from maintenance.types.data_type import DataType

_DIGITS = 6
# What takes texts, and makes them of other values.
_TEXTUAL = (
    exp.Concat, exp.ConcatWs, exp.DPipe, exp.Upper, exp.Lower, exp.Substring, exp.Trim, exp.Replace, exp.Like,
    exp.Length, exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract, exp.StrPosition, exp.Pad, exp.Left, exp.Right,
    exp.Initcap, exp.Reverse, exp.Split, exp.SplitPart, exp.StartsWith, exp.EndsWith, exp.MD5, exp.SHA, exp.SHA2,
    exp.Repeat,
)  # fmt: skip
# Seconds of the minute are never negative, so that this goes towards the past.
_CUT = "(:time - MAKE_DT_INTERVAL(0, 0, 0, EXTRACT(SECOND FROM :time) % CAST(:step AS DECIMAL(8, 6))))"
# Milliseconds are cut off towards 1970.
_TOWARDS_1970 = (
    "CASE WHEN :time < :epoch AND :millis > :cut"
    " THEN :cut + MAKE_DT_INTERVAL(0, 0, 0, CAST(:step AS DECIMAL(8, 6))) ELSE :cut END"
)
_MILLI_DIGITS = 3


def shape_casts_on_spark(tree: exp.Expr, types: ExpressionTypes) -> None:
    """Change casts, and times that become texts, in a query, whose tree is as `types` knows it."""
    nodes = list(tree.walk())
    casts = [(node, types.of(node.this), types.of(node)) for node in nodes if isinstance(node, exp.Cast)]
    parts = [part for node in nodes if isinstance(node, _TEXTUAL) for part in _parts_of(node)]
    texts = {id(part): kind for part in parts if (kind := types.of(part)) is not None and kind.is_timestamp}
    by_cast = {id(cast): (of, to) for cast, of, to in casts}
    # From the inside out, as what is replaced is copied with all that it contains.
    for node in reversed(nodes):
        of, to = by_cast.get(id(node), (None, None))
        shaped: exp.Expr = node
        if to is not None and to.is_string and of is not None and of.is_timestamp:
            shaped = _text(node.this, of)
        elif isinstance(node, exp.Cast) and to is not None and to.is_string:
            shaped = exp.cast(node.this.copy(), "STRING") if _length(node.to) else node
            shaped = exp.Upper(this=shaped.copy()) if _is_truth(node.this, of) else shaped
        elif to is not None and to.is_timestamp and _loses(of, to):
            shaped = _cut(node, to)
        elif isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
            shaped = _day(node, of)
        elif isinstance(node, exp.Cast):
            shaped = _number(node, of)
        if isinstance(node, exp.Cast) and (length := _length(node.to)):
            shaped = _sized(shaped, length, pads=node.to.this == exp.DType.CHAR)
        if id(node) in texts:
            shaped = _text(shaped, texts[id(node)])
        if shaped is not node:
            node.replace(shaped)


_LARGEST = {exp.DType.INT: (1 << 31) - 1, exp.DType.BIGINT: (1 << 63) - 1}
_INTEGERS = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_UP_TO = {kind: _INTEGERS[: number + 1] for number, kind in enumerate(_INTEGERS)}
_KNOWN = (
    "CASE WHEN :value IS NOT NULL AND :cast IS NULL AND TYPEOF(:value) <> 'string' THEN RAISE_ERROR(:wrong)"
    " ELSE :cast END"
)
_OF_TIME = "CASE WHEN TYPEOF(:value) = 'timestamp_ntz' THEN :day ELSE :cast END"
_SATURATED = (
    "CASE WHEN ISNAN(:value) THEN 0 WHEN :value >= :most THEN :most"
    " WHEN :value <= -:most THEN -:most - 1 ELSE :cast END"
)  # fmt: skip


def _number(cast: exp.Cast, of: DataType | None) -> exp.Expr:
    """A number as another type, which holds all that Flink makes of it: a float that an integer type has not is its
    largest or least number, an integer that it has not keeps its last bits, and what a decimal has not is NULL.
    """
    to, inner = exp.DType(cast.to.this), cast.this.unnest()
    if of is None and isinstance(inner, exp.Cast) and inner.to.is_type(exp.DType.DECIMAL):
        of = DataType("DECIMAL")
    if of is None:
        return _tried(cast) if isinstance(cast, exp.TryCast) and to in _INTEGERS else cast
    if of.root in ("FLOAT", "DOUBLE") and to in _INTEGERS:
        wide = to if to in _LARGEST else exp.DType.INT
        most = exp.cast(exp.Literal.string(str(_LARGEST[wide])), wide)
        whole = made(_SATURATED, value=cast.this, most=most, cast=exp.cast(cast.this.copy(), wide))
        return whole if wide == to else wrapped_around(exp.cast(whole, exp.DType.BIGINT), cast.to)
    is_number = of.root in ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL")
    if is_number and to in _INTEGERS and to != exp.DType.BIGINT and exp.DType[of.root] not in _UP_TO[to]:
        return wrapped_around(exp.cast(cast.this.copy(), exp.DType.BIGINT), cast.to)
    is_tried = is_number and to == exp.DType.DECIMAL
    return exp.TryCast(this=cast.this.copy(), to=cast.to.copy(), safe=True) if is_tried else cast


def _tried(cast: exp.TryCast) -> exp.Expr:
    """TRY_CAST of a value of which Spark alone knows the type: a number that does not fit is not NULL in Flink."""
    wrong = (
        f"TRY_CAST of a computed number that {cast.to.sql()} does not hold has another value on Spark: run it without"
    )
    return made(_KNOWN, value=cast.this, cast=cast, wrong=wrong)


def _day(cast: exp.Cast, of: DataType | None) -> exp.Expr:
    """The day of a time: before 1970 Flink's is the next one, but of a time with a zone."""
    if of is not None:
        return flink_day(cast.this) if of.root == "TIMESTAMP" else cast
    if isinstance(cast.this.unnest(), exp.Literal | exp.Null):
        return cast
    time = exp.TryCast(this=cast.this.copy(), to=exp.DataType.build("TIMESTAMPNTZ"), safe=True)
    return made(_OF_TIME, value=cast.this, day=flink_day(time), cast=cast)


def _cut(time: exp.Expr, to: DataType) -> exp.Expr:
    """A time without the digits that its type has not."""
    digits = to.precision or 0
    step = f"{10**-digits:.6f}"
    cut = made(_CUT, time=time, step=step)
    if digits >= _MILLI_DIGITS:
        return cut
    is_local = to.root == "TIMESTAMP_LTZ"
    start = exp.Literal.string("1970-01-01 00:00:00")
    epoch = (
        exp.func("TIMESTAMP_SECONDS", exp.Literal.number(0)) if is_local else exp.cast(start, exp.DType.TIMESTAMPNTZ)
    )
    millis = made(_CUT, time=time, step=f"{10**-_MILLI_DIGITS:.6f}")
    return made(_TOWARDS_1970, time=time, epoch=epoch, millis=millis, cut=cut, step=step)


def _loses(of: DataType | None, to: DataType) -> bool:
    """Whether a cast may take digits away."""
    digits = to.precision or 0
    is_coarse = of is not None and (of.root == "DATE" or (of.is_timestamp and (of.precision or 0) <= digits))
    return digits < _DIGITS and not is_coarse


def _is_truth(node: exp.Expr, kind: DataType | None) -> bool:
    plain = node.unnest()
    known = isinstance(plain, exp.Predicate | exp.Connector | exp.Not | exp.Boolean)
    return known or (kind is not None and kind.root == "BOOLEAN")


def _length(to: exp.DataType) -> int | None:
    """The length that a cast to a text names."""
    is_sized = to.this in (exp.DType.CHAR, exp.DType.VARCHAR) and to.expressions
    return int(to.expressions[0].name) if is_sized else None


def _sized(text: exp.Expr, length: int, *, pads: bool) -> exp.Expr:
    """A text of the length that its type says."""
    cut = exp.Left(this=text.copy(), expression=exp.Literal.number(length))
    return made("RPAD(:text, :length, ' ')", text=cut, length=exp.Literal.number(length)) if pads else cut


def _text(time: exp.Expr, kind: DataType) -> exp.Expr:
    digits = "S" * min(kind.precision or 0, _DIGITS)
    pattern = f"yyyy-MM-dd HH:mm:ss.{digits}" if digits else "yyyy-MM-dd HH:mm:ss"
    return exp.Anonymous(this="date_format", expressions=[time.copy(), exp.Literal.string(pattern)])


def _parts_of(node: exp.Expr) -> list[exp.Expr]:
    """The expressions right in one."""
    parts: list[exp.Expr] = []
    for name, value in node.args.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Condition | exp.Subquery) and name != "query":
                parts.append(part)
    return parts
