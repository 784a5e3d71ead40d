"""Flink's functions of texts where Spark runs the query: its own do, as far as they give the same.

Source: Flink's `SqlFunctionUtils`.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.flink_on_spark.templates import made

_KNOWN = "REGEXP_LIKE(:url, '^ *(?i:https?|ftp|file|jar|mailto):')"
_SIGNS = frozenset("\\.[]{}()*+?^$|")
_NUMBER = "^\\s*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?\\s*$"
_KINDS = {"IS_DIGIT": "^\\p{Nd}+$", "IS_ALPHA": "^\\p{L}+$", "IS_DECIMAL": _NUMBER}


def parse_url(node: exp.ParseUrl) -> exp.Expr:
    """A part of a URL, or a value of its query. Raises: SqlError: the part or the key is not a text in quotes."""
    for name, given in (("part", node.args.get("part_to_extract")), ("key", node.args.get("key"))):
        plain = given is None or (isinstance(given, exp.Literal) and given.is_string)
        if not plain or (name == "key" and given is not None and _SIGNS & {*given.name}):
            raise SqlError(f"the {name} of a URL is a plain text in quotes", "query", "Write parse_url(u, 'HOST').")
    return made(f"CASE WHEN {_KNOWN} THEN :found END", url=node.this, found=node)


def str_to_map(node: exp.StrToMap) -> exp.Expr:
    """A map of the pairs in a text. Raises: SqlError: a sign between pairs or in them is not a plain text in quotes."""
    signs = [node.args["pair_delim"], node.args["key_value_delim"]]
    if not all(isinstance(sign, exp.Literal) and sign.is_string and sign.name for sign in signs) or any(
        _SIGNS & {*sign.name} for sign in signs
    ):
        raise SqlError("the signs between pairs are plain texts in quotes", "query", "Write str_to_map(t, ',', '=').")
    text = made("REGEXP_REPLACE(:text, :ends, '')", text=node.this, ends=f"(?:{signs[0].name})+$")
    found = exp.StrToMap(this=text, pair_delim=signs[0].copy(), key_value_delim=signs[1].copy())
    return made("CASE WHEN :text = '' THEN MAP() ELSE :found END", text=text, found=found)


def elt(node: exp.Elt) -> exp.Expr:
    """One of several texts by its number; NULL if none has it."""
    number, chosen = node.this, exp.Case()
    chosen = chosen.when(exp.Is(this=exp.paren(number.copy()), expression=exp.null()), exp.cast(exp.null(), "TEXT"))
    for place, value in enumerate(node.expressions, start=1):
        fits = exp.EQ(this=exp.paren(number.copy()), expression=exp.Literal.number(place))
        chosen = chosen.when(fits, exp.cast(value.copy(), "TEXT"))
    return chosen


def flink_text_function(node: exp.Anonymous) -> exp.Expr | None:
    """IS_DIGIT and its kind, COLLECT, CONVERT_TZ; None: it is none of these. Raises: SqlError."""
    name, arguments = str(node.this).upper(), node.expressions
    if name in _KINDS and len(arguments) == 1:
        text = exp.cast(arguments[0].copy(), "TEXT")
        return made("COALESCE(REGEXP_LIKE(:text, :kind), FALSE)", text=text, kind=_KINDS[name])
    special = _SPECIAL.get((name, len(arguments)))
    return None if special is None else special(node)


def _collect(_: exp.Anonymous) -> exp.Expr:
    raise SqlError("COLLECT is not there on Spark", "query", "Count in a GROUP BY, or use a session without Spark.")


def _convert_tz(node: exp.Anonymous) -> exp.Expr:
    """A wall clock, as a text, of one zone as that of another one; NULL if it is no time."""
    time, source, target = node.expressions
    whole = made("REGEXP_LIKE(:time, '^[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+(\\.[0-9]+)?$')", time=time)
    moment = exp.TryCast(this=time.copy(), to=exp.DataType(this=exp.DType.TIMESTAMPNTZ))
    moved = exp.Anonymous(this="convert_timezone", expressions=[source.copy(), target.copy(), moment])
    text = exp.Anonymous(this="date_format", expressions=[moved, exp.Literal.string("yyyy-MM-dd HH:mm:ss")])
    return made("CASE WHEN :whole THEN :text END", whole=whole, text=text)


_SPECIAL: Mapping[tuple[str, int], Callable[[exp.Anonymous], exp.Expr]] = {
    ("COLLECT", 1): _collect,
    ("CONVERT_TZ", 3): _convert_tz,
}
