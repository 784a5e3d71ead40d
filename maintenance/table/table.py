"""A table: its schema and options at one moment, and reading and writing it without Spark."""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.rules import ExcludedPartitions, Following
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.format.variant.extension import shown
from maintenance.metadata.expired import again_if_expired
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.predicate.tree import Predicate
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import ScanPlan
from maintenance.table.chain_commits import commit_rules
from maintenance.table.handle import TableHandle
from maintenance.table.planning import ReadRequest, filter_of, plan_read
from maintenance.table.rows import WHOLE_TABLE_MEMORY, read_splits, splits_to_spark
from maintenance.table.write_state import hash_files_of, state_of
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.write.hash_index import HashFiles
from maintenance.write.state import WriteState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# How often rows are written, or read, again because of others.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Table(TableHandle):
    """A table of a catalog, whose rows can be read. Fields as of `TableHandle`."""

    def plan(
        self,
        columns: Sequence[str] | None = None,
        predicate: Predicate | None = None,
        *,
        where: str | None = None,
        system: Sequence[DataField] = (),
        keep_retractions: bool = False,
    ) -> tuple[ScanPlan, SplitRead]:
        """Splits of a batch read, and how to read them.

        Args: `where`: a filter as SQL text, in place of `predicate`; `system`: `_SEQUENCE_NUMBER` or `_VALUE_KIND`, to
            be read before the columns; `keep_retractions`: see `SplitRead`.
        """
        return plan_read(self, ReadRequest(columns, predicate, where, system, keep_retractions))

    def predicate(self, where: str | None) -> Predicate | None:
        """The filter of a SQL text, over the columns that a read of this table sees."""
        if where is None:
            return None
        seen, _ = self.target()
        return filter_of(seen, where)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows of the table; a VARIANT has the extension type `VariantType`, whose Python values are JSON texts.

        If files expire during the read, it starts again on the newest snapshot.

        Args: `columns`: names in the order wanted; `where`: a filter in Spark's SQL dialect; `options`: as for `copy`.
        Raises: PredicateError, OptionError, NotFoundError, UnsupportedError; ExpiredError: a snapshot or tag that the
            options name was expired meanwhile.
        """
        table = self.copy(options or {})
        if columns is not None and not columns:
            # Arrow forgets the number of rows when it puts tables without columns together.
            return table.to_arrow(table.schema.field_names[:1], where).select([])
        return again_if_expired(lambda: table._rows(columns, where), _ATTEMPTS)

    def _rows(self, columns: Sequence[str] | None, where: str | None) -> pa.Table:
        plan, read = self.plan(columns, where=where)
        schema = pa.schema([(f.name, arrow_type(f.type, f"column {f.name}")) for f in read.columns])
        # The caller asks for all rows at once, so merging may hold more of them than in a task, and be faster.
        tables = read_splits(plan.splits, replace(read, memory=WHOLE_TABLE_MEMORY))
        return shown(pa.concat_tables(tables) if tables else schema.empty_table(), read.columns)

    def to_spark(
        self,
        spark: "SparkSession",
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> "DataFrame":
        """The rows of the table as a Spark DataFrame, one task for each split. Arguments as of `to_arrow`."""
        table = self.copy(options or {})
        plan, read = table.plan(columns, where=where)
        return splits_to_spark(spark, plan.splits, read)

    # Writing

    def commit_target(self) -> CommitTarget:
        """As of `TableHandle`, with what the table's kind demands of commits."""
        rules = commit_rules(self)
        if self.excluded_partitions:
            rules = ExcludedPartitions(rules, self.excluded_partitions, self.identifier)
        for base in self.follows:
            rules = Following(rules, self.snapshots, base, self.identifier)
        return replace(TableHandle.commit_target(self), rules=rules)

    def following(self, base: SnapshotIdentity | None) -> Self:
        """This table, to change rows as they were in a snapshot.

        If others have changed rows since then, the commit fails with OvertakenError, and nothing is changed.
        """
        return replace(self, follows=(base,))

    def write_state(self, user: str, partitions: Callable[[], Collection[bytes]] | None = None) -> WriteState:
        """The state that rows are written on top of. `user`: commits them; `partitions`: see `state_of`."""
        return again_if_expired(lambda: state_of(self, self.latest_snapshot(), user, partitions))

    def hash_files(self) -> HashFiles | None:
        """The HASH index files of each (partition, bucket) of a table with dynamic buckets, None for any other."""
        return hash_files_of(self, self.latest_snapshot())


def new_commit_user(options: TableModel) -> str:
    """A user that nobody else is."""
    return prefixed_user(options, str(uuid.uuid4()))


def identity_of(table: TableHandle, operation: str) -> CommitIdentity:
    """The identity of the commits that an operation of maintenance makes: a user of its own, and the operation."""
    return CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: operation})


def prefixed_user(options: TableModel, user: str) -> str:
    """A user as snapshots name it. Source: option `commit.user-prefix`."""
    prefix = table_options.COMMIT_USER_PREFIX.of(options)
    return f"{prefix}_{user}" if prefix else user
