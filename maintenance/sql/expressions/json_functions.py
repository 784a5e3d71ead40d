"""JSON as texts, and VARIANT. Source: Spark's `jsonExpressions.scala`, Flink's `SqlJsonUtils`."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.errors import DataError
from maintenance.format.variant.paths import parse_path
from maintenance.sql.dialects import PaimonSpark
from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.conversions import Wanted, at_path, cast_node, converted, tried
from maintenance.sql.expressions.entries import FLINK, SPARK, Call, Entry, Typed, entry
from maintenance.sql.expressions.named_types import named_type
from maintenance.sql.expressions.nested_texts import json_plain, json_text
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

if TYPE_CHECKING:
    from maintenance.sql.expressions.scopes import Scope
    from maintenance.sql.expressions.typing import Typing

# DuckDB takes NaN and Infinity for numbers.
_WORDS = "regexp_matches({}, '(?i)nan|inf')"
_OUTSIDE = _WORDS.format(r"""regexp_replace(a, '"(\\.|[^"\\])*"', '', 'g')""")
_GUARDED = f"CASE WHEN json_valid(a) AND NOT ({_WORDS.format('a')} AND {_OUTSIDE}) THEN a END"


# A step of a path: a name, or the place in an array. Spark passes over blanks in some places.
_STEP = re.compile(r"\.\s*([^.\[]+)|\s*\['\s*([^'?]+)'\]|\[\s*(\d+)\]")


def _duck_path(path: str) -> str | None:
    """A path of Spark's as DuckDB has it; None: it is none."""
    found, at = re.match(r"\$", path), 0
    made = "$"
    while found is not None and (at := found.end()) < len(path):
        found = _STEP.match(path, at)
        if found is not None:
            made += f"[{int(found[3])}]" if found[3] else f'."{found[1] or found[2]}"'
    return None if found is None else made


def _object(call: Call) -> exp.Expr:
    """`get_json_object`."""
    path = call.arguments[1].text
    if isinstance(call.arguments[1].written.unnest(), exp.Null):
        return cast_node(exp.Null(), kinds.STRING)
    if path is None or "*" in path or "?" in path or '"' in path:
        raise refusals.unsupported(call.typing.source, call.written, "this path in JSON")
    own = _duck_path(path)
    if own is None:
        return cast_node(exp.Null(), kinds.STRING)
    text = f"json_extract_string({_GUARDED}, p)"
    # A number that is no integer is written as Java writes it, and a text that is nothing but null is that word.
    nothing = "'null'" if own == "$" else "NULL"
    template = (
        f"CASE json_type({_GUARDED}, p) WHEN 'DOUBLE' THEN CASE WHEN regexp_matches({text}, '[.eE]')"
        f" THEN paimon_double_text(CAST({text} AS DOUBLE)) ELSE {text} END"
        f" WHEN 'NULL' THEN {nothing} ELSE {text} END"
    )
    return filled(template, {"a": call.nodes[0], "p": exp.Literal.string(own)})


def _target(call: Call) -> DataType:
    """The type that the last argument names."""
    if any(argument.text is None for argument in call.arguments[1:]):
        name = call.name
        problem = f"{name} takes a variant, a path and the name of a type, the last two as texts"
        raise refusals.error_at(call.typing.source, call.written, problem, f"Write {name}(v, '$.a', 'int').")
    if len(call.arguments) < 3:
        return kinds.VARIANT
    to = exp.DataType.build(call.arguments[2].text or "", dialect=PaimonSpark)
    return named_type(to, call.typing.source, is_flink=False).kind


def _got(call: Call) -> exp.Expr:
    """`variant_get`."""
    path = call.arguments[1].text or ""
    try:
        parse_path(path)
    except DataError as error:
        raise refusals.error_at(call.typing.source, call.written, error.found, error.fix) from error
    made = at_path(call.nodes[0], path, call.kind)
    if made is None:
        what = f"a variant as {kinds.shown(call.kind)}"
        raise refusals.unsupported(call.typing.source, call.written, what, "Get the values inside it one by one.")
    return tried(made) if call.name.startswith("try") else made


_IS_NESTED = f"json_type({_GUARDED}, p) IN ('OBJECT', 'ARRAY')"
_FLINK_TEXT = f"json_extract_string({_GUARDED}, p)"


def _flink_path(path: Typed) -> exp.Expr:
    """A path of Flink's, in front of which its mode may stand; each is read as the lax one."""
    return exp.Literal.string((path.text or "").removeprefix("lax ").removeprefix("strict "))


def _at_flink_path(template: str) -> Callable[[Call], exp.Expr]:
    return lambda call: filled(template, {"a": call.nodes[0], "p": _flink_path(call.arguments[1])})


