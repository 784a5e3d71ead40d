"""The changelog of one flight, read from the changelog files of a table's snapshots."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maintenance.format.snapshot import Snapshot
from maintenance.format.system_fields import VALUE_KIND
from maintenance.table.table import Table
from maintenance.types.row_kind import RowKind


@dataclass(frozen=True, slots=True)
class Flight:
    """The key of a flight in the table demo.flights."""

    month: int
    time_hour: datetime
    carrier: str
    flight: int


@dataclass(frozen=True, slots=True)
class Change:
    """One changelog row: `kind` as in ``+I``, and the columns of the row."""

    snapshot_id: int
    kind: str
    row: dict[str, Any]


def changes_of(table: Table, flight: Flight, after: int) -> list[Change]:
    """The changelog rows of `flight` in the snapshots later than `after`, oldest first."""
    snapshots = [snapshot for snapshot in table.snapshots.newest_first() if snapshot.id > after]
    return [change for snapshot in reversed(snapshots) for change in _changes_in(table, snapshot, flight)]


def _changes_in(table: Table, snapshot: Snapshot, flight: Flight) -> Iterator[Change]:
    if not snapshot.changelog_manifest_list:
        return
    for entry in table.manifests.changelog_entries(snapshot):
        if table.paths.spec_of(entry.partition) != {"month": str(flight.month)}:
            continue
        with table.file_io.open_input(table.paths.data_file(entry.partition, entry.bucket, entry.file)) as file:
            rows = pq.read_table(file)
        for row in rows.filter(_is(flight, rows)).to_pylist():
            yield Change(snapshot.id, RowKind(row[VALUE_KIND.name]).text, row)


def _is(flight: Flight, rows: pa.Table) -> pa.ChunkedArray:
    same_hour = pc.equal(rows["time_hour"], pa.scalar(flight.time_hour, rows["time_hour"].type))
    same_name = pc.and_(pc.equal(rows["carrier"], flight.carrier), pc.equal(rows["flight"], flight.flight))
    return pc.and_(same_hour, same_name)
