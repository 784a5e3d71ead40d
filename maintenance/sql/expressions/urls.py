"""Parts of URLs, and maps out of texts. Source: Spark's `ParseUrl`, `StringToMap`; Flink's `SqlFunctionUtils`."""

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.entries import Call
from maintenance.sql.expressions.templates import filled

# Protocol, authority, path, query and fragment.
_URL = "^(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:[?]([^#]*))?(?:#(.*))?$"
_GROUP = f"regexp_extract(a, '{_URL}', %d)"
_AUTHORITY = _GROUP % 2
_HAS_QUERY = "regexp_matches(a, '^[^#]*[?]')"
_PARTS = {
    "PROTOCOL": f"NULLIF({_GROUP % 1}, '')",
    "AUTHORITY": f"NULLIF({_AUTHORITY}, '')",
    "HOST": f"NULLIF(regexp_extract({_AUTHORITY}, '^(?:.*@)?(\\[[^\\]]*\\]|[^:]*)(?::[0-9]*)?$', 1), '')",
    "USERINFO": f"CASE WHEN regexp_matches({_AUTHORITY}, '@') THEN regexp_extract({_AUTHORITY}, '^(.*)@', 1) END",
    "PATH": _GROUP % 3,
    "QUERY": f"CASE WHEN {_HAS_QUERY} THEN {_GROUP % 4} END",
    "REF": f"CASE WHEN regexp_matches(a, '#') THEN {_GROUP % 5} END",
    "FILE": f"concat({_GROUP % 3}, CASE WHEN {_HAS_QUERY} THEN concat('?', {_GROUP % 4}) ELSE '' END)",
}
_OPAQUE = "regexp_matches(a, '^[^:/?#]+:[^/]')"
_WRONG = "regexp_matches(a, '[\\x00-\\x20<>\"{}|\\\\^`]|#.*#|%(?:[^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)')"
_KNOWN = "regexp_matches(a, '^ *(?i:https?|ftp|file|jar|mailto):')"
_SIGNS = frozenset("\\.[]{}()*+?^$|")
_KEY = "split_part(_x, s, 1)"
_VALUE = "CASE WHEN strpos(_x, s) > 0 THEN substring(_x, strpos(_x, s) + length(s)) END"
_LAST = (
    "list_filter(p, lambda _p, _n: NOT list_contains(list_transform(list_slice(p, _n + 1, len(p)),"
    " lambda _q: split_part(_q, s, 1)), split_part(_p, s, 1)))"
)


def url_part(call: Call) -> exp.Expr:
    """A part of a URL, or a value of its query. A URL that is none is an error in Spark, and NULL in Flink."""
    url = call.nodes[0]
    part, key = call.arguments[1].text, call.arguments[2].text if len(call.arguments) > 2 else None
    if key is not None and _SIGNS & {*key}:
        raise refusals.unsupported(call.typing.source, call.written, "a key of a URL with such signs")
    if part not in _PARTS or (len(call.arguments) > 2 and part != "QUERY"):
        return filled("CAST(NULL AS VARCHAR)", {})
    found = filled(_PARTS[part], {"a": url})
    if key is not None:
        pattern = exp.Literal.string(f"(?:&|^){key}=([^&]*)")
        template = "CASE WHEN regexp_matches(q, p) THEN regexp_extract(q, p, 1) END"
        found = filled(template, {"q": found, "p": pattern})
    if part in ("PATH", "QUERY", "FILE"):
        found = filled(f"CASE WHEN NOT {_OPAQUE} THEN f END", {"a": url.copy(), "f": found})
    if call.is_flink:
        return filled(f"CASE WHEN {_KNOWN} THEN f END", {"a": url.copy(), "f": found})
    return filled(f"CASE WHEN {_WRONG} THEN error('a URL is not valid') ELSE f END", {"a": url.copy(), "f": found})


def mapped(call: Call) -> exp.Expr:
    """A map of the pairs in a text. Of a key that comes twice Flink takes the last, Spark none."""
    given = [argument.text for argument in call.arguments[1:]]
    defaults = [",", "=" if call.is_flink else ":"]
    pair, sign = [text or "" for text in [*given, *defaults[len(given) :]]]
    if not pair or not sign or _SIGNS & {*pair, *sign}:
        raise refusals.unsupported(call.typing.source, call.written, "a sign between pairs that is not a plain text")
    text = call.nodes[0]
    signs = {"s": exp.Literal.string(sign), "pair": exp.Literal.string(pair)}
    if call.is_flink:
        text = filled("regexp_replace(a, e, '')", {"a": text, "e": exp.Literal.string(f"(?:{pair})+$")})
    parts = filled("string_split(a, pair)", {"a": text.copy(), **signs})
    kept = filled(_LAST, {"p": parts, **signs}) if call.is_flink else parts
    made = [filled(f"list_transform(k, lambda _x: {each})", {"k": kept.copy(), **signs}) for each in (_KEY, _VALUE)]
    pairs = filled("map(a, b)", {"a": made[0], "b": made[1]})
    if call.is_flink:
        empty = "map(CAST([] AS VARCHAR[]), CAST([] AS VARCHAR[]))"
        template = f"CASE WHEN a IS NULL THEN NULL WHEN a = '' THEN {empty} ELSE f END"
        return filled(template, {"a": text, "f": pairs})
    return filled("CASE WHEN a IS NOT NULL THEN f END", {"a": text, "f": pairs})
