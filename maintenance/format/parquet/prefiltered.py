"""The rows of a parquet file that a filter selects, decoded by polars: of its other columns it makes only these rows.

pyarrow makes every value before one can be left out, which takes longest of texts. polars asks for the values of those
columns that tell which rows are wanted, of a dictionary once for each, and the filter is our own: it judges the same as
elsewhere. Files that polars cannot read, or reads otherwise, are left to pyarrow.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.format.parquet.together import is_simple
from maintenance.format.polars_threads import polars_works_here

# Of decoded values, which are all held at once.
_MOST_BYTES = 128 << 20
# A file is read whole: the columns wanted must be so much of it.
_LEAST_PART = 0.5


def is_prefiltered(reader: pq.ParquetFile, names: Sequence[str], file_size: int) -> bool:
    """Whether it is worth while to read columns of a file by `matching_rows`, and they are small enough."""
    schema = stored_schema(reader)
    if any(schema.get_field_index(name) < 0 or not is_simple(schema.field(name).type) for name in names):
        return False
    if len(schema) != reader.metadata.num_columns or not polars_works_here():
        return False
    groups = [reader.metadata.row_group(number) for number in range(reader.metadata.num_row_groups)]
    parts = [group.column(schema.get_field_index(name)) for group in groups for name in names]
    if sum(part.total_uncompressed_size for part in parts) > _MOST_BYTES:
        return False
    return bool(sum(part.total_compressed_size for part in parts) >= _LEAST_PART * file_size)


def stored_schema(reader: pq.ParquetFile) -> pa.Schema:
    """The columns of a file, with none as a dictionary."""
    schema = reader.schema_arrow
    kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
    return pa.schema(zip(schema.names, kinds, strict=True))


def matching_rows(
    data: bytes,
    schema: pa.Schema,
    names: Sequence[str],
    telling: Sequence[str],
    mask: Callable[[pa.Table], np.ndarray],
    batch_rows: int,
) -> Iterator[pa.Table] | None:
    """Columns of the wanted rows of a file, in its own types; None where polars cannot read it.

    Args: `schema`: of the file; `mask`: of the columns `telling`, in the file's types: which rows are wanted, by the
        values of each row alone; `batch_rows`: at most so many in a table.
    """
    import polars as pl  # starts threads: see `manifest`

    def typed(frame: pl.DataFrame) -> pa.Table:
        types = [schema.field(name).type for name in frame.columns]
        columns = [column.to_arrow().cast(kind) for column, kind in zip(frame.get_columns(), types, strict=True)]
        return pa.Table.from_arrays(columns, names=frame.columns)

    def wanted(told: pl.Series) -> pl.Series:
        return pl.Series(mask(typed(told.struct.unnest())))

    try:
        # Statistics leave out NaN: equal bounds do not mean that a column has one value.
        rows = pl.scan_parquet(data, glob=False, hive_partitioning=False, parallel="prefiltered", use_statistics=False)
        chosen = pl.struct(telling).map_batches(wanted, return_dtype=pl.Boolean, is_elementwise=True)
        found = rows.filter(chosen).select(names).collect()
    except pl.exceptions.PanicException:  # not an Exception
        return None
    except Exception:  # noqa: BLE001 - pyarrow meets the same bytes, and the filter the same rows, and tells
        return None
    # Texts that repeat are together in memory until here.
    return map(typed, found.iter_slices(batch_rows))
