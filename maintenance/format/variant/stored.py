"""Variants as columns have them: structs of `value` and `metadata`."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged
from maintenance.format.variant import binary
from maintenance.format.variant.binary import check_whole
from maintenance.format.variant.dictionary import Names, binaries_of, bytes_of
from maintenance.types.arrow import VARIANT


def storage_of(values: Ragged, metadata: Ragged, nulls: np.ndarray | None = None) -> pa.Array:
    """The array of variants. `nulls`: bool, shape (n,); None = none is null."""
    parts = [binaries_of(values).cast(pa.binary()), binaries_of(metadata).cast(pa.binary())]
    mask = None if nulls is None or not nulls.any() else pa.array(nulls)
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=mask)


def present(column: pa.Array) -> tuple[np.ndarray, Ragged, Ragged]:
    """Rows of the variants that are not null, their values and their metadata. Raises: CorruptFileError."""
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    there = column.take(pa.array(rows)) if len(rows) < len(column) else column
    values = bytes_of(there.field("value"))
    check_whole(values)
    return rows, values, bytes_of(there.field("metadata"))


def spread_over(found: pa.Array, rows: np.ndarray, count: int) -> pa.Array:
    """What was found for some rows, null for the others."""
    if len(rows) == count:
        return found
    places = np.full(count, -1)
    places[rows] = np.arange(len(rows))
    return found.take(pa.array(places, mask=places < 0))


def plain_variants(array: pa.Array) -> pa.Array:
    """A struct with `value` and `metadata` in any order in the usual form.

    Raises: pa.ArrowInvalid: it is not such a struct, or one of the two is null in a value that is not.
    """
    names = [part.name for part in array.type] if pa.types.is_struct(array.type) else []
    if sorted(names) != ["metadata", "value"]:
        raise pa.ArrowInvalid(f"{array.type} is not a VARIANT, which has 'value' and 'metadata'")
    nulls = array.is_null()
    parts = []
    for part in VARIANT:
        content = array.field(names.index(part.name)).cast(pa.binary())
        if content.null_count:
            if pc.any(pc.and_not(content.is_null(), nulls)).as_py():
                raise pa.ArrowInvalid(f"a VARIANT without its '{part.name}'")
            content = pc.fill_null(content, b"")
        parts.append(content)
    return pa.StructArray.from_arrays(parts, fields=list(VARIANT), mask=nulls if array.null_count else None)


def checked_variants(array: pa.Array) -> pa.Array:
    """The same, the bytes of every value looked through. Raises: also CorruptFileError: they are not a variant."""
    array = plain_variants(array)
    rows, values, metadata = present(array)
    names, at = Names.of(metadata), np.arange(len(rows))
    while len(values):
        inner = binary.children(values)
        at = at[inner.parents]
        is_field = inner.names >= 0
        names.of_fields(at[is_field], inner.names[is_field])
        values = inner.values
    return array


def is_text(arrow: pa.DataType) -> bool:
    """Whether values of an Arrow type are texts, which stand for variants as JSON."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))
