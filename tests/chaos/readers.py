"""Those who read: they note what they saw, and the judge compares it with the model.

A read of something that expires meanwhile may say so. So what is noted with an error is whether the snapshot or tag was
still there afterwards.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.scan.stream_position import Limits, StreamPosition
from maintenance.table.stream import TableStream
from maintenance.types.row_kind import texts_of_kinds
from tests.chaos.model import in_order
from tests.chaos.worker import Worker
from tests.chaos.workload import Row
from tests.models.reachable import missing_files

FOLLOWER = "follower"
READ = "read"


def rows_of(table: CatalogTable, data: pa.Table) -> list[Row]:
    """The rows of a table in order, their columns in that of the schema."""
    names = table.schema.field_names
    return in_order(tuple(row[name] for name in names) for row in data.to_pylist())


def reads(worker: Worker) -> None:
    """Read snapshots, tags, branches and moments until asked to stop."""
    reader = _Reader(worker)
    while not (worker.stopping or worker.place.finish):
        reader.step()
        worker.pause(0.1)


class _Reader:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.following = 1

    def step(self) -> None:
        table = self.worker.table
        latest = table.snapshots.latest_id()
        if latest is None:
            return
        drawn = self.worker.dice.random()
        if drawn < 0.45:
            self._snapshot(table, latest)
        elif drawn < 0.6:
            self._latest(table, latest)
        elif drawn < 0.72:
            self._tag(table)
        elif drawn < 0.78:
            self._branch(table)
        elif drawn < 0.85:
            self._moment(table)
        else:
            self._files(table, latest)

    def _snapshot(self, table: CatalogTable, latest: int) -> None:
        """The snapshots one after the other, as far as that is fast enough."""
        dice = self.worker.dice
        self.following = max(self.following, table.snapshots.earliest_id() or 1)
        if self.following > latest or dice.random() < 0.2:
            number = dice.randint(table.snapshots.earliest_id() or 1, latest)
        else:
            number, self.following = self.following, self.following + 1
        options = {"scan.snapshot-id": str(number)}
        where = dice.choice((None, None, None, "id < 12", "p = 'a'", "id >= 10000 AND p <> 'a'"))
        self._note("snapshot", lambda: self._rows(table, options, where), _there(table, number), id=number, where=where)

    def _latest(self, table: CatalogTable, before: int) -> None:
        collected: dict[str, object] = {}

        def read() -> list[Row]:
            rows = self._rows(table, {}, None)
            collected["last"] = table.snapshots.latest_id()
            return rows

        self._note("latest", read, _there(table, before), first=before, extra=collected)

    def _tag(self, table: CatalogTable) -> None:
        names = table.tags.names()
        name = self.worker.dice.choice(names) if names else None
        tag = table.tags.find(name) if name is not None else None
        if name is None or tag is None:
            return

        def same() -> bool:
            now = table.tags.find(name)
            return now is not None and now.snapshot == tag.snapshot

        def read() -> list[Row]:
            missing = missing_files(table, tag.snapshot, changelog=False)
            if missing and same():
                raise AssertionError(f"tag {name} lacks {sorted(missing)}")
            return self._rows(table, {"scan.tag-name": name}, None)

        self._note("tag", read, same, id=tag.snapshot.id, tag=name)

    def _branch(self, table: CatalogTable) -> None:
        names = [name for name in Branches(table.file_io, table.paths).names() if name != "main"]
        if not names:
            return
        name = self.worker.dice.choice(names)
        folder = f"{table.location}/branch/branch-{name}"

        def read() -> list[Row]:
            branch = table.on_branch(name)
            facts["id"] = branch.snapshots.latest_id()
            return self._rows(branch, {}, None)

        facts: dict[str, object] = {}
        self._note("branch", read, lambda: os.path.exists(folder), branch=name, extra=facts)

    def _moment(self, table: CatalogTable) -> None:
        """The state at a moment, by the time of one of the snapshots that are there."""
        dice = self.worker.dice
        earliest, latest = table.snapshots.earliest_id() or 1, table.snapshots.latest_id() or 1
        number = dice.randint(earliest, latest)
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            return
        millis = snapshot.time_millis + dice.choice((0, 0, 1, 50))
        options = {"scan.timestamp-millis": str(millis)}
        self._note("moment", lambda: self._rows(table, options, None), _there(table, number), millis=millis)

    def _files(self, table: CatalogTable, latest: int) -> None:
        """Whether every file that a snapshot names is there."""
        number = self.worker.dice.randint(table.snapshots.earliest_id() or 1, latest)
        there = _there(table, number)
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            return

        def look() -> list[str]:
            with table.manifests.reading(snapshot):
                _check_counts(table, snapshot)
                return sorted(missing_files(table, snapshot))

        self._note("files", look, there, id=number)

    def _rows(self, table: CatalogTable, options: Mapping[str, str], where: str | None) -> list[Row]:
        options = {**self.worker.scenario.read_options, **options}
        return rows_of(table, table.to_arrow(where=where, options=options))

    def _note(
        self,
        how: str,
        read: Callable[[], object],
        still_there: Callable[[], bool],
        extra: Mapping[str, object] | None = None,
        **facts: object,
    ) -> None:
        try:
            rows = read()
        except (PaimonError, OSError, AssertionError, ValueError) as error:
            facts |= {"error": type(error).__name__, "text": str(error)}
            rows = None
        # Whoever deletes takes the name away first: what is missing counts if the name is still there.
        there = still_there()
        self.worker.journal.note(READ, durable=False, how=how, found=rows, there=there, **{**facts, **(extra or {})})


def _there(table: CatalogTable, number: int) -> Callable[[], bool]:
    """Whether a snapshot has not expired."""

    def there() -> bool:
        earliest = table.snapshots.earliest_id()
        return earliest is not None and earliest <= number

    return there


def _check_counts(table: CatalogTable, snapshot: Snapshot) -> None:
    """The rows of the live files are as many as the snapshot says."""
    rows = sum(entry.file.row_count for entry in table.manifests.live_entries(snapshot))
    if rows != snapshot.total_record_count:
        raise AssertionError(f"snapshot {snapshot.id} has {rows} rows and says {snapshot.total_record_count}")


def audits(worker: Worker) -> None:
    """Audit stretches of the changelog until asked to stop."""
    while not (worker.stopping or worker.place.finish):
        _audit(worker, worker.table)
        worker.pause(1.5)


def _audit(worker: Worker, table: CatalogTable) -> None:
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    if earliest is not None and latest is not None and latest > earliest:
        start = worker.dice.randint(earliest, latest - 1)
        end = worker.dice.randint(start, latest)
        worker.attempt("audit", lambda: _audited(table, start, end), start=start, end=end)


def _audited(table: CatalogTable, start: int, end: int) -> dict[str, object]:
    try:
        report = audit_changelog(None, table, start, end)
    except PaimonError:
        if _there(table, start)():
            raise
        return {"expired": True}
    return {"holds": report.holds, "text": str(report)}


def follows(worker: Worker) -> None:
    """Follow the changelog, keep the rows that it makes, and go on from there after each kill."""
    _Follower(worker).run()


class _Follower:
    """A subscriber. Its rows and its position change together, in one file."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.path = worker.place.folder / "followed.json"
        self.rows: dict[tuple[str, int], Row] = {}
        self.at = StreamPosition(1)
        if self.path.exists():
            kept = json.loads(self.path.read_text())
            self.at = StreamPosition(*kept["at"])
            self.rows = {(row[0], row[1]): tuple(row) for row in kept["rows"]}

    def run(self) -> None:
        while not (self.worker.stopping or self.worker.place.finish):
            self.step()
            self.worker.pause(0.3)
        while self.worker.place.finish and self.step():
            pass

    def step(self) -> bool:
        """One batch. Returns whether there was anything to read."""
        stream = TableStream(self.worker.table.copy({"consumer-id": FOLLOWER}))
        limit = self.worker.dice.choice((None, 1, 3))
        end, _ = stream.advance(self.at, stream.end(), Limits(max_files=limit))
        if end <= self.at:
            return False
        read = stream.read(self.at, end, with_kind=True)
        changes = [rows for split in stream.between(self.at, end) for rows in read.tables(split)]
        wrong = [text for rows in changes for text in self._apply(rows)]
        if wrong:
            self.worker.journal.note("wrong changes", start=list(_plain(self.at)), end=list(_plain(end)), texts=wrong)
        self.at = end
        self._keep()
        # In the journal, since whoever is killed here leaves the file that it was writing.
        self.worker.attempt("record a position", lambda: stream.progress(end))
        if end.splits == 0:
            self.worker.journal.note(
                READ, durable=False, how="followed", id=end.snapshot_id - 1, found=in_order(self.rows.values())
            )
        return True

    def _apply(self, changes: pa.Table) -> list[str]:
        """Change the rows; what is taken back must be there, what is new must not."""
        wrong = []
        kinds = texts_of_kinds(changes.column(0).combine_chunks()).to_pylist()
        for kind, values in zip(kinds, changes.drop_columns([changes.column_names[0]]).to_pylist(), strict=True):
            row = tuple(values[name] for name in self.worker.scenario.columns)
            key = (row[0], row[1])
            before = self.rows.pop(key, None)
            if kind in ("-U", "-D") and before != row:
                wrong.append(f"{kind} {row} where there is {before}")
            if kind == "+I" and before is not None:
                wrong.append(f"+I {row} where there is {before}")
            if kind in ("+I", "+U"):
                self.rows[key] = row
        return wrong

    def _keep(self) -> None:
        temporary = Path(f"{self.path}.tmp")
        temporary.write_text(json.dumps({"at": _plain(self.at), "rows": list(self.rows.values())}))
        os.replace(temporary, self.path)


def _plain(at: StreamPosition) -> tuple[int, int, bool]:
    return at.snapshot_id, at.splits, at.full
