"""Decoding many small parquet files in one call.

For a file of a few kilobytes pyarrow needs longer to open it than to decode it; polars decodes a list of files as one,
in a fifth of the time. It gets only files whose column types mean the same to both libraries and are those of the first
file; other files are read one by one.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.format.polars_threads import polars_works_here


def read_together(files: Sequence[bytes], names: Sequence[str]) -> pa.Table | None:
    """Columns of whole files, one file's rows behind the other's, in the types pyarrow gives them; one chunk each.

    None where that does not work: a type that is not simple, files with different schemas, damaged bytes, or a
    process in which polars cannot work. Args: `names`: at least one.
    """
    if not polars_works_here() or not names:
        return None
    import polars as pl  # starts threads: see `manifest`

    try:
        schema = pq.read_schema(pa.BufferReader(files[0]))
        stored = [schema.field(name) for name in names]
        if not all(is_simple(field.type) for field in stored):
            return None
        frame = pl.read_parquet(list(files), columns=list(names), hive_partitioning=False, glob=False)
        columns = [frame.get_column(field.name).to_arrow().cast(field.type) for field in stored]
    except pl.exceptions.PanicException:  # not an Exception
        return None
    except Exception:  # noqa: BLE001 - the reader of single files meets the same bytes and tells
        return None
    return pa.Table.from_arrays(columns, names=list(names))


def is_simple(stored: pa.DataType) -> bool:
    """Whether both libraries decode a type to equal values."""
    return (
        pa.types.is_boolean(stored)
        or pa.types.is_signed_integer(stored)
        or pa.types.is_float32(stored)
        or pa.types.is_float64(stored)
        or pa.types.is_string(stored)
        or pa.types.is_binary(stored)
        or pa.types.is_date32(stored)
        or pa.types.is_decimal128(stored)
        or (pa.types.is_timestamp(stored) and stored.unit in ("ms", "us"))  # INT96 looks like nanoseconds
    )
