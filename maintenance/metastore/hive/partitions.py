"""Partitions of a table in the metastore, which follow its commits and tags.

Source: Java `AddPartitionCommitCallback`, `AddPartitionTagCallback`, `TagPreviewCommitCallback`.
"""

import copy
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from maintenance.commit.record import CatalogRecord
from maintenance.errors import InfrastructureError, PaimonError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.metadata.partition_path import partition_path
from maintenance.metadata.paths import TablePaths, matches_spec
from maintenance.metastore.hive.client import HiveMetastore, Struct, thrift
from maintenance.metastore.hive.objects import LOCATION_PROPERTY

_LOG = logging.getLogger(__name__)
_ALL = -1
LOAD_DONE = 1

Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HivePartitions:
    """The partitions of one table; a small value that travels to Spark's tasks.

    Attributes:
        keys: the partition columns of the metastore's table.
        data_folder: where partitions lie; `only_value`: their folders hold values alone.
        in_properties: see option `location-in-properties`.
    """

    metastore: HiveMetastore
    database: str
    table: str
    keys: Sequence[str]
    data_folder: str
    in_properties: bool = False
    only_value: bool = False

    def add(self, specs: Sequence[Spec]) -> None:
        """Register partitions; those that are known are passed over. Raises: InfrastructureError."""
        if not specs:
            return
        hive = thrift()
        try:
            table = self.metastore.read("get_table", self.database, self.table)
        except (hive.NoSuchObjectException, hive.MetaException) as error:
            raise self._refused(error) from error
        # Several partitions may have one folder, which is all that the metastore knows of them.
        parts = [self._partition(table, dict(spec)) for spec in dict.fromkeys(tuple(spec.items()) for spec in specs)]
        request = hive.AddPartitionsRequest(
            dbName=self.database, tblName=self.table, parts=parts, ifNotExists=True, needResult=False
        )
        self._change("add_partitions_req", request)

    def _partition(self, table: Struct, spec: Spec) -> Struct:
        now = int(time.time())
        names = partition_path(dict(spec))
        if self.only_value:
            names = "/".join(part.partition("=")[2] for part in names.split("/"))
        location = f"{self.data_folder}/{names}/"
        sd = copy.deepcopy(table.sd)
        parameters = {LOCATION_PROPERTY: location} if self.in_properties else {}
        if not self.in_properties:
            sd.location = location.rstrip("/")
        return thrift().Partition(
            values=list(spec.values()),
            dbName=self.database,
            tableName=self.table,
            createTime=now,
            lastAccessTime=now,
            sd=sd,
            parameters=parameters,
        )

    def forget(self, specs: Sequence[Spec], kept: Sequence[Spec] = ()) -> None:
        """Forget the partitions that are named but `kept`. `specs`: some of the columns suffice.

        Raises: InfrastructureError.
        """
        hive = thrift()
        try:
            known = [dict(zip(self.keys, stored.values, strict=False)) for stored in self.all()]
        except (hive.NoSuchObjectException, hive.MetaException) as error:
            raise self._refused(error) from error
        self.drop([spec for spec in known if matches_spec(spec, specs) and spec not in kept])

    def drop(self, specs: Sequence[Spec]) -> None:
        """Forget partitions, never their data; unknown ones are passed over. Raises: InfrastructureError."""
        for spec in specs:
            try:
                self._change("drop_partition", self.database, self.table, list(spec.values()), False)
            except thrift().NoSuchObjectException:
                continue

    def mark_done(self, specs: Sequence[Spec]) -> None:
        """Report partitions as complete; unknown ones are passed over. Raises: InfrastructureError."""
        for spec in specs:
            with suppress(thrift().NoSuchObjectException, thrift().UnknownPartitionException):
                self._change("markPartitionForEvent", self.database, self.table, dict(spec), LOAD_DONE)

    def all(self) -> list[Struct]:
        """Raises: InfrastructureError."""
        partitions: list[Struct] = self.metastore.read("get_partitions", self.database, self.table, _ALL)
        return partitions

    def _change(self, method: str, *arguments: object) -> None:
        hive = thrift()
        try:
            self.metastore.change(method, *arguments)
        except (hive.MetaException, hive.InvalidObjectException, hive.AlreadyExistsException) as error:
            raise self._refused(error) from error

    def _refused(self, error: Any) -> InfrastructureError:
        return InfrastructureError(
            f"the metastore refuses a change of partitions: {error.message}",
            f"table {self.database}.{self.table} at {self.metastore.place}",
            "Run repair_table once its cause is gone.",
        )


@dataclass(frozen=True, slots=True)
class HiveRecord(CatalogRecord):
    """What becomes of commits and tags.

    Attributes:
        tag_field: tags are its partitions; None = the partitions of the table are.
        preview: a commit adds the partition of the current day, before there is a tag.
    """

    partitions: HivePartitions
    tag_field: str | None = None
    preview: bool = False

    def committed(self, paths: TablePaths, entries: Sequence[ManifestEntry]) -> None:
        try:
            if self.tag_field is None:
                added = dict.fromkeys(entry.partition for entry in entries if entry.kind == FileKind.ADD)
                self.partitions.add([paths.spec_of(partition) for partition in added])
            elif self.preview:
                self.partitions.add([{self.tag_field: f"{datetime.now().astimezone():%Y-%m-%d}"}])
        except PaimonError as error:
            _LOG.error("the rows are committed, and the metastore does not know their partitions: %s", error)

    @property
    def keeps_partitions(self) -> bool:
        return self.tag_field is None

    def add_partitions(self, specs: Sequence[Spec]) -> None:
        self.partitions.add(specs)

    def forget_partitions(self, specs: Sequence[Spec], kept: Callable[[], Sequence[Spec]]) -> None:
        if self.tag_field is None:
            try:
                self.partitions.forget(specs, kept())
            except PaimonError as error:
                _LOG.error("the rows are gone, and the metastore still lists their partitions: %s", error)

    def mark_partitions_done(self, specs: Sequence[Spec]) -> None:
        self.partitions.mark_done(specs)

    def tag_created(self, name: str) -> None:
        if self.tag_field is not None:
            self.partitions.add([{self.tag_field: name}])

    def tag_deleted(self, name: str) -> None:
        if self.tag_field is not None:
            self.partitions.drop([{self.tag_field: name}])
