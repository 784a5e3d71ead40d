"""The judge finds what is wrong: without this, a campaign that holds would say little."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.acknowledged import check_acknowledged, check_order, expected_tags
from tests.chaos.journal import Journal, read_journal
from tests.chaos.judge import Judge
from tests.chaos.leftovers import leftovers, unended, uuids_of
from tests.chaos.model import Applied, Model
from tests.chaos.observer import Seen
from tests.chaos.processes import Death
from tests.chaos.scenarios import deduplicate
from tests.small_tables import put, small_table


class Bench:
    """A judge, and journals that tests write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scenario = deduplicate(1)
        self.judge = Judge(self.scenario, Model())
        self.journals: dict[str, Journal] = {}

    def snapshot(self, user: str, number: int) -> list[list[Any]]:
        """The next snapshot is that commit. Returns the rows after it."""
        at = len(self.judge.seen) + 1
        form = {"id": at, "commitUser": user, "commitIdentifier": number, "commitKind": "APPEND"}
        form |= {"timeMillis": 1000 * at, "totalRecordCount": 0, "deltaRecordCount": 0}
        self.judge.observed(
            Seen.of(json.dumps(form).encode()), Applied(at, self.scenario.workload.commit(user, number))
        )
        return [list(row) for row in self.judge.model.rows(at)]

    def note(self, name: str, what: str, **facts: Any) -> None:
        if name not in self.journals:
            path = self.folder / f"{name}.jsonl"
            self.judge.follow(name, path)
            self.journals[name] = Journal.open(path, 1)
        self.journals[name].note(what, **facts)

    def committed(self, name: str, number: int, snapshot: int | None) -> None:
        self.note(name, "begin", task="commit", number=number)
        self.note(name, "done", task="commit", number=number, result=[] if snapshot is None else [snapshot])

    def read(self, found: list[list[Any]], **facts: Any) -> None:
        self.note("reader", "read", how="snapshot", found=found, there=True, where=None, **facts)

    def kinds(self) -> list[str]:
        """The kinds of faults found."""
        self.judge.poll()
        check_acknowledged(self.judge)
        check_order(self.judge)
        return sorted(self.judge.faults.counts)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_what_is_right_is_no_fault(bench: Bench) -> None:
    bench.committed("w1", 1, 1)
    bench.committed("w2", 1, 2)
    bench.note("w2", "begin", task="commit", number=2)
    bench.snapshot("w1", 1)
    rows = bench.snapshot("w2", 1)
    bench.read(rows, id=2)
    bench.note("reader", "read", how="latest", first=1, last=2, found=rows, there=True)
    bench.note("reader", "read", how="moment", millis=2500, found=rows, there=True)
    bench.note(
        "reader", "read", how="snapshot", id=2, where="id < 12", found=[r for r in rows if r[1] < 12], there=True
    )
    assert bench.kinds() == []
    assert bench.judge.checked == {2}


def test_lost_doubled_and_unknown_commits(bench: Bench) -> None:
    bench.committed("w1", 1, 1)
    bench.committed("w1", 2, 2)
    bench.snapshot("w1", 1)
    bench.snapshot("w1", 1)
    bench.snapshot("w2", 1)
    assert bench.kinds() == ["acknowledgements", "numbers"]
    texts = " ".join(bench.judge.faults.texts())
    assert "acknowledged and are in no snapshot: [2]" in texts
    assert "nobody began them: [('w2', 1)]" in texts
    assert "snapshot 2 is commit 1 of w1, and 2 is due" in texts


def test_an_order_that_is_not_that_of_the_acknowledgements(bench: Bench) -> None:
    bench.committed("w1", 1, 2)
    bench.committed("w2", 1, 1)
    bench.snapshot("w2", 1)
    bench.snapshot("w1", 1)
    assert bench.kinds() == ["order"]


def test_a_failure_that_was_none(bench: Bench) -> None:
    bench.note("w1", "begin", task="commit", number=1)
    bench.note("w1", "failed", task="commit", number=1, error="ConflictError", text="")
    bench.snapshot("w1", 1)
    bench.committed("w1", 1, None)
    assert bench.kinds() == ["acknowledgements"]
    # Killed in between, nobody was told anything.
    bench.note("w2", "begin", task="commit", number=1)
    bench.snapshot("w2", 1)
    bench.committed("w2", 1, None)
    assert bench.kinds() == ["acknowledgements"]
    assert len(bench.judge.faults) == 1


def test_a_replay_that_commits_again(bench: Bench) -> None:
    bench.committed("w1", 1, 1)
    bench.note("w1", "begin", task="replay", number=1)
    bench.note("w1", "done", task="replay", number=1, result=[1])
    bench.snapshot("w1", 1)
    assert bench.kinds() == ["replays"]


