"""One table that both engines write, beside a model of it."""

from collections.abc import Sequence

from maintenance.format.metadata.snapshot import CommitKind
from tests.java.process import JavaProcess
from tests.java.samples import (
    COLUMNS,
    VALUES,
    Row,
    Sample,
    Values,
    arrow_of,
    comparable,
    rows_in,
    rows_of,
    table_of,
)

Batch = tuple[list[Row], list[str]]


def inserts(ids: range, version: int, values: Values = VALUES) -> Batch:
    rows = rows_of(ids, version, values)
    return rows, ["+I"] * len(rows)


def changes(ids: range, version: int, values: Values = VALUES) -> Batch:
    """Updates with their images, every third row deleted."""
    before, after = rows_of(ids, version - 1, values), rows_of(ids, version, values)
    rows: list[Row] = []
    kinds: list[str] = []
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        deleted = number % 3 == 2
        rows += [old] if deleted else [old, new]
        kinds += ["-D"] if deleted else ["-U", "+U"]
    return rows, kinds


def batches(sample: Sample, values: Values = VALUES) -> list[Batch]:
    """What is written to a sample, in order. `values`: of each type of a column."""
    if not sample.primary_keys:
        return [inserts(range(start, start + 8), start, values) for start in range(0, 40, 8)]
    return [
        inserts(range(14), 0, values),
        changes(range(4, 14), 1, values),
        inserts(range(12, 20), 2, values),
        changes(range(8, 18), 3, values),
        inserts(range(2, 5), 4, values),
    ]


class Replay:
    """One table, both engines, and what it must hold."""

    def __init__(
        self, java: JavaProcess, warehouse: str, sample: Sample, columns: Sequence[tuple[str, str]] = COLUMNS
    ) -> None:
        self.java, self.warehouse, self.sample, self.columns = java, warehouse, sample, columns
        self.rows: list[Row] = []

    def expect(self, batch: Batch) -> None:
        """Apply a batch to the model."""
        if not self.sample.primary_keys:
            self.rows += batch[0]
            return
        by_id = {row[1]: row for row in self.rows}
        for row, kind in zip(*batch, strict=True):
            if kind in ("+I", "+U"):
                by_id[row[1]] = row
            else:
                by_id.pop(row[1], None)
        self.rows = list(by_id.values())

    def we_write(self, batch: Batch) -> None:
        kinds = batch[1] if self.sample.primary_keys else None
        table_of(self.warehouse).write_arrow(arrow_of(batch[0], self.columns), kinds)
        self.expect(batch)

    def java_writes(self, batch: Batch) -> None:
        self.java.write(self.warehouse, "db.t", *batch)
        self.expect(batch)

    def check(self, *, orphans: bool = False) -> None:
        """Both read what was written, and no file lies there that nothing names unless there may be `orphans`."""
        wanted = comparable(self.rows)
        assert comparable(self.java.rows(self.warehouse, "db.t")) == wanted
        assert comparable(rows_in(table_of(self.warehouse).to_arrow())) == wanted
        assert orphans or self.java.orphans(self.warehouse, "db.t") == []

    def kind(self) -> CommitKind:
        """Of the latest snapshot."""
        snapshot = table_of(self.warehouse).latest_snapshot()
        assert snapshot is not None
        return snapshot.commit_kind
