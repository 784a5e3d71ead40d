"""Mode HASH_FIXED: the bucket follows from the bucket key alone.

Option `bucket-function.type` chooses how: `default` hashes the serialized key, `mod` takes one integer's remainder,
`hive` computes what Hive does. Source: metadata section 7, Java `BucketFunction` and its three implementations.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.bucket.hive import hive_hashes
from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.rows.binary_row import row_hashes
from maintenance.types.data_type import DataField


def assign_buckets(
    rows: pa.RecordBatch | pa.Table, bucket_fields: Sequence[DataField], num_buckets: int, function: str = "default"
) -> np.ndarray:
    """Return the bucket of each row.

    Args:
        rows: n rows with all bucket key columns, by name; nulls allowed.
        bucket_fields: the bucket key; its order changes the bucket.
        num_buckets: > 0.
        function: ``default``, ``mod`` or ``hive``.

    Returns: int32, shape (n,), each in [0, num_buckets).
    Raises: UnsupportedError: a key column has a type that the function does not take; the message names both.
        OptionError: no such function, or the key does not fit it, or `num_buckets` is not positive.
    """
    if num_buckets <= 0:
        raise OptionError(f"{num_buckets} buckets", "option bucket", "Rows have fixed buckets only if it is positive.")
    if not bucket_fields:
        raise OptionError("no bucket key", "option bucket-key", "Set it, or give the table a primary key.")
    columns = [rows.column(field.name) for field in bucket_fields]
    try:
        match function:
            case "default":
                return default_buckets(row_hashes(columns, [field.type for field in bucket_fields]), num_buckets)
            case "mod":
                return _mod_buckets(columns, bucket_fields, num_buckets)
            case "hive":
                hashes = hive_hashes(columns, [field.type for field in bucket_fields])
                return ((hashes & 0x7FFFFFFF) % num_buckets).astype(np.int32)
    except UnsupportedError as error:
        raise error.at(f"bucket key {', '.join(map(str, bucket_fields))}") from error
    raise OptionError(f"'{function}' is not a bucket function", "bucket-function.type", "Use default, mod or hive.")


def default_buckets(hashes: np.ndarray, num_buckets: int) -> np.ndarray:
    """The bucket of each hash, int32: Java's remainder, which keeps the sign, made positive."""
    return (np.abs(hashes.astype(np.int64)) % num_buckets).astype(np.int32)


def _mod_buckets(columns: Sequence[pa.ChunkedArray], fields: Sequence[DataField], num_buckets: int) -> np.ndarray:
    if len(fields) != 1 or fields[0].type.root not in ("INT", "BIGINT"):
        raise OptionError(
            f"bucket key {', '.join(map(str, fields))}",
            "bucket-function.type = mod",
            "It takes exactly one INT or BIGINT column.",
        )
    # A null stands as 0 in the row that Java reads the value from.
    values = columns[0].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray((values % num_buckets).astype(np.int32))
