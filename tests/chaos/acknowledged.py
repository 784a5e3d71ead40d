"""What the journals say was acknowledged, beside what the snapshots and tags hold at the end."""

from tests.chaos.journal import Entry
from tests.chaos.judge import Judge
from tests.chaos.keepers import PASSING
from tests.chaos.workload import JAVA
from tests.chaos.writer import CHANGE, COMMIT


def check_acknowledged(judge: Judge) -> None:
    """What was acknowledged is there, what is there was begun, and what was said to have failed is not there."""
    there = {seen.numbered for seen in judge.seen}
    for name, entries in judge.journals.items():
        commits = [entry for entry in entries if entry.get("task") == COMMIT]
        done = {entry["number"] for entry in commits if entry["what"] == "done"}
        lost = sorted(number for number in done if (name, number) not in there)
        if lost:
            judge.faults.add(
                "acknowledgements", f"commits of {name} were acknowledged and are in no snapshot: {lost[:10]}"
            )
        begun = {entry["number"] for entry in commits if entry["what"] == "begin"}
        for number in sorted(done):
            _check_told(judge, name, [entry for entry in commits if entry["number"] == number])
        there -= {(name, number) for number in begun}
    never = sorted(numbered for numbered in there if numbered is not None)
    if never:
        judge.faults.add("acknowledgements", f"commits are in snapshots, and nobody began them: {never[:10]}")


def _check_told(judge: Judge, name: str, attempts: list[Entry]) -> None:
    """A commit that was there already was killed before; one that failed was not published."""
    outcomes = [entry["what"] for entry in attempts]
    killed = outcomes.count("begin") - outcomes.count("done") - outcomes.count("failed")
    reported = any(entry["result"] for entry in attempts if entry["what"] == "done")
    if name != JAVA and not reported and not killed:
        failed = [f"{entry['error']}: {entry['text']}" for entry in attempts if entry["what"] == "failed"]
        number = attempts[0]["number"]
        judge.faults.add("acknowledgements", f"commit {number} of {name} is published, and its attempts said: {failed}")


def check_order(judge: Judge) -> None:
    """What was acknowledged before something else was begun comes first."""
    at: dict[object, int] = {seen.numbered: seen.id for seen in judge.seen if seen.numbered}
    at |= {seen.run: seen.id for seen in judge.seen if seen.run}
    events: list[tuple[int, bool, int, str]] = []
    for name, entries in judge.journals.items():
        for entry in entries:
            if entry["what"] in ("begin", "done") and entry.get("task") in (COMMIT, CHANGE):
                identity = (name, entry["number"]) if entry["task"] == COMMIT else entry["run"]
                if identity in at:
                    events.append((entry["clock"], entry["what"] == "done", at[identity], str(identity)))
    newest, newest_identity = 0, ""
    known: set[str] = set()
    for _, is_done, snapshot_id, identity in sorted(events):
        if is_done:
            newest, newest_identity = max((newest, newest_identity), (snapshot_id, identity))
        elif identity not in known and snapshot_id < newest:
            judge.faults.add(
                "order",
                f"{identity} was begun after {newest_identity} was acknowledged, and is in snapshot {snapshot_id}, "
                f"before {newest}",
            )
        known.add(identity)


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
