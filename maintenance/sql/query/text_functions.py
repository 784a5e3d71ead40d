"""Functions of texts that DuckDB has not: URLs, maps out of texts, choices, kinds of characters, zones of times.

Source: Spark's `ParseUrl`, `StringToMap`, `Elt`, `WidthBucket`; Flink's `SqlFunctionUtils`. Where Spark runs a query of
Flink's dialect its own functions do, as far as they give the same.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.query.functions import function_place
from maintenance.sql.query.templates import made

# Protocol, authority, path, query and fragment.
_URL = "^(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:[?]([^#]*))?(?:#(.*))?$"
_GROUP = f"FOUND_IN(:url, '{_URL}', %d)"
_AUTHORITY = _GROUP % 2
_HAS_QUERY = "REGEXP_LIKE(:url, '^[^#]*[?]')"
_QUERY = f"CASE WHEN {_HAS_QUERY} THEN {_GROUP % 4} END"
_PARTS = {
    "PROTOCOL": f"NULLIF({_GROUP % 1}, '')",
    "AUTHORITY": f"NULLIF({_AUTHORITY}, '')",
    "HOST": f"NULLIF(FOUND_IN({_AUTHORITY}, '^(?:.*@)?(\\[[^\\]]*\\]|[^:]*)(?::[0-9]*)?$', 1), '')",
    "USERINFO": f"CASE WHEN REGEXP_LIKE({_AUTHORITY}, '@') THEN FOUND_IN({_AUTHORITY}, '^(.*)@', 1) END",
    "PATH": _GROUP % 3,
    "QUERY": _QUERY,
    "REF": f"CASE WHEN REGEXP_LIKE(:url, '#') THEN {_GROUP % 5} END",
    "FILE": f"CONCAT({_GROUP % 3}, CASE WHEN {_HAS_QUERY} THEN CONCAT('?', {_GROUP % 4}) ELSE '' END)",
}
_OPAQUE = "REGEXP_LIKE(:url, '^[^:/?#]+:[^/]')"
_WRONG = "REGEXP_LIKE(:url, '[\\x00-\\x20<>\"{}|\\\\^`]|#.*#|%(?:[^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)')"
_KNOWN = "REGEXP_LIKE(:url, '^ *(?i:https?|ftp|file|jar|mailto):')"
_SIGNS = frozenset("\\.[]{}()*+?^$|")
_KEY = "SPLIT_PART(x, :sign, 1)"
_VALUE = "CASE WHEN STRPOS(x, :sign) > 0 THEN SUBSTRING(x, STRPOS(x, :sign) + LENGTH(:sign)) END"
_LAST = (
    "LIST_FILTER(:parts, (p, n) -> NOT LIST_CONTAINS(LIST_TRANSFORM(LIST_SLICE(:parts, n + 1, LEN(:parts)),"
    " q -> SPLIT_PART(q, :sign, 1)), SPLIT_PART(p, :sign, 1)))"
)
_NUMBER = "^\\s*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?\\s*$"
_KINDS = {"IS_DIGIT": "^\\p{Nd}+$", "IS_ALPHA": "^\\p{L}+$", "IS_DECIMAL": _NUMBER}
_FORMAT = "%Y-%m-%d %H:%M:%S"
_BUCKET = (
    "CASE WHEN :v IS NULL OR :l IS NULL OR :h IS NULL OR :n IS NULL OR :n <= 0 OR ISNAN(:v) OR :l = :h"
    " OR NOT ISFINITE(:l) OR NOT ISFINITE(:h) THEN NULL"
    " WHEN :l < :h AND :v < :l OR :l > :h AND :v > :l THEN 0"
    " WHEN :l < :h AND :v >= :h OR :l > :h AND :v <= :h THEN :n + 1"
    " ELSE CAST(TRUNC(:n * (:v - :l) / (:h - :l)) AS BIGINT) + 1 END"
)


def _made(template: str, **parts: exp.Expr | str | int) -> exp.Expr:
    """As `made`, where FOUND_IN is DuckDB's function, whose last argument is another one in sqlglot's dialect."""
    tree = made(template, **parts)
    for node in tree.find_all(exp.Anonymous):
        if node.this == "FOUND_IN":
            node.set("this", "REGEXP_EXTRACT")
    return tree


def parse_url(node: exp.ParseUrl, *, is_flink: bool, embedded: bool) -> exp.Expr:
    """A part of a URL, or a value of its query. A URL that is none is an error in Spark, and NULL in Flink.

    Raises: SqlError: the part or the key is not a text in quotes.
    """
    part, key = node.args.get("part_to_extract"), node.args.get("key")
    for name, given in (("part", part), ("key", key)):
        plain = given is None or (isinstance(given, exp.Literal) and given.is_string)
        if not plain or (name == "key" and given is not None and _SIGNS & {*given.name}):
            raise SqlError(f"the {name} of a URL is a plain text in quotes", "query", "Write parse_url(u, 'HOST').")
    if not embedded:
        return made(f"CASE WHEN {_KNOWN} THEN :found END", url=node.this, found=node)
    name = "" if part is None else part.name
    if name not in _PARTS or (key is not None and name != "QUERY"):
        return exp.cast(exp.null(), "TEXT")
    found = _made(_PARTS[name], url=node.this)
    if key is not None:
        pattern = f"(?:&|^){key.name}=([^&]*)"
        found = _made("CASE WHEN REGEXP_LIKE(:query, :p) THEN FOUND_IN(:query, :p, 1) END", query=found, p=pattern)
    if name in ("PATH", "QUERY", "FILE"):
        found = _made(f"CASE WHEN NOT {_OPAQUE} THEN :found END", url=node.this, found=found)
    if is_flink:
        return _made(f"CASE WHEN {_KNOWN} THEN :found END", url=node.this, found=found)
    return _made(f"CASE WHEN {_WRONG} THEN ERROR('a URL is not valid') ELSE :found END", url=node.this, found=found)


def str_to_map(node: exp.StrToMap, *, is_flink: bool, embedded: bool) -> exp.Expr:
    """A map of the pairs in a text. Of a key that comes twice Flink takes the last, Spark none.

    Raises: SqlError: a sign between pairs or in them is not a plain text in quotes.
    """
    signs = [node.args["pair_delim"], node.args["key_value_delim"]]
    if not all(isinstance(sign, exp.Literal) and sign.is_string and sign.name for sign in signs) or any(
        _SIGNS & {*sign.name} for sign in signs
    ):
        raise SqlError("the signs between pairs are plain texts in quotes", "query", "Write str_to_map(t, ',', '=').")
    pair, sign = (sign.name for sign in signs)
    text: exp.Expr = exp.paren(node.this.copy())
    if is_flink:
        text = made("REGEXP_REPLACE(:text, :ends, '')", text=text, ends=f"(?:{pair})+$")
    if not embedded:
        found = exp.StrToMap(this=text, pair_delim=signs[0].copy(), key_value_delim=signs[1].copy())
        return made("CASE WHEN :text = '' THEN MAP() ELSE :found END", text=text, found=found)
    parts = exp.Anonymous(this="STRING_SPLIT", expressions=[text, exp.Literal.string(pair)])
    kept = made(_LAST, parts=parts, sign=sign) if is_flink else parts
    keys, values = (made(f"LIST_TRANSFORM(:kept, x -> {each})", kept=kept, sign=sign) for each in (_KEY, _VALUE))
    pairs = exp.Anonymous(this="MAP", expressions=[keys, values])
    if is_flink:
        nothing = made("LIST_FILTER(:keys, x -> FALSE)", keys=keys)
        empty = exp.Anonymous(this="MAP", expressions=[nothing, nothing.copy()])
        return made("CASE WHEN :text IS NULL THEN NULL WHEN :text = '' THEN :empty ELSE :found END",
                    text=text, empty=empty, found=pairs)  # fmt: skip
    return made("CASE WHEN :text IS NOT NULL THEN :found END", text=text, found=pairs)


def elt(node: exp.Elt, *, is_flink: bool) -> exp.Expr:
    """One of several texts by its number. A number that none has is an error in Spark, and NULL in Flink."""
    number, chosen = node.this, exp.Case()
    chosen = chosen.when(exp.Is(this=exp.paren(number.copy()), expression=exp.null()), exp.cast(exp.null(), "TEXT"))
    for place, value in enumerate(node.expressions, start=1):
        fits = exp.EQ(this=exp.paren(number.copy()), expression=exp.Literal.number(place))
        chosen = chosen.when(fits, exp.cast(value.copy(), "TEXT"))
    return chosen if is_flink else chosen.else_(made("ERROR('no text has this number')"))


def width_bucket(node: exp.WidthBucket) -> exp.Expr:
    """The number of the bucket that a number is in, of some between two bounds."""
    names = {"v": node.this, "l": node.args["min_value"], "h": node.args["max_value"]}
    numbers: dict[str, exp.Expr] = {name: exp.cast(value.copy(), "DOUBLE") for name, value in names.items()}
    return made(_BUCKET, n=exp.cast(node.args["num_buckets"].copy(), "BIGINT"), **numbers)


def flink_text_function(node: exp.Anonymous, *, embedded: bool) -> exp.Expr | None:
    """IS_DIGIT and its kind, COLLECT, CONVERT_TZ; None: it is none of these. Raises: SqlError."""
    name, arguments = str(node.this).upper(), node.expressions
    if name in _KINDS and len(arguments) == 1:
        text = exp.cast(arguments[0].copy(), "TEXT")
        return made("COALESCE(REGEXP_LIKE(:text, :kind), FALSE)", text=text, kind=_KINDS[name])
    special = _SPECIAL.get((name, len(arguments)))
    return None if special is None else special(node, embedded)


def _collect(node: exp.Anonymous, embedded: bool) -> exp.Expr:
    """How often each value is there."""
    if not embedded:
        raise SqlError("COLLECT is not there on Spark", "query", "Count in a GROUP BY, or use a session without Spark.")
    if function_place(node) is not node:
        raise SqlError("COLLECT with FILTER or OVER", "query", "Filter in the query.")
    counted = exp.Anonymous(this="HISTOGRAM", expressions=[argument.copy() for argument in node.expressions])
    keys, counts = (
        exp.Anonymous(this="MAP_KEYS", expressions=[counted]),
        exp.Anonymous(this="MAP_VALUES", expressions=[counted.copy()]),
    )
    whole = made("LIST_TRANSFORM(:counts, c -> CAST(c AS INT))", counts=counts)
    return exp.Anonymous(this="MAP", expressions=[keys, whole])


def _convert_tz(node: exp.Anonymous, embedded: bool) -> exp.Expr:
    """A wall clock, as a text, of one zone as that of another one; NULL if it is no time."""
    time, source, target = node.expressions
    if embedded:
        template = "STRFTIME(TIMEZONE(:target, TIMEZONE(:source, TRY_STRPTIME(:time, :format))), :format)"
        plain = made("REGEXP_REPLACE(:time, '\\.[0-9]+$', '')", time=time)
        return made(template, target=target, source=source, time=plain, format=_FORMAT)
    whole = made("REGEXP_LIKE(:time, '^[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+(\\.[0-9]+)?$')", time=time)
    moment = exp.TryCast(this=time.copy(), to=exp.DataType(this=exp.DType.TIMESTAMPNTZ))
    moved = exp.Anonymous(this="convert_timezone", expressions=[source.copy(), target.copy(), moment])
    text = exp.Anonymous(this="date_format", expressions=[moved, exp.Literal.string("yyyy-MM-dd HH:mm:ss")])
    return made("CASE WHEN :whole THEN :text END", whole=whole, text=text)


_SPECIAL: Mapping[tuple[str, int], Callable[[exp.Anonymous, bool], exp.Expr]] = {
    ("COLLECT", 1): _collect,
    ("CONVERT_TZ", 3): _convert_tz,
}
