"""`count`: how many values of a key are not null; a retraction subtracts one.

Writers store 1 for a value and 0 for null, and merging adds these up, so partial counts can be merged again, however
records are split over files. Source: seed 002 (aggregate functions); Paimon 2.0 has no such function.
"""

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.merge.aggregates.aggregate import Aggregate
from maintenance.merge.aggregates.sum import sum_values
from maintenance.types.data_type import DataType


def _counted(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.is_valid(values).cast(values.type)


def _accepts(data_type: DataType) -> bool:
    return data_type.root in ("INT", "BIGINT")


COUNT = Aggregate("count", _accepts, "INT and BIGINT", sum_values, retracts=True, stored=_counted)
