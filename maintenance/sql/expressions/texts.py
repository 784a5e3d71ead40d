"""Functions of texts and bytes. Source: Spark's `stringExpressions.scala`, `UTF8String`; Flink's `SqlFunctionUtils`."""

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.conversions import JAVA_NUMBER, Wanted, cast_node, converted
from maintenance.sql.expressions.entries import BOTH, FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.java_patterns import translate_pattern
from maintenance.sql.expressions.kinds import NULL, STRING, array, is_integer, widest
from maintenance.sql.expressions.printed import printed
from maintenance.sql.expressions.templates import filled, made
from maintenance.sql.expressions.zeros import is_constant
from maintenance.types.data_type import DataType

# No text stands for white space.
_PARTS = "CASE WHEN b = '' THEN string_split_regex(a, '\\s') ELSE string_split(a, b) END"
_SPLIT_INDEX = f"CASE WHEN c >= 0 AND c < len({_PARTS}) AND a <> '' THEN list_extract({_PARTS}, c + 1) END"
_SUBSTRING_INDEX = (
    "CASE WHEN b = '' AND a IS NOT NULL AND c IS NOT NULL THEN ''"
    " WHEN c > 0 THEN paimon_joined(list_slice(string_split(a, b), 1, c), b)"
    " WHEN c < 0 THEN paimon_joined(list_slice(string_split(a, b), greatest(1, len(string_split(a, b)) + c + 1),"
    " len(string_split(a, b))), b) WHEN c = 0 AND b IS NOT NULL THEN substring(a, 1, 0) END"
)
# Java's decoder for mails passes over all other signs, and needs no sign of the end.
_DIGITS_64 = "regexp_replace(a, '[^A-Za-z0-9+/]', '', 'g')"
_UNBASE64 = (
    f"CASE WHEN length({_DIGITS_64}) % 4 = 1 OR regexp_matches(a, '=.*[A-Za-z0-9+/]')"
    " OR (contains(a, '=') AND length(regexp_replace(a, '[^A-Za-z0-9+/=]', '', 'g')) % 4 <> 0)"
    " THEN error('a text is no base64')"
    f" ELSE from_base64(rpad({_DIGITS_64}, CAST((length({_DIGITS_64}) + 3) // 4 * 4 AS INTEGER), '=')) END"
)
# DuckDB counts the bytes that differ.
_LEVENSHTEIN = (
    "CASE WHEN a <> b AND (strlen(a) <> length(a) OR strlen(b) <> length(b))"
    " THEN error('levenshtein of texts beyond ASCII runs with `--engine spark`')"
    " ELSE CAST(levenshtein(a, b) AS INTEGER) END"
)
_SUB = (
    "CASE WHEN b > 0 THEN substring(a, b, {0}) WHEN b = 0 THEN substring(a, 1, {0})"
    " WHEN b < 0 THEN substring(a, greatest(length(a) + b + 1, 1), greatest({0} + least(length(a) + b, 0), 0)) END"
)
# Before the first sign there is nothing.
_SUB_IN_FLINK = (
    "CASE WHEN b > 0 THEN substring(a, b, {0}) WHEN b = 0 THEN substring(a, 1, {0})"
    " WHEN length(a) + b < 0 THEN '' WHEN b < 0 THEN substring(a, length(a) + b + 1, {0}) END"
)
_OF_LENGTH = "CASE WHEN c IS NOT NULL THEN {0} END"
# As long as a text can be.
_REST = "CAST(2147483647 AS BIGINT)"
_BYTES = (
    "CASE WHEN b >= 0 THEN array_slice(a, greatest(b, 1), greatest(b, 1) + {0} - 1)"
    " WHEN b < 0 THEN array_slice(a, greatest(octet_length(a) + b + 1, 1), greatest(octet_length(a) + b + {0}, 0)) END"
)


def _part(template: str) -> Callable[[Call], exp.Expr]:
    """A part of a text. One whose place and length are written, from the front, has no cases."""

    def says(call: Call) -> exp.Expr:
        is_plain = all(each.whole is not None and each.whole > 0 for each in call.arguments[1:])
        return made("substring(a, b, c)" if is_plain else template, call.nodes)

    return says


def _joined(call: Call) -> exp.Expr:
    nodes = [converted(each, Wanted(STRING, call.is_flink)) for each in call.arguments]
    made = nodes[0]
    for node in nodes[1:]:
        made = filled("a || b", {"a": made, "b": node})  # type: ignore[dict-item]
    assert made is not None
    return made


def _lists_joined(call: Call) -> exp.Expr:
    made = call.nodes[0]
    for node in call.nodes[1:]:
        made = filled("CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_concat(a, b) END", {"a": made, "b": node})
    return made


