"""What is checked when all processes have ended: order, tags, every state that is left, and what lies on disk."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from maintenance.metadata.branches import Branches
from maintenance.operations.checks.faults import FaultKind
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.delete_tag import delete_tag
from tests.chaos.acknowledged import check_acknowledged, check_order, expected_tags
from tests.chaos.judge import Judge, difference
from tests.chaos.leftovers import leftovers, uuids_of
from tests.chaos.model import in_order
from tests.chaos.observer import CONSUMER
from tests.chaos.processes import Processes
from tests.chaos.readers import FOLLOWER, rows_of
from tests.chaos.scenarios import TABLE, Scenario, open_table
from tests.chaos.workload import Row
from tests.java.process import JavaProcess
from tests.models.reachable import files_of

# Small files of an append table are put together up to twice the target size, where each counts as 4 MB at least: with
# the small targets of a campaign a compaction halves their number.
_COMPACTIONS = 12

Reads = Callable[[Mapping[str, str]], list[Row]]


class Verdict:
    """The last checks. Faults go to the judge; `left`: files that killed processes left, and who left them."""

    def __init__(
        self, folder: Path, scenario: Scenario, table: CatalogTable, judge: Judge, processes: Processes, *, java: bool
    ) -> None:
        self.folder, self.scenario, self.judge, self.processes = folder, scenario, judge, processes
        self.warehouse = str(folder / "warehouse")
        self.table = table
        self.java = java
        self.left: tuple[str, ...] = ()

    def finish(self, look: Callable[[], None]) -> None:
        """Check everything. `look`: lets the observer see the snapshots that this makes."""
        self.table = open_table(self.folder / "warehouse")
        check_acknowledged(self.judge)
        check_order(self.judge)
        self._check_tags()
        java = JavaProcess() if self.java else None
        try:
            self._check_states(java)
            self._fsck(unfinished=True)
            self._compact(look)
            self._check_complete(java)
            self._check_states(java)
            if self.scenario.produces:
                self._check_followed(look)
            self._clean_up(java)
        finally:
            if java is not None:
                java.close()

    # Tags

    def _check_tags(self) -> None:
        """Tags are there as the journal says, where nothing that was killed leaves it open."""
        there = {name: tag.snapshot.id for name, tag in self.table.tags.all().items()}
        for name, expected in expected_tags(self.judge.journals.get("tagger", [])).items():
            if there.get(name) != expected:
                self.judge.faults.add(
                    "tags", f"tag {name} holds {there.get(name)}, and was acknowledged to hold {expected}"
                )
        self.judge.counts["tags at the end"] = len(there)

    # States

    def _check_states(self, java: JavaProcess | None) -> None:
        """All snapshots and tags that are left, read by this project and by the Java core."""
        self.table = open_table(self.folder / "warehouse")
        earliest = self.table.snapshots.earliest_id() or 1
        states = {f"snapshot {i}": ({"scan.snapshot-id": str(i)}, i)
                  for i in range(earliest, len(self.judge.seen) + 1)}  # fmt: skip
        for name, tag in self.table.tags.all().items():
            states[f"tag {name}"] = ({"scan.tag-name": name}, tag.snapshot.id)
        for what, (options, number) in states.items():
            expected = self.model_rows(number)
            for reader, read in self._readers(java):
                self._compare(f"{what} by {reader}", partial(read, options), expected)
            self.judge.counts["states at the end"] += 1

    def model_rows(self, number: int) -> list[Row]:
        return self.judge.model.rows(number, complete=self.scenario.produces)

    def _readers(self, java: JavaProcess | None) -> Iterator[tuple[str, Reads]]:
        table = self.table
        yield "us", lambda options: rows_of(table, table.to_arrow(options=options))
        if java is not None:
            yield "Java", lambda options: in_order(java.rows(self.warehouse, TABLE, dict(options)))

    def _compare(self, what: str, read: Callable[[], list[Row]], expected: list[Row]) -> None:
        try:
            rows = read()
        except Exception as error:  # noqa: BLE001 - Java's among them
            self.judge.faults.add("unreadable at the end", f"{what} cannot be read: {type(error).__name__}: {error}")
            return
        if rows != expected:
            self.judge.faults.add("rows at the end", f"{what}: {difference(expected, rows)}")

    def _fsck(self, *, unfinished: bool = False) -> None:
        """`unfinished`: an expiry that was killed has not been ended yet; what it gave up is there."""
        report = fsck(self.table.file_io, self.table.location, deep=True)
        for fault in report.faults:
            if unfinished and fault.kind in (FaultKind.STRAY, FaultKind.HINT):
                continue
            self.judge.faults.add("fsck", f"{fault.kind.value} {fault.object}: {fault.detail}")

    # The last maintenance

    def _compact(self, look: Callable[[], None]) -> None:
        """Compact until there is nothing left to do: then nothing is hidden any more."""
        for _ in range(_COMPACTIONS):
            table = open_table(self.folder / "warehouse")
            report = produce_changelog(None, table) if self.scenario.produces else compact(None, table, full=True)
            if report.failed:
                self.judge.faults.add("compactions", f"the last one: {[group.message for group in report.failed]}")
            look()
            if not report.snapshot_ids:
                return
        self.judge.faults.add("compactions", f"{_COMPACTIONS} compactions left something to do")

    def _check_complete(self, java: JavaProcess | None) -> None:
        self.table = open_table(self.folder / "warehouse")
        expected = self.judge.model.rows(len(self.judge.seen), complete=True)
        for reader, read in self._readers(java):
            self._compare(f"all commits by {reader}", partial(read, {}), expected)

    def _check_followed(self, look: Callable[[], None]) -> None:
        """The subscriber reads to the end and has every row then."""
        self.processes.start("follow", FOLLOWER, finish=True)
        self.processes.wait(look)
        last = [e for e in self.judge.journals[FOLLOWER] if e["what"] == "read"][-1:]
        expected = self.judge.model.rows(len(self.judge.seen), complete=True)
        self._compare("what was followed", lambda: [tuple(row) for entry in last for row in entry["found"]], expected)

    def _clean_up(self, java: JavaProcess | None) -> None:
        """Expire everything but the latest snapshot; then only what killed processes left is left over."""
        table = self.table
        table.consumers.remove([CONSUMER, FOLLOWER])
        try:
            of_branches = self._delete_branches()
            delete_tag(table, *table.tags.names())
            expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC))
            expire_tags(table)
        except PaimonError as error:
            self.judge.faults.add("clean-up", f"nothing can be expired: {error}")
            return
        self._check_complete(java)
        self._fsck()
        left = list(
            leftovers(table, self.judge.journals, self.processes.deaths, of_branches, uuids_of(self.judge.seen))
        )
        for path, whose in left:
            if not whose:
                self.judge.faults.add(
                    "left over", f"{path} is left, nothing names it, and nobody was killed who may have left it"
                )
        self.left = tuple(f"{path}  {whose}" for path, whose in left)

    def _delete_branches(self) -> set[str]:
        """Returns the files that they named."""
        actual: set[str] = set()
        for name in Branches(self.table.file_io, self.table.paths).names():
            if name != "main":
                branch = self.table.on_branch(name)
                held = (branch.snapshots.get(number) for number in branch.snapshots.list_ids())
                actual |= {path for snapshot in held for path in files_of(branch, snapshot, changelog=True)}
                delete_branch(self.table, name)
        return actual
