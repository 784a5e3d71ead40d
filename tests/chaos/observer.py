"""Watches the snapshots come, as plain JSON, and tells which commit each of them is.

A consumer of the table holds expiry back until the observer has seen a snapshot, so that it misses none. All that
is later expected of the table follows from what is seen here and from the journals, not from the code under test. Only
where files hide rows are manifests read, to see which file a snapshot adds or takes away.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import RUN_PROPERTY
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.options import table as table_options
from tests.chaos.faults import Faults
from tests.chaos.model import Applied, Group
from tests.chaos.workload import USERS, Commit, Workload

CONSUMER = "observer"
_NAME = re.compile(r"snapshot-(\d+)")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a snapshot says of its commit. `content`: of its file, which must never change."""

    id: int
    user: str
    identifier: int
    kind: str
    time_millis: int
    total_rows: int
    delta_rows: int
    run: str | None
    content: bytes

    @classmethod
    def of(cls, content: bytes) -> "Seen":
        form: Mapping[str, Any] = json.loads(content)
        properties = form.get("properties") or {}
        return cls(
            form["id"],
            form["commitUser"],
            form["commitIdentifier"],
            form["commitKind"],
            form["timeMillis"],
            form["totalRecordCount"],
            form["deltaRecordCount"],
            properties.get(RUN_PROPERTY),
            content,
        )

    @property
    def numbered(self) -> tuple[str, int] | None:
        """User and number of a commit of rows, None of any other snapshot."""
        rows = self.kind in ("APPEND", "OVERWRITE") and self.identifier != BATCH_IDENTIFIER
        return (self.user, self.identifier) if rows and self.user in USERS else None


@dataclass(slots=True)
class Observer:
    """The snapshots seen so far.

    Attributes:
        change: finds the deletion or update of a run, which the journals say.
        hides: whether the rows of a data file are hidden, by its bucket and level.
        kept: a file for what every snapshot said, for whoever looks into a fault later.
    """

    table: CatalogTable
    workload: Workload
    change: Callable[[str], Commit | None]
    faults: Faults
    hides: Callable[[int, int], bool]
    kept: Path
    seen: list[Seen] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return Path(self.table.location) / "snapshot"

    @property
    def latest(self) -> int:
        return len(self.seen)

    def start(self) -> None:
        """Hold every snapshot from the first one on."""
        self.table.consumers.record(CONSUMER, 1)

    def poll(self) -> list[Applied]:
        """The snapshots that came since the last look, in order."""
        collected = []
        while (self.folder / f"snapshot-{self.latest + 1}").exists():
            number = self.latest + 1
            seen = Seen.of((self.folder / f"snapshot-{number}").read_bytes())
            if seen.id != number:
                self.faults.add("snapshots", f"the file of snapshot {number} says that it is snapshot {seen.id}")
            self.seen.append(seen)
            with self.kept.open("ab") as file:
                file.write(json.dumps(json.loads(seen.content)).encode() + b"\n")
            collected.append(self._applied(seen))
        if collected:
            self.table.consumers.record(CONSUMER, self.latest + 1)
        return collected

    def check_unchanged(self) -> None:
        """Snapshots never change, and none is skipped."""
        ids = [int(match[1]) for path in self.folder.glob("*") if (match := _NAME.fullmatch(path.name))]
        for number in ids:
            if number > self.latest:
                continue
            try:
                content = (self.folder / f"snapshot-{number}").read_bytes()
            except FileNotFoundError:
                continue
            if content != self.seen[number - 1].content:
                self.faults.add(
                    "snapshots", f"snapshot {number} was {self.seen[number - 1].content!r} and is {content!r}"
                )
        first = min(ids, default=1)
        there = [number for number in range(first, self.latest + 1) if (self.folder / f"snapshot-{number}").exists()]
        # An expiry at the same time takes the lowest first.
        still = there and (self.folder / f"snapshot-{there[0]}").exists()
        if still and there != list(range(there[0], self.latest + 1)):
            self.faults.add("snapshots", f"of the snapshots up to {self.latest} there are only {there}")

    def _applied(self, seen: Seen) -> Applied:
        commit = self._commit(seen)
        hides: dict[str, Group] = {}
        removes: set[str] = set()
        if self.hides(0, 0) or self.hides(table_options.POSTPONE_BUCKET, 0):
            for entry in self.table.manifests.delta_entries(self.table.snapshots.get(seen.id)):
                partition = self.table.paths.spec_of(entry.partition)["p"]
                if entry.kind == FileKind.DELETE:
                    removes.add(entry.file.file_name)
                elif commit is not None and self.hides(entry.bucket, entry.file.level):
                    hides[entry.file.file_name] = (partition, entry.bucket)
        # A file that moves to another level is taken away and added in one snapshot.
        return Applied(seen.id, commit, hides, frozenset(removes))

    def _commit(self, seen: Seen) -> Commit | None:
        if seen.numbered is not None:
            return self.workload.commit(*seen.numbered)
        if seen.kind == "COMPACT":
            return None
        commit = None if seen.run is None else self.change(seen.run)
        if commit is None:
            self.faults.add("snapshots", f"snapshot {seen.id} is of nobody: {seen.content!r}")
        return commit
