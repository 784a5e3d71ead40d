"""JSON as texts, and VARIANT. Source: Spark's `jsonExpressions.scala`, Flink's `SqlJsonUtils`."""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.errors import DataError
from maintenance.format.variant.paths import parse_path
from maintenance.sql.dialects import PaimonSpark
from maintenance.sql.expressions import kinds, refusals
from maintenance.sql.expressions.conversions import at_path, tried
from maintenance.sql.expressions.entries import SPARK, Call, Entry, entry
from maintenance.sql.expressions.named_types import named_type
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

_GUARDED = "CASE WHEN json_valid(a) THEN a END"


def _object(call: Call) -> exp.Expr:
    """`get_json_object`."""
    path = call.arguments[1].text
    if path is None or "*" in path or "?" in path:
        raise refusals.unsupported(call.typing.source, call.written, "this path in JSON")
    return filled(f"json_extract_string({_GUARDED}, p)", {"a": call.nodes[0], "p": exp.Literal.string(path)})


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


ENTRIES: Sequence[Entry] = (
    entry("get_json_object", "STRING, STRING", "STRING", _object, SPARK),
    entry("json_array_length", "STRING", "INT", f"CASE WHEN json_type({_GUARDED}) = 'ARRAY' THEN"
          f" CAST(json_array_length({_GUARDED}) AS INTEGER) END", SPARK),
    entry("json_object_keys", "STRING", "ARRAY<STRING>",
          f"CASE WHEN json_type({_GUARDED}) = 'OBJECT' THEN json_keys({_GUARDED}) END", SPARK),
    entry("parse_json", "STRING", "VARIANT", "paimon_variant_parse(a)", SPARK),
    entry("try_parse_json", "STRING", "VARIANT", "paimon_variant_try_parse(a)", SPARK),
    entry("is_variant_null", "VARIANT", "BOOLEAN", "paimon_variant_is_null(a)", SPARK),
    entry("variant_get try_variant_get", "VARIANT, ANY, ANY?", _target, _got, SPARK),
    entry("to_json", "VARIANT", "STRING", "paimon_variant_json(a)", SPARK),
)  # fmt: skip