def _joined_with(call: Call) -> exp.Expr:
    """`concat_ws`, which spreads arrays."""
    separator, *parts = call.arguments
    listed: list[exp.Expr] = []
    for part in parts:
        if part.kind.root == "ARRAY":
            listed.append(call.typing.in_type(part, array(STRING)))
            continue
        node = converted(part, Wanted(STRING, call.is_flink))
        if node is None:
            raise refusals.no_such_types(call.typing.source, call.written, call.name, call.kinds)
        listed.append(exp.Anonymous(this="list_value", expressions=[node]))
    if not listed:
        return filled("CASE WHEN a IS NOT NULL THEN '' END", {"a": separator.node})
    gathered = exp.Anonymous(this="flatten", expressions=[exp.Anonymous(this="list_value", expressions=listed)])
    template = "paimon_joined(list_filter(b, lambda _e: _e IS NOT NULL), a)"
    return filled(f"CASE WHEN a IS NOT NULL THEN {template} END", {"a": separator.node, "b": gathered})


def _chosen(call: Call) -> exp.Expr:
    """`elt`."""
    number, *texts = call.nodes
    chosen = exp.Case().when(exp.Is(this=number.copy(), expression=exp.Null()), exp.Null())
    for place, text in enumerate(texts, start=1):
        chosen = chosen.when(exp.EQ(this=number.copy(), expression=exp.Literal.number(place)), text)
    return chosen if call.is_flink else chosen.else_(filled("error('no text has this number')", {}))


def _length(call: Call, of_text: str, of_bytes: str) -> exp.Expr:
    template = of_bytes if call.kinds[0].is_bytes else of_text
    return filled(f"CAST({template} AS INTEGER)", {"a": call.nodes[0]})


def _bytes_joined(call: Call) -> exp.Expr:
    made = call.nodes[0]
    for node in call.nodes[1:]:
        made = filled("a || b", {"a": made, "b": node})
    return made


def _padded(call: Call, function: str) -> exp.Expr:
    text, size, *signs = call.nodes
    if call.is_flink and not signs:
        raise refusals.no_such_types(call.typing.source, call.written, call.name, call.kinds)
    sign = signs[0] if signs else exp.Literal.string(" ")
    less = "NULL" if call.is_flink else "''"
    cut = "NULL" if call.is_flink else "left(a, paimon_not_negative(n))"
    filled_up = f"{function}(a, n, p)"
    if call.is_flink:
        # Java counts its own signs, and would cut some letters into two.
        wrong = "error('signs beyond 16 bits are cut or filled up with: run it in Flink')"
        filled_up = (
            f"CASE WHEN strlen(a) = length(a) AND strlen(p) = length(p) THEN {filled_up} WHEN paimon_pairs(p) > 0"
            f" OR (paimon_pairs(a) > 0 AND length(a) + paimon_pairs(a) > n) THEN {wrong}"
            f" ELSE {function}(a, n - CAST(paimon_pairs(a) AS INTEGER), p) END"
        )
    empty = f"CASE WHEN p = '' THEN {cut} ELSE {filled_up} END"
    template = f"CASE WHEN n < 0 AND a IS NOT NULL AND p IS NOT NULL THEN {less} ELSE {empty} END"
    return filled(template, {"a": text, "n": size, "p": sign})


def _overlaid(call: Call) -> exp.Expr:
    text, new, start, *size = call.nodes
    length = size[0] if size else filled("length(b)", {"b": new.copy()})
    parts = {"a": text, "b": new, "c": start, "d": length}
    end = "c + CASE WHEN d < 0 THEN length(b) ELSE d END"
    if call.is_flink:
        # Where nothing is taken out, Flink leaves out what stands behind.
        made = filled("left(a, c - 1) || b || CASE WHEN d > 0 THEN substring(a, c + d) ELSE '' END", parts)
        template = (
            "CASE WHEN b IS NOT NULL AND (c <= 0 OR c > length(a)) THEN a"
            " WHEN strlen(a) + strlen(b) > length(a) + length(b) AND paimon_pairs(a) + paimon_pairs(b) > 0"
            " THEN error('OVERLAY with signs beyond 16 bits is not supported: run it in Flink') ELSE m END"
        )
        return filled(template, {**{name: node.copy() for name, node in parts.items()}, "m": made})
    behind = filled(_SUB.format(_REST), {"a": text.copy(), "b": filled(end, {**parts, "b": new.copy()})})
    return filled("left(a, paimon_not_negative(c - 1)) || b || e", {**parts, "e": behind})


