"""The database ``sys``: tables about all tables of a catalog. Source: seed 000 (global system tables), Java
`AllTablesTable`, `AllPartitionsTable`, `AllTableOptionsTable`, `CatalogOptionsTable`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import pyarrow as pa

from maintenance.errors import NotFoundError
from maintenance.metastore.identifier import SYS
from maintenance.options.catalog import CATALOG_OPTIONS_TABLE_ENABLED
from maintenance.options.known import check_set
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.system.local_time import epoch_millis
from maintenance.table.system.registry import SYSTEM_TABLES
from maintenance.table.system.system_table import required
from maintenance.table.system.view import AnyView, MetadataView
from maintenance.table.table import Table

Rows = list[tuple[object, ...]]


class Tables(Protocol):
    """What is asked of a catalog."""

    @property
    def options(self) -> Mapping[str, str]: ...

    def list_databases(self) -> list[str]: ...

    def list_tables(self, database: str) -> list[str]: ...

    def get_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable": ...


@dataclass(frozen=True, slots=True)
class GlobalTable:
    """One table of the database. `rows`: of a catalog, with `schema`."""

    name: str
    schema: pa.Schema
    rows: Callable[[Tables], Rows]


@dataclass(frozen=True, slots=True)
class GlobalView(MetadataView):
    """`sys.name` of a catalog."""

    catalog: Tables
    table: GlobalTable

    @property
    def identifier(self) -> str:
        return f"{SYS}.{self.table.name}"

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table: options of a read change nothing in it, as in Paimon. Raises: OptionError: one is wrong."""
        check_set(options, {}, self.identifier)
        return self

    def rows(self, options: Mapping[str, str]) -> pa.Table:
        del options
        rows = self.table.rows(self.catalog)
        listed: Sequence[Sequence[object]] = list(zip(*rows, strict=True)) or [[] for _ in self.schema]
        arrays = [pa.array(values, field.type) for values, field in zip(listed, self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=pa.schema([field.with_nullable(True) for field in self.schema]))


def global_table(catalog: Tables, name: str) -> GlobalView:
    """A table of the database `sys`. Raises: NotFoundError."""
    names = global_names(catalog.options)
    if name.lower() not in names:
        raise NotFoundError(f"table '{SYS}.{name}' does not exist", "the catalog", f"There are: {', '.join(names)}.")
    return GlobalView(catalog, _TABLES[name.lower()])


def global_names(options: Mapping[str, str]) -> list[str]:
    """Names of the tables of `sys`, sorted. The catalog's options may hold secrets: their table has to be asked for."""
    shown = CATALOG_OPTIONS_TABLE_ENABLED.of(options)
    return sorted(name for name in _TABLES if shown or name != _CATALOG_OPTIONS)


def _all_tables(catalog: Tables) -> Iterator[tuple[str, str, Table | ObjectTable | FormatTable]]:
    """Database, name and handle of each table; those dropped meanwhile are left out."""
    for database in catalog.list_databases():
        try:
            names = catalog.list_tables(database)
        except NotFoundError:
            continue
        for name in names:
            try:
                table = catalog.get_table(f"{database}.{name}")
            except NotFoundError:
                continue
            if isinstance(table, (Table, ObjectTable, FormatTable)):
                yield database, name, table


def _tables(catalog: Tables) -> Rows:
    rows: Rows = []
    for database, name, table in _all_tables(catalog):
        options = table.schema.options
        times = (_number(options.get("createdAt")), options.get("createdBy"))
        changed = (_number(options.get("updatedAt")), options.get("updatedBy"))
        keys = (bool(table.schema.partition_keys), bool(table.schema.primary_keys))
        # The last four are known to catalogs that keep statistics of their own alone.
        head = (database, name, options.get("type", "table"), *keys, options.get("owner"))
        rows.append((*head, *times, *changed, None, None, None, None))
    return rows


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _partitions(catalog: Tables) -> Rows:
    rows: Rows = []
    for database, name, table in _all_tables(catalog):
        if not isinstance(table, Table) or not table.schema.partition_keys:
            continue
        for row in SYSTEM_TABLES["partitions"].read(table).to_pylist():
            counts = (row["record_count"], row["file_size_in_bytes"], row["file_count"])
            changed = None if row["last_update_time"] is None else epoch_millis(row["last_update_time"])
            rows.append((database, name, row["partition"], *counts, changed, row["done"]))
    return rows


def _all_table_options(catalog: Tables) -> Rows:
    return [
        (database, name, key, value)
        for database, name, table in _all_tables(catalog)
        for key, value in {**table.schema.options, "path": table.location}.items()
    ]


def _catalog_options(catalog: Tables) -> Rows:
    return list(catalog.options.items())


_CATALOG_OPTIONS = "catalog_options"
_TEXT, _LONG, _BOOL = pa.string(), pa.int64(), pa.bool_()
_COUNTS = [("record_count", _LONG), ("file_size_in_bytes", _LONG), ("file_count", _LONG)]
_NAMES = [("database_name", _TEXT), ("table_name", _TEXT)]

_TABLES: Mapping[str, GlobalTable] = {
    table.name: table
    for table in (
        GlobalTable(
            "tables",
            pa.schema(
                [
                    *_NAMES,
                    ("table_type", _TEXT),
                    ("partitioned", _BOOL),
                    ("primary_key", _BOOL),
                    ("owner", _TEXT),
                    ("created_at", _LONG),
                    ("created_by", _TEXT),
                    ("updated_at", _LONG),
                    ("updated_by", _TEXT),
                    *_COUNTS,
                    ("last_file_creation_time", _LONG),
                ]
            ),
            _tables,
        ),
        GlobalTable(
            "partitions",
            pa.schema(
                [
                    *_NAMES,
                    ("partition_name", _TEXT),
                    *_COUNTS,
                    ("last_file_creation_time", _LONG),
                    ("done", _BOOL),
                ]
            ),
            _partitions,
        ),
        GlobalTable("all_table_options", pa.schema([*_NAMES, ("key", _TEXT), ("value", _TEXT)]), _all_table_options),
        GlobalTable(_CATALOG_OPTIONS, pa.schema([required("key", _TEXT), required("value", _TEXT)]), _catalog_options),
    )
}
