"""A writer: commits number after number, finishes what an earlier incarnation had begun, and repeats old commits."""

import time
from collections.abc import Sequence

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.overwrite import Overwrite
from maintenance.operations.ingestion.inline import commit_rows_of
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows
from tests.chaos.journal import Entry, read_journal
from tests.chaos.worker import Worker, journal_of
from tests.chaos.workload import DELETE, OVERWRITE, USERS, WRITE, Commit

COMMIT = "commit"
CHANGE = "change"
REPLAY = "replay"


def write(worker: Worker) -> None:
    """Write until asked to stop."""
    _Writer(worker).run()


def last_done(entries: Sequence[Entry]) -> int:
    """The number of the last commit or change that a journal says was acknowledged, 0 if there is none."""
    done = (entry["number"] for entry in entries if entry["what"] == "done" and entry["task"] in (COMMIT, CHANGE))
    return max(done, default=0)


def begun(entries: Sequence[Entry]) -> int:
    """The number of the last commit or change that was begun."""
    return max((e["number"] for e in entries if e["what"] == "begin" and e["task"] in (COMMIT, CHANGE)), default=0)


class _Writer:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.user = worker.place.name
        self.workload = worker.scenario.workload
        self.dice = worker.dice
        entries = read_journal(worker.place.journal)
        self.done = last_done(entries)
        self.pending = begun(entries) > self.done
        self.attempts = 0

    def run(self) -> None:
        while self.pending or not (self.worker.stopping or self.worker.place.finish):
            self.attempts += 1
            self._one(self.done + 1)
            if not self.pending and self.dice.random() < 0.05:
                self._replay()
            self.worker.pause(0.1)

    def _one(self, number: int) -> None:
        first = not self.pending
        self.pending = True
        if self.workload.action(self.user, number) in (WRITE, OVERWRITE):
            commit = self.workload.commit(self.user, number)
            done = self.worker.attempt(COMMIT, lambda: self._commit(commit, first=first), number=number)
        else:
            done = self._change(number)
        if done is not None:
            self.done, self.pending = number, False

    def _commit(self, commit: Commit, *, first: bool = False) -> list[int]:
        """Commit; the new snapshots, none if it was committed before. `first`: it was not tried before."""
        table = self._table(commit)
        rows = self.workload.arrow(commit)
        user, number = commit.user, commit.number
        if commit.action == OVERWRITE:
            chosen = Overwrite([{"p": str(commit.partition)}], dynamic=False)
            return list(table.overwrite_arrow(rows, chosen, commit_user=user, commit_identifier=number))
        kinds = None if set(commit.kinds) == {"+I"} else commit.kinds
        if not first or self.dice.random() < 0.7:
            return list(table.write_arrow(rows, kinds, commit_user=user, commit_identifier=number))
        # The way of a job that writes first and commits later: others commit meanwhile.
        state, context = table.write_state(user), table.write_context()
        conformed = conform(rows, None if kinds is None else kinds_of_texts(kinds), context)
        messages = write_rows(context, state, conformed)
        time.sleep(self.dice.uniform(0, 0.5))
        return list(commit_rows_of(None, table, messages, CommitIdentity(user, number), state).snapshot_ids)

    def _table(self, commit: Commit) -> CatalogTable:
        table = self.worker.table
        if commit.waits:
            return table.copy({"postpone.batch-write-fixed-bucket": "false"})
        if self.worker.scenario.inline and self.user == "w2":
            return table.copy({"write-only": "false"})
        return table

    def _change(self, number: int) -> object:
        """Delete or update rows that were acknowledged before, by condition."""
        action = self.workload.action(self.user, number)
        ids = self._targets(number)
        run = f"{self.user}:{number}:{self.worker.place.incarnation}-{self.attempts}"
        table = self.worker.table.of_run(run)
        where = f"id IN ({', '.join(map(str, ids))})"
        value = f"{self.user}-{number}"

        def change() -> dict[str, object]:
            report = table.delete(where) if action == DELETE else table.update({"v": f"'{value}'"}, where)
            return {"snapshots": list(report.snapshot_ids), "last": table.snapshots.latest_id() or 0}

        facts = {"number": number, "run": run, "action": action, "ids": ids, "value": value}
        facts["first"] = table.snapshots.latest_id() or 0
        return self.worker.attempt(CHANGE, change, **facts)

    def _targets(self, number: int) -> list[int]:
        """Ids of rows whose commits were acknowledged: no commit of them is under way."""
        collected = []
        for user in USERS:
            last = (
                number - 1 if user == self.user else last_done(read_journal(journal_of(self.worker.place.folder, user)))
            )
            for chosen in {self.dice.randint(max(1, last - 20), last) for _ in range(2)} if last else ():
                ids = self.workload.ids(user, chosen)
                collected += self.dice.sample(ids, self.dice.randint(0, min(len(ids), 300)))
        return collected or [-1]

    def _replay(self) -> None:
        """Repeat a commit that was acknowledged, as a job does that goes back to its last checkpoint."""
        number = self.dice.randint(max(1, self.done - 30), self.done)
        if self.workload.action(self.user, number) in (WRITE, OVERWRITE):
            commit = self.workload.commit(self.user, number)
            self.worker.attempt(REPLAY, lambda: self._commit(commit), number=number)
