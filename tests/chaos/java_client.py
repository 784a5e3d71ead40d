"""The Java core in a process of its own: it writes rows of its own keys, reads, and compacts where a scenario lets it.

A commit of Java's that was killed is repeated only if no snapshot has it: the campaign's observer knows, also once the
snapshot has expired, which Java itself does not.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from maintenance.catalog import CatalogTable
from tests.chaos.journal import read_journal
from tests.chaos.model import in_order
from tests.chaos.readers import READ
from tests.chaos.scenarios import TABLE
from tests.chaos.worker import Worker
from tests.chaos.workload import JAVA, Commit, Row
from tests.chaos.writer import COMMIT, begun, last_done
from tests.java.core import start
from tests.java.oracle import Oracle


def observed_file(folder: Path) -> Path:
    """Where the observer says how far it has looked, and which commit of Java's it saw last."""
    return folder / "observed.json"


def java(worker: Worker) -> None:
    """Write, read and compact with the Java core until asked to stop."""
    entries = read_journal(worker.place.journal)
    if worker.place.finish and begun(entries) == last_done(entries):
        return
    _Client(worker, start("400m")).run()


class _Client:
    def __init__(self, worker: Worker, paimon: Any) -> None:
        self.worker = worker
        self.core = JavaCore(paimon, worker.place.warehouse)
        entries = read_journal(worker.place.journal)
        self.done = last_done(entries)
        self.pending = begun(entries) > self.done

    def run(self) -> None:
        dice = self.worker.dice
        while self.pending or not (self.worker.stopping or self.worker.place.finish):
            drawn = dice.random()
            if self.pending or drawn < 0.5:
                with self.worker.nothing_expires():
                    self._commit(self.done + 1)
            elif drawn < 0.6 and self.worker.scenario.java_compacts:
                with self.worker.nothing_expires():
                    self.worker.attempt("java compacts", lambda: self.core.oracle.compact(self.core.warehouse, TABLE))
            else:
                self._read()
            self.worker.pause(0.2)

    def _commit(self, number: int) -> None:
        if self.pending and self._is_observed(number):
            self.worker.journal.note("done", task=COMMIT, number=number, result=[])
            self.done, self.pending = number, False
            return
        self.pending = True
        commit = self.worker.scenario.workload.commit(JAVA, number)
        if self.worker.attempt(COMMIT, lambda: self.core.commit(commit), number=number) is not None:
            self.done, self.pending = number, False

    def _is_observed(self, number: int) -> bool:
        """Whether a snapshot has this commit. Waits until the observer has seen all there is."""
        table: CatalogTable = self.worker.table
        latest = table.snapshots.latest_id() or 0
        while True:
            try:
                seen = json.loads(observed_file(self.worker.place.folder).read_text())
            except FileNotFoundError:
                seen = {"snapshot": 0, "java": 0}
            if seen["snapshot"] >= latest:
                return bool(seen["java"] >= number)
            time.sleep(0.05)

    def _read(self) -> None:
        table = self.worker.table
        earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
        if earliest is None or latest is None:
            return
        number = self.worker.dice.choice((latest, self.worker.dice.randint(earliest, latest)))
        facts: dict[str, Any] = {"how": "snapshot", "id": number, "where": None}
        try:
            rows = self.core.rows({"scan.snapshot-id": str(number)})
        except Exception as error:  # noqa: BLE001 - whatever Java throws
            facts |= {"error": type(error).__name__, "text": str(error)}
            rows = None
        there = (table.snapshots.earliest_id() or 0) <= number
        self.worker.journal.note(READ, durable=False, found=rows, there=there, **facts)


class JavaCore:
    """The Java core on the campaign's table."""

    def __init__(self, paimon: Any, warehouse: Path) -> None:
        self.paimon = paimon
        self.oracle = Oracle(paimon)
        self.warehouse = str(warehouse)

    def rows(self, options: dict[str, str]) -> list[Row]:
        """All rows, in order."""
        return in_order(self.oracle.rows(self.warehouse, TABLE, options))

    def commit(self, commit: Commit) -> list[int]:
        """Write and commit as that user under that number."""
        import jpype

        table = self.oracle._table(self.warehouse, TABLE)
        writable = table
        if table.bucketMode().name() == "POSTPONE_MODE":
            buckets = table.options()["postpone.default-bucket-num"]
            writable = table.copy(jpype.java.util.HashMap({"bucket": buckets}))
        write, committer = writable.newWrite(commit.user), table.newCommit(commit.user).ignoreEmptyCommit(False)
        try:
            with tempfile.TemporaryDirectory() as spill:
                write.withIOManager(self.paimon.disk.IOManager.create(spill))
                place = self._assigner(table)
                rows = self.oracle._java_rows(table, commit.rows)
                for row, kind in zip(rows, commit.kinds, strict=True):
                    row.setRowKind(self.paimon.types.RowKind.fromShortString(kind))
                    write.write(row, *place(row))
                number = jpype.JLong(commit.number)
                committer.commit(number, write.prepareCommit(True, number))
        finally:
            write.close()
            committer.close()
        return []

    def _assigner(self, table: Any) -> Any:
        """The bucket of a row, as further arguments of `write`: none where the writer finds it itself."""
        if table.bucketMode().name() != "HASH_DYNAMIC":
            return lambda _: ()
        import jpype

        options, index = table.coreOptions(), self.paimon.index
        buckets = index.HashBucketAssigner(
            table.snapshotManager(), JAVA, table.store().newIndexFileHandler(), 1, 1, 0,
            options.dynamicBucketTargetRowNum(), int(options.dynamicBucketMaxBuckets()),
        )  # fmt: skip
        keys = self.paimon.table.sink.RowPartitionKeyExtractor(table.schema())

        def place(row: Any) -> tuple[Any, ...]:
            partition, key = keys.partition(row), int(keys.trimmedPrimaryKey(row).hashCode())
            return (jpype.JInt(buckets.assign(partition, key)),)

        return place