def _overlaid_bytes(call: Call) -> exp.Expr:
    value, new, start, *size = call.nodes
    length = size[0] if size else filled("octet_length(b)", {"b": new.copy()})
    parts = {"a": value, "b": new, "c": start, "d": length}
    end = filled("c + CASE WHEN d < 0 THEN octet_length(b) ELSE d END", parts)
    behind = filled(_BYTES.format(_REST), {"a": value.copy(), "b": end})
    return filled("array_slice(a, 1, paimon_not_negative(c - 1)) || b || e", {**parts, "e": behind})


_JAVA_PIECE = re.compile(r"(?s)\\(.)|\$(\d)|([^\\$])")
_OF_JAVA = "CASE WHEN regexp_matches(c, '[\\\\$]') THEN error('{0}') ELSE c END"


def _java_groups(call: Call, text: str) -> str:
    """``$1`` of Java as RE2 has it, in which a sign behind a backslash is that sign.

    Raises: SqlError: it names a group that is none, or in a way that RE2 has not.
    """
    made, at = "", 0
    for piece in _JAVA_PIECE.finditer(text):
        if piece.start() != at:
            break
        at, (plain, group, sign) = piece.end(), piece.groups()
        if group is not None and group != "0":
            check_group(call, int(group))
        made += f"\\{group}" if group is not None else "\\\\" if plain == "\\" else plain or sign
    if at != len(text):
        fix = "Write $1 for a group, and a backslash in front of another '$'."
        raise refusals.unsupported(call.typing.source, call.written, "REGEXP_REPLACE by this text", fix)
    return made


def _replaced_behind(call: Call) -> exp.Expr:
    """`regexp_replace` from a place on: for Java the text begins there."""
    text, pattern, replacement, place = (node.copy() for node in call.nodes)
    found = Call(call.name, list(call.arguments[:3]), is_flink=False, written=call.written, typing=call.typing)
    rest = filled("substring(a, p)", {"a": text.copy(), "p": place.copy()})
    found.arguments[0] = Typed(rest, STRING, call.arguments[0].written)
    template = (
        "CASE WHEN p < 1 AND a IS NOT NULL THEN error('REGEXP_REPLACE begins at a place below 1')"
        " WHEN p > length(a) AND x IS NOT NULL AND y IS NOT NULL THEN a ELSE left(a, p - 1) || b END"
    )
    return filled(template, {"a": text, "p": place, "x": pattern, "y": replacement, "b": _replaced(found)})


def of_pattern(template: str, *, takes_end: bool = False) -> Callable[[Call], exp.Expr]:
    """A template of a text and a pattern of Java."""

    def says(call: Call) -> exp.Expr:
        translate_pattern(call, takes_end=takes_end)
        return filled(template, dict(zip("ab", call.nodes, strict=True)))

    return says


def _split(call: Call) -> exp.Expr:
    """`split` by a pattern. Java has a part more than RE2 where nothing is found at the end of a text."""
    refuse_to_split_by_nothing(call)
    return of_pattern("CASE WHEN b IS NOT NULL THEN string_split_regex(a, b) END")(call)


def refuse_to_split_by_nothing(call: Call) -> None:
    """Raises: SqlUnsupportedError: a pattern finds the empty text, and is not that itself."""
    pattern = call.arguments[1].text
    if not pattern or not _surely_finds_nothing(pattern):
        return
    fix = r"Write '\|' if the sign '|' is meant, or '' for all signs." if "|" in pattern else "Write + instead of *."
    what = "SPLIT by a pattern that finds the empty text"
    raise refusals.unsupported(call.typing.source, call.arguments[1].written, what, fix)


def _surely_finds_nothing(pattern: str) -> bool:
    try:
        return re.search(pattern, "") is not None
    except re.error:
        return False


def _replaced(call: Call) -> exp.Expr:
    translate_pattern(call)
    text, pattern, new = call.nodes
    if call.is_flink:
        # What it puts there is no pattern.
        new = filled(r"replace(c, '\', '\\')", {"c": new})
    elif call.arguments[2].text is not None:
        new = exp.Literal.string(_java_groups(call, call.arguments[2].text))
    elif call.kinds[2] != NULL:
        wrong = "a computed text with a backslash or ''$'' to put in is not supported: run it with `--engine spark`"
        new = filled(_OF_JAVA.format(wrong), {"c": new})
    parts = {"a": text, "b": pattern, "c": new}
    plain = call.arguments[1].text
    if (plain is not None and not finds_nothing(plain)) or call.arguments[2].text == "":
        return filled("regexp_replace(a, b, c, 'g')", parts)
    # Java replaces nothing behind what it has replaced once more.
    run = "run it in Flink" if call.is_flink else "run it with `--engine spark`"
    wrong = f"error('a pattern that finds nothing as well as something is replaced otherwise: {run}')"
    both = "regexp_matches('', b) AND len(list_filter(regexp_extract_all(a, b), lambda _e: _e <> '')) > 0"
    return filled(f"CASE WHEN {both} THEN {wrong} ELSE regexp_replace(a, b, c, 'g') END", parts)


