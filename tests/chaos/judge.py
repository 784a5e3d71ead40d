"""Compares what the processes noted with what must be, while they run and when they have ended.

What must be: every acknowledged commit is there once, the others once or not at all; snapshots follow the order of the
acknowledgements; every read of a snapshot, tag, branch or moment brings the model's rows of it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.faults import Faults
from tests.chaos.journal import Entry, JournalReader
from tests.chaos.model import Applied, Model
from tests.chaos.observer import Seen
from tests.chaos.scenarios import Scenario
from tests.chaos.workload import DELETE, JAVA, OVERWRITE, UPDATE, WRITE, Commit
from tests.chaos.writer import CHANGE, COMMIT, REPLAY

_FILTERS: Mapping[str, Callable[[Any], bool]] = {
    "id < 12": lambda row: row[1] < 12,
    "p = 'a'": lambda row: row[0] == "a",
    "id >= 10000 AND p <> 'a'": lambda row: row[1] >= 10000 and row[0] != "a",
}
_SHOWN = 6
# What a user of ours may be told when others were faster, or expired what was being read.
_LOST = ("CommitError", "ConflictError", "NotFoundError")
_NO_ROOM = "No space left on device"
_GAVE_WAY = ("other writers kept winning", "expired", _NO_ROOM)

# How a read of an expired snapshot ends: it was gone before, or it went meanwhile.
_GONE = ("NotFoundError", "ExpiredError")


@dataclass(slots=True)
class Judge:
    """What was found so far.

    Attributes:
        readers: the journals by the name of their process.
        pending: what was read of snapshots that the observer has not seen yet.
        checked: ids of snapshots whose rows were compared.
    """

    scenario: Scenario
    model: Model
    readers: dict[str, JournalReader] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    checked: set[int] = field(default_factory=set)
    pending: list[tuple[str, Entry]] = field(default_factory=list)
    _changes: dict[str, Commit] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)
    _runs: set[str] = field(default_factory=set)

    def follow(self, name: str, path: Path) -> None:
        self.readers[name] = JournalReader(path)

    @property
    def journals(self) -> dict[str, list[Entry]]:
        """What each process noted so far."""
        return {name: reader.entries for name, reader in self.readers.items()}

    # Snapshots

    def change(self, run: str) -> Commit | None:
        """The deletion or update of a run, from the journal of whoever began it."""
        if run not in self._changes:
            self._read_journals()
        return self._changes.get(run)

    def observed(self, seen: Seen, applied: Applied) -> None:
        """The next snapshot."""
        self.seen.append(seen)
        self.model.append(applied)
        if seen.numbered is not None:
            user, number = seen.numbered
            due = self._due(user)
            if number != due:
                self.faults.add("numbers", f"snapshot {seen.id} is commit {number} of {user}, and {due} is due")
            self._next[user] = max(number, due) + 1
        elif applied.commit is not None and seen.run is not None:
            if seen.run in self._runs:
                self.faults.add("numbers", f"snapshot {seen.id} is a second one of {seen.run}")
            self._runs.add(seen.run)

    def _due(self, user: str) -> int:
        """The next number under which this user writes."""
        number = self._next.get(user, 1)
        while self.scenario.workload.action(user, number) not in (WRITE, OVERWRITE):
            number += 1
        return number

    # Journals

    def poll(self) -> None:
        """Judge what is new."""
        self._read_journals()
        waiting, self.pending = self.pending, []
        for name, entry in waiting:
            self._judge(name, entry)

    def _read_journals(self) -> None:
        for name, reader in self.readers.items():
            for entry in reader.poll():
                if entry["what"] == "begin" and entry["task"] == CHANGE:
                    change = Commit(
                        name, entry["number"], entry["action"], ids=tuple(entry["ids"]), value=entry["value"]
                    )
                    self._changes[entry["run"]] = change
                self.pending.append((name, entry))

    def _judge(self, name: str, entry: Entry) -> None:
        match entry["what"]:
            case "read":
                self._judge_read(name, entry)
            case "done":
                self._judge_done(name, entry)
            case "failed":
                self._judge_failed(name, entry)
            case "wrong changes":
                self.faults.add("changes", f"{name} from {entry['start']} to {entry['end']}: {entry['texts'][:_SHOWN]}")
            case "hangs" | "refused" | "killed itself":
                self.counts[entry["what"]] += 1

    def _judge_read(self, name: str, entry: Entry) -> None:
        self.counts[f"reads of a {entry['how']}" if name != JAVA else "reads by Java"] += 1
        if "error" in entry:
            self.errors[f"{name} reads: {entry['error']}"] += 1
            if entry["there"]:
                self.faults.add(
                    "unreadable",
                    f"{name} cannot read {_place(entry)}, which is there: {entry['error']}: {entry['text']}",
                )
            elif name != JAVA and entry["error"] not in _GONE:
                self.faults.add("expired meanwhile", f"{name} reads {_place(entry)}: {entry['error']}: {entry['text']}")
            return
        if entry["how"] == "files":
            if entry["found"] and entry["there"]:
                self.faults.add("missing files", f"snapshot {entry['id']} lacks {entry['found'][:_SHOWN]}")
            return
        if entry["how"] == "tag" and not entry["there"]:
            return  # it was moved or deleted meanwhile, before or after the read
        last = max(entry.get("id") or 0, entry.get("last") or 0)
        if last > len(self.seen):
            self.pending.append((name, entry))
            return
        self._compare(name, entry)

    def _compare(self, name: str, entry: Entry) -> None:
        how, actual = entry["how"], [tuple(row) for row in entry["found"]]
        if how == "latest":
            ids = range(entry["first"], entry["last"] + 1)
        elif how == "moment":
            ids = range(self._at(entry["millis"]), self._at(entry["millis"]) + 1)
        else:
            ids = range(entry["id"], entry["id"] + 1)
        for number in reversed(ids):
            expected = self.model.rows(number, complete=self._sees_all(how))
            keep = _FILTERS.get(entry.get("where") or "")
            if actual == [row for row in expected if keep is None or keep(row)]:
                self.checked.add(number)
                return
        self.faults.add(f"rows of a {how}", f"{name} read {_place(entry)}: {difference(expected, actual)}")

    def _sees_all(self, how: str) -> bool:
        """Whether a read sees level 0: the rows of a table that only makes a changelog of it later."""
        return self.scenario.produces and how != "followed"

    def _at(self, millis: int) -> int:
        """The last snapshot at a moment."""
        return max((seen.id for seen in self.seen if seen.time_millis <= millis), default=0)

    def _judge_done(self, name: str, entry: Entry) -> None:
        task, result = entry["task"], entry["result"]
        if max(_snapshots(result), default=0) > len(self.seen):
            self.pending.append((name, entry))
            return
        self.counts[f"{task} acknowledged"] += 1
        if task == COMMIT and result:
            self._judge_acknowledged(name, entry["number"], result)
        elif task == REPLAY and result:
            self.faults.add("replays", f"{name} repeated commit {entry['number']}, and made snapshots {result}")
        elif task == CHANGE:
            self._judge_change(name, entry)
        elif task == "compact":
            self.counts["conflicts of compactions"] += len(result["failed"])
            for text in result["failed"]:
                self.errors[f"{name}: {text.partition(': ')[2][:80]}"] += 1
                if not any(reason in text for reason in _GAVE_WAY):
                    self.faults.add("compactions", f"{name} failed: {text}")
        elif task == "audit" and not result.get("holds", True):
            self.faults.add("audits", f"{entry['start']} to {entry['end']}: {result['text']}")
        elif task == "expire_snapshots":
            self.counts["snapshots expired"] += len(result["expired"])
        elif task == "remove_orphan_files":
            self.counts["orphans removed"] += result["files"]

    def _judge_acknowledged(self, name: str, number: int, snapshots: list[int]) -> None:
        seen = [self.seen[i - 1] for i in snapshots]
        numbered = [snapshot.numbered for snapshot in seen]
        # A process in place of one that was killed finds the rows there, and does what was left: it compacts.
        compacted = not any(numbered) and all(snapshot.user == name for snapshot in seen)
        if not compacted and numbered.count((name, number)) != 1:
            self.faults.add(
                "acknowledgements",
                f"{name} was told that commit {number} is in snapshots {snapshots}, which are {numbered}",
            )

    def _judge_change(self, name: str, entry: Entry) -> None:
        snapshots = entry["result"]["snapshots"]
        runs = [self.seen[i - 1].run for i in snapshots]
        if any(run != entry["run"] for run in runs):
            self.faults.add(
                "acknowledgements",
                f"{name} was told that {entry['run']} is in snapshots {snapshots}, which are of {runs}",
            )
        if snapshots or entry["action"] not in (DELETE, UPDATE):
            return
        if entry["result"]["last"] > len(self.seen):
            self.pending.append((name, entry))
            return
        ids = set(entry["ids"])
        states = (self.model.state(number) for number in range(entry["first"], entry["result"]["last"] + 1))
        if not any(all(key[1] not in ids for key in state) for state in states):
            self.faults.add(
                "acknowledgements",
                f"{name} was told that {entry['run']} concerns no row, and there was one all the time",
            )

    def _judge_failed(self, name: str, entry: Entry) -> None:
        error = entry["error"]
        self.errors[f"{name} {entry['task']}: {error}"] += 1
        if name == JAVA:
            return
        if error in _LOST:
            self.counts["conflicts told"] += 1
            return
        if _NO_ROOM in entry["text"]:
            return
        self.faults.add(f"errors of {entry['task']}", f"{name}: {entry['task']} raised {error}: {entry['text']}")


def _snapshots(result: object) -> list[int]:
    if isinstance(result, dict):
        result = result.get("snapshots", [])
    return [each for each in result if isinstance(each, int)] if isinstance(result, list) else []


def _place(entry: Entry) -> str:
    parts = {key: entry[key] for key in ("id", "tag", "branch", "millis", "first", "last", "where") if entry.get(key)}
    return f"{entry['how']} {parts}"


def difference(expected: list[Any], found: list[Any]) -> str:
    """What is missing and what is too much."""
    left, more = Counter(expected), Counter(found)
    missing, extra = sorted((left - more).elements(), key=str), sorted((more - left).elements(), key=str)
    return f"{len(missing)} rows are missing {missing[:_SHOWN]}, {len(extra)} are wrong {extra[:_SHOWN]}"
