"""Rows with variants out of Spark, whose own `toArrow` fails on a VARIANT that is null: its two parts are NOT NULL."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.spark.release import arrow_of
from maintenance.types.nested import Rebuild, retyped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The type, not a field of that name.
_VARIANT = re.compile(r"(?<![^<,:])variant(?![^,>])")
_PARTS = "struct<value: binary, metadata: binary>"


def has_variants(frame: "DataFrame") -> bool:
    """Whether a column is a VARIANT, or has one inside it."""
    return any(_VARIANT.search(kind) for _, kind in frame.dtypes)


def collected(frame: "DataFrame") -> pa.Table:
    """The rows of a DataFrame; variants as structs of `value` and `metadata`."""
    numbered = frame.toDF(*(f"column_{number}" for number in range(len(frame.columns))))
    schema = ", ".join(f"{name} {_VARIANT.sub(_PARTS, kind)}" for name, kind in numbered.dtypes)
    rows = arrow_of(numbered.mapInArrow(_loosened, schema))
    return rows.rename_columns(frame.columns)


def _loosened(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [_REBUILD.array(column, _loose(column.type)) for column in batch.columns]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _loose(arrow: pa.DataType) -> pa.DataType:
    """The type with fields that may be null."""
    return retyped(arrow, lambda _: None, lambda field, kind: pa.field(field.name, kind))


_REBUILD = Rebuild(lambda array, kind, _: array)
