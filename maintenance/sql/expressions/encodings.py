"""Functions of how texts and bytes are written. Source: Spark's `stringExpressions.scala`, `maskExpressions.scala`."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.conversions import tried
from maintenance.sql.expressions.entries import SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.java_patterns import translate_pattern
from maintenance.sql.expressions.templates import apart, filled
from maintenance.sql.expressions.texts import check_group, finds_nothing, of_pattern, refuse_to_split_by_nothing

_MASKS = (("\\p{Lu}", "X"), ("\\p{Ll}", "x"), ("\\p{Nd}", "n"))


def _masked(call: Call) -> exp.Expr:
    """`mask`: signs of a class become one sign; with NULL they stay."""
    signs: list[str | None] = [*(sign for _, sign in _MASKS), None]
    for number, argument in enumerate(call.arguments[1:]):
        signs[number] = argument.text
        if argument.text is not None and len(argument.text) != 1:
            problem = f"MASK puts one sign for another, and gets '{argument.text}'"
            raise refusals.error_at(call.typing.source, argument.written, problem, "Write one sign.")
    sign, chosen = exp.column("paimon_e"), exp.Case()
    for (pattern, _), instead in zip(_MASKS, signs, strict=False):
        matched = filled(f"regexp_full_match(_e, '{pattern}')", {})
        chosen = chosen.when(matched, sign.copy() if instead is None else exp.Literal.string(instead))
    chosen = chosen.else_(sign.copy() if signs[3] is None else exp.Literal.string(signs[3]))
    template = "CASE WHEN a = '' THEN a ELSE paimon_joined(list_transform(string_split(a, ''), lambda _e: c), '') END"
    return filled(template, {"a": call.nodes[0], "c": chosen})


def _padded(side: str) -> Callable[[Call], exp.Expr]:
    """`lpad` and `rpad` of bytes: zeros, if nothing else is given."""
    pad = "array_slice(repeat(p, (n - octet_length(a)) // octet_length(p) + 1), 1, n - octet_length(a))"
    joined = f"{pad} || a" if side == "left" else f"a || {pad}"
    template = (
        "CASE WHEN n <= octet_length(a) AND p IS NOT NULL THEN array_slice(a, 1, paimon_not_negative(n))"
        f" WHEN octet_length(p) = 0 AND n IS NOT NULL THEN a ELSE {joined} END"
    )

    def says(call: Call) -> exp.Expr:
        value, size, *given = call.nodes
        return filled(template, {"a": value, "n": size, "p": given[0] if given else filled("unhex('00')", {})})

    return says


_TO_BYTES = {
    "utf-8": "encode(a)", "utf8": "encode(a)",
    # White space is passed over, and the signs of the end may be left out.
    "base64": "CASE WHEN regexp_full_match(regexp_replace(a, '\\s', '', 'g'), '([A-Za-z0-9+/]{4})*"
    "([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?') THEN from_base64(rpad(regexp_replace(a, '[\\s=]', '', 'g'),"
    " CAST((length(regexp_replace(a, '[\\s=]', '', 'g')) + 3) // 4 * 4 AS INTEGER), '='))"
    " WHEN a IS NOT NULL THEN error('a text is no base64') END",
    "hex": "CASE WHEN regexp_full_match(a, '[0-9A-Fa-f]*') THEN unhex(CASE WHEN length(a) % 2 = 1"
    " THEN '0' || a ELSE a END) WHEN a IS NOT NULL THEN error('a text is no hex digits') END",
}  # fmt: skip
_OF_BYTES = {"utf-8": "decode(a)", "base64": "to_base64(a)", "hex": "upper(hex(a))"}


def _coded(call: Call, templates: dict[str, str]) -> exp.Expr:
    name = (call.arguments[1].text or "" if len(call.arguments) > 1 else "hex").lower()
    if name not in templates:
        fix = f"Use one of {', '.join(repr(each) for each in templates)}."
        raise refusals.unsupported(call.typing.source, call.written, f"{call.name.upper()} as '{name}'", fix)
    made = filled(templates[name], {"a": call.nodes[0]})
    return filled("TRY(a)", {"a": tried(made)}) if call.name.startswith("try") else made


def escaping(typing: Any, pattern: Typed, side: exp.Expr, sign: str) -> exp.Expr:
    """A pattern in which a sign makes others of their kind plain ones, and stands in front of no others.

    Raises: SqlError: it is written, and does.
    """
    escaped = re.escape(sign)
    right = rf"(?s:[^{escaped}]|{escaped}[_%{escaped}])*"
    problem = f"in a pattern of LIKE '{sign}' stands in front of another sign than '_', '%' and itself"
    if pattern.text is None:
        parts = {"a": side, "r": exp.Literal.string(right), "e": exp.Literal.string(problem)}
        return apart(filled("CASE WHEN regexp_full_match(a, r) THEN a WHEN a IS NOT NULL THEN error(e) END", parts))
    if not re.fullmatch(right, pattern.text):
        raise refusals.error_at(typing.source, pattern.written, problem, "Write it twice, or leave it out.")
    return side


def _like(call: Call) -> exp.Expr:
    """LIKE and ILIKE as functions."""
    escape = call.arguments[2].text if len(call.arguments) > 2 else "\\"
    if not escape or len(escape) != 1:
        raise refusals.unsupported(call.typing.source, call.written, "this sign of escape", "Write one sign.")
    pattern = escaping(call.typing, call.arguments[1], call.nodes[1], escape)
    made = filled(f"a {call.name.upper()} b", {"a": call.nodes[0], "b": pattern})
    return exp.Escape(this=made, expression=exp.Literal.string(escape))


_LUHN = (
    "CASE WHEN NOT regexp_full_match(a, '[0-9]+') THEN FALSE ELSE list_sum(list_transform(string_split(reverse(a), ''),"
    " lambda _d, _n: CASE WHEN _n % 2 = 1 THEN TRY_CAST(_d AS INTEGER)"
    " ELSE TRY_CAST(_d AS INTEGER) * 2 // 10 + TRY_CAST(_d AS INTEGER) * 2 % 10 END)) % 10 = 0 END"
)


def _split(call: Call) -> exp.Expr:
    """`split` with a limit: 0 and below are none."""
    limit = call.arguments[2].whole
    pattern = call.arguments[1].text
    if limit is None or limit > 2 or (limit == 2 and (pattern is None or finds_nothing(pattern))):
        fix = "Write 2 with a pattern that finds something, or -1 for all parts."
        raise refusals.unsupported(call.typing.source, call.written, "SPLIT into this number of parts", fix)
    if limit < 1:
        refuse_to_split_by_nothing(call)
    translate_pattern(call)
    template = "string_split_regex(a, b)" if limit < 1 else "CASE WHEN b IS NOT NULL AND a IS NOT NULL THEN [a] END"
    if limit == 2:
        first = "regexp_extract(a, '^((?s:.*?))(?:' || b || ')', 1)"
        rest = "regexp_replace(a, '^(?s:.*?)(?:' || b || ')', '')"
        template = (
            f"CASE WHEN regexp_matches(a, b) THEN [{first}, {rest}] WHEN b IS NOT NULL AND a IS NOT NULL THEN [a] END"
        )
    return filled(template, {"a": call.nodes[0], "b": call.nodes[1]})


def _all_found(call: Call) -> exp.Expr:
    group = call.arguments[2].whole if len(call.arguments) > 2 else 1
    if group is None:
        raise refusals.unsupported(call.typing.source, call.written, "a group by its computed number")
    if group:
        check_group(call, group)
    translate_pattern(call, takes_end=group != 0)
    # A group that is in no part of what was found is empty.
    template = f"list_transform(regexp_extract_all(a, b, {group}), lambda _e: COALESCE(_e, ''))"
    return filled(template, {"a": call.nodes[0], "b": call.nodes[1]})


ENTRIES: Sequence[Entry] = (
    entry("mask", "STRING=, 'STRING'?, 'STRING'?, 'STRING'?, 'STRING'?", "STRING", _masked, SPARK,
          samples=("s", "n, 'Q'", "s, NULL, '-', 'd', 'o'")),
    entry("lpad", "BINARY, INT, BINARY?", "BINARY", _padded("left"), SPARK),
    entry("rpad", "BINARY, INT, BINARY?", "BINARY", _padded("right"), SPARK),
    entry("to_binary try_to_binary", "STRING, 'STRING'?", "BINARY", lambda call: _coded(call, _TO_BYTES), SPARK,
          samples=("s, 'utf-8'", "hex(s), 'hex'")),
    entry("to_char to_varchar", "BINARY=, 'STRING'", "STRING", lambda call: _coded(call, _OF_BYTES), SPARK,
          samples=("y, 'hex'", "y, 'base64'")),
    entry("like ilike", "STRING, STRING, 'STRING'?", "BOOLEAN", _like, SPARK, samples=("s, '%a%'", "s, '_'")),
    entry("luhn_check", "STRING", "BOOLEAN", _LUHN, SPARK),
    entry("is_valid_utf8", "BINARY", "BOOLEAN", "CASE WHEN a IS NOT NULL THEN TRY(decode(a)) IS NOT NULL END", SPARK),
    entry("is_valid_utf8", "STRING", "BOOLEAN", "CASE WHEN a IS NOT NULL THEN TRUE END", SPARK),
    entry("make_valid_utf8 validate_utf8 try_validate_utf8", "STRING", "STRING", "a", SPARK),
    entry("validate_utf8", "BINARY", "STRING", "decode(a)", SPARK),
    entry("try_validate_utf8", "BINARY", "STRING", "TRY(decode(a))", SPARK),
    entry("split", "STRING, STRING, INT!", "ARRAY<STRING>", _split, SPARK,
          samples=("s, ',', 2", "s, '[a-c]', -1", "n, '2', 1")),
    entry("regexp_extract_all", "STRING, STRING, INT!?", "ARRAY<STRING>", _all_found, SPARK,
          samples=("s, '([a-z])([0-9]?)'", "n, '([0-9])', 1", "s, '[a-z]+', 0")),
    entry("regexp_instr", "STRING, STRING", "INT", of_pattern("CASE WHEN regexp_matches(a, b) THEN CAST(length("
          "regexp_extract(a, '^((?s:.*?))(?:' || b || ')', 1)) + 1 AS INTEGER)"
          " WHEN a IS NOT NULL AND b IS NOT NULL THEN 0 END"), SPARK,
          samples=("s, 'b'", "n, '[1-9]'")),
)  # fmt: skip
