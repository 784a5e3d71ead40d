"""What stands at a path inside variants, and what arrays and objects hold.

Source: Java `VariantPathSegment`, Spark's `variant_get`.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.dictionary import Names, texts_of
from maintenance.format.variant.json_text import texts_of_values
from maintenance.format.variant.stored import present, spread_over, storage_of

_STEP = re.compile(r"""\.(?P<plain>[^.\[\]'"]+)|\[(?P<index>\d+)\]|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]""")
_QUOTED = (binary.DATE, binary.TIMESTAMP, binary.TIMESTAMP_NTZ, binary.BINARY, binary.UUID)


def parse_path(text: str) -> tuple[str | int, ...]:
    """The steps of a path such as ``$.a[0]['b c']``: names of fields, and places in arrays.

    Raises: DataError: it is not a path.
    """
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            break
        at = match.end()
        steps.append(
            int(match["index"]) if match["index"] else next(part for part in match.groups() if part is not None)
        )
    if not text.startswith("$") or at < len(text):
        raise DataError(f"'{text}' is not a path", "a VARIANT", "Write it as $.name[0]['other name'].")
    return tuple(steps)


def variants_at(column: pa.Array, path: str) -> pa.Array:
    """The variants at a path, null where there is nothing. Raises: DataError: not a path; CorruptFileError."""
    rows, values, at, metadata, _ = _found(column, path)
    return spread_over(storage_of(values, metadata.take(at)), rows, len(column))


def texts_at(column: pa.Array, path: str) -> pa.Array:
    """What is at a path as a text: of a text its content, of others their JSON without quotation marks around it.

    Null where there is nothing, or the variant's null. Raises: DataError: not a path; CorruptFileError.
    """
    rows, values, at, _, names = _found(column, path)
    shown = texts_of_values(values, at, names)
    enclosed = pa.array(scalars.of_type(values, *_QUOTED))
    shown = pc.if_else(enclosed, pc.utf8_slice_codeunits(shown, 1, -1), shown)
    plain = scalars.is_text(values)
    contents = texts_of(scalars.texts(values.take(np.flatnonzero(plain))))
    shown = pc.replace_with_mask(shown, pa.array(plain), contents)
    is_null = pa.array(scalars.of_type(values, binary.NULL))
    return spread_over(pc.if_else(is_null, pa.scalar(None, pa.string()), shown), rows, len(column))


def are_null(column: pa.Array) -> pa.Array:
    """Whether variants are the null that JSON has; false where there is no variant. Raises: CorruptFileError."""
    rows, values, _ = present(column)
    nulls = np.zeros(len(column), bool)
    nulls[rows] = scalars.of_type(values, binary.NULL)
    return pa.array(nulls)


def elements_of(column: pa.Array, *, is_try: bool = False) -> pa.Array:
    """The elements of arrays, each a variant; null where there is no variant, or the null that JSON has.

    Args: `is_try`: null where there is something else.
    Raises: DataError: there is something else; CorruptFileError.
    """
    rows, values, metadata = present(column)
    rows, values, metadata = _holders(rows, values, metadata, binary.ARRAY, is_try=is_try)
    inner = binary.children(values)
    parts = storage_of(inner.values, metadata.take(inner.parents))
    offsets = pa.array(ends(inner.counts(len(values))).astype(np.int32))
    return spread_over(pa.ListArray.from_arrays(offsets, parts), rows, len(column))


def fields_of(column: pa.Array, *, is_try: bool = False) -> pa.Array:
    """The fields of objects, a map of variants by their names. Arguments and errors as of `elements_of`."""
    rows, values, metadata = present(column)
    rows, values, metadata = _holders(rows, values, metadata, binary.OBJECT, is_try=is_try)
    names, inner = Names.of(metadata), binary.children(values)
    texts = names.texts.take(pa.array(names.of_fields(inner.parents, inner.names)))
    parts = storage_of(inner.values, metadata.take(inner.parents))
    offsets = pa.array(ends(inner.counts(len(values))).astype(np.int32))
    return spread_over(pa.MapArray.from_arrays(offsets, texts, parts), rows, len(column))


def _holders(
    rows: np.ndarray, values: Ragged, metadata: Ragged, kind: int, *, is_try: bool
) -> tuple[np.ndarray, Ragged, Ragged]:
    """Those of the variants that are arrays, or objects."""
    matches = binary.kinds(values) == kind
    if not is_try and not (matches | scalars.of_type(values, binary.NULL)).all():
        wanted = "an array" if kind == binary.ARRAY else "an object"
        raise DataError(f"a variant is not {wanted}", "a VARIANT", "Use try_variant_get, or look at it with to_json.")
    own = np.flatnonzero(matches)
    return rows[own], values.take(own), metadata.take(own)


def _found(column: pa.Array, path: str) -> tuple[np.ndarray, Ragged, np.ndarray, Ragged, Names]:
    """Rows that have something at a path, what it is, and number in the metadata, which with its names comes last."""
    rows, values, metadata = present(column)
    names, at = Names.of(metadata), np.arange(len(rows))
    for step in parse_path(path):
        inner = binary.children(values)
        if isinstance(step, int):
            counts = inner.counts(len(values))
            place = np.arange(len(inner.parents)) - (np.cumsum(counts) - counts)[inner.parents]
            own = np.flatnonzero((inner.names < 0) & (place == step))
        else:
            fields = np.flatnonzero(inner.names >= 0)
            number = pc.index(names.texts, step).as_py()
            texts = names.of_fields(at[inner.parents[fields]], inner.names[fields])
            own = fields[texts == number]
        at, values = at[inner.parents[own]], inner.values.take(own)
    return rows[at], values, at, metadata, names