def finds_nothing(pattern: str) -> bool:
    """Whether a pattern finds the empty text, as far as it is known."""
    try:
        return re.search(pattern, "") is not None
    except re.error:
        return True


def _groups_of(call: Call, pattern: str | None) -> int:
    """How many groups a pattern of Flink has. Raises: SqlUnsupportedError: that is not known."""
    try:
        return re.compile(pattern or "(").groups
    except re.error:
        what = f"{call.name.upper()} of a group of this pattern"
        raise refusals.unsupported(call.typing.source, call.written, what, "Write 0 for the whole of it.") from None


def check_group(call: Call, group: int) -> None:
    """Raises: SqlError: the pattern has no such group, or is not known here."""
    pattern = call.arguments[1].text
    if pattern is None:
        what = f"{call.name.upper()} of a group of a computed pattern"
        raise refusals.unsupported(call.typing.source, call.written, what, "Write 0 for the whole of it.")
    try:
        count = re.compile(pattern).groups
    except re.error:
        return
    if group > count:
        problem = f"the pattern '{pattern}' has {count} groups, and {group} is wanted"
        raise refusals.error_at(call.typing.source, call.arguments[1].written, problem, "Write 0 for the whole of it.")


def _extracted(call: Call) -> exp.Expr:
    group = call.arguments[2].whole if len(call.arguments) > 2 else (0 if call.is_flink else 1)
    translate_pattern(call, takes_end=group != 0)
    text, pattern, *_ = call.nodes
    if group is None:
        raise refusals.unsupported(call.typing.source, call.written, "a group by its computed number")
    if group and call.is_flink and _groups_of(call, call.arguments[1].text) < group:
        return cast_node(exp.Null(), call.kind)
    if group and not call.is_flink:
        check_group(call, group)
    made = filled("regexp_extract(a, b, n)", {"a": text, "b": pattern, "n": exp.Literal.number(group)})
    if not call.is_flink:
        return made
    return filled("CASE WHEN regexp_matches(a, b) THEN c END", {"a": text.copy(), "b": pattern.copy(), "c": made})


def _sha2(call: Call) -> exp.Expr:
    bits = call.arguments[1].whole
    if bits in (0, 256):
        return filled("sha256(a)", {"a": call.nodes[0]})
    if bits not in (224, 384, 512):
        raise refusals.unsupported(
            call.typing.source,
            call.written,
            f"SHA2 with {call.arguments[1].written.sql()} bits",
            "Use 224, 256, 384 or 512.",
        )
    kind = "bytes" if call.kinds[0].is_bytes else "text"
    return filled(f"paimon_sha{bits}_{kind}(a)", {"a": call.nodes[0]})


def _coded(call: Call, template: str) -> exp.Expr:
    name = (call.arguments[1].text or "").upper()
    if name not in ("UTF-8", "UTF8"):
        raise refusals.unsupported(call.typing.source, call.written, f"the character set {name}", "Use 'UTF-8'.")
    return filled(template, {"a": call.nodes[0]})


def _encoded(call: Call) -> exp.Expr:
    if call.is_flink and is_constant(call.written):
        # Flink gives the first byte of one that it reckons when it plans.
        raise refusals.unsupported(call.typing.source, call.written, "ENCODE of a constant", "Cast it to BYTES.")
    return _coded(call, "encode(a)")


def _decoded_parts(call: Call) -> tuple[list[Typed], list[Typed]]:
    """What `decode` looks for, and what it gives."""
    pairs = call.arguments[1:]
    last = [pairs[-1]] if len(pairs) % 2 else []
    whole = pairs[: len(pairs) - len(last)]
    return whole[::2], [*whole[1::2], *last]


def _decoded_kind(call: Call) -> DataType | None:
    return widest([each.kind for each in _decoded_parts(call)[1]], is_flink=False)


def _decoded(call: Call) -> exp.Expr:
    keys, results = _decoded_parts(call)
    nodes = [call.typing.in_type(each, call.kind) for each in results]
    chosen = exp.Case()
    for key, node in zip(keys, nodes, strict=False):
        first = call.arguments[0]
        value = Typed(first.node.copy(), first.kind, first.written)
        chosen = chosen.when(call.typing.called("<=>", [value, key], call.written, None).node, node)
    return chosen.else_(nodes[-1]) if len(nodes) > len(keys) else chosen


