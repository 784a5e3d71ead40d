"""`t$options` and `t$consumers`."""

import pyarrow as pa

from maintenance.table.system.system_table import SystemTable, required
from maintenance.table.table import Table


def _options(table: Table) -> list[tuple[object, ...]]:
    return list(table.schema.options.items())


def _consumers(table: Table) -> list[tuple[object, ...]]:
    return list(table.consumers.next_snapshots().items())


OPTIONS = SystemTable("options", pa.schema([required("key", pa.string()), required("value", pa.string())]), _options)
CONSUMERS = SystemTable(
    "consumers", pa.schema([required("consumer_id", pa.string()), required("next_snapshot_id", pa.int64())]), _consumers
)
