"""Spark data source `paimon`: ``spark.read.format("paimon").load("/warehouse/db.db/t")``.

Options: `path` (a table's root; what `load` sets), or `warehouse` and `table` (``db.t``, also ``db.t$branch_b``,
``db.t$audit_log``, ``sys.tables``); `read.changelog` = ``true`` for the table's audit log; every other option is a
dynamic option of the read, such as `scan.snapshot-id`. `readStream` follows a table, see `stream_source`. The
further options of ``write`` are listed in `data_writer`, those of ``writeStream`` in `stream_writer`.
Filters that Spark pushes down prune partitions, buckets, files and row groups; Spark evaluates all of them again.
Register it in each thread that names the format: `register(spark)`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)
from pyspark.sql.types import StructType

from maintenance.catalog import open_catalog
from maintenance.connector.data_writer import PaimonWriter, write_options
from maintenance.connector.stream_writer import STREAM_OPTIONS, PaimonStreamWriter
from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.format.rows.system_fields import ROW_KIND
from maintenance.format.variant.extension import as_stored
from maintenance.metastore.global_tables import GlobalView
from maintenance.options.known import as_spelt
from maintenance.options.model import TableModel
from maintenance.options.streams import READ_CHANGELOG
from maintenance.predicate.pushed import of_filter
from maintenance.predicate.tree import Predicate, conjunction
from maintenance.read.split_read import ReadsSplits
from maintenance.scan.split import AnySplit
from maintenance.scan.stream_position import LIMIT_KEYS, Limits
from maintenance.spark.application import application_property
from maintenance.spark.read import as_spark_takes, split_batches
from maintenance.spark.release import check_stream_sources
from maintenance.spark.sail import is_sail, streams_refused
from maintenance.spark.tasks import in_task
from maintenance.spark.types import arrow_schema, has_time, spark_ddl
from maintenance.spark.workers import check_workers
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.system.audit_log import AUDIT_LOG, AuditLogView
from maintenance.table.system.view import AnyView, SystemTableView
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.connector.stream_source import PaimonStreamReader

_OPERATORS: Mapping[type[Filter], str] = {
    EqualTo: "=",
    EqualNullSafe: "<=>",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    In: "in",
    IsNull: "is_null",
    IsNotNull: "is_not_null",
    StringStartsWith: "starts_with",
    StringEndsWith: "ends_with",
    StringContains: "contains",
}
CHECKPOINT = "checkpointlocation"
_OWN = ("path", "warehouse", "table")


def register(spark: SparkSession) -> None:
    """Make format ``paimon`` known to a session, in the calling thread.

    Spark looks a Python format up in the session that is active in the thread of the JVM, which each Python thread has
    of its own: so a thread that reads or writes ``paimon`` by name calls this itself.

    Raises: OptionError: the Python workers of the session lack packages.
    """
    check_workers(spark)
    # The one public call that makes a session the active one.
    spark.createDataFrame([], "none INT")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")

    class OfSession(PaimonDataSource):
        # Spark's Python processes know no session, so the class that travels to them has the name of its application.
        properties = application_property(spark)
        of_arrow = is_sail(spark)

    spark.dataSource.register(OfSession)


@dataclass
class SplitPartition(InputPartition):
    """A split as Spark's partition, with how to read it: the reader itself travels before it has planned."""

    split: AnySplit
    split_read: ReadsSplits

    def __init__(self, split: AnySplit, split_read: ReadsSplits) -> None:
        super().__init__(None)
        self.split = split
        self.split_read = split_read


@dataclass
class RowsPartition(InputPartition):
    """The rows of a system table over metadata, which are read while planning."""

    rows: pa.Table

    def __init__(self, rows: pa.Table) -> None:
        super().__init__(None)
        self.rows = rows