def json_value(typing: "Typing", node: exp.JSONValue, scope: "Scope") -> Typed:
    """``JSON_VALUE(text, path RETURNING type DEFAULT value ON EMPTY)`` of Flink: a plain value at a path."""
    text, path = (typing.value(part, scope) for part in (node.this, node.args["path"]))
    if path.text is None or not text.kind.is_string:
        raise refusals.no_such_types(typing.source, node, "json_value", [text.kind, path.kind])
    parts = {"a": text.node, "p": _flink_path(path)}
    found = Typed(filled(f"CASE WHEN NOT ({_IS_NESTED}) THEN {_FLINK_TEXT} END", parts), kinds.STRING, node)
    returning, condition = node.args.get("returning"), node.args.get("on_condition")
    kind = found.kind
    if isinstance(returning, exp.DataType):
        kind = named_type(returning, typing.source, is_flink=True).kind
    value = converted(found, Wanted(kind, is_flink=True, is_try=True))
    if value is None:
        raise refusals.unsupported(typing.source, node, f"JSON_VALUE as {kinds.shown(kind)}")
    empty, error = (_instead(typing, condition, when, kind, scope) for when in ("empty", "error"))
    if empty is None and error is None:
        return Typed(value, kind, node)
    template = "CASE WHEN a IS NULL THEN NULL WHEN json_valid(a) THEN COALESCE(v, e) ELSE w END"
    either = {"e": empty or exp.Null(), "w": error or exp.Null()}
    return Typed(filled(template, {"a": text.node.copy(), "v": value, **either}), kind, node)


def _instead(
    typing: "Typing", condition: exp.Expr | None, when: str, kind: DataType, scope: "Scope"
) -> exp.Expr | None:
    """What is given where there is no value, or a fault."""
    instead = condition.args.get(when) if condition is not None else None
    if instead == f"ERROR ON {when.upper()}":
        what = f"JSON_VALUE with ERROR ON {when.upper()}"
        raise refusals.unsupported(typing.source, condition or exp.Null(), what, f"Use NULL ON {when.upper()}.")
    return typing.in_type(typing.of(instead, scope), kind) if isinstance(instead, exp.Expr) else None


def _as_json(call: Call) -> exp.Expr:
    """`to_json` of what is nested."""

    def plain(value: Typed) -> exp.Expr | None:
        text = converted(value, Wanted(kinds.STRING, is_flink=False))
        return None if text is None else json_plain(value, text, value.kind)

    made = json_text(call.arguments[0], plain)
    if made is None:
        what = f"TO_JSON of {kinds.shown(call.kinds[0])}"
        raise refusals.unsupported(call.typing.source, call.written, what)
    return made


ENTRIES: Sequence[Entry] = (
    entry("to_json", "ARRAY|MAP|ROW", "STRING", _as_json, SPARK,
          samples=("a", "m", "t", "named_struct('x', k, 'y', s)", "array(f64, f32)", "array(day)")),
    entry("get_json_object", "STRING=, STRING", "STRING", _object, SPARK),
    entry("json_array_length", "STRING=", "INT", f"CASE WHEN json_type({_GUARDED}) = 'ARRAY' THEN"
          f" CAST(json_array_length({_GUARDED}) AS INTEGER) END", SPARK),
    entry("json_object_keys", "STRING=", "ARRAY<STRING>",
          f"CASE WHEN json_type({_GUARDED}) = 'OBJECT' THEN json_keys({_GUARDED}) END", SPARK),
    entry("json_query", "STRING, 'STRING'", "STRING",
          _at_flink_path(f"CASE WHEN {_IS_NESTED} THEN CAST(json_extract({_GUARDED}, p) AS VARCHAR) END"), FLINK,
          samples=("s, '$.a'",)),
    entry("json_exists", "STRING, 'STRING'", "BOOLEAN",
          _at_flink_path(f"CASE WHEN a IS NOT NULL THEN {_FLINK_TEXT} IS NOT NULL END"),
          FLINK, samples=("s, '$.a'",)),
    entry("parse_json", "STRING=", "VARIANT", "paimon_variant_parse(a)", samples=("'[1, {}]'",)),
    entry("try_parse_json", "STRING=", "VARIANT", "paimon_variant_try_parse(a)", samples=("'[1, {}]'",)),
    entry("parse_json", "STRING=, BOOLEAN", "VARIANT",
          "CASE WHEN b THEN paimon_variant_parse_last(a) ELSE paimon_variant_parse(a) END", FLINK,
          samples=("'{\"a\": 1}', TRUE",)),
    entry("try_parse_json", "STRING=, BOOLEAN", "VARIANT",
          "CASE WHEN b THEN paimon_variant_try_parse_last(a) ELSE paimon_variant_try_parse(a) END", FLINK,
          samples=("'{\"a\": 1}', TRUE",)),
    entry("is_variant_null", "VARIANT", "BOOLEAN", "paimon_variant_is_null(a)", SPARK),
    entry("variant_get try_variant_get", "VARIANT, ANY, ANY?", _target, _got, SPARK),
    entry("to_json", "VARIANT", "STRING", "paimon_variant_json(a)", SPARK),
)  # fmt: skip
