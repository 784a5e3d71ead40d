"""The REST catalog. The server keeps definitions and says where a table lies; this process reads and writes its files.

Source: Java `RESTCatalog`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from maintenance.errors import (
    AlreadyExistsError,
    InfrastructureError,
    NotFoundError,
    SchemaError,
    UnsupportedError,
)
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metastore import partitions
from maintenance.metastore.database import LOCATION, Database
from maintenance.metastore.first_schema import first_schema
from maintenance.metastore.global_tables import GlobalView, global_names, global_table
from maintenance.metastore.identifier import SYS, Identifier
from maintenance.metastore.partitions import Partition, Spec
from maintenance.metastore.rest.forms import (
    Json,
    audit_of,
    json_of_change,
    json_of_identifier,
    json_of_schema,
    json_of_view,
    json_of_view_change,
    partition_of_answer,
    schema_of_answer,
    view_of_answer,
)
from maintenance.metastore.rest.record import RestPartitions, RestRecord
from maintenance.metastore.rest.server import RestServer
from maintenance.metastore.schema import Schema
from maintenance.metastore.schema_change import AddColumn, ExpectOption, SchemaChange, UpdateColumnDefaultValue
from maintenance.metastore.schema_evolution import check_expected
from maintenance.metastore.table_type import TableType, plain_tables
from maintenance.metastore.view import View, ViewChange
from maintenance.options import catalog as catalog_options
from maintenance.options import table as table_options
from maintenance.table import format_table, object_table
from maintenance.table.folder_table import FolderTable
from maintenance.table.format_table import FormatTable
from maintenance.table.named_branch import on_named_branch
from maintenance.table.object_table import ObjectTable
from maintenance.table.system.view import AnyView, system_table
from maintenance.table.table import Table


@dataclass(frozen=True)
class RestCatalog:
    """A catalog behind a server. `options`: as the server completed them; `table_type`: of its tables."""

    server: RestServer
    options: Mapping[str, str]
    table_type: TableType = plain_tables

    @classmethod
    def open(cls, options: Mapping[str, str], table_type: TableType) -> Self:
        """Ask the server for its configuration. Raises: see `RestServer`."""
        server, merged = RestServer.of(options).configured(options)
        if catalog_options.DATA_TOKEN_ENABLED.of(merged):
            raise UnsupportedError(
                "'data-token.enabled' = 'true' is not supported",
                server.uri,
                "Set it to 'false', and give the keys of the storage as options.",
            )
        return cls(server, merged, table_type)

    @property
    def file_io(self) -> FileIO:
        return FileIO.of(self.options)

    @property
    def warehouse(self) -> str:
        return catalog_options.WAREHOUSE.of(self.options) or ""

    @property
    def case_sensitive(self) -> bool:
        return catalog_options.CASE_SENSITIVE.of(self.options)

    def close(self) -> None:
        """Nothing is held: connections belong to the process."""

    def warehouse_exists(self) -> bool:
        """The server answered when the catalog was opened, so it knows the warehouse."""
        return True

    # Databases

    def list_databases(self) -> list[str]:
        return sorted(self.server.pages("databases", key="databases"))

    def create_database(
        self, name: str, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        self._check_not_sys(name)
        given = {key: str(value) for key, value in (properties or {}).items()}
        try:
            self.server.post("databases", body={"name": name, "options": given})
        except AlreadyExistsError as error:
            if not ignore_if_exists:
                raise AlreadyExistsError(f"database '{name}' exists", self.server.uri, error.fix) from error

    def get_database(self, name: str) -> Database:
        if name == SYS:
            return Database(name)
        with self._named("database", name), self._readable(f"database {name}"):
            answer = self.server.get("databases", name)
            options = {key: str(value) for key, value in (answer.get("options") or {}).items()}
            if answer.get("location") is not None:
                options[LOCATION] = str(answer["location"])
            options |= audit_of(answer)
            return Database(name, options, options.get("comment"))

    def alter_database(
        self,
        name: str,
        set: Mapping[str, str] | None = None,  # noqa: A002 - the name that users write
        remove: Sequence[str] = (),
        ignore_if_not_exists: bool = False,
    ) -> None:
        self._check_not_sys(name)
        updates = {key: str(value) for key, value in (set or {}).items()}
        with self._named("database", name, ignore=ignore_if_not_exists):
            self.server.post("databases", name, body={"removals": list(remove), "updates": updates})

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        self._check_not_sys(name)
        with self._named("database", name, ignore=ignore_if_not_exists):
            if not cascade and self.list_tables(name):
                raise SchemaError(
                    f"database '{name}' has tables", self.server.uri, "Drop them first, or pass cascade=True."
                )
            self.server.delete("databases", name)

    # Tables

    def list_tables(self, database: str, pattern: str | None = None) -> list[str]:
        if database == SYS:
            return global_names(self.options)
        query = {} if pattern is None else {"tableNamePattern": pattern}
        with self._named("database", database):
            return sorted(self.server.pages("databases", database, "tables", key="tables", query=query))
        raise AssertionError

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        self._check_not_sys(name.database)
        first = first_schema(name, schema, self.options)
        body = {"identifier": json_of_identifier(name), "schema": json_of_schema(first)}
        try:
            with self._named("database", name.database):
                self.server.post("databases", name.database, "tables", body=body)
        except AlreadyExistsError as error:
            if not ignore_if_exists:
                raise AlreadyExistsError(f"table '{name}' exists", self.server.uri, error.fix) from error

    def replace_table(self, identifier: str, schema: Schema) -> None:
        """The server does it, those since Paimon 2.0. Source: Java `RESTApi.replaceTable`."""
        name = self._plain(identifier)
        body = {"schema": json_of_schema(first_schema(name, schema, self.options))}
        with self._named("table", str(name)):
            try:
                self.server.post("databases", name.database, "tables", name.table, "replace", body=body)
            except NotFoundError as error:
                # What is missing may be the table, or all such addresses.
                self._described(name)
                problem, fix = "this REST server replaces no tables", "Drop the table and create it: its snapshots go."
                raise UnsupportedError(problem, f"{self.server.uri}, table {name}", fix) from error

    def get_table(self, identifier: str) -> AnyView | GlobalView | ObjectTable | FormatTable:
        name = Identifier.parse(identifier)
        if name.database == SYS:
            return global_table(self, name.table)
        with self._named("table", str(name)), self._readable(f"table {name}"):
            return self._table(name, self._described(name))
        raise AssertionError

    def open_table(self, identifier: str) -> AnyView | GlobalView | ObjectTable | FormatTable:
        table, name = self.get_table(identifier), Identifier.parse(identifier)
        return table.part(name.branch, name.system_table) if isinstance(table, FolderTable) else table

    def change_table(
        self, identifier: str, changes: Sequence[SchemaChange], ignore_if_not_exists: bool = False
    ) -> None:
        self.alter_table(identifier, changes, ignore_if_not_exists)

    def _table(self, name: Identifier, answer: Json) -> AnyView | ObjectTable | FormatTable:
        schema = schema_of_answer(answer)
        location = str(answer.get("path") or schema.options[table_options.PATH_KEY])
        kind = table_options.check_type(schema.options, str(name))
        if kind == object_table.TYPE:
            objects = ObjectTable(str(name), location, self.file_io, schema)
            return objects.as_paimon_gives(name.branch, name.system_table)
        if kind == format_table.TYPE:
            plain = FormatTable(str(name), location, self.file_io, schema, self._register(name, schema))
            return plain.as_paimon_gives(name.branch, name.system_table)
        record = RestRecord(self.server, name.database, str(name).partition(".")[2], str(answer["id"]))
        table = self.table_type()(
            str(name),
            location,
            self.file_io,
            schema.without_place(),
            name.branch,
            record=record,
        )
        table = on_named_branch(table, schema.model)
        return table if name.system_table is None else system_table(table, name.system_table)

    def _register(self, name: Identifier, schema: TableSchema) -> RestPartitions | None:
        if not schema.partition_keys or not _in_catalog(schema.options):
            return None
        return RestPartitions(self.server, name.database, name.table)

    def _described(self, name: Identifier) -> Json:
        return self.server.get("databases", name.database, "tables", json_of_identifier(name)["object"])

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        with self._named("table", str(name), ignore=ignore_if_not_exists):
            self.server.delete("databases", name.database, "tables", name.table)

    def deletes_files(self, identifier: str) -> bool:
        """Not those of an external table, as the server calls it."""
        name = self._plain(identifier)
        with self._named("table", str(name)):
            return not self._described(name).get("isExternal")
        raise AssertionError

    def rename_table(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        body = {"source": json_of_identifier(old), "destination": json_of_identifier(new)}
        with self._named("table", str(old), ignore=ignore_if_not_exists):
            self.server.post("tables", "rename", body=body)

    def alter_table(self, identifier: str, changes: Sequence[SchemaChange], ignore_if_not_exists: bool = False) -> None:
        name = Identifier.parse(identifier)
        if name.system_table is not None:
            raise SchemaError(f"'{identifier}' is a system table", self.server.uri, "Alter the table itself.")
        expected = [change for change in changes if isinstance(change, ExpectOption)]
        if expected:  # the server knows no such change
            table = self.get_table(identifier)
            assert isinstance(table, (Table, ObjectTable, FormatTable))
            for change in expected:
                check_expected(change, table.schema.options, f"table {name}")
        others = [change for change in changes if not isinstance(change, ExpectOption)]
        body = {"changes": [json_of_change(change) for given in others for change in _with_default(given)]}
        object_name = json_of_identifier(name)["object"]
        try:
            with self._named("table", str(name), ignore=ignore_if_not_exists):
                self.server.post("databases", name.database, "tables", object_name, body=body)
        except AlreadyExistsError as error:
            raise SchemaError(error.found, error.where, "Choose another name.") from error

    # Partitions

    def list_partitions(self, identifier: str) -> list[Partition]:
        name = Identifier.parse(identifier)
        table = self.get_table(identifier)
        if isinstance(table, (Table, FormatTable)) and not table.schema.partition_keys:
            return []
        of_table = ("databases", name.database, "tables", json_of_identifier(name)["object"], "partitions")
        if isinstance(table, Table) and not _in_catalog(table.options):
            return partitions.list_partitions(table)
        try:
            with self._readable(f"partitions of {name}"):
                return [partition_of_answer(form) for form in self.server.pages(*of_table, key="partitions")]
        except (UnsupportedError, NotFoundError):
            if isinstance(table, Table):
                return partitions.list_partitions(table)
            raise
        raise AssertionError

    def create_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        """Register partitions of a table with `metastore.partitioned-table`; of any other nothing is stored."""
        table = self.get_table(identifier)
        if isinstance(table, FormatTable):
            table.add_partitions(specs)
            return
        if isinstance(table, Table) and not _in_catalog(table.options):
            return
        name = Identifier.parse(identifier)
        RestPartitions(self.server, name.database, name.table).add(specs)

    def drop_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        """Delete the rows; the commit tells the server what became of the partitions."""
        partitions.drop_partitions(self._data_table(identifier), specs)

    def mark_done_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        name = Identifier.parse(identifier)
        body = {"specs": [dict(spec) for spec in specs]}
        with self._named("table", str(name)):
            self.server.post("databases", name.database, "tables", name.table, "partitions", "mark", body=body)

    # Views

    def list_views(self, database: str, pattern: str | None = None) -> list[str]:
        query = {} if pattern is None else {"viewNamePattern": pattern}
        with self._named("database", database):
            return sorted(self.server.pages("databases", database, "views", key="views", query=query))
        raise AssertionError

    def get_view(self, identifier: str) -> View:
        name = self._plain(identifier)
        with self._named("view", str(name)), self._readable(f"view {name}"):
            return view_of_answer(self.server.get("databases", name.database, "views", name.table))
        raise AssertionError

    def create_view(self, identifier: str, view: View, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        body = {"identifier": json_of_identifier(name), "schema": json_of_view(view)}
        try:
            with self._named("database", name.database):
                self.server.post("databases", name.database, "views", body=body)
        except AlreadyExistsError as error:
            if not ignore_if_exists:
                raise AlreadyExistsError(f"view '{name}' exists", self.server.uri, error.fix) from error

    def alter_view(self, identifier: str, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        if ignore_if_not_exists and not self._has_view(identifier):
            return
        body = {"changes": [json_of_view_change(change) for change in changes]}
        self.server.post("databases", name.database, "views", name.table, body=body)

    def _has_view(self, identifier: str) -> bool:
        try:
            self.get_view(identifier)
        except NotFoundError:
            return False
        return True

    def rename_view(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        body = {"source": json_of_identifier(old), "destination": json_of_identifier(new)}
        with self._named("view", str(old), ignore=ignore_if_not_exists):
            self.server.post("views", "rename", body=body)

    def drop_view(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        with self._named("view", str(name), ignore=ignore_if_not_exists):
            self.server.delete("databases", name.database, "views", name.table)

    # Repair: there is nothing that this process could compare the server's knowledge with

    def repair_catalog(self) -> None:
        raise self._no_repair()

    def repair_database(self, name: str) -> None:
        del name
        raise self._no_repair()

    def repair_table(self, identifier: str) -> None:
        del identifier
        raise self._no_repair()

    # Checks and errors

    def _no_repair(self) -> UnsupportedError:
        return UnsupportedError(
            "a repair is not possible in a rest catalog", self.server.uri, "Register the table at the server."
        )

    def _data_table(self, identifier: str) -> Table:
        table = self.get_table(identifier)
        if isinstance(table, FolderTable):
            raise table.refused("no partitions that the catalog keeps")
        if not isinstance(table, Table):
            raise SchemaError(f"'{identifier}' has no partitions", self.server.uri, "Name a table with data.")
        return table

    def _plain(self, identifier: str) -> Identifier:
        return Identifier.of_table(identifier, self.server.uri)

    def _check_not_sys(self, name: str) -> None:
        if name == SYS:
            raise SchemaError(f"'{SYS}' cannot be a database", self.server.uri, "It is the database of system tables.")

    @contextmanager
    def _named(self, kind: str, name: str, *, ignore: bool = False) -> Iterator[None]:
        """What the server does not find is the thing named. `ignore`: that is not an error."""
        try:
            yield
        except NotFoundError as error:
            if not ignore:
                problem = f"{kind} '{name}' does not exist: {error.found}"
                raise NotFoundError(problem, error.where, "Check the name.") from error

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InfrastructureError(
                f"the REST server's description of {what} cannot be read: {error}",
                self.server.uri,
                "Check the version of the REST server: its answer has another form.",
            ) from error


_in_catalog = table_options.METASTORE_PARTITIONED_TABLE.of


def _with_default(change: SchemaChange) -> list[SchemaChange]:
    """The API adds a column without a default value, and sets that by a second change."""
    if not isinstance(change, AddColumn) or change.default_value is None:
        return [change]
    default = UpdateColumnDefaultValue(change.column, change.default_value)
    return [replace(change, default_value=None), default]
