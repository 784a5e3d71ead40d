"""What a refresh leaves in the snapshot that it commits: which state of the sources the rows were made from.

The record is a property of the snapshot, so rows and record become visible together: a refresh that dies leaves the old
rows under the old record. A table's record holds as long as nobody else has changed its rows since: compactions do not,
everything else does, a rollback among it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.table.table import Table

REFRESH_PROPERTY = "paimon-maintenance.refresh"
REFRESH = "refresh_materialized_table"
_UNCHANGED = (CommitKind.COMPACT, CommitKind.ANALYZE)
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class SourceState:
    """The state of a source that rows were made from.

    Attributes:
        snapshot: None = it was empty.
        schema_id: of the schema that the query was understood with.
    """

    snapshot: SnapshotIdentity | None
    schema_id: int

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot | None) -> Self:
        return cls(SnapshotIdentity.of(snapshot) if snapshot else None, table.schema.id)

    @classmethod
    def parse(cls, stored: Sequence[Any]) -> Self:
        """What a record has of it: the snapshot's number, what it is, the schema.

        Earlier records say otherwise what the snapshot is: it counts as another one then.
        """
        number, text, schema_id = stored
        identity = SnapshotIdentity.parse(text)
        if identity is None and number is not None:
            identity = SnapshotIdentity.numbered(int(number))
        return cls(identity, int(schema_id))

    def stored(self) -> list[Any]:
        """The same as JSON has it."""
        return [self.snapshot.id, str(self.snapshot), self.schema_id] if self.snapshot else [None, "", self.schema_id]


@dataclass(frozen=True, slots=True)
class RefreshRecord:
    """Attributes:
    query: a digest of the query, views in it as they were.
    number: counts the refreshes of the table, so that of two at the same time one is committed.
    at_millis: when the sources were looked at, since 1970.
    sources: table -> its state.
    """

    query: str
    number: int
    at_millis: int
    sources: Mapping[str, SourceState] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> "RefreshRecord | None":
        """The record of a property; None if it is not one of this version."""
        try:
            stored = json.loads(text)
            sources = {str(name): SourceState.parse(state) for name, state in stored["sources"].items()}
            return cls(str(stored["query"]), int(stored["number"]), int(stored["at"]), sources)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            return None

    def properties(self) -> dict[str, str]:
        """The properties of the snapshot of this refresh."""
        sources = {name: state.stored() for name, state in self.sources.items()}
        content = {"query": self.query, "number": self.number, "at": self.at_millis, "sources": sources}
        return {OPERATION_PROPERTY: REFRESH, REFRESH_PROPERTY: json.dumps(content, sort_keys=True)}


@dataclass(frozen=True, slots=True)
class LastRefresh:
    """What is known of a table's last refresh.

    Attributes:
        record: None = there is none, or its rows are not what it left.
        number: the largest of a refresh that is known, 0 = of none.
        why: why there is no record.
    """

    record: RefreshRecord | None
    number: int = 0
    why: str = ""


def last_refresh(table: Table) -> LastRefresh:
    """The record that the rows of a table are of."""
    why = ""
    for snapshot in islice(table.snapshots.newest_first(), _LOOKED_AT):
        text = (snapshot.properties or {}).get(REFRESH_PROPERTY)
        record = None if text is None else RefreshRecord.parse(text)
        if record is not None:
            return LastRefresh(None if why else record, record.number, why)
        if snapshot.commit_kind not in _UNCHANGED:
            why = why or f"snapshot {snapshot.id} by '{snapshot.commit_user}' is not of a refresh"
    return LastRefresh(None, why=why or "the snapshot of the last refresh has expired, or there was none")
