"""The table handle of users: reads, and the operations that change rows as methods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.commit.overwrite import Overwrite
from maintenance.metadata.partition_names import Spec
from maintenance.operations import drop_partitions
from maintenance.operations.ingestion import append
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.operations.rows.update import update
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class CatalogTable(Table):
    """A table of a catalog. Without a Spark session all work is done in this process."""

    def write_arrow(
        self,
        data: pa.Table | pa.RecordBatch,
        row_kinds: Sequence[str] | pa.Array | None = None,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> tuple[int, ...]:
        """Write rows as one commit: see `operations.ingestion.append`. Returns the new snapshot ids."""
        return append.append(self, data, row_kinds, commit_user, commit_identifier)

    def overwrite_arrow(
        self,
        data: pa.Table | pa.RecordBatch,
        overwrite: Overwrite = Overwrite(),  # noqa: B008 - frozen
        *,
        commit_user: str | None = None,
        commit_identifier: int | None = None,
    ) -> tuple[int, ...]:
        """Replace partitions or the whole table by rows: `INSERT OVERWRITE`.

        By default the partitions that get rows are replaced, or a table without partitions as a whole.
        See `operations.ingestion.append.overwrite`. Returns the new snapshot ids.
        """
        return append.overwrite(self, data, overwrite, commit_user=commit_user, commit_identifier=commit_identifier)

    def truncate(self, partitions: Sequence[Spec] | None = None, *, commit_user: str | None = None) -> tuple[int, ...]:
        """Delete all rows, or those of partitions: `TRUNCATE TABLE`.

        A partition is named by some of its columns and their values as texts, or None for null.
        Files stay until their snapshots expire. Returns the new snapshot's id.
        """
        return append.truncate(self, Overwrite(partitions, dynamic=False), commit_user)

    def drop_partitions(self, partitions: Sequence[Spec], *, ignore_if_not_exists: bool = False) -> tuple[int, ...]:
        """Drop partitions with all their rows: see `operations.drop_partitions`. Returns the snapshot id, if any."""
        snapshot_id = drop_partitions(self, partitions, ignore_if_not_exists=ignore_if_not_exists).snapshot_id
        return () if snapshot_id is None else (snapshot_id,)

    def delete(self, where: str | None = None, *, spark: "SparkSession | None" = None) -> RowChangeReport:
        """Delete the rows for which a condition is true: see `operations.delete`."""
        return delete(spark, self, where)

    def update(
        self, assignments: Mapping[str, object], where: str | None = None, *, spark: "SparkSession | None" = None
    ) -> RowChangeReport:
        """Set columns of the rows for which a condition is true: see `operations.update`."""
        return update(spark, self, assignments, where)

    def merge(
        self,
        source: "DataFrame | pa.Table",
        on: str,
        clauses: Sequence[Clause],
        *,
        spark: "SparkSession | None" = None,
    ) -> RowChangeReport:
        """Update, delete and insert rows as a source says: see `operations.merge_into`."""
        return merge_into(spark, self, source, on, clauses)
