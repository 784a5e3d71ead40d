"""Tables of any of Java's catalogs: created, changed, written and read by Java."""

from collections.abc import Mapping, Sequence
from typing import Any

Options = Mapping[str, str]


class JavaCatalogs:
    """Runs in the Java process. `options`: of the catalog; rows are a BIGINT and a STRING."""

    def __init__(self, paimon: Any) -> None:
        self.paimon = paimon

    def create(self, options: Options, table: str) -> None:
        """Create a database and a primary key table in it."""
        types = self.paimon.types.DataTypes
        schema = self.paimon.schema.Schema.newBuilder()
        schema.column("k", types.BIGINT().notNull()).column("v", types.STRING()).primaryKey(["k"])
        schema.option("bucket", "1")
        with self._open(options) as catalog:
            catalog.createDatabase(table.partition(".")[0], True)
            catalog.createTable(self._name(table), schema.build(), False)

    def add_column(self, options: Options, table: str, column: str) -> None:
        change = self.paimon.schema.SchemaChange.addColumn(column, self.paimon.types.DataTypes.INT())
        with self._open(options) as catalog:
            catalog.alterTable(self._name(table), change, False)

    def set_option(self, options: Options, table: str, key: str, value: str) -> None:
        with self._open(options) as catalog:
            catalog.alterTable(self._name(table), self.paimon.schema.SchemaChange.setOption(key, value), False)

    def commit(self, options: Options, table: str, rows: Sequence[tuple[int, str]], commits: int = 1) -> None:
        """Write rows as one commit, or each part of them as one of several."""
        import jpype

        with self._open(options) as catalog:
            actual = catalog.getTable(self._name(table))
            width = actual.rowType().getFieldCount()
            for start in range(commits):
                builder = actual.newBatchWriteBuilder()
                write = builder.newWrite()
                for key, value in rows[start::commits]:
                    row = self.paimon.data.GenericRow(width)
                    row.setField(0, jpype.JLong(key))
                    row.setField(1, self.paimon.data.BinaryString.fromString(value))
                    write.write(row)
                commit = builder.newCommit()
                commit.commit(write.prepareCommit())
                write.close()
                commit.close()

    def columns(self, options: Options, table: str) -> list[str]:
        """Names of a table's columns."""
        with self._open(options) as catalog:
            return [str(field.name()) for field in catalog.getTable(self._name(table)).rowType().getFields()]

    def tables(self, options: Options, database: str) -> list[str]:
        with self._open(options) as catalog:
            return sorted(map(str, catalog.listTables(database)))

    def rows(self, options: Options, table: str) -> list[tuple[int, str]]:
        with self._open(options) as catalog:
            builder = catalog.getTable(self._name(table)).newReadBuilder()
            reader = builder.newRead().createReader(builder.newScan().plan().splits())
            rows = []
            batch = reader.readBatch()
            while batch is not None:
                row = batch.next()
                while row is not None:
                    rows.append((int(row.getLong(0)), str(row.getString(1))))
                    row = batch.next()
                batch = reader.readBatch()
            return sorted(rows)

    def _name(self, table: str) -> Any:
        return self.paimon.catalog.Identifier.fromString(table)

    def _open(self, options: Options) -> Any:
        given = self.paimon.options.Options()
        for key, value in options.items():
            given.set(key, value)
        return self.paimon.catalog.CatalogFactory.createCatalog(self.paimon.catalog.CatalogContext.create(given))