def _shown_number(call: Call) -> exp.Expr:
    """A number with commas, rounded to the even digit; a decimal or an integer exactly."""
    from maintenance.sql.expressions.kinds import MOST_DIGITS, digits

    places = call.arguments[1].whole
    if places is None or places < 0:
        raise refusals.unsupported(
            call.typing.source, call.written, "format_number with this number of digits", "Write (x, 2)."
        )
    kind, value = call.kinds[0], call.nodes[0]
    if kind == NULL:
        return cast_node(value, STRING)
    if kind.root in ("FLOAT", "DOUBLE"):
        point = f".{'0' * places}" if places else ""
        # Of larger ones Java shows the digits that tell them apart, and zeros.
        shown = (
            f"CASE WHEN abs(a) < 9007199254740992 THEN format('{{:,.{places}f}}', CAST(a AS DOUBLE))"
            " WHEN abs(a) < 1e37 THEN format('{:,}', CAST(CAST(CAST(a AS DOUBLE) AS VARCHAR) AS HUGEINT))"
            f" || '{point}'"
            " ELSE error('format_number of a number of more than 37 digits: run it with `--engine spark`') END"
        )
        far = "CASE WHEN isnan(a) THEN 'NaN' WHEN a > 0 THEN '∞' WHEN a < 0 THEN '-∞' END"
        return filled(f"CASE WHEN isfinite(a) THEN {shown} ELSE {far} END", {"a": value})
    precision, scale = digits(kind) if not is_integer(kind) else (20, 0)
    kept = min(scale, places)
    whole = min(MOST_DIGITS, precision - scale + 1 + kept)
    rounded = f"CAST(round_even(a, {kept}) AS DECIMAL({whole}, {kept}))"
    text = f"CAST(abs({rounded}) AS VARCHAR)"
    shown = f"format('{{:,}}', CAST(split_part({text}, '.', 1) AS HUGEINT))"
    if places:
        shown = f"concat({shown}, '.', rpad(split_part({text}, '.', 2), {places}, '0'))"
    return filled(
        f"CASE WHEN a IS NOT NULL THEN concat(CASE WHEN a < 0 THEN '-' ELSE '' END, {shown}) END", {"a": value}
    )


def _url_part(call: Call) -> exp.Expr:
    from maintenance.sql.expressions.urls import url_part

    return url_part(call)


def _mapped(call: Call) -> exp.Expr:
    from maintenance.sql.expressions.urls import mapped

    return mapped(call)


# Letters of which DuckDB makes others than Java: several become one, or it depends on those beside them.
_RARE_SMALL = (
    "ßŉǰΐΰև\u1e96-\u1e9a\u1f50\u1f52\u1f54\u1f56\u1f80-\u1faf\u1fb2-\u1fb4\u1fb6\u1fb7\u1fbc"
    "\u1fc2-\u1fc4\u1fc6\u1fc7\u1fcc\u1fd2\u1fd3\u1fd6\u1fd7\u1fe2-\u1fe4\u1fe6\u1fe7"
    "\u1ff2-\u1ff4\u1ff6\u1ff7\u1ffc"
    "\ufb00-\ufb06\ufb13-\ufb17"
)
_RARE_CAPITAL = "İΣ"
_RARE_TITLE = "Ǆ-ǌǱ-ǳ\u10d0-\u10fa\u10fd-\u10ff"


def _in_case(function: str, rare: str, plain: str) -> str:
    """What is said of letters as Java has them."""
    return f"CASE WHEN strlen(a) > length(a) AND regexp_matches(a, '[{rare}]') THEN {function}(a) ELSE {plain} END"


_UPPER = _in_case("paimon_upper", _RARE_SMALL, "upper(a)")
_LOWER = _in_case("paimon_lower", _RARE_CAPITAL, "lower(a)")

