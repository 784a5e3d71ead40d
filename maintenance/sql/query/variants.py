"""VARIANT in queries that DuckDB runs: Spark's functions, as ours over the stored struct (`variant_functions`).

A value of a type is the text at its path, cast by DuckDB; numbers that become integers are cut off, as in Spark.
"""

from collections.abc import Callable, Mapping

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import DataError, SqlError
from maintenance.format.variant.extension import VariantType
from maintenance.format.variant.paths import parse_path
from maintenance.format.variant.stored import plain_variants
from maintenance.sql.dialects import PaimonSpark
from maintenance.types.arrow import VARIANT
from maintenance.types.data_type import DataType

PREFIX = "paimon_variant_"
_WIDE = "DECIMAL(38, 10)"  # holds every integer, and fractions to cut off
_NAMED = {"parse_json": "parse", "try_parse_json": "try_parse", "is_variant_null": "is_null"}
_GETS = ("variant_get", "try_variant_get")


def shape_variants(tree: exp.Expr, types: Mapping[str, DataType]) -> None:
    """Put our functions in the place of Spark's. `types`: of columns.

    Raises: SqlError: a path is not one, or a type cannot be had.
    """
    for node in list(tree.find_all(exp.ParseJSON, exp.Anonymous, exp.JSONFormat, exp.Cast)):
        if isinstance(node, exp.ParseJSON):
            node.replace(_call("parse", node.this))
        elif isinstance(node, exp.JSONFormat):
            if _is_variant(node.this, types):
                node.replace(_call("json", node.this))
        elif isinstance(node, exp.Cast):
            if _is_variant(node.this, types):
                node.replace(_typed(node.this, "$", node.to, is_try=isinstance(node, exp.TryCast)))
        elif str(node.this).lower() in _NAMED:
            node.replace(_call(_NAMED[str(node.this).lower()], *node.expressions))
        elif str(node.this).lower() in _GETS:
            node.replace(_get(node))


def _is_variant(node: exp.Expr, types: Mapping[str, DataType]) -> bool:
    node = node.unnest()
    if isinstance(node, exp.Column):
        kind = types.get(node.name)
        return kind is not None and kind.root == "VARIANT"
    return isinstance(node, exp.Anonymous) and str(node.this) in (f"{PREFIX}parse", f"{PREFIX}at")


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=PREFIX + name, expressions=[argument.copy() for argument in arguments])


def _get(node: exp.Func) -> exp.Expr:
    name = str(node.this).lower()
    texts = [part for part in node.expressions[1:] if isinstance(part, exp.Literal) and part.is_string]
    if len(node.expressions) not in (2, 3) or len(texts) != len(node.expressions) - 1:
        raise SqlError(
            f"{name} takes a variant, a path and the name of a type, the last two as texts",
            "query",
            f"Write {name}(v, '$.a', 'int').",
        )
    try:
        parse_path(texts[0].name)
    except DataError as error:
        raise SqlError(error.found, "query", error.fix) from error
    target = exp.DataType.build(texts[1].name if len(texts) > 1 else "VARIANT", dialect=PaimonSpark)
    return _typed(node.expressions[0], texts[0].name, target, is_try=name.startswith("try"))


def _typed(variant: exp.Expr, path: str, target: exp.DataType, *, is_try: bool) -> exp.Expr:
    """What is at a path, in a type."""
    if target.this == exp.DType.VARIANT:
        return _call("at", variant, exp.Literal.string(path))
    if target.this in exp.DataType.NESTED_TYPES:
        shown = target.sql(PaimonSpark)
        raise SqlError(f"a variant as {shown}", "query", "Get the values inside it one by one.")
    text = _call("text", variant, exp.Literal.string(path))
    if target.this in exp.DataType.TEXT_TYPES:
        return text
    cast: Callable[..., exp.Expr] = exp.TryCast if is_try else exp.Cast
    if target.this in exp.DataType.INTEGER_TYPES:
        text = exp.Anonymous(this="trunc", expressions=[cast(this=text, to=exp.DataType.build(_WIDE))])
    return cast(this=text, to=target.copy())


def with_variants(rows: pa.Table) -> pa.Table:
    """The result of a query over variants: its columns that have their form are such."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_struct(field.type) and [part.name for part in field.type] == VARIANT.names:
            chunks = [
                pa.ExtensionArray.from_storage(VariantType(), plain_variants(c)) for c in rows.column(number).chunks
            ]
            rows = rows.set_column(number, field.with_type(VariantType()), pa.chunked_array(chunks, VariantType()))
    return rows
