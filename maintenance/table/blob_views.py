"""Looks up references to blobs in the tables that they name: see `read.blob_views`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maintenance.errors import NotFoundError, UnsupportedError
from maintenance.format.blob_descriptor import BlobView, parse_descriptor
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.options.blob import BLOB_AS_DESCRIPTOR
from maintenance.predicate.tree import In
from maintenance.read.blobs import BlobPlace
from maintenance.read.split_read import SplitRead
from maintenance.scan.data_evolution import row_groups, row_id_range
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import Split
from maintenance.table.handle import OtherTables, TableHandle

PlanRead = Callable[[TableHandle, Sequence[str], In], tuple[ScanPlan, SplitRead]]
"""Plans a read of some columns of the rows that a condition is true for."""
_REFERENCES = f"Set '{BLOB_AS_DESCRIPTOR.key}' = 'true' for the read, to get the references themselves."


@dataclass(frozen=True, slots=True)
class TableViews:
    """Looks up references among the tables of a catalog. `plan`: plans the reads of these."""

    tables: OtherTables
    plan: PlanRead

    def look_up(self, views: Sequence[BlobView]) -> Mapping[BlobView, BlobPlace | None]:
        """See `Views.look_up`."""
        by_table = dict[str, list[BlobView]]()
        for view in views:
            by_table.setdefault(view.table, []).append(view)
        found = dict[BlobView, BlobPlace | None]()
        for name, wanted in by_table.items():
            found.update(self._of_table(name, wanted))
        return found

    def _of_table(self, name: str, wanted: Sequence[BlobView]) -> Iterator[tuple[BlobView, BlobPlace | None]]:
        table = self.tables.open(name).copy({BLOB_AS_DESCRIPTOR.key: "true"})
        if not table.model.tracks_rows:
            raise UnsupportedError("a blob refers to a table whose rows have no ids", f"table {name}", _REFERENCES)
        columns = {field.id: field.name for field in table.schema.fields}
        lost = next((view.field_id for view in wanted if view.field_id not in columns), None)
        if lost is not None:
            raise NotFoundError(f"a blob refers to column {lost}, which is not there", f"table {name}", _REFERENCES)
        names = sorted({columns[view.field_id] for view in wanted})
        ids = np.unique([view.row_id for view in wanted])
        by_row = dict[int, list[BlobView]]()
        for view in wanted:
            by_row.setdefault(view.row_id, []).append(view)
        plan, read = self.plan(table, [ROW_ID.name, *names], In(ROW_ID.name, tuple(ids.tolist())))
        for split in _with_rows(plan.splits, ids):
            for rows in read.tables(split):
                for row in rows.to_pylist():
                    for view in by_row[row[ROW_ID.name]]:
                        yield view, _place(row[columns[view.field_id]], table)


def _place(descriptor: bytes | None, table: TableHandle) -> BlobPlace | None:
    if descriptor is None:
        return None
    return BlobPlace(parse_descriptor(descriptor, f"table {table.identifier}"), table.file_io, table.location)


def _with_rows(splits: Sequence[Any], ids: np.ndarray) -> Iterator[Split]:
    """The files that have some of the rows. `ids`: ascending."""
    for split in splits:
        for files in row_groups(split.files):
            rows = row_id_range(files[0])
            if np.searchsorted(ids, rows.start) < np.searchsorted(ids, rows.stop):
                yield replace(split, files=tuple(files), raw=len(files) == 1)
