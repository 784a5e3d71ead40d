"""The Hive catalog. A metastore says which databases, tables and partitions exist and where they lie; the definition of
a table of Paimon is in its schema files, that of a format table or view in the metastore.

What has to change in both places changes in the schema files first. Source: Java `HiveCatalog`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from maintenance.commit.lock import NO_LOCK, TableLock
from maintenance.commit.record import FILES_ALONE, CatalogRecord
from maintenance.errors import (
    AlreadyExistsError,
    NotFoundError,
    OptionError,
    SchemaError,
    UnsupportedError,
)
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import warehouse_location
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metastore import partitions
from maintenance.metastore.first_schema import first_schema
from maintenance.metastore.folder_move import FolderMove
from maintenance.metastore.hive.client import HiveMetastore, Struct, close_connections, thrift
from maintenance.metastore.hive.lock import HiveLock
from maintenance.metastore.hive.objects import (
    EXTERNAL,
    LOCATION_PROPERTY,
    VIEW,
    Place,
    check_tag_field,
    describe,
    format_schema,
    format_table_object,
    is_object_of_users,
    is_paimon,
    object_schema,
    table_object,
    update_parameters,
)
from maintenance.metastore.hive.partitions import LOAD_DONE, HivePartitions, HiveRecord
from maintenance.metastore.hive.settings import HiveSettings
from maintenance.metastore.hive.views import HiveViews
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.jdbc.lock import LockSettings, locks_tables
from maintenance.metastore.partitions import Partition, Spec
from maintenance.metastore.schema import Schema
from maintenance.metastore.schema_change import RemoveOption, SchemaChange
from maintenance.metastore.table_type import TableType
from maintenance.names import check_new_name
from maintenance.options import catalog as catalog_options
from maintenance.options import table as table_options
from maintenance.options.formats import FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE
from maintenance.table import format_table, object_table
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.table import Table

_BATCH = 300
_DONE_ACTION = "partition.mark-done-action"
_TAG_PERIOD = "tag.creation-period"


@dataclass(frozen=True)
class HiveCatalog(HiveViews):
    """A catalog in a Hive metastore. `locks`: None = tables are not locked."""

    locks: LockSettings | None = field(kw_only=True, default=None)

    @classmethod
    def open(cls, options: Mapping[str, str], table_type: TableType) -> Self:
        """Find the metastore. Raises: see `HiveSettings`; InfrastructureError: it does not answer."""
        settings = HiveSettings.of(options)
        warehouse = warehouse_location(settings.warehouse)
        locked = locks_tables(options, warehouse)
        times = (catalog_options.LOCK_ACQUIRE_TIMEOUT.of(options), catalog_options.LOCK_CHECK_MAX_SLEEP.of(options))
        for option in (catalog_options.TABLE_TYPE, catalog_options.LOCATION_IN_PROPERTIES):
            option.of(options)
        metastore = HiveMetastore(settings.addresses, catalog_options.CLIENT_POOL_SIZE.of(options))
        metastore.read("get_all_databases")
        locks = LockSettings(*times) if locked else None
        return cls(warehouse, FileIO.of(options), dict(options), table_type, metastore=metastore, locks=locks)

    @property
    def kind(self) -> str:
        return "hive"

    @property
    def case_sensitive(self) -> bool:
        given = any(key in self.options for key in ("case-sensitive", "allow-upper-case"))
        return catalog_options.CASE_SENSITIVE.of(self.options) if given else False

    @property
    def _sync(self) -> bool:
        return catalog_options.SYNC_ALL_PROPERTIES.of(self.options)

    @property
    def _format_tables(self) -> bool:
        return catalog_options.FORMAT_TABLE_ENABLED.of(self.options)

    def close(self) -> None:
        close_connections(self.metastore)

    # Where things lie

    def location(self, name: Identifier) -> str:
        stored = self._found(name)
        return self._new_location(name) if stored is None else self._location_of(stored)

    def check_place(self, name: Identifier) -> None:
        stored = self._found(name)
        if stored is not None and not is_paimon(stored):
            raise self._foreign(name)

    def _new_location(self, name: Identifier) -> str:
        folder = self._location_of_database(self._database(name.database)) or self.database_folder(name.database)
        return f"{folder.rstrip('/')}/{name.table}"

    def _location_of(self, table: Struct) -> str:
        parameters: Mapping[str, str] = table.parameters or {}
        location = parameters.get(LOCATION_PROPERTY) if self._in_properties else None
        return str(location or table.sd.location)

    def _place(self, name: Identifier, options: Mapping[str, str]) -> Place:
        """Where a new table goes."""
        path = options.get(table_options.PATH_KEY)
        given = options.get("external", options.get("EXTERNAL", "")).strip().lower() == "true"
        external = path is not None or given or catalog_options.TABLE_TYPE.of(self.options) == "external"
        return Place(self._new_location(name) if path is None else path, external, self._in_properties)

    # Tables

    def _table_names(self, database: str) -> list[str]:
        names, tables = self._names_in(database), []
        with self._calls(f"database {database}"):
            for start in range(0, len(names), _BATCH):
                batch = names[start : start + _BATCH]
                tables += self.metastore.read("get_table_objects_by_name", database, batch)
        return sorted(
            table.tableName
            for table in tables
            if is_paimon(table) or (self._format_tables and format_schema(table) is not None)
        )

    def _stored_schema(self, name: Identifier) -> TableSchema:
        table = self._found(name)
        if table is None:
            self._database(name.database)
            raise self._no_table(name)
        return self._schema_of(name, table)

    def _schema_of(self, name: Identifier, table: Struct) -> TableSchema:
        if is_object_of_users(table):
            return object_schema(table)
        if is_paimon(table):
            schema = self._schemas(self._location_of(table), name.branch).latest()
        else:
            schema = format_schema(table) if self._format_tables else None
        if schema is None:
            raise self._no_table(name)
        return schema

    def _opened(self, name: Identifier) -> "tuple[ObjectTable | FormatTable | Table, Mapping[str, str]]":
        stored = self._found(name)
        if stored is None:
            self._database(name.database)
            raise self._no_table(name)
        schema, location = self._schema_of(name, stored), self._location_of(stored)
        kind = table_options.check_type(schema.options, str(name))
        if kind == format_table.TYPE:
            return self._format_table(name, location, schema), schema.options
        if kind == object_table.TYPE:
            location = schema.options.get(table_options.PATH_KEY, location)
            return ObjectTable(str(name), location, self.file_io, schema), schema.options
        table = self.table_type()(
            str(name),
            location,
            self.file_io,
            schema.without_place(),
            name.branch,
            lock=self._lock(name),
            record=self._record(name, location, schema),
        )
        return table, schema.options

    def _format_table(self, name: Identifier, location: str, schema: TableSchema) -> FormatTable:
        if schema.partition_keys and schema.model.metastore_partitioned_table:
            raise OptionError(
                "a format table with 'metastore.partitioned-table' can be read in a rest catalog only",
                f"table {name}",
                "Drop it, and create it without the option.",
            )
        return FormatTable(str(name), location, self.file_io, schema)

    def _record(self, name: Identifier, location: str, schema: TableSchema) -> CatalogRecord:
        tag_field = schema.model.metastore_tag_to_partition
        preview = table_options.METASTORE_TAG_TO_PARTITION_PREVIEW.of(schema.options)
        if not _metastore_partitioned(schema):
            return FILES_ALONE
        if preview == "process-time" and schema.options.get(_TAG_PERIOD, "daily") != "daily":
            raise self._unsupported(
                f"'{_TAG_PERIOD}' = '{schema.options[_TAG_PERIOD]}' with a preview of tags",
                "Use 'daily', or no preview.",
                f"table {name}",
            )
        return HiveRecord(self._partitions(name, location, schema), tag_field, preview == "process-time")

    def _partitions(self, name: Identifier, location: str, schema: TableSchema) -> HivePartitions:
        directory = schema.options.get("data-file.path-directory")
        folder = f"{location}/{directory}" if directory else location
        only_value = FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE.of(schema.options)
        keys = _partition_names(schema)
        return HivePartitions(self.metastore, name.database, name.table, keys, folder, self._in_properties, only_value)

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        self._check_not_sys(name.database)
        self._database(name.database)
        first = first_schema(name, schema, self.options)
        taken = self._found(name)
        if taken is not None:
            known = is_paimon(taken) or (self._format_tables and format_schema(taken) is not None)
            if known and ignore_if_exists:
                return
            raise self._table_exists(name) if known else self._foreign(name)
        check_tag_field(first, f"table {name}")
        if first.options.get(table_options.TYPE.key) == format_table.TYPE:
            self._create_format_table(name, first)
        else:
            self._create_table(name, first)

    def _create_format_table(self, name: Identifier, first: TableSchema) -> None:
        if not self._format_tables:
            raise self._unsupported("a format table with 'format-table.enabled' = 'false'", "Set it.", f"table {name}")
        table = format_table_object(name.database, name.table, first, self._place(name, first.options))
        self._create_object(name, table)

    def _create_table(self, name: Identifier, first: TableSchema) -> None:
        place = self._place(name, first.options)
        if first.options.get(table_options.TYPE.key) == object_table.TYPE:
            # As Java stores it, so that the listing of the table does not depend on who created it.
            first = _with_option(first, table_options.PATH_KEY, place.location)
            if place.external:
                # The folder is the user's: nothing is written there, and the metastore alone has the definition.
                self._create_object(name, table_object(name.database, name.table, first, place, sync=True))
                return
        table = table_object(name.database, name.table, first, place, sync=self._sync)
        schemas = self._schemas(place.location)
        with self._lock(name).held() as lock:
            lock.check()
            there = schemas.latest()
            if there is not None and not place.external:
                raise AlreadyExistsError(
                    f"the folder of table '{name}' has a schema already",
                    place.location,
                    "Register it with repair_table, or choose another name.",
                )
            if there is not None:
                self._check_same(name, there, first)
                table = table_object(name.database, name.table, there, place, sync=self._sync)
            elif not self._publish_first(name, place.location, first):
                raise self._table_exists(name)
        try:
            self._create_object(name, table)
        except BaseException:
            if there is None:
                self.file_io.discard([f"{schemas.folder}/schema-{first.id}"])
            raise

    def _check_same(self, name: Identifier, there: TableSchema, first: TableSchema) -> None:
        """An external folder may hold a table already, if it is the same one."""
        ours, theirs = (
            ([(f.name, f.type) for f in s.fields], s.partition_keys, s.primary_keys) for s in (first, there)
        )
        if ours != theirs:
            raise SchemaError(
                "the folder holds a table with other columns or keys", f"table {name}", "Give it the same definition."
            )

    def _create_object(self, name: Identifier, table: Struct) -> None:
        try:
            with self._calls(f"table {name}"):
                self.metastore.change("create_table", table)
        except AlreadyExistsError as error:
            raise self._table_exists(name) from error

    def _foreign(self, name: Identifier) -> AlreadyExistsError:
        return AlreadyExistsError(
            f"'{name}' exists in the metastore, and is not a table of Paimon",
            self.metastore.place,
            "Choose another name for the table, or drop what has this one in Hive.",
        )

    def alter_table(self, identifier: str, changes: Sequence[SchemaChange], ignore_if_not_exists: bool = False) -> None:
        name = Identifier.parse(identifier)
        if name.system_table is not None:
            raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Alter the table itself.")
        table = self._found(name)
        if table is None:
            if ignore_if_not_exists:
                return
            raise self._no_table(name)
        if not is_paimon(table):
            known = format_schema(table) is not None
            what = "a format table, whose definition is the metastore's alone" if known else "not a table of Paimon"
            problem = f"'{name}' is {what}: a hive catalog changes tables of Paimon only"
            raise UnsupportedError(problem, f"table {name}", "Alter it in Hive.")
        removed = [change.key for change in changes if isinstance(change, RemoveOption)]
        if is_object_of_users(table):
            self._update_object(name, table, self._next_schema(name, changes), removed)
            return
        following = self._publish_next_schema(name, changes)
        if name.branch == MAIN_BRANCH:
            self._update_or_withdraw(name, table, following, removed)

    def _schema_replaced(self, name: Identifier, following: TableSchema, before: TableSchema) -> None:
        table = self._found(name)
        if table is not None:
            removed = [key for key in before.options if key not in following.options]
            self._update_or_withdraw(name, table, following, removed)

    def _update_or_withdraw(
        self, name: Identifier, table: Struct, published: TableSchema, removed: Sequence[str]
    ) -> None:
        """Give the metastore a schema that was just published. If it refuses, the table keeps the schema before."""
        try:
            self._update_object(name, table, published, removed)
        except BaseException:
            schemas = self._schemas(self._location_of(table))
            self.file_io.discard([f"{schemas.folder}/schema-{published.id}"])
            raise

    def _update_object(self, name: Identifier, table: Struct, schema: TableSchema, removed: Sequence[str]) -> None:
        place = Place(self._location_of(table), table.tableType == EXTERNAL, self._in_properties)
        update_parameters(table, schema, removed, sync=self._sync or is_object_of_users(table))
        describe(table, schema, place)
        stays = str((table.parameters or {}).get("DO_NOT_UPDATE_STATS", "false")).lower() == "true"
        settings = {"DO_NOT_UPDATE_STATS": str(stays).lower()}
        if catalog_options.ALTER_TABLE_CASCADE.of(self.options):
            settings["CASCADE"] = "true"
        context = thrift().EnvironmentContext(properties=settings)
        with self._calls(f"table {name}"):
            self.metastore.change("alter_table_with_environment_context", name.database, name.table, table, context)

    def rename_table(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        table = self._found(old)
        if table is None or table.tableType == VIEW:
            if self._finished(old, new) or ignore_if_not_exists:
                return
            raise self._no_table(old)
        check_new_name(new.table, "a table", f"table {new}", error=SchemaError)
        target_location = self._new_location(new)
        if self._found(new) is not None:
            raise self._table_exists(new)
        location = self._location_of(table)
        self._rename_object(old, new, table)
        moves = table.tableType != EXTERNAL and is_paimon(table) and not self._in_properties
        if moves and location != target_location and self._schemas(location).list_ids():
            self._move(old, new, location, target_location)

    def _finished(self, old: Identifier, new: Identifier) -> bool:
        """Finish a renaming on a store that died once the metastore had the new name. False if there is none."""
        source, target = self._new_location(old), self._new_location(new)
        if self._found(new) is None or self.file_io.renames_at_once(source):
            return False
        begun = FolderMove(self.file_io, source, target).has_begun()
        if begun:
            self._move(old, new, source, target)
        return begun

    def _move(self, old: Identifier, new: Identifier, location: str, target: str) -> None:
        """Move a table's folder, and tell the metastore. On an error the table has its former name again."""
        renamed = self._found(new)
        move = None if self.file_io.renames_at_once(location) else FolderMove(self.file_io, location, target)
        try:
            # The metastore moves the folder itself where it can.
            if self._schemas(location).list_ids():
                if move is None:
                    self.file_io.rename_folder(location, target)
                else:
                    move.copy()
        except BaseException:
            if renamed is not None:
                self._rename_object(new, old, renamed)
            raise
        if renamed is not None and self._location_of(renamed) != target:
            renamed.sd.location = target
            with self._calls(f"table {new}"):
                self.metastore.change("alter_table", new.database, new.table, renamed)
        if move is not None and move.has_begun():
            # The metastore says where the table is, so the old folder goes last.
            move.show()
            move.clear()

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        """As of the protocol; of an external table the files stay. Views are dropped too, as in Paimon."""
        name = self._plain(identifier)
        table = self._found(name)
        if table is None:
            if ignore_if_not_exists:
                return
            raise self._no_table(name)
        external = table.tableType == EXTERNAL
        location = None if external or table.tableType == VIEW else self._location_of(table)
        outside = [] if location is None else self._external_files(location)
        with self._calls(f"table {name}"):
            self.metastore.change("drop_table", name.database, name.table, not external)
        self.file_io.delete_unordered(outside)
        if location is not None and self.file_io.folder_exists(location):
            self.file_io.delete_folder(location)

    def deletes_files(self, identifier: str) -> bool:
        """Not those of an external table."""
        name = self._plain(identifier)
        table = self._found(name)
        if table is None:
            raise self._no_table(name)
        return bool(table.tableType != EXTERNAL)

    # Partitions

    def list_partitions(self, identifier: str) -> list[Partition]:
        name = Identifier.parse(identifier)
        table = self._data_table(identifier)
        tag_field = table.model.metastore_tag_to_partition
        if tag_field is not None:
            return [_partition_of_tag(tag_field, listed) for listed in self._partitions_of(table).all()]
        listed = partitions.list_partitions(table)
        actions = table.options.get(_DONE_ACTION, "")
        if "mark-event" not in actions or not table.model.metastore_partitioned_table:
            return listed
        return [self._with_done(name, partition) for partition in listed]

    def _with_done(self, name: Identifier, partition: Partition) -> Partition:
        with self._calls(f"table {name}"):
            done = self.metastore.read(
                "isPartitionMarkedForEvent", name.database, name.table, dict(partition.spec), LOAD_DONE
            )
        return replace(partition, done=bool(done))

    def _partitions_of(self, table: Table) -> HivePartitions:
        return self._partitions(Identifier.parse(table.identifier), table.location, table.schema)

    def create_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        """Register partitions of a table that has its partitions in the metastore; of any other nothing is stored."""
        table = self._data_table(identifier)
        if _metastore_partitioned(table.schema):
            keys = _partition_names(table.schema)
            self._partitions_of(table).add([_ordered(spec, keys, identifier) for spec in specs])

    def drop_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        """Delete the rows, and forget their folders. Where tags are partitions, these are forgotten alone."""
        table = self._data_table(identifier)
        if table.model.metastore_tag_to_partition is not None:
            self._partitions_of(table).forget(specs)
        else:
            super().drop_partitions(identifier, specs)

    def mark_done_partitions(self, identifier: str, specs: Sequence[Spec]) -> None:
        name = Identifier.parse(identifier)
        hive = thrift()
        for spec in specs:
            with self._calls(f"table {name}"):
                try:
                    self.metastore.change("markPartitionForEvent", name.database, name.table, dict(spec), LOAD_DONE)
                except hive.UnknownTableException:
                    raise self._no_table(name) from None
                except (hive.NoSuchObjectException, hive.UnknownPartitionException):
                    continue

    # Repair

    def repair_catalog(self) -> None:
        for name in self._databases_in_files():
            self.repair_database(name)

    def repair_database(self, name: str) -> None:
        self._check_not_sys(name)
        if self._found_database(name) is None:
            if not self.file_io.folder_exists(self.database_folder(name)):
                raise NotFoundError(f"database '{name}' has no folder", self.database_folder(name), "Check the name.")
            self._create_database(name, {})
        folder = self._location_of_database(self._database(name)) or self.database_folder(name)
        for table in self.file_io.list_folders(folder):
            if self._schemas(f"{folder}/{table}").list_ids():
                self.repair_table(f"{name}.{table}")

    def repair_table(self, identifier: str) -> None:
        name = self._plain(identifier)
        stored = self._found(name)
        if stored is not None and is_object_of_users(stored):
            return  # only the metastore has anything of it
        location = self._new_location(name) if stored is None else self._location_of(stored)
        schema = self._schemas(location).latest()
        if schema is None:
            raise NotFoundError(f"table '{name}' has no schema files", location, "Check the name.")
        if stored is not None and not is_paimon(stored):
            raise self._foreign(name)
        schema = _with_option(schema, table_options.PATH_KEY, location)
        if stored is None:
            external = self._place(name, {k: v for k, v in schema.options.items() if k != "path"}).external
            place = Place(location, external, self._in_properties)
            self._create_object(name, table_object(name.database, name.table, schema, place, sync=self._sync))
        else:
            self._update_object(name, stored, schema, ())
        if schema.partition_keys and schema.model.metastore_partitioned_table:
            table = self._data_table(identifier)
            self._partitions_of(table).add([stored.spec for stored in partitions.list_partitions(table)])

    # Locks and errors

    def _lock(self, name: Identifier) -> TableLock:
        if self.locks is None:
            return NO_LOCK
        return HiveLock(self.metastore, name.database, name.table, self.locks)