def test_rows_that_are_missing_or_too_many(bench: Bench) -> None:
    first = bench.snapshot("w1", 1)
    second = bench.snapshot("w1", 2)
    assert first != second
    bench.note("w1", "begin", task="commit", number=1)
    bench.note("w1", "begin", task="commit", number=2)
    bench.read(first, id=2)
    bench.note("reader", "read", how="tag", id=1, tag="t", found=[*first, first[0]], there=True)
    bench.note("reader", "read", how="latest", first=2, last=2, found=first, there=True)
    assert bench.kinds() == ["rows of a latest", "rows of a snapshot", "rows of a tag"]


def test_errors_of_readers_are_faults_except_that_a_state_is_gone(bench: Bench) -> None:
    gone: dict[str, Any] = {"how": "snapshot", "id": 1, "found": None, "where": None, "text": ""}
    bench.note("reader", "read", **gone, there=False, error="NotFoundError")
    assert bench.kinds() == []
    bench.note("reader", "read", **gone, there=False, error="CorruptFileError")
    assert bench.kinds() == ["expired meanwhile"]
    bench.note("reader", "read", **gone, there=True, error="NotFoundError")
    bench.note("reader", "read", how="files", id=1, found=["f"], there=True)
    assert bench.kinds() == ["expired meanwhile", "missing files", "unreadable"]


def test_errors_of_operations_are_faults_except_lost_races(bench: Bench) -> None:
    bench.note("w1", "begin", task="commit", number=1)
    bench.note("w1", "failed", task="commit", number=1, error="CommitError", text="")
    failed = ["a 0: key ranges; other writers kept winning"]
    bench.note("compactor-0", "done", task="compact", result={"snapshots": [], "failed": failed})
    assert bench.kinds() == []
    bench.note("compactor-0", "done", task="compact", result={"snapshots": [], "failed": ["a 0: broken"]})
    bench.note("expirer", "failed", task="expire_snapshots", error="CorruptFileError", text="")
    bench.note("auditor", "done", task="audit", start=1, end=2, result={"holds": False, "text": ""})
    assert bench.kinds() == ["audits", "compactions", "errors of expire_snapshots"]


def test_a_line_that_was_cut_off_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "w1.jsonl"
    Journal.open(path, 1).note("begin", number=1)
    with path.open("ab") as file:
        file.write(b'{"what": "do')
    assert [entry["what"] for entry in read_journal(path)] == ["begin"]
    Journal.open(path, 2).note("start")
    assert [entry["what"] for entry in read_journal(path)] == ["begin", "start"]


def test_operations_that_may_leave_files(bench: Bench) -> None:
    bench.committed("w1", 1, 1)
    bench.note("w1", "begin", task="commit", number=2)
    journals = {"w1": read_journal(bench.folder / "w1.jsonl")}
    begun = journals["w1"][-1]["wall"]
    assert unended(journals, []) == []
    (left,) = unended(journals, [Death("w1", 1, begun + 10**9)])
    assert [left.may_have_left(begun + i * 10**9) for i in (-1, 0, 1, 2)] == [False, True, True, False]


def test_what_an_attempt_of_java_may_have_left(bench: Bench, tmp_path: Path) -> None:
    """Manifests of its own that were written while it committed; not those that share a name with a commit of ours."""
    table = small_table(tmp_path / "warehouse")
    put(table, {1: "a"})
    snapshot = table.snapshots.get(1)
    ours = uuids_of([Seen.of(Path(table.paths.snapshot(1)).read_bytes())])
    assert len(ours) == 1
    assert next(iter(ours)) in snapshot.delta_manifest_list
    of_java, of_ours = f"manifest-{uuid.uuid4()}-0", f"manifest-{next(iter(ours))}-7"
    bench.note("java", "begin", task="commit", number=1)
    for name in (of_java, of_ours):
        Path(table.paths.manifest(name)).write_bytes(b"x")
    bench.note("java", "done", task="commit", number=1, result=[])
    journals = {"java": read_journal(bench.folder / "java.jsonl")}
    actual = {Path(path).name: whose for path, whose in leftovers(table, journals, [], (), ours)}
    assert actual == {of_java: "an attempt of Java's that came second", of_ours: ""}
    assert set(dict(leftovers(table, {}, [], (), ours)).values()) == {""}


def test_tags_as_they_were_acknowledged() -> None:
    def entry(what: str, task: str, tag: str, **facts: Any) -> dict[str, Any]:
        return {"what": what, "task": task, "tag": tag, **facts}

    entries = [
        entry("begin", "create_tag", "one"),
        entry("done", "create_tag", "one", result=4),
        entry("begin", "rename_tag", "one", to="two"),
        entry("done", "rename_tag", "one", to="two", result="two"),
        entry("begin", "create_tag", "open"),
    ]
    assert expected_tags(entries) == {"one": None, "two": 4}
    assert expected_tags([*entries, entry("begin", "delete_tag", "two")]) == {"one": None}
