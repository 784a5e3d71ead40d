"""The functions over variants that DuckDB calls; `variants` puts them into queries."""

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.bytes.ragged import Ragged
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.dictionary import metadata_of
from maintenance.format.variant.json_parse import parse_json
from maintenance.format.variant.json_text import json_texts
from maintenance.format.variant.paths import are_null, elements_of, fields_of, texts_at, variants_at
from maintenance.format.variant.stored import plain_variants, present, storage_of
from maintenance.sql.query.variants import PREFIX
from maintenance.types.arrow import VARIANT

Column: TypeAlias = pa.ChunkedArray | pa.Array


def register_variant_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Give DuckDB the functions, for all connections of its process."""
    variant, text = duckdb.struct_type({"value": "BLOB", "metadata": "BLOB"}), "VARCHAR"
    functions: dict[str, tuple[list[Any], Any, Callable[..., pa.Array]]] = {
        "parse": ([text], variant, _of_one(_parsed)),
        "try_parse": ([text], variant, _of_one(_parsed_where_possible)),
        "parse_last": ([text], variant, _of_one(partial(_parsed, keeps_last=True))),
        "try_parse_last": ([text], variant, _of_one(partial(_parsed_where_possible, keeps_last=True))),
        "json": ([variant], text, _of_one(json_texts)),
        "text": ([variant, text], text, _of_two(texts_at)),
        "at": ([variant, text], variant, _of_two(variants_at)),
        "elements": ([variant], duckdb.list_type(variant), _of_one(elements_of)),
        "try_elements": ([variant], duckdb.list_type(variant), _of_one(partial(elements_of, is_try=True))),
        "fields": ([variant], duckdb.map_type("VARCHAR", variant), _of_one(fields_of)),
        "try_fields": ([variant], duckdb.map_type("VARCHAR", variant), _of_one(partial(fields_of, is_try=True))),
        "of_list": ([duckdb.list_type(variant)], variant, _of_one(_of_lists)),
        "is_null": ([variant], "BOOLEAN", _of_one(are_null)),
        "of_decimal": ([text], variant, _of_one(_of_decimals)),
        **{f"of_{kind.lower()}": ([kind], variant, _of_one(_of_values)) for kind in _KINDS},
    }
    create: Any = connection.create_function
    for name, (takes, gives, function) in functions.items():
        create(PREFIX + name, function, takes, gives, type="arrow", null_handling="special")


# Of single values that become variants; decimals of any scale come as texts.
_KINDS = ("BOOLEAN", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMPTZ")


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


def _parsed(texts: pa.Array, *, keeps_last: bool = False) -> pa.Array:
    """Variants. What stands behind the value of a text is not looked at, as in Spark's `VariantBuilder`.

    `keeps_last`: see `parse_json`.
    """
    try:
        return parse_json(texts, keeps_last=keeps_last)
    except DataError:
        cut = pa.array([None if text is None else _first_value(text) for text in texts.to_pylist()], pa.string())
        if cut.equals(texts.cast(pa.string())):
            raise
        return parse_json(cut, keeps_last=keeps_last)


_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def _first_value(text: str) -> str:
    """The value that a text begins with; the whole text where there is none, or its end is not plain."""
    try:
        _, end = _DECODER.raw_decode(text, _BLANKS.match(text).end())  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return text
    last, following = text[end - 1], text[end : end + 1]
    # A word ends where no name goes on, a number before a blank.
    is_plain = last in '"}]' or following in " \t\r\n" or (last.isalpha() and not re.match(r"[\w$]", following))
    return text[:end] if is_plain else text


def _of_values(values: pa.Array) -> pa.Array:
    """Variants that hold single values."""
    return _stored(scalars.of_arrow(values), values)


def _of_lists(lists: pa.Array) -> pa.Array:
    """Variants that hold arrays of others, which name no fields."""
    offsets = lists.offsets.to_numpy()
    parts = plain_variants(lists.values.slice(offsets[0], offsets[-1] - offsets[0]))
    rows, values, _ = present(parts)
    nulls = np.delete(np.arange(len(parts)), rows)
    whole = scalars.joined([(rows, values), (nulls, scalars.of_constants(np.zeros(len(nulls), np.int64)))], len(parts))
    return _stored(binary.arrays(np.diff(offsets), whole), lists)


def _of_decimals(texts: pa.Array) -> pa.Array:
    """Variants that hold decimals, which keep their scales."""
    known = pc.fill_null(texts.cast(pa.string()), "0")
    parts = pc.struct_field(pc.extract_regex(known, r"(?P<rest>[.][0-9]*)?$"), 0)
    scales = pc.max_element_wise(pc.subtract(pc.utf8_length(parts), 1), 0).to_numpy().astype(np.int64)
    whole = pc.replace_substring(known, ".", "").cast(pa.decimal128(scalars.MAX_DECIMAL_DIGITS, 0))
    return _stored(scalars.of_decimals(whole, scales), texts)


def _stored(values: Ragged, given: pa.Array) -> pa.Array:
    nothing = np.empty(0, np.int64)
    metadata, _ = metadata_of(len(given), nothing, nothing, pa.array([], pa.string()))
    return storage_of(values, metadata, given.is_null().to_numpy(zero_copy_only=False))


def _parsed_where_possible(texts: pa.Array, *, keeps_last: bool = False) -> pa.Array:
    """Variants, null where a text is not JSON: halves without a fault are parsed at once."""
    try:
        return _parsed(texts, keeps_last=keeps_last)
    except DataError:
        if len(texts) == 1:
            return pa.nulls(1, VARIANT)
        middle = len(texts) // 2
        halves = texts.slice(0, middle), texts.slice(middle)
        return pa.concat_arrays([_parsed_where_possible(half, keeps_last=keeps_last) for half in halves])