def _metastore_partitioned(schema: TableSchema) -> bool:
    of_tags = schema.model.metastore_tag_to_partition is not None
    return of_tags or (bool(schema.partition_keys) and schema.model.metastore_partitioned_table)


def _partition_names(schema: TableSchema) -> Sequence[str]:
    tag_field = schema.model.metastore_tag_to_partition
    return schema.partition_keys if tag_field is None else (tag_field,)


def _with_option(schema: TableSchema, key: str, value: str) -> TableSchema:
    return replace(schema, options={**schema.options, key: value})


def _ordered(spec: Spec, keys: Sequence[str], identifier: str) -> dict[str, str]:
    if set(spec) != set(keys):
        fix = f"Give a value for each partition column: {', '.join(keys)}."
        raise SchemaError(f"{dict(spec)} is not a partition of {', '.join(keys)}", f"table {identifier}", fix)
    return {key: spec[key] for key in keys}


def _partition_of_tag(tag_field: str, partition: Any) -> Partition:
    parameters: Mapping[str, str] = partition.parameters or {}
    created = parameters.get("lastUpdateTime")
    return Partition(
        {tag_field: partition.values[0]},
        int(parameters.get("numRows", 1)),
        int(parameters.get("totalSize", 1)),
        int(parameters.get("numFiles", 1)),
        None if created is None else int(created),
        int(parameters.get("totalBuckets", 0)),
    )