class PaimonDataSource(DataSource):
    """Format ``paimon``.

    Attributes: `properties`: of the snapshots that it writes; `of_arrow`: whether schemas are Arrow's, as for Sail,
        which reads no nested types in DDL.
    """

    properties: ClassVar[Mapping[str, str]] = {}
    of_arrow: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        return "paimon"

    def schema(self) -> Any:
        columns = self._columns(opened(self.options))
        # This refuses what Spark has no type for, too.
        ddl = spark_ddl(columns)
        if not self.of_arrow:
            return ddl
        for column in columns:
            if has_time(column.type):
                found = f"column {column.name}: {column.type} in the format 'paimon' on Sail"
                raise UnsupportedError(found, "the source", "Read it with to_spark of the table, or leave it out.")
        return arrow_schema(columns)

    @staticmethod
    def _columns(table: AnyView | GlobalView) -> Sequence[DataField]:
        try:
            return columns_of(table)
        except NotFoundError:
            # A batch read of what is not there says so when it is planned; a stream may start behind it.
            if isinstance(table, AuditLogView):
                return [ROW_KIND, *table.table.schema.fields]
            return table.schema.fields if isinstance(table, Table) else table.fields

    def reader(self, schema: StructType) -> "PaimonReader":
        return PaimonReader(dict(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> PaimonWriter:
        if self.of_arrow and any(key.lower() == CHECKPOINT for key in self.options):
            # It would write all that there is with each start: it keeps no position and numbers no batches.
            raise streams_refused("the sink")
        table, options = self._sink(())
        return PaimonWriter(table, options, self.properties, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> PaimonStreamWriter:  # noqa: N802 - Spark's name
        table, options = self._sink(STREAM_OPTIONS)
        return PaimonStreamWriter(table, options, self.properties, overwrite=overwrite)

    def _sink(self, more: Collection[str]) -> tuple[Table, dict[str, str]]:
        """The table that is written, with its options, and all options of the write; keys in lower case.

        Args: `more`: options besides those of every write that are not of the table.
        """
        lowered = {key.lower(): value for key, value in self.options.items()}
        bare = {key: lowered[key] for key in lowered if key in _OWN or key.startswith("fs.")}
        table = opened(bare)
        if not isinstance(table, Table):
            raise UnsupportedError(f"writing to {table.identifier}", "the sink", "Name the table itself.")
        own = {*bare, *more, *write_options(lowered, table.schema.partition_keys)}
        return table.copy(as_spelt({k: v for k, v in lowered.items() if k not in own})), lowered

    def streamReader(self, schema: StructType) -> "PaimonStreamReader":  # noqa: N802 - Spark's name
        check_stream_sources()
        from maintenance.connector.stream_source import PaimonStreamReader

        opened_ = opened(self.options)
        with_kind = isinstance(opened_, AuditLogView) and opened_.name == AUDIT_LOG
        table = opened_.table if isinstance(opened_, AuditLogView) else opened_
        if not isinstance(table, Table) or isinstance(opened_, AuditLogView) != with_kind:
            raise UnsupportedError(f"a stream of {opened_.identifier}", "the source", "Stream the table itself.")
        names = [name for name in _names(schema) if name != ROW_KIND.name or not with_kind]
        if names != list(table.schema.field_names):
            # The stream starts at a snapshot of another schema, whose columns Spark knows.
            table = table.target()[0]
        columns = [*([ROW_KIND] if with_kind else []), *table.schema.fields]
        limits = Limits.of(TableModel({**table.options, **self.options}))
        return PaimonStreamReader(table, columns, limits, with_kind=with_kind)


class PaimonReader(DataSourceReader):
    """One batch read."""

    def __init__(self, options: Mapping[str, str], schema: "StructType | pa.Schema") -> None:
        self._options = options
        self._columns = _names(schema)
        self._arrow = schema if isinstance(schema, pa.Schema) else None
        self._predicate: Predicate | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        columns = [column for column in columns_of(opened(self._options)) if not column.type.is_nested]
        parts = [pushed(filter_, columns) for filter_ in filters]
        translated = [part for part in parts if part is not None]
        self._predicate = conjunction(translated) if translated else None
        # Pruning keeps whole files, so Spark is asked to look at every row again.
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        table = opened(self._options)
        if isinstance(table, SystemTableView | GlobalView):
            return [RowsPartition(as_stored(table.to_arrow(self._columns)))]
        plan, split_read = table.plan(self._columns, self._predicate)
        return [SplitPartition(split, split_read) for split in plan.splits]

    @in_task
    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, RowsPartition):
            yield from self._named(as_spark_takes(partition.rows).to_batches())
        if not isinstance(partition, SplitPartition):
            # Of a plan without partitions Spark asks for one that is None.
            return
        yield from self._named(split_batches(partition.split_read, partition.split))

    def _named(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """With the names inside of lists and maps that Sail's schema has: it compares them."""
        for batch in batches:
            if self._arrow is None:
                yield batch
            else:
                yield batch.cast(pa.schema([self._arrow.field(name) for name in batch.schema.names]))


def _names(schema: "StructType | pa.Schema") -> list[str]:
    """Sail gives a schema of Arrow."""
    return list(schema.names)


def columns_of(table: AnyView | GlobalView) -> Sequence[DataField]:
    """The columns that a read sees."""
    return table.target()[0].schema.fields if isinstance(table, Table) else table.fields


def opened(options: Mapping[str, str]) -> AnyView | GlobalView:
    """The table that the options of a read name. Raises: OptionError: they name none."""
    lowered = {key.lower(): value for key, value in options.items()}
    if "path" in lowered:
        root, _, name = lowered["path"].rstrip("/").rpartition("/")
        warehouse, _, database = root.rpartition("/")
        identifier = f"{database.removesuffix('.db')}.{name}"
    elif "warehouse" in lowered and "table" in lowered:
        warehouse, identifier = lowered["warehouse"], lowered["table"]
    else:
        raise OptionError(
            "neither 'path' nor 'warehouse' and 'table' are set", "options", "Call load(path of the table)."
        )
    catalog_options = {key: value for key, value in lowered.items() if key.startswith("fs.")}
    table = open_catalog({"warehouse": warehouse, **catalog_options}).get_table(identifier)
    if isinstance(table, (ObjectTable, FormatTable)):
        raise UnsupportedError(
            "object and format tables are not supported here", identifier, "Use `to_spark` of the table."
        )
    own = {*_OWN, READ_CHANGELOG.key, *LIMIT_KEYS}
    with_options = table.copy(as_spelt({k: v for k, v in lowered.items() if k not in own and not k.startswith("fs.")}))
    if isinstance(with_options, Table) and READ_CHANGELOG.of({**with_options.options, **lowered}):
        return AuditLogView(with_options)
    return with_options


def pushed(filter_: Filter, columns: Sequence[DataField]) -> Predicate | None:
    """A filter of Spark as a predicate, None if it cannot be said."""
    operator = _OPERATORS.get(type(filter_))
    attribute: Any = getattr(filter_, "attribute", None)
    if operator is None or attribute is None or len(attribute) != 1:
        return None
    value = getattr(filter_, "value", None)
    return of_filter(operator, attribute[0], value, columns)
