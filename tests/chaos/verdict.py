"""What is checked when all processes have ended: order, tags, every state that is left, and what lies on disk."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from maintenance.errors import PaimonError
from maintenance.metadata.branches import Branches
from maintenance.operations.compact import compact
from maintenance.operations.delete_branch import delete_branch
from maintenance.operations.delete_tag import delete_tag
from maintenance.operations.expire_snapshots import expire_snapshots
from maintenance.operations.expire_tags import expire_tags
from maintenance.operations.fsck import fsck
from maintenance.operations.produce_changelog import produce_changelog
from maintenance.table.table import Table
from tests.chaos.journal import Entry
from tests.chaos.judge import Judge, difference
from tests.chaos.keepers import PASSING
from tests.chaos.leftovers import leftovers
from tests.chaos.model import in_order
from tests.chaos.processes import Processes
from tests.chaos.readers import FOLLOWER, rows_of
from tests.chaos.scenarios import TABLE, Scenario, open_table
from tests.chaos.witness import CONSUMER
from tests.chaos.workload import Row
from tests.chaos.writer import CHANGE, COMMIT
from tests.java.process import JavaProcess

_COMPACTIONS = 4

Reads = Callable[[Mapping[str, str]], list[Row]]


class Verdict:
    """The last checks. Faults go to the judge; `left`: files that killed processes left, and who left them."""

    def __init__(
        self, folder: Path, scenario: Scenario, table: Table, judge: Judge, processes: Processes, *, java: bool
    ) -> None:
        self.folder, self.scenario, self.judge, self.processes = folder, scenario, judge, processes
        self.warehouse = str(folder / "warehouse")
        self.table = table
        self.java = java
        self.left: tuple[str, ...] = ()

    @property
    def journals(self) -> dict[str, list[Entry]]:
        return {name: reader.entries for name, reader in self.judge.readers.items()}

    def finish(self, look: Callable[[], None]) -> None:
        """Check everything. `look`: lets the witness see the snapshots that this makes."""
        self.table = open_table(self.folder / "warehouse")
        self._check_acknowledged()
        self._check_order()
        self._check_tags()
        java = JavaProcess() if self.java else None
        try:
            self._check_states(java)
            self._fsck()
            self._compact(look)
            self._check_complete(java)
            self._check_states(java)
            if self.scenario.produces:
                self._check_followed(look)
            self._clean_up(java)
        finally:
            if java is not None:
                java.close()

    # What was acknowledged

    def _check_acknowledged(self) -> None:
        there = {seen.numbered for seen in self.judge.seen}
        for name, entries in self.journals.items():
            done = {entry["number"] for entry in entries if entry["what"] == "done" and entry["task"] == COMMIT}
            lost = sorted(number for number in done if (name, number) not in there)
            if lost:
                self.judge.faults.add(
                    "acknowledgements", f"commits of {name} were acknowledged and are in no snapshot: {lost[:10]}"
                )
            begun = {entry["number"] for entry in entries if entry["what"] == "begin" and entry["task"] == COMMIT}
            never = sorted(
                s.identifier for s in self.judge.seen if s.numbered and s.user == name and s.identifier not in begun
            )
            if never:
                self.judge.faults.add(
                    "acknowledgements", f"commits of {name} are in snapshots, and nobody began them: {never[:10]}"
                )
            for number in sorted(done):
                self._check_told(name, [e for e in entries if e.get("task") == COMMIT and e["number"] == number])

    def _check_told(self, name: str, attempts: list[Entry]) -> None:
        """A commit that was there already was killed before; one that failed was not published."""
        outcomes = [entry["what"] for entry in attempts]
        killed = outcomes.count("begin") - outcomes.count("done") - outcomes.count("failed")
        done = next(entry for entry in attempts if entry["what"] == "done")
        if name != "java" and not done["result"] and not killed:
            failed = [f"{e['error']}: {e['text']}" for e in attempts if e["what"] == "failed"]
            self.judge.faults.add(
                "acknowledgements", f"commit {done['number']} of {name} is published, and its attempts said: {failed}"
            )

    def _check_order(self) -> None:
        """What was acknowledged before something else was begun comes first."""
        at = {s.numbered: s.id for s in self.judge.seen if s.numbered} | {s.run: s.id for s in self.judge.seen if s.run}
        events: list[tuple[int, bool, int, str]] = []
        for name, entries in self.journals.items():
            for entry in entries:
                if entry["what"] in ("begin", "done") and entry.get("task") in (COMMIT, CHANGE):
                    identity = (name, entry["number"]) if entry["task"] == COMMIT else entry["run"]
                    if identity in at:
                        events.append((entry["clock"], entry["what"] == "done", at[identity], str(identity)))
        newest, newest_identity = 0, ""
        first_begun: set[str] = set()
        for _, is_done, snapshot_id, identity in sorted(events):
            if is_done:
                newest, newest_identity = max((newest, newest_identity), (snapshot_id, identity))
            elif identity not in first_begun and snapshot_id < newest:
                self.judge.faults.add(
                    "order",
                    f"{identity} was begun after {newest_identity} was acknowledged, and is in snapshot {snapshot_id}, "
                    f"before {newest}",
                )
            first_begun.add(identity)

    # Tags

    def _check_tags(self) -> None:
        """Tags are there as the journal says, where nothing that was killed leaves it open."""
        there = {name: tag.snapshot.id for name, tag in self.table.tags.all().items()}
        for name, expected in expected_tags(self.journals.get("tagger", [])).items():
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
                self._compare(f"{what} by {reader}", lambda read=read, options=options: read(options), expected)  # type: ignore[misc]
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
            found = read()
        except Exception as error:  # noqa: BLE001 - Java's among them
            self.judge.faults.add("unreadable at the end", f"{what} cannot be read: {type(error).__name__}: {error}")
            return
        if found != expected:
            self.judge.faults.add("rows at the end", f"{what}: {difference(expected, found)}")

    def _fsck(self) -> None:
        report = fsck(self.table.file_io, self.table.location, deep=True)
        for fault in report.faults:
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
            self._compare(f"all commits by {reader}", lambda read=read: read({}), expected)  # type: ignore[misc]

    def _check_followed(self, look: Callable[[], None]) -> None:
        """The subscriber reads to the end and has every row then."""
        self.processes.start("follow", FOLLOWER, finish=True)
        self.processes.wait()
        look()
        last = [e for e in self.journals[FOLLOWER] if e["what"] == "read"][-1:]
        expected = self.judge.model.rows(len(self.judge.seen), complete=True)
        self._compare("what was followed", lambda: [tuple(row) for entry in last for row in entry["found"]], expected)

    def _clean_up(self, java: JavaProcess | None) -> None:
        """Expire everything but the latest snapshot; then only what killed processes left is left over."""
        table = self.table
        table.consumers.remove([CONSUMER, FOLLOWER])
        try:
            for branch in Branches(table.file_io, table.paths).names():
                if branch != "main":
                    delete_branch(table, branch)
            delete_tag(table, *table.tags.names())
            expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC))
            expire_tags(table)
        except PaimonError as error:
            self.judge.faults.add("clean-up", f"nothing can be expired: {error}")
            return
        self._check_complete(java)
        self._fsck()
        left = list(leftovers(table, self.journals, self.processes.deaths))
        for path, whose in left:
            if not whose:
                self.judge.faults.add(
                    "left over", f"{path} is left, nothing names it, and nobody was killed who may have left it"
                )
        self.left = tuple(f"{path}  {whose}" for path, whose in left)


def expected_tags(entries: list[Entry]) -> dict[str, int | None]:
    """What tags hold for certain, None = they are not there. Left out: those whose last change was not acknowledged."""
    certain: dict[str, int | None] = {}
    renamed: int | None = None
    for entry in entries:
        task, name, outcome = entry.get("task"), entry.get("tag"), entry["what"]
        if name is None or task is None or name.startswith(PASSING):
            continue
        if outcome == "begin":
            renamed = certain.pop(name, None)
            certain.pop(str(entry.get("to")), None)
        elif outcome == "done" and task in ("create_tag", "replace_tag"):
            certain[name] = entry["result"]
        elif outcome == "done":
            certain[name] = None
            if task == "rename_tag" and renamed is not None:
                certain[entry["to"]] = renamed
    return certain
