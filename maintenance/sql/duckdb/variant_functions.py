"""The functions over variants that DuckDB calls; `variants` puts them into queries."""

from collections.abc import Callable
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.variant.json_parse import parse_json
from maintenance.format.variant.json_text import json_texts
from maintenance.format.variant.paths import are_null, texts_at, variants_at
from maintenance.format.variant.stored import plain_variants
from maintenance.sql.query.variants import PREFIX
from maintenance.types.arrow import VARIANT

Column: TypeAlias = pa.ChunkedArray | pa.Array


def register_variant_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Give DuckDB the functions, for all connections of its process."""
    variant, text = duckdb.struct_type({"value": "BLOB", "metadata": "BLOB"}), "VARCHAR"
    functions: dict[str, tuple[list[Any], Any, Callable[..., pa.Array]]] = {
        "parse": ([text], variant, _of_one(parse_json)),
        "try_parse": ([text], variant, _of_one(_parsed_where_possible)),
        "json": ([variant], text, _of_one(json_texts)),
        "text": ([variant, text], text, _of_two(texts_at)),
        "at": ([variant, text], variant, _of_two(variants_at)),
        "is_null": ([variant], "BOOLEAN", _of_one(are_null)),
    }
    create: Any = connection.create_function
    for name, (takes, gives, function) in functions.items():
        create(PREFIX + name, function, takes, gives, type="arrow", null_handling="special")


def _of_one(function: Callable[[pa.Array], pa.Array]) -> Callable[[Column], pa.Array]:
    return lambda column: function(_whole(column))


def _of_two(function: Callable[[pa.Array, str], pa.Array]) -> Callable[[Column, Column], pa.Array]:
    """Of variants and a path, which is the same for all."""
    return lambda variants, paths: function(_whole(variants), paths[0].as_py())


def _whole(column: Column) -> pa.Array:
    """A single array; of variants in their usual type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
    return plain_variants(column) if pa.types.is_struct(column.type) else column


def _parsed_where_possible(texts: pa.Array) -> pa.Array:
    """Variants, null where a text is not JSON: halves without a fault are parsed at once."""
    try:
        return parse_json(texts)
    except DataError:
        if len(texts) == 1:
            return pa.nulls(1, VARIANT)
        middle = len(texts) // 2
        return pa.concat_arrays(
            [_parsed_where_possible(texts.slice(0, middle)), _parsed_where_possible(texts.slice(middle))]
        )
