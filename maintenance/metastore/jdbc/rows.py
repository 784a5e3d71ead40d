"""The rows of a JDBC catalog. Tables and rows are those of Java's, byte for byte. Source: Java `JdbcUtils`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import InfrastructureError
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.jdbc.connections import Connections, connections_of
from maintenance.metastore.jdbc.server import Server

LOCK_TABLE = "paimon_distributed_locks"
_TABLES = "paimon_tables"
_DATABASES = "paimon_database_properties"
_PROPERTIES = "paimon_table_properties"
_VIEWS = "paimon_views"
_NAME = "VARCHAR(255) NOT NULL"
_DEFINITIONS: Mapping[str, str] = {
    _TABLES: (
        f"catalog_key {_NAME},database_name {_NAME},table_name {_NAME}, "
        "PRIMARY KEY (catalog_key, database_name, table_name)"
    ),
    _DATABASES: (
        f"catalog_key {_NAME},database_name {_NAME},property_key VARCHAR(255),property_value VARCHAR(1000),"
        "PRIMARY KEY (catalog_key, database_name, property_key)"
    ),
    _PROPERTIES: (
        f"catalog_key {_NAME},database_name {_NAME},table_name {_NAME},property_key {_NAME},"
        "property_value VARCHAR(1000),PRIMARY KEY (catalog_key, database_name, table_name, property_key)"
    ),
    _VIEWS: (
        f"catalog_key {_NAME},database_name {_NAME},view_name {_NAME},view_schema TEXT NOT NULL, "
        "PRIMARY KEY (catalog_key, database_name, view_name)"
    ),
}
_EXISTS: Mapping[str, str] = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?",
    "postgresql": (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?"
    ),
    "mysql": "SELECT table_name FROM information_schema.tables WHERE table_schema = database() AND table_name = ?",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one catalog. `key`: option `catalog-key`; `properties`: whether table options are copied to rows."""

    server: Server
    key: str
    properties: bool = True

    @property
    def _sql(self) -> Connections:
        return connections_of(self.server)

    def create_tables(self, lock_key_length: int | None) -> None:
        """Create what is missing. `lock_key_length`: of the lock table, None = it is not needed."""
        for table, definition in _DEFINITIONS.items():
            self._create(table, definition)
        if lock_key_length is not None:
            self._create(
                LOCK_TABLE,
                f"lock_id VARCHAR({lock_key_length}) NOT NULL,acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL,"
                "expire_time_seconds BIGINT DEFAULT 0 NOT NULL,PRIMARY KEY (lock_id)",
            )

    def _create(self, table: str, definition: str) -> None:
        if self._exists(table):
            return
        try:
            self._sql.change(f"CREATE TABLE {table}({definition})")
        except InfrastructureError:
            if not self._exists(table):  # else another process was first
                raise

    def _exists(self, table: str) -> bool:
        return bool(self._sql.query(_EXISTS.get(self.server.protocol, _EXISTS["mysql"]), table))

    # Databases

    def databases(self) -> list[str]:
        sources = (
            f"SELECT database_name FROM {table} WHERE catalog_key = ?" for table in (_TABLES, _DATABASES, _VIEWS)
        )
        return sorted({str(name) for source in sources for (name,) in self._sql.query(source, self.key)})

    def has_database(self, name: str) -> bool:
        return any(
            self._sql.query(
                f"SELECT 1 FROM {table} WHERE catalog_key = ? AND database_name = ? LIMIT 1", self.key, name
            )
            for table in (_TABLES, _DATABASES, _VIEWS)
        )

    def database_properties(self, name: str) -> dict[str, str]:
        sql = f"SELECT property_key, property_value FROM {_DATABASES} WHERE catalog_key = ? AND database_name = ?"
        return dict(self._sql.query(sql, self.key, name))

    def insert_database(self, name: str, properties: Mapping[str, str]) -> None:
        """Raises: AlreadyExistsError: one of the properties is there."""
        rows = [(self.key, name, key, value) for key, value in properties.items()]
        self._insert(_DATABASES, "catalog_key, database_name, property_key, property_value", rows)

    def update_database(self, name: str, properties: Mapping[str, str]) -> None:
        where = "WHERE catalog_key = ? AND database_name = ? AND property_key = ?"
        sql = f"UPDATE {_DATABASES} SET property_value = ? {where}"
        for key, value in properties.items():
            self._sql.change(sql, value, self.key, name, key)

    def delete_from_database(self, name: str, keys: Iterable[str]) -> None:
        sql = f"DELETE FROM {_DATABASES} WHERE catalog_key = ? AND database_name = ? AND property_key = ?"
        for key in keys:
            self._sql.change(sql, self.key, name, key)

    def delete_database(self, name: str) -> None:
        """Delete the rows of a database, of its tables and views; those that make it exist last."""
        tables = (_TABLES, *((_PROPERTIES,) if self.properties else ()), _VIEWS, _DATABASES)
        for table in tables:
            self._sql.change(f"DELETE FROM {table} WHERE catalog_key = ? AND database_name = ?", self.key, name)

    # Tables

    def tables(self, database: str) -> list[str]:
        return self._names(_TABLES, "table_name", database)

    def has_table(self, name: Identifier) -> bool:
        return self._has(_TABLES, "table_name", name)

    def insert_table(self, name: Identifier, properties: Mapping[str, str]) -> None:
        """Raises: AlreadyExistsError."""
        self._insert(_TABLES, "catalog_key, database_name, table_name", [(self.key, name.database, name.table)])
        self._insert_properties(name, properties)

    def replace_properties(self, name: Identifier, properties: Mapping[str, str]) -> None:
        """Copy the options of a table again. Raises: OptionError: one is too long; then no row of them is left."""
        if self.properties:
            self._delete_named(_PROPERTIES, "table_name", name)
            self._insert_properties(name, properties)

    def _insert_properties(self, name: Identifier, properties: Mapping[str, str]) -> None:
        if self.properties:
            rows = [(self.key, name.database, name.table, key, value) for key, value in properties.items()]
            self._insert(_PROPERTIES, "catalog_key, database_name, table_name, property_key, property_value", rows)

    def rename_table(self, source: Identifier, target: Identifier) -> None:
        for table in (_TABLES, *((_PROPERTIES,) if self.properties else ())):
            self._rename(table, "table_name", source, target)

    def delete_table(self, name: Identifier) -> None:
        self._delete_named(_TABLES, "table_name", name)
        if self.properties:
            self._delete_named(_PROPERTIES, "table_name", name)

    # Views

    def views(self, database: str) -> list[str]:
        return self._names(_VIEWS, "view_name", database)

    def has_view(self, name: Identifier) -> bool:
        return self._has(_VIEWS, "view_name", name)

    def view(self, name: Identifier) -> str | None:
        """The stored definition, None if there is no such view."""
        sql = f"SELECT view_schema FROM {_VIEWS} WHERE catalog_key = ? AND database_name = ? AND view_name = ?"
        rows = self._sql.query(sql, self.key, name.database, name.table)
        return str(rows[0][0]) if rows else None

    def insert_view(self, name: Identifier, definition: str) -> None:
        row = (self.key, name.database, name.table, definition)
        self._insert(_VIEWS, "catalog_key, database_name, view_name, view_schema", [row])

    def update_view(self, name: Identifier, definition: str) -> None:
        sql = f"UPDATE {_VIEWS} SET view_schema = ? WHERE catalog_key = ? AND database_name = ? AND view_name = ?"
        self._sql.change(sql, definition, self.key, name.database, name.table)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        self._rename(_VIEWS, "view_name", source, target)

    def delete_view(self, name: Identifier) -> None:
        self._delete_named(_VIEWS, "view_name", name)

    # Statements that tables and views share

    def _names(self, table: str, column: str, database: str) -> list[str]:
        sql = f"SELECT {column} FROM {table} WHERE catalog_key = ? AND database_name = ?"
        return sorted(str(name) for (name,) in self._sql.query(sql, self.key, database))

    def _has(self, table: str, column: str, name: Identifier) -> bool:
        sql = f"SELECT 1 FROM {table} WHERE catalog_key = ? AND database_name = ? AND {column} = ?"
        return bool(self._sql.query(sql, self.key, name.database, name.table))

    def _insert(self, table: str, columns: str, rows: Sequence[tuple[str, ...]]) -> None:
        if not rows:
            return
        row = f"({', '.join('?' * len(rows[0]))})"
        sql = f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * len(rows))}"
        self._sql.change(sql, *(value for values in rows for value in values))

    def _rename(self, table: str, column: str, source: Identifier, target: Identifier) -> None:
        where = f"WHERE catalog_key = ? AND database_name = ? AND {column} = ?"
        sql = f"UPDATE {table} SET database_name = ?, {column} = ? {where}"
        self._sql.change(sql, target.database, target.table, self.key, source.database, source.table)

    def _delete_named(self, table: str, column: str, name: Identifier) -> None:
        sql = f"DELETE FROM {table} WHERE catalog_key = ? AND database_name = ? AND {column} = ?"
        self._sql.change(sql, self.key, name.database, name.table)
