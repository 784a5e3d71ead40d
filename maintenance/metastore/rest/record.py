"""Snapshots of a table of a REST catalog: the server publishes them. Source: Java `RESTCatalog.commitSnapshot`."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from maintenance.commit.publish_check import PublishCheck
from maintenance.commit.record import CatalogRecord
from maintenance.errors import InfrastructureError, NotFoundError, UnsupportedError
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.metastore.rest.forms import json_of_snapshot, statistics_of
from maintenance.metastore.rest.server import RestServer

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestRecord(CatalogRecord):
    """`database`, `table`: of the table, the latter with its branch; `table_id`: what the server calls it."""

    server: RestServer
    database: str
    table: str
    table_id: str

    def stage(self, check: PublishCheck) -> AbstractContextManager["_RestSnapshot"]:
        return nullcontext(_RestSnapshot(self, check))

    @property
    def keeps_partitions(self) -> bool:
        return True

    def add_partitions(self, specs: Sequence[Mapping[str, str]]) -> None:
        RestPartitions(self.server, self.database, self.table).add(specs)

    def mark_partitions_done(self, specs: Sequence[Mapping[str, str]]) -> None:
        body = {"specs": [dict(spec) for spec in specs]}
        self.server.post("databases", self.database, "tables", self.table, "partitions", "mark", body=body)

    def create_branch(self, branch: str, tag: str | None) -> bool:
        body = {"branch": branch, "fromTag": tag}
        self.server.post("databases", self.database, "tables", self.table, "branches", body=body)
        return True

    def delete_branch(self, branch: str) -> bool:
        self.server.delete("databases", self.database, "tables", self.table, "branches", branch)
        return True

    def check_may_move(self, what: str, table: str) -> None:
        raise UnsupportedError(
            f"{what} is not supported in a rest catalog",
            f"table {table}",
            "The server keeps the latest snapshot itself: use Paimon's procedure there.",
        )


@dataclass(frozen=True, slots=True)
class _RestSnapshot:
    """A snapshot that the server publishes."""

    record: RestRecord
    check: PublishCheck

    def publish(self) -> bool:
        """As of `ReadySnapshot`. If the answer is lost, the snapshot is read back before anything is decided.

        Raises: InfrastructureError: the snapshot is not there, and may still come; other errors: it was refused.
        """
        record, snapshot = self.record, self.check.snapshot
        body = {
            "tableId": record.table_id,
            "snapshot": json_of_snapshot(serialize_snapshot(snapshot)),
            "statistics": statistics_of(self.check.paths, self.check.entries),
        }
        try:
            answer = record.server.post("databases", record.database, "tables", record.table, "commit", body=body)
        except InfrastructureError:
            # It may have been carried out all the same.
            stored = self.check.snapshots.find(snapshot.id)
            if stored is None:
                raise
            return _is_ours(stored, snapshot)
        if answer.get("success"):
            return True
        # A request that was sent twice finds its own snapshot in its way.
        stored = self.check.snapshots.find(snapshot.id)
        return stored is not None and _is_ours(stored, snapshot)


def _is_ours(stored: Snapshot, ours: Snapshot) -> bool:
    return (stored.commit_user, stored.commit_identifier, stored.delta_manifest_list) == (
        ours.commit_user,
        ours.commit_identifier,
        ours.delta_manifest_list,
    )


@dataclass(frozen=True, slots=True)
class RestPartitions:
    """The partitions of a table that the server keeps: those of a format table with `metastore.partitioned-table`."""

    server: RestServer
    database: str
    table: str

    def add(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Register partitions; those that are known are passed over. Raises: as `RestServer.request`."""
        body = {"partitionSpecs": [dict(spec) for spec in specs], "ignoreIfExists": True}
        try:
            self.server.post(*self._place, body=body)
        except (NotFoundError, UnsupportedError) as error:
            # The files are there. Servers before Paimon 2.0 have no such call.
            _LOG.warning("partitions of %s.%s are not registered: %s", self.database, self.table, error)

    def all(self) -> list[Mapping[str, str]]:
        """The registered partitions; none where the server keeps none. Raises: as `RestServer.request`."""
        try:
            return [form["spec"] for form in self.server.pages(*self._place, key="partitions")]
        except (NotFoundError, UnsupportedError):
            return []

    def drop(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Forget partitions; unknown ones are passed over. Raises: as `RestServer.request`.

        Source: Java `RESTApi.dropPartitions`.
        """
        if specs:
            body = {"partitionSpecs": [dict(spec) for spec in specs], "ignoreIfNotExists": True}
            self.server.post(*self._place, "drop", body=body)

    @property
    def _place(self) -> tuple[str, ...]:
        return "databases", self.database, "tables", self.table, "partitions"
