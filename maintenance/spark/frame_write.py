"""How a DataFrame is written, and its rows in the form that writers need. The engine adds columns to its own."""

from dataclasses import dataclass

import pyarrow as pa

from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.context import WriteContext
from maintenance.write.rows import conform
from maintenance.write.state import WriteState

BUCKET_COLUMN = "_paimon_bucket"
ORDER_COLUMN = "_paimon_order"
ASSIGNER_COLUMN = "_paimon_assigner"
KEY_COLUMN = "_paimon_key"
HASH_COLUMN = "_paimon_hash"
PARTITION_COLUMN = "_paimon_partition"
RETRACT_COLUMN = "_paimon_retract"
_OWN_COLUMNS = (
    BUCKET_COLUMN, ORDER_COLUMN, ASSIGNER_COLUMN, KEY_COLUMN, HASH_COLUMN, PARTITION_COLUMN, RETRACT_COLUMN,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FrameWrite:
    """How to write a DataFrame.

    Attributes:
        state: of the table, see `TableWrite`.
        row_kind_column: a column of ``+I`` … that is not stored; None = all ``+I``.
    """

    context: WriteContext
    state: WriteState
    row_kind_column: str | None = None

    def conformed(self, rows: pa.Table) -> pa.Table:
        """Rows of the DataFrame as writers take them."""
        rows = rows.drop_columns([c for c in _OWN_COLUMNS if c in rows.column_names])
        kinds = None
        if self.row_kind_column is not None:
            kinds = kinds_of_texts(rows.column(self.row_kind_column))
            rows = rows.drop_columns([self.row_kind_column])
        return conform(rows, kinds, self.context)

    def keys_of(self, rows: pa.Table) -> pa.Table:
        """The same with every row there: ignored retractions have a bucket too."""
        if self.row_kind_column is not None:
            rows = rows.drop_columns([self.row_kind_column])
        rows = rows.drop_columns([c for c in _OWN_COLUMNS if c in rows.column_names])
        return conform(rows, None, self.context, keep_ignored=True)
