"""Chain tables: a table whose partitions are put together from a snapshot branch and a delta branch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable, SetOption
from maintenance.operations import create_branch
from tests.tables import create_table, get_table, open_warehouse

COLUMNS = (("day", "STRING NOT NULL"), ("k", "INT NOT NULL"), ("seq", "INT"), ("v", "STRING"))
BY_HOUR = (("region", "STRING NOT NULL"), ("day", "STRING NOT NULL"), ("hour", "STRING NOT NULL"), *COLUMNS[1:])
OPTIONS = {
    "chain-table.enabled": "true",
    "sequence.field": "seq",
    "bucket": "1",
    "bucket-key": "k",
    "partition.timestamp-pattern": "$day",
    "partition.timestamp-formatter": "yyyyMMdd",
}
HOURS = {
    **OPTIONS,
    "partition.timestamp-pattern": "$day $hour:00:00",
    "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss",
    "chain-table.chain-partition-keys": "day,hour",
}
BRANCHES = {"scan.fallback-snapshot-branch": "snapshot", "scan.fallback-delta-branch": "delta"}


def chain_table(
    warehouse: Path | str, options: Mapping[str, str] = OPTIONS, columns: Sequence[tuple[str, str]] = COLUMNS
) -> CatalogTable:
    """`db.t` with its branches, all of them empty."""
    days = [name for name, _ in columns if name in ("region", "day", "hour")]
    table = create_table(warehouse, columns, (*days, "k"), options, partition_keys=days)
    catalog = open_warehouse(warehouse)
    for branch in ("snapshot", "delta"):
        create_branch(table, branch)
    for name in ("db.t", "db.t$branch_snapshot", "db.t$branch_delta"):
        catalog.alter_table(name, [SetOption(key, value) for key, value in BRANCHES.items()])
    return get_table(warehouse)


def rows(*values: Sequence[object], columns: Sequence[tuple[str, str]] = COLUMNS) -> pa.Table:
    """Rows in the order of the columns."""
    types = [pa.int32() if kind.startswith("INT") else pa.string() for _, kind in columns]
    arrays = [pa.array([row[at] for row in values], kind) for at, kind in enumerate(types)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns])


def put(
    table: CatalogTable, branch: str, *values: Sequence[object], columns: Sequence[tuple[str, str]] = COLUMNS
) -> None:
    table.on_branch(branch).write_arrow(rows(*values, columns=columns))


def found(table: CatalogTable, where: str | None = None) -> list[tuple[object, ...]]:
    """The rows, sorted."""
    return sorted(tuple(row.values()) for row in table.to_arrow(where=where).to_pylist())