ENTRIES: Sequence[Entry] = (
    entry("||", "ARRAY<T>, ARRAY<T>", "ARRAY<T>",
          "CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN list_concat(a, b) END", SPARK),
    entry("||", "BINARY, BINARY", "BINARY", "a || b", SPARK),
    entry("||", "ATOMIC, ATOMIC", "STRING", _joined, SPARK),
    entry("||", "STRING, STRING", "STRING", _joined, FLINK),
    entry("concat", "ARRAY<T>, ARRAY<T>...", "ARRAY<T>", _lists_joined, SPARK),
    entry("concat", "BINARY, BINARY...", "BINARY", _bytes_joined, SPARK),
    entry("concat", "ATOMIC...", "STRING", _joined, SPARK),
    entry("concat", "", "STRING", "''", SPARK),
    entry("concat", "STRING...", "STRING", _joined, FLINK),
    entry("concat_ws", "STRING, ATOMIC|ARRAY<ATOMIC>...?", "STRING", _joined_with, SPARK),
    entry("concat_ws", "STRING, TEXT|ARRAY<STRING>...?", "STRING", _joined_with, FLINK),
    entry("upper", "STRING", "STRING", _UPPER),
    entry("ucase", "STRING", "STRING", _UPPER, SPARK),
    entry("lower", "STRING", "STRING", _LOWER),
    entry("lcase", "STRING", "STRING", _LOWER, SPARK),
    entry("char_length character_length", "STRING|BINARY", "INT", lambda call: _length(call, "length(a)",
          "octet_length(a)")),
    entry("length len", "STRING|BINARY", "INT", lambda call: _length(call, "length(a)", "octet_length(a)"), SPARK),
    entry("bit_length", "STRING|BINARY", "INT", lambda call: _length(call, "strlen(a) * 8", "octet_length(a) * 8"),
          SPARK),
    entry("octet_length", "STRING|BINARY", "INT", lambda call: _length(call, "strlen(a)", "octet_length(a)"), SPARK),
    entry("trim", "STRING", "STRING", "trim(a)"),
    entry("btrim", "STRING", "STRING", "trim(a)", SPARK),
    entry("ltrim", "STRING", "STRING", "ltrim(a)"),
    entry("rtrim", "STRING", "STRING", "rtrim(a)"),
    entry("btrim", "STRING, STRING", "STRING", "trim(a, b)", SPARK),
    entry("trim", "STRING, STRING", "STRING", "trim(b, a)", SPARK),
    entry("ltrim", "STRING, STRING", "STRING", "ltrim(b, a)", SPARK),
    entry("rtrim", "STRING, STRING", "STRING", "rtrim(b, a)", SPARK),
    *(entry(name, "STRING, STRING", "STRING", f"{name}(a, b)", FLINK) for name in ("ltrim", "rtrim")),
    *(entry(f"{name}.from", "STRING, STRING", "STRING", f"{name}(a, b)") for name in ("trim", "rtrim")),
    entry("ltrim.from", "STRING, STRING", "STRING", "ltrim(a, b)", SPARK),
    entry("ltrim.from", "STRING, STRING", "STRING", "CASE WHEN b = '' AND a IS NOT NULL"
          " THEN error('TRIM(LEADING) is given no sign to take away') ELSE ltrim(a, b) END", FLINK),
    entry("substring substr", "STRING, INT", "STRING", _SUB.format(_REST), SPARK),
    entry("substring substr", "STRING, INT, INT", "STRING",
          _part(_OF_LENGTH.format(_SUB.format("paimon_not_negative(c)"))), SPARK),
    entry("substring substr", "STRING, INT", "STRING", _SUB_IN_FLINK.format(_REST), FLINK),
    entry("substring substr", "STRING, INT, INT", "STRING",
          _part(f"CASE WHEN c >= 0 THEN {_SUB_IN_FLINK.format('c')} END"), FLINK),
    entry("substring substr", "BINARY, INT", "BINARY", _BYTES.format(_REST), SPARK),
    entry("substring substr", "BINARY, INT, INT", "BINARY",
    _OF_LENGTH.format(_BYTES.format("paimon_not_negative(c)")), SPARK),
    entry("left", "STRING, INT", "STRING", "left(a, paimon_not_negative(b))"),
    entry("left", "BINARY, INT", "BINARY", "array_slice(a, 1, paimon_not_negative(b))", SPARK),
    entry("right", "STRING, INT", "STRING", "right(a, paimon_not_negative(b))"),
    entry("replace", "STRING, STRING", "STRING", "replace(a, b, '')", SPARK),
    entry("replace", "STRING, STRING, STRING", "STRING",
          "CASE WHEN b = '' AND c IS NOT NULL THEN a ELSE replace(a, b, c) END"),
    entry("lpad", "STRING, INT, STRING?", "STRING", lambda call: _padded(call, "lpad")),
    entry("rpad", "STRING, INT, STRING?", "STRING", lambda call: _padded(call, "rpad")),
    entry("repeat", "STRING, INT", "STRING", "repeat(a, paimon_not_negative(b))"),
    entry("reverse", "BINARY=", "BINARY",
          "CASE WHEN octet_length(a) = 0 THEN a ELSE"
          " unhex(list_aggregate(list_reverse(regexp_extract_all(hex(a), '..')), 'string_agg', '')) END", SPARK),
    # DuckDB's own keeps a letter and the accents behind it together.
    entry("reverse", "STRING", "STRING", "CASE WHEN strlen(a) = length(a) THEN reverse(a) WHEN a IS NOT NULL"
          " THEN array_to_string(list_reverse(string_split(a, '')), '') END"),
    entry("initcap", "STRING", "STRING", _in_case("paimon_initcap", _RARE_SMALL + _RARE_CAPITAL + _RARE_TITLE,
          "CASE WHEN a IS NOT NULL THEN paimon_joined(list_transform(string_split(lower(a), ' '),"
          " lambda _e: upper(left(_e, 1)) || substring(_e, 2)), ' ') END"), SPARK),
    entry("initcap", "STRING", "STRING",
          "CASE WHEN a IS NOT NULL THEN paimon_joined(list_transform(regexp_extract_all(lower(a),"
          " '[a-z0-9]+|[^a-z0-9]+'), lambda _e: CASE WHEN regexp_matches(_e, '^[a-z]') THEN upper(left(_e, 1))"
          " ELSE left(_e, 1) END || substring(_e, 2)), '') END", FLINK),
    entry("instr", "STRING, STRING", "INT", "CAST(strpos(a, b) AS INTEGER)"),
    entry("position.in", "STRING, STRING", "INT", "CAST(strpos(b, a) AS INTEGER)"),
    entry("position locate", "STRING, STRING", "INT", "CAST(strpos(b, a) AS INTEGER)"),
    entry("position locate", "STRING, STRING, INT", "INT",
          "CASE WHEN a = '' THEN CASE WHEN b IS NOT NULL AND c IS NOT NULL THEN 1 END"
          " WHEN c <= 0 OR c > length(b) + 1 THEN CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN 0 END"
          " WHEN strpos(substring(b, c), a) = 0 THEN 0 ELSE CAST(strpos(substring(b, c), a) + c - 1 AS INTEGER) END",
          FLINK),
    entry("position locate", "STRING, STRING, INT", "INT",
          "CASE WHEN c IS NULL THEN 0 WHEN a = '' AND c > 0 AND b IS NOT NULL THEN 1 WHEN c <= 0 OR c > length(b) + 1"
          " THEN CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN 0 END"
          " WHEN strpos(substring(b, c), a) = 0 THEN 0 ELSE CAST(strpos(substring(b, c), a) + c - 1 AS INTEGER) END",
          SPARK),
    entry("ascii", "STRING", "INT", "CASE WHEN a = '' THEN 0 ELSE CAST(ascii(a) AS INTEGER) END", SPARK),
    # The first byte, with its sign.
    entry("ascii", "STRING", "INT", "CASE WHEN a = '' THEN 0 WHEN ascii(a) < 128 THEN CAST(ascii(a) AS INTEGER)"
          " ELSE CAST('0x' || left(hex(encode(a)), 2) AS INTEGER) - 256 END", FLINK),
    *(entry(name, "BIGINT", "STRING",
          "CASE WHEN a < 0 THEN '' WHEN a IS NOT NULL THEN chr(CAST(a % 256 AS INTEGER)) END", of)
      for name, of in (("chr", BOTH), ("char", SPARK))),
    entry("startswith", "STRING, STRING", "BOOLEAN", "starts_with(a, b)", SPARK),
    entry("endswith", "STRING, STRING", "BOOLEAN", "ends_with(a, b)", SPARK),
    entry("contains", "STRING, STRING", "BOOLEAN", "contains(a, b)", SPARK),
    entry("space", "INT", "STRING", "repeat(' ', paimon_not_negative(a))", SPARK),
    entry("translate", "STRING, STRING, STRING", "STRING", "translate(a, b, c)", SPARK),
    entry("levenshtein", "STRING, STRING", "INT", _LEVENSHTEIN, SPARK),
    # Over the rows of tables a limit that is NULL gives NULL; what Spark folds before it runs a query gives 0.
    entry("levenshtein", "STRING, STRING, INT", "INT",
          f"CASE WHEN c IS NULL THEN NULL WHEN {_LEVENSHTEIN} > c THEN -1 ELSE {_LEVENSHTEIN} END", SPARK),
    entry("decode", "ANY, ANY, ANY...", _decoded_kind, _decoded, SPARK,
          samples=("k, 1, 'a', 2, 'b'", "s, 'a', 1, NULL, 2, 3.5", "k, NULL, s, n")),
    entry("split_part", "STRING, STRING, INT", "STRING",
          "CASE WHEN c = 0 AND a IS NOT NULL AND b IS NOT NULL THEN error('the index 0 is invalid')"
          " WHEN b = '' AND a IS NOT NULL AND c IS NOT NULL THEN CASE WHEN abs(c) = 1 THEN a ELSE '' END"
          " ELSE split_part(a, b, c) END", SPARK),
    entry("substring_index", "STRING, STRING, INT", "STRING", _SUBSTRING_INDEX, SPARK),
    entry("overlay", "BINARY, BINARY, INT, INT?", "BINARY", _overlaid_bytes, SPARK),
    entry("overlay", "STRING, STRING, INT, INT?", "STRING", _overlaid),
    entry("split_index", "STRING, STRING, INT", "STRING", _SPLIT_INDEX, FLINK),
    entry("elt", "INT, STRING...", "STRING", _chosen, SPARK),
    entry("rlike regexp regexp_like", "STRING, STRING", "BOOLEAN", of_pattern("regexp_matches(a, b)", takes_end=True),
          SPARK),
    entry("regexp", "STRING, STRING", "BOOLEAN", of_pattern("regexp_matches(a, b)", takes_end=True), FLINK),
    entry("regexp_replace", "STRING, STRING, STRING", "STRING", _replaced),
    entry("regexp_replace", "STRING, STRING, STRING, INT!", "STRING", _replaced_behind, SPARK,
          samples=("s, 'b', '-', 2", "n, '[0-9]', '', 1")),
    entry("regexp_extract", "STRING, STRING, INT?", "STRING", _extracted),
    entry("regexp_count", "STRING, STRING", "INT", of_pattern("CAST(len(regexp_extract_all(a, b)) AS INTEGER)"), SPARK),
    entry("regexp_substr", "STRING, STRING", "STRING", of_pattern("NULLIF(regexp_extract(a, b), '')"), SPARK),
    entry("split", "STRING, STRING", "ARRAY<STRING>", _split, SPARK, samples=("s, ','", "n, '[0-9]'", "s, ''")),
    entry("md5", "TEXT|BINARY", "STRING", "md5(a)"),
    entry("sha", "TEXT|BINARY", "STRING", "sha1(a)", SPARK),
    entry("sha1", "TEXT|BINARY", "STRING", "sha1(a)"),
    entry("sha256", "STRING|BINARY", "STRING", "sha256(a)", FLINK),
    *(entry(f"sha{bits}", "STRING", "STRING", f"paimon_sha{bits}_text(a)", FLINK) for bits in (224, 384, 512)),
    entry("sha2", "TEXT|BINARY, INT", "STRING", _sha2),
    entry("crc32", "TEXT", "BIGINT", "paimon_crc32_text(a)", SPARK),
    entry("crc32", "BINARY", "BIGINT", "paimon_crc32_bytes(a)", SPARK),
    entry("soundex", "STRING=", "STRING", "paimon_soundex(a)", SPARK),
    entry("base64", "BINARY", "STRING", "to_base64(a)", SPARK),
    entry("to_base64", "STRING", "STRING", "to_base64(encode(a))", FLINK),
    entry("unbase64", "STRING", "BINARY", _UNBASE64, SPARK),
    entry("from_base64", "STRING", "STRING", "paimon_signs(from_base64(a))", FLINK),
    entry("encode", "STRING, 'STRING'", "BINARY", _encoded),
    entry("decode", "BINARY, 'STRING'", "STRING", lambda call: _coded(call, "decode(a)"), SPARK),
    entry("decode", "BINARY, 'STRING'", "STRING", lambda call: _coded(call, "paimon_signs(a)"), FLINK),
    entry("is_decimal", "STRING", "BOOLEAN",
          f"COALESCE(regexp_full_match(paimon_trimmed(a), '{JAVA_NUMBER}'), FALSE)", FLINK),
    entry("is_digit", "STRING", "BOOLEAN", "COALESCE(regexp_matches(a, '^\\p{Nd}+$'), FALSE)", FLINK),
    entry("is_alpha", "STRING", "BOOLEAN", "COALESCE(regexp_matches(a, '^\\p{L}+$'), FALSE)", FLINK),
    entry("find_in_set", "STRING, STRING", "INT",
          "CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN contains(a, ',') THEN 0"
          " ELSE COALESCE(CAST(list_position(string_split(b, ','), a) AS INTEGER), 0) END", SPARK),
    entry("printf format_string", "STRING, ANY...?", "STRING", printed, SPARK),
    entry("uuid", "", "STRING", "CAST(uuid() AS VARCHAR)"),
    entry("format_number", "NUMBER, INT", "STRING", _shown_number, SPARK),
    entry("parse_url", "STRING, 'STRING', 'STRING'?", "STRING", _url_part),
    entry("str_to_map", "STRING=, 'STRING'?, 'STRING'?", "MAP<STRING, STRING>", _mapped),
)  # fmt: skip
