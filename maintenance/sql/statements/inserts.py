"""INSERT INTO and INSERT OVERWRITE, of values or a query, into all or some of the columns and partitions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp
from sqlglot.tokens import TokenType

from maintenance.commit.overwrite import Overwrite
from maintenance.metadata.partition_names import Spec
from maintenance.metastore.schema_change import ColumnChange
from maintenance.spelling import meant
from maintenance.sql.cursor import Cursor
from maintenance.sql.defaults import put_defaults
from maintenance.sql.partitions import PartitionLiteral, Written, by_own_names, read_partition, target_of
from maintenance.sql.place import unknown_column
from maintenance.sql.plain_partitions import plain_spec
from maintenance.sql.query.run import prepared, run_by_name, run_query
from maintenance.sql.query.streams import MODE, checkpoint_of, run_stream
from maintenance.sql.query.travel import hint_options
from maintenance.sql.query.upsert import has_upserts, upsert
from maintenance.sql.result import Result
from maintenance.sql.schema_evolution import by_name, change_columns, changed_fields, schema_changes
from maintenance.sql.statements.queries import Select
from maintenance.sql.statements.statement import Parse, Statement
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table
from maintenance.types.casts.text import fitted
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.catalog import CatalogTable
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Insert:
    """Attributes: `partition`: its columns, None for one whose values the rows give; `columns`: those that the rows
    give, in order, None = all that `partition` does not; `is_by_name`: each goes to the column of its name."""

    path: tuple[str, ...]
    overwrites: bool
    options: Mapping[str, str]
    partition: Mapping[str, PartitionLiteral | None]
    columns: tuple[str, ...] | None
    query: exp.Expr
    cursor: Cursor
    is_by_name: bool = False

    def run(self, session: "SessionState") -> Result:
        table = session.writable(self.path).copy({**session.read_options(self.path), **self.options})
        partition = by_own_names(self.partition, table.schema.field_names, f"table {table.identifier}")
        fixed = {name: value for name, value in partition.items() if value is not None}
        targets = self._targets(table.schema.fields, partition)
        target, columns = self._target(table, fixed, session.zone)
        checkpoint = checkpoint_of(session.settings, table.identifier, self.query)
        if checkpoint is not None:
            self._stream(session, table, (targets, columns), checkpoint)
            return Result()
        if self.is_by_name:
            table, rows = self._by_name(session.writing, table, targets)
        elif session.dialect == "spark" and self.columns is None and table.schema.partition_keys:
            unfixed = [name for name in partition if name not in fixed]
            rows = self._in_sparks_order(session, targets, table.schema.partition_keys, unfixed)
        else:
            rows = run_query(session.writing, self.query, self.cursor, targets)
        for name, value in columns.items():
            rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
        if session.dialect == "spark":
            rows = fitted(rows, table.schema.fields)
        if self.overwrites:
            # Whatever the mode, files of partitions without new rows stay. Source: Java `FormatTableCommit`.
            dynamic = True if target is None and isinstance(table, FormatTable) else self._dynamic(session)
            table.overwrite_arrow(rows, Overwrite(None if target is None else [target], dynamic))
        elif isinstance(table, Table) and has_upserts(session, table):
            upsert(session, table, rows, self.cursor.source)
        elif rows.num_rows:
            table.write_arrow(rows)
        return Result()

    def _by_name(
        self, session: "SessionState", table: "CatalogTable | FormatTable", targets: Sequence[DataField]
    ) -> "tuple[CatalogTable | FormatTable, pa.Table]":
        """The rows, and the table with the columns that it gets by them. `targets`: columns that rows may give.

        A query that fails leaves the columns as they are.
        """
        names, changes = by_name(session, f"table {table.identifier}"), list[ColumnChange]()
        kept = [field for field in table.schema.fields if field not in targets]

        def chosen(given: Sequence[DataField]) -> Sequence[DataField]:
            fields = targets
            if names.merging is not None and isinstance(table, Table):
                changes.extend(schema_changes(table, given, names.merging))
                fields = [field for field in changed_fields(table, changes) if field not in kept]
            return names.columns(given, fields)

        rows = run_by_name(session, self.query, self.cursor, chosen)
        if not changes:
            return table, rows
        change_columns(session, self.path, changes)
        return session.writable(self.path).copy({**session.read_options(self.path), **self.options}), rows

    def _in_sparks_order(
        self, session: "SessionState", targets: Sequence[DataField], keys: Sequence[str], unfixed: Collection[str]
    ) -> pa.Table:
        """The rows, by position: partition columns whose values the rows give come last in their own order, as in Hive.

        That is so where PARTITION names them, unless the query's columns are called as the table's in their order; and
        in a dynamic overwrite where the query's columns are called so. Source: Java `PaimonAnalysis`.

        Args: `unfixed`: what PARTITION names without a value.
        """
        named = [name for name in unfixed if name in keys]
        given_keys = [field for field in targets if field.name in (named or keys)]
        last = sorted(given_keys, key=lambda field: keys.index(field.name))
        as_in_hive = [*(field for field in targets if field not in last), *last]
        may_be_hives = bool(named) or (self.overwrites and self._dynamic(session))
        if as_in_hive == targets or not may_be_hives:
            return run_query(session.writing, self.query, self.cursor, targets)

        def chosen(given: Sequence[DataField]) -> Sequence[DataField]:
            names = [field.name.lower() for field in given]
            if named:
                return targets if names == [field.name.lower() for field in targets] else as_in_hive
            return as_in_hive if names == [field.name.lower() for field in as_in_hive] else targets

        return run_by_name(session.writing, self.query, self.cursor, chosen)

    def _stream(
        self,
        session: "SessionState",
        table: Table | FormatTable,
        columns: tuple[Sequence[DataField], Mapping[str, pa.Scalar]],
        checkpoint: str,
    ) -> None:
        """Raises: SqlError: it replaces rows, or there is no Spark."""
        batch = f"SET '{MODE}' = 'batch'"
        if not isinstance(table, Table):
            raise table.refused(f"no snapshots that a stream could make: {batch}")
        # Sail has no streams of its own engines, and so no Structured Streaming for those of others.
        spark = session.writing.spark
        if spark is None:
            raise self.cursor.error(
                "a streaming INSERT runs through Spark's Structured Streaming, and this session has no Spark",
                f"Run it with the engine 'spark', or {batch}.",
                token=self.cursor.words[0],
            )
        if self.is_by_name:
            problem = "a stream gives its columns by position"
            raise self.cursor.error(problem, "Write INSERT INTO without BY NAME.", token=self.cursor.words[0])
        if self.overwrites:
            raise self.cursor.error("a stream replaces no rows", f"Write INTO, or {batch}.", token=self.cursor.words[1])
        resolved = prepared(session, self.query, self.cursor.source)
        run_stream(session, spark, resolved, table, columns, checkpoint)

    @staticmethod
    def _dynamic(session: "SessionState") -> bool | None:
        """Whether only partitions that get rows are replaced: in Spark a setting, in Flink an option of the table."""
        if session.dialect == "flink":
            return None
        return session.settings.get("spark.sql.sources.partitionOverwriteMode", "static").lower() == "dynamic"

    def _targets(
        self, fields: Sequence[DataField], partition: Mapping[str, PartitionLiteral | None]
    ) -> list[DataField]:
        """The columns that the rows give, in order. Raises: SqlError: one does not exist, or is given twice."""
        known = {field.name: field for field in fields}

        def one(name: str) -> DataField:
            matches = meant(known, name)
            if len(matches) != 1:
                raise self.cursor.error(*unknown_column(name, known), token=self.cursor.find("column", name))
            return known[matches[0]]

        named = [(name, one(name)) for name in (*(self.columns or ()), *partition)]
        for place, (name, field) in enumerate(named):
            if field in [other for _, other in named[:place]]:
                token = self.cursor.find("column", name, last=True)
                raise self.cursor.error(f"column '{name}' is given twice", "Give it once.", token=token)
        if self.columns is not None:
            return [field for _, field in named[: len(self.columns)]]
        return [field for field in fields if partition.get(field.name) is None]

    def _target(
        self, table: Table | FormatTable, fixed: Written, zone: str
    ) -> tuple[Spec | None, Mapping[str, pa.Scalar]]:
        """The partition that is written to, None = any, and the values that it has."""
        if not fixed:
            return None, {}
        if isinstance(table, FormatTable):
            spec = plain_spec(table, fixed)
            return spec, {name: table.partition_value(name, text) for name, text in spec.items()}
        partition = target_of(table, fixed, zone, replaced=self.overwrites)
        return partition, {name: column[0] for name, column in partition.columns().items()}


@dataclass(frozen=True, slots=True)
class Inserts:
    """One after the other, each a commit of its own."""

    statements: Sequence[Statement]

    def run(self, session: "SessionState") -> Result:
        for statement in self.statements:
            statement.run(session)
        return Result()


def _query(cursor: Cursor) -> Statement:
    """Spark also takes the WITH of the query that is inserted in front of the INSERT, and FROM in front of several."""
    cursor.index = 0
    starts = _places_of_inserts(cursor) if cursor.is_spark else []
    if not starts:
        return Select.of(cursor.query(), cursor)
    shared = cursor.words[0].start, cursor.words[starts[0] - 1].end
    inserts = []
    for start, end in pairwise([*starts, len(cursor.words)]):
        inner = Cursor(cursor.source, cursor.words[start:end], cursor.full, 2)
        inserts.append(_insert(inner, overwrites=inner.peek("OVERWRITE", ahead=-1), shared=shared))
        inner.end()
    cursor.index = len(cursor.words)
    return inserts[0] if len(inserts) == 1 else Inserts(inserts)


def _places_of_inserts(cursor: Cursor) -> list[int]:
    """The numbers of the words INSERT INTO and INSERT OVERWRITE outside brackets."""
    places = []
    while not cursor.at_end():
        cursor.span("INSERT")
        if cursor.peek("INSERT", "INTO") or cursor.peek("INSERT", "OVERWRITE"):
            places.append(cursor.index)
        cursor.index += 1
    cursor.index = 0
    return places


def _insert(cursor: Cursor, *, overwrites: bool, shared: tuple[int, int] | None = None) -> Insert:
    cursor.take("TABLE")
    path = cursor.path("the name of a table")
    options: dict[str, str] = {}
    token = cursor.token
    if token is not None and token.token_type is TokenType.HINT:
        cursor.index += 1
        options = hint_options(token.comments[0] if token.comments else None, cursor.source)
    partition = read_partition(cursor) if cursor.take("PARTITION") else {}
    if cursor.is_spark and cursor.peek("IF", "NOT", "EXISTS"):
        problem = "Spark has no IF NOT EXISTS for tables of Paimon"
        raise cursor.error(problem, "Leave it out, or look with SHOW PARTITIONS first.", token=cursor.token)
    columns = cursor.names() if cursor.peek("(") and not _is_query(cursor) else None
    is_by_name = columns is None and cursor.take("BY", "NAME")
    query = put_defaults(cursor.query(shared))
    return Insert(path, overwrites, options, partition, columns, query, cursor, is_by_name)


def _is_query(cursor: Cursor) -> bool:
    return any(cursor.peek(word, ahead=1) for word in ("SELECT", "WITH", "VALUES", "("))


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("INSERT", "INTO"): lambda cursor: _insert(cursor, overwrites=False),
    ("INSERT", "OVERWRITE"): lambda cursor: _insert(cursor, overwrites=True),
    ("WITH",): _query,
    ("FROM",): _query,
}
