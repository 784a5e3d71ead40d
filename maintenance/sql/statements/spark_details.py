"""What Spark's statements show of a table besides its columns: DESCRIBE … EXTENDED, of a column or a partition, and
SHOW TABLE EXTENDED.

Source: Spark's `DescribeTableExec`, `DescribeColumnExec` and `ShowTablePartitionExec`; Java `PaimonDescribeTableExec`,
`PaimonShowTablesExtendedCommand` of Paimon's Spark connector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import NotFoundError, SqlError
from maintenance.metadata.paths import partition_text_of
from maintenance.metastore.database import OWNER
from maintenance.metastore.partitions import Partition
from maintenance.spelling import meant
from maintenance.sql.cursor import Cursor
from maintenance.sql.partitions import PartitionLiteral, by_own_names, partition_of, read_partition, spark_name
from maintenance.sql.patterns import fits
from maintenance.sql.place import unknown_column
from maintenance.sql.plain_partitions import folder_of, known_partitions
from maintenance.sql.result import Result
from maintenance.sql.statements.spark_types import simple_text, tree_text
from maintenance.sql.statements.statement import Parse
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.system.statistics import statistics_of
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

Row = tuple[str | None, ...]
_HEADS = ("col_name", "data_type", "comment")
_BLANK: Row = ("", "", "")
_OF_COLUMNS = {
    "min": "min",
    "max": "max",
    "num_nulls": "nullCount",
    "distinct_count": "distinctCount",
    "avg_col_len": "avgLen",
    "max_col_len": "maxLen",
}
"""Titles of Spark to keys of the file of statistics."""
Detailed = Table | ObjectTable | FormatTable


def column_rows(fields: Sequence[DataField], keys: Sequence[str]) -> list[Row]:
    """Columns, and again those that a table is partitioned by."""
    rows: dict[str, Row] = {f.name: (f.name, simple_text(f.type), f.description) for f in fields}
    if not keys:
        return [*rows.values()]
    return [*rows.values(), ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"),
            *(rows[key] for key in keys)]  # fmt: skip


def detail_rows(table: Detailed) -> list[Row]:
    """What EXTENDED adds."""
    rows: list[Row] = [_BLANK, ("# Detailed Table Information", "", ""), ("Name", table.identifier, "")]
    rows += [(title, value, "") for title, value in _facts(table).items()]
    defaults = [(f.name, simple_text(f.type), f.default_value) for f in table.schema.fields if f.default_value]
    if defaults:
        rows += [_BLANK, ("# Column Default Values", "", ""), *defaults]
    required: list[Row] = [
        (f.name, simple_text(f.type), "NOT NULL") for f in table.schema.fields if not f.type.nullable
    ]
    return rows + ([("# Column Not Null", "", ""), *required] if required else [])


def _facts(table: Detailed) -> dict[str, str]:
    """Type, comment, place, provider, owner and properties, under Spark's titles."""
    schema = table.schema
    options = {"path": table.location, **schema.options}
    if schema.primary_keys:
        options["primary-key"] = ",".join(schema.primary_keys)
    facts = {
        "Type": "MANAGED",
        "Comment": schema.comment,
        "Location": table.location,
        "Provider": "paimon",
        "Owner": options.pop(OWNER, None),
        "Table Properties": "[" + ",".join(f"{key}={value}" for key, value in sorted(options.items())) + "]",
    }
    return {title: value for title, value in facts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class DescribeColumn:
    """One column: ``DESCRIBE t c``; `extended`: also what ANALYZE has found of it."""

    path: tuple[str, ...]
    column: tuple[str, ...]
    extended: bool
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        view = None if "$" in self.path[-1] or session.is_table(self.path) else session.sql_view(self.path)
        table = session.stored(self.path) if view is None else None
        fields = view.columns() if view is not None else table.schema.fields if table is not None else ()
        name, names = ".".join(self.column), [f.name for f in fields]
        matches = meant(names, name)
        field = next((f for f in fields if [f.name] == matches), None)
        if field is None:
            token = self.cursor.find("column", self.column[-1], last=True)
            raise self.cursor.error(*unknown_column(name, names), token=token)
        rows = [
            ("col_name", field.name),
            ("data_type", simple_text(field.type)),
            ("comment", field.description or "NULL"),
        ]
        if self.extended and isinstance(table, Table):
            rows += _column_statistics(table, field.name)
        return Result.of_texts(("info_name", "info_value"), rows)


def _column_statistics(table: Table, column: str) -> list[tuple[str, str]]:
    """Under Spark's titles; nothing of a column that was not analyzed."""
    statistics = statistics_of(table)
    found = None if statistics is None else statistics.columns.get(column)
    return [] if found is None else [(title, str(found.get(key, "NULL"))) for title, key in _OF_COLUMNS.items()]


@dataclass(frozen=True, slots=True)
class DescribePartition:
    """``DESCRIBE [EXTENDED] t PARTITION (…)``, of a partition by all of its columns."""

    path: tuple[str, ...]
    spec: Mapping[str, PartitionLiteral | None]
    extended: bool

    def run(self, session: "SessionState") -> Result:
        table = session.writable(self.path)
        partition = _known_partition(session, table, self.path, self.spec)
        rows = column_rows(table.schema.fields, table.schema.partition_keys)
        if self.extended:
            database, name = table.identifier.split(".", 1)
            rows += [
                _BLANK,
                ("# Detailed Partition Information", "", ""),
                ("Database", database, ""),
                ("Table", name, ""),
            ]
            rows += [(title, value, "") for title, value in _partition_facts(partition).items()]
        return Result.of_texts(_HEADS, rows)


@dataclass(frozen=True, slots=True)
class ShowTableExtended:
    """Tables whose names fit a pattern, or one partition of a table, with what there is to tell of them."""

    path: tuple[str, ...] | None
    pattern: str
    spec: Mapping[str, PartitionLiteral | None] | None

    def run(self, session: "SessionState") -> Result:
        here = (session.current_catalog, session.current_database)
        catalog, database = session.database_name(self.path) if self.path else here
        names = session.catalog_of(catalog).list_tables(database)
        if self.spec is None:
            chosen = [name for name in names if fits(self.pattern, name, is_spark=True)]
        else:
            chosen = [self.pattern]
        texts = [self._text(session, (catalog, database, name)) for name in chosen]
        columns = {"namespace": [database] * len(chosen), "tableName": chosen, "information": texts}
        arrays = {head: pa.array(values, pa.string()) for head, values in columns.items()}
        arrays["isTemporary"] = pa.array([False] * len(chosen), pa.bool_())
        return Result(
            pa.table({head: arrays[head] for head in ("namespace", "tableName", "isTemporary", "information")})
        )

    def _text(self, session: "SessionState", path: tuple[str, str, str]) -> str:
        table = session.view(path)
        assert isinstance(table, Detailed)
        if self.spec is not None:
            writable = session.writable(path)
            partition = _known_partition(session, writable, path, self.spec)
            facts = _partition_facts(partition)
            if partition.value is not None:
                value = partition.value
                facts["Partition Values"] = (
                    f"[{', '.join(spark_name(value.values_by_name, value.fields, session.zone))}]"
                )
            rows, size = partition.record_count, partition.file_size_in_bytes
            facts["Partition Statistics"] = f"{rows} rows, {size} bytes"
        else:
            facts = {"Catalog": path[0], "Namespace": path[1], "Table": path[2], **_facts(table)}
            if table.schema.partition_keys:
                quoted = ", ".join(f"`{key}`" for key in table.schema.partition_keys)
                facts |= {"Partition Provider": "Catalog", "Partition Columns": f"[{quoted}]"}
            facts["Schema"] = tree_text(tuple(table.schema.fields))
        return "\n".join(f"{title}: {value}" for title, value in facts.items()) + "\n"


def _known_partition(
    session: "SessionState",
    table: Table | FormatTable,
    path: tuple[str, ...],
    written: Mapping[str, PartitionLiteral | None],
) -> Partition:
    """The partition that a statement names. Raises: SqlError: not by all columns; NotFoundError."""
    keys = table.schema.partition_keys
    named = by_own_names(written, keys, f"table {table.identifier}")
    given = {name: value for name, value in named.items() if value is not None}
    if set(given) != set(keys):
        what = "no partition columns" if not keys else f"the partition columns {', '.join(keys)}"
        raise SqlError(f"the table has {what}", f"table {table.identifier}", "Give each of them a value.")
    wanted = partition_of(table, given, session.zone) if isinstance(table, Table) else None
    folder = folder_of(table, given, session.zone)
    for partition in known_partitions(session, path, table):
        if dict(partition.spec) == folder and partition.value in (None, wanted):
            return partition
    raise NotFoundError(
        f"partition {wanted or partition_text_of(folder)} does not exist",
        f"table {table.identifier}",
        "SHOW PARTITIONS lists them.",
    )


def _partition_facts(partition: Partition) -> dict[str, str]:
    parameters = {
        "recordCount": partition.record_count,
        "fileSizeInBytes": partition.file_size_in_bytes,
        "fileCount": partition.file_count,
        "lastFileCreationTime": partition.last_file_creation_time,
    }
    listed = ", ".join(f"{key}={value}" for key, value in parameters.items() if value is not None)
    return {
        "Partition Values": "[" + ", ".join(f"{key}={value}" for key, value in partition.spec.items()) + "]",
        "Partition Parameters": f"{{{listed}}}",
        "Partition Statistics": f"{partition.file_size_in_bytes} bytes, {partition.record_count} rows",
    }


def _show_extended(cursor: Cursor) -> ShowTableExtended:
    path = cursor.path("the name of a database") if cursor.take_one_of("FROM", "IN") else None
    cursor.take("LIKE")
    pattern = cursor.string("a pattern in quotes")
    return ShowTableExtended(path, pattern, read_partition(cursor) if cursor.take("PARTITION") else None)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {("SHOW", "TABLE", "EXTENDED"): _show_extended}
