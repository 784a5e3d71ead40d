"""ALTER TABLE in Flink's and Spark's words: each change that `SchemaChange` has, and partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maintenance.catalog import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from maintenance.errors import AlreadyExistsError, SqlError
from maintenance.metadata.partition_value import PartitionValue
from maintenance.metastore.schema_change import ColumnChange, path_of
from maintenance.operations import drop_partitions
from maintenance.operations.compaction.partition_choice import missing_partitions
from maintenance.sql.cursor import Cursor
from maintenance.sql.nested_changes import STEPS, nested_changes
from maintenance.sql.partitions import Written, partition_of, read_spec
from maintenance.sql.plain_partitions import folder_of, known_partitions, plain_spec
from maintenance.sql.result import Result
from maintenance.sql.statements.columns import Column, Computed, default_text, read_column, read_position, read_type
from maintenance.sql.statements.computed import AlterComputed, read_watermark
from maintenance.sql.statements.statement import Parse, Statement
from maintenance.sql.statements.tags import read_tag_change
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table
from maintenance.types.data_type import DataField, DataType

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.session_state import SessionState, Stored


@dataclass(frozen=True, slots=True)
class AlterTable:
    """Apply changes as one new schema. `if_columns_exist`: columns that are not there need not be dropped."""

    path: tuple[str, ...]
    changes: tuple[SchemaChange, ...]
    if_exists: bool = False
    if_columns_exist: bool = False

    def run(self, session: "SessionState") -> Result:
        if self.if_exists and not session.table_exists(self.path):
            return Result()
        table, name = session.stored(self.path), session.table_name(self.path)
        if session.dialect == "spark":
            changes = [_as_spelled(table, change) for change in self.changes]
        else:
            changes = _by_field(table, self.changes)
        if self.if_columns_exist:
            changes = [each for each in changes if not isinstance(each, DropColumn) or _has(table, each.column)]
        if changes:
            session.catalog_of(name.catalog).change_table(name.identifier, changes)
        return Result()


def _has(table: "Stored", column: str | Sequence[str]) -> bool:
    """Whether a table has a column, or a field of a ROW in one."""
    return len(_on_the_way(table.schema.fields, path_of(column))) == len(path_of(column))


def _as_spelled(table: "Stored", change: SchemaChange) -> SchemaChange:
    """A change that names columns as the table does: Spark finds a name that no other one is like in any case."""
    if not isinstance(change, ColumnChange):
        return change
    path, fields = path_of(change.column), table.schema.fields
    found = _on_the_way(fields, path[:-1] if isinstance(change, AddColumn) else path)
    spelled = (*found, *path[len(found) :])
    named: dict[str, Any] = {"column": spelled[0] if isinstance(change.column, str) else spelled}
    position = change.position if isinstance(change, AddColumn | UpdateColumnPosition) else None
    if position is not None and position.reference is not None:
        beside = _on_the_way(fields, (*spelled[:-1], position.reference))
        if len(beside) == len(spelled):
            named["position"] = replace(position, reference=beside[-1])
    return replace(change, **named)


def _on_the_way(fields: Sequence[DataField], path: Sequence[str]) -> tuple[str, ...]:
    """The names on the way to a column as they are written in the table, as far as it has them."""
    found: list[str] = []
    inside: DataType | None = DataType("ROW", fields=tuple(fields))
    for part in path:
        if inside is None:
            break
        names: dict[str, DataType | None] = {field.name: field.type for field in inside.fields}
        if inside.root in STEPS:
            names = {STEPS[inside.root]: inside.element or inside.value}
        alike = [part] if part in names else [name for name in names if name.lower() == part.lower()]
        if len(alike) != 1:
            break
        found.append(alike[0])
        inside = names[alike[0]]
    return tuple(found)


def _by_field(table: "Stored", changes: Sequence[SchemaChange]) -> list[SchemaChange]:
    """The changes, with those of the fields in place of a nested type that is another one."""
    found: list[SchemaChange] = []
    types = {field.name: field.type for field in table.schema.fields}
    for change in changes:
        name = "" if not isinstance(change, UpdateColumnType) or len(change.column) != 1 else change.column[0]
        old, new = types.get(name), getattr(change, "type", None)
        if old is not None and isinstance(new, DataType) and old.is_nested and old.root == new.root:
            found += nested_changes((name,), old, new, f"table {table.identifier}")
        else:
            found.append(change)
    return found


@dataclass(frozen=True, slots=True)
class RenameTable:
    path: tuple[str, ...]
    new: tuple[str, ...]
    if_exists: bool

    def run(self, session: "SessionState") -> Result:
        old = session.table_name(self.path)
        new = session.table_name(self.new if len(self.new) > 1 else (old.catalog, old.database, *self.new))
        if old.catalog != new.catalog:
            fix = "Copy it with CALL sys.clone or CREATE TABLE … AS SELECT, then drop it here."
            raise SqlError("a table cannot be renamed into another catalog", f"table {old.identifier}", fix)
        session.catalog_of(old.catalog).rename_table(old.identifier, new.identifier, self.if_exists)
        return Result()


@dataclass(frozen=True, slots=True)
class DropPartitions:
    path: tuple[str, ...]
    specs: tuple[Written, ...]
    if_exists: bool

    def run(self, session: "SessionState") -> Result:
        table = session.writable(self.path).copy(self._options(session))
        if isinstance(table, FormatTable):
            plain = [plain_spec(table, spec) for spec in self.specs]
            table.drop_partitions(plain, ignore_if_not_exists=self.if_exists)
        else:
            specs, ignores_missing = self._chosen(session, table)
            drop_partitions(table, specs, ignore_if_not_exists=ignores_missing)
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        # Plans know all operations, which take long to import.
        from maintenance.operations.rows.drop_partitions import OPERATION as DROP_PARTITIONS

        table = session.table(self.path).copy(self._options(session))
        specs, ignores_missing = self._chosen(session, table)
        return DROP_PARTITIONS.dry_run(table, partitions=specs, ignore_if_not_exists=ignores_missing)

    def _options(self, session: "SessionState") -> dict[str, str]:
        """The options that are set for the table. In Flink its catalog drops partitions, which knows of none."""
        return session.change_options(self.path) if session.dialect == "spark" else {}

    def _chosen(self, session: "SessionState", table: Table) -> tuple[list[PartitionValue], bool]:
        """The partitions, and whether they need not be there.

        In Spark's dialect the first columns name them, and only those that all columns name have to be there. Source:
        Java `PaimonDropPartitions`, `PaimonDropPartitionsExec`. Raises: SqlError: others name one.
        """
        specs, keys = [partition_of(table, spec, session.zone) for spec in self.specs], table.schema.partition_keys
        if session.dialect != "spark":
            return specs, self.if_exists
        for spec in specs:
            first = keys[: len(spec)]
            if set(spec) != set(first):
                problem = f"{', '.join(spec)} are not the first of the partition columns {', '.join(keys)}"
                fix = f"Give values to {', '.join(first)}, or DELETE the rows."
                raise SqlError(problem, f"table {table.identifier}", fix)
        whole = [spec for spec in specs if len(spec) == len(keys)]
        return specs, self.if_exists or not missing_partitions(table, whole)


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Make partitions known to catalogs that keep them; elsewhere they come into being with their rows."""

    path: tuple[str, ...]
    specs: tuple[Written, ...]
    if_not_exists: bool

    def run(self, session: "SessionState") -> Result:
        table, name = session.writable(self.path), session.table_name(self.path)
        specs = [folder_of(table, spec, session.zone) for spec in self.specs]
        known = {frozenset(partition.spec.items()) for partition in known_partitions(session, self.path, table)}
        new = [spec for spec in specs if frozenset(spec.items()) not in known]
        if len(new) < len(specs) and not self.if_not_exists:
            old = next(spec for spec in specs if spec not in new)
            shown = "/".join(f"{key}={value}" for key, value in old.items())
            fix = "Write ADD IF NOT EXISTS to pass over partitions that are there."
            raise AlreadyExistsError(f"partition {shown} exists", f"table {name.identifier}", fix)
        if new and isinstance(table, FormatTable):
            table.add_partitions(new)
        elif new:
            session.catalog_of(name.catalog).create_partitions(name.identifier, new)
        return Result()


@dataclass(frozen=True, slots=True)
class RepairTable:
    """Make the catalog know the partitions that a table's folder has."""

    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        session.view(self.path)
        name = session.table_name(self.path)
        session.catalog_of(name.catalog).repair_table(name.identifier)
        return Result()


def _alter(cursor: Cursor) -> Statement:
    if_exists = cursor.if_exists()
    path = cursor.path("the name of a table")
    tag = read_tag_change(cursor, path)
    if tag is not None:
        return tag
    if cursor.take("RENAME", "TO"):
        return RenameTable(path, cursor.path("the new name"), if_exists)
    if cursor.peek("DROP", "PARTITION") or cursor.peek("DROP", "IF", "EXISTS", "PARTITION"):
        return _drop_partitions(cursor, path)
    if cursor.peek("ADD", "PARTITION") or cursor.peek("ADD", "IF", "NOT", "EXISTS", "PARTITION"):
        return _add_partitions(cursor, path)
    if not cursor.is_spark and (statement := _alter_computed(cursor, path)) is not None:
        statement.if_exists = if_exists
        return statement
    if_columns_exist = cursor.is_spark and any(
        cursor.peek("DROP", word, "IF", "EXISTS") for word in ("COLUMN", "COLUMNS")
    )
    return AlterTable(path, tuple(_changes(cursor)), if_exists, if_columns_exist)


def _alter_computed(cursor: Cursor, path: tuple[str, ...]) -> AlterComputed | None:
    """Flink's changes of computed columns and the watermark; None = the statement is about stored columns alone."""
    start, kept_as_options = cursor.index, AlterComputed(path, cursor)
    if cursor.take("DROP", "WATERMARK"):
        kept_as_options.drops_watermark = True
        return kept_as_options
    if cursor.take("MODIFY", "WATERMARK", "FOR"):
        kept_as_options.watermark, kept_as_options.must_have = read_watermark(cursor), True
        return kept_as_options
    if cursor.take("ADD"):
        cursor.take_one_of("COLUMNS", "COLUMN")
        kept_as_options.changes = tuple(_add(cursor, kept_as_options))
        if kept_as_options.computed or kept_as_options.watermark is not None:
            return kept_as_options
    if cursor.take("DROP") and not cursor.peek("PRIMARY", "KEY"):
        dropped = [change.column for change in _drop(cursor) if isinstance(change, DropColumn)]
        # A part of a ROW is none of a table's columns.
        if all(isinstance(each, str) or len(each) == 1 for each in dropped):
            kept_as_options.dropped = tuple(each if isinstance(each, str) else each[0] for each in dropped)
            return kept_as_options
    cursor.index = start
    return None


def _changes(cursor: Cursor) -> list[SchemaChange]:
    if cursor.take("SET"):
        cursor.take("TBLPROPERTIES")
        return _set(cursor)
    if cursor.take("RESET"):
        return [RemoveOption(key) for key in cursor.option_keys()]
    if cursor.take("UNSET", "TBLPROPERTIES"):
        cursor.if_exists()
        return [UpdateComment(None) if key == "comment" else RemoveOption(key) for key in cursor.option_keys()]
    if cursor.take("ADD"):
        cursor.take_one_of("COLUMNS", "COLUMN")
        return _add(cursor)
    if cursor.take("MODIFY"):
        return _modify(cursor)
    if cursor.take("DROP"):
        return _drop(cursor)
    if cursor.take("RENAME"):
        return [_rename(cursor)]
    if found := cursor.take_one_of("ALTER", "CHANGE"):
        cursor.take("COLUMN")
        return _alter_column(cursor) if found == "ALTER" else _change_column(cursor)
    raise cursor.unexpected("SET", "RESET", "ADD", "MODIFY", "DROP", "RENAME", "ALTER COLUMN")


def _set(cursor: Cursor) -> list[SchemaChange]:
    options = cursor.options()
    comment = [UpdateComment(options.pop("comment"))] if cursor.is_spark and "comment" in options else []
    return [*comment, *(SetOption(key, value) for key, value in options.items())]


def _list(
    cursor: Cursor, kept_as_options: AlterComputed | None = None
) -> list[tuple[tuple[str, ...], Column, UpdateColumnPosition | None]]:
    """Columns, in brackets or one alone, each with where it goes. `kept_as_options`: gets what no file holds."""
    bracket = cursor.take("(")
    columns = []
    while not cursor.at_end():
        if kept_as_options is not None and cursor.take("WATERMARK", "FOR"):
            kept_as_options.watermark = read_watermark(cursor)
            if not bracket or not cursor.take(","):
                break
            continue
        start = cursor.index
        path = cursor.path("the name of a column")
        if len(path) == 1:
            cursor.index = start
            column = read_column(cursor)
            if isinstance(column, Computed):
                if kept_as_options is None:
                    raise cursor.error("a computed column cannot be modified", "Add another one.")
                kept_as_options.computed.append((column, read_position(cursor)))
                if not bracket or not cursor.take(","):
                    break
                continue
        else:
            column = read_type(cursor, path[-1])
        position = read_position(cursor)
        columns.append((path, column, None if position is None else UpdateColumnPosition(column.name, position)))
        if not (bracket or cursor.is_spark) or not cursor.take(","):
            break
        if cursor.peek(")"):
            break
    if bracket:
        cursor.expect(")")
    return columns


def _add(cursor: Cursor, kept_as_options: AlterComputed | None = None) -> list[SchemaChange]:
    return [
        AddColumn(
            path if len(path) > 1 else column.name,
            column.type,
            column.comment,
            None if moved is None else moved.position,
            column.default,
        )
        for path, column, moved in _list(cursor, kept_as_options)
    ]


def _modify(cursor: Cursor) -> list[SchemaChange]:
    changes: list[SchemaChange] = []
    for path, column, moved in _list(cursor):
        changes.append(UpdateColumnType(path, column.type))
        if column.comment is not None:
            changes.append(UpdateColumnComment(path, column.comment))
        if column.default is not None:
            changes.append(UpdateColumnDefaultValue(path, column.default))
        if moved is not None:
            changes.append(moved)
    return changes


def _drop(cursor: Cursor) -> list[SchemaChange]:
    if cursor.take("PRIMARY", "KEY"):
        return [DropPrimaryKey()]
    if cursor.take_one_of("COLUMNS", "COLUMN") and cursor.is_spark:
        cursor.if_exists()
    in_brackets = cursor.take("(")
    changes: list[SchemaChange] = [DropColumn(cursor.path("the name of a column"))]
    while (in_brackets or cursor.is_spark) and cursor.take(","):
        changes.append(DropColumn(cursor.path("the name of a column")))
    if in_brackets:
        cursor.expect(")")
    return changes


def _rename(cursor: Cursor) -> SchemaChange:
    cursor.take("COLUMN")
    old = cursor.path("the name of a column")
    cursor.expect("TO")
    return RenameColumn(old, cursor.name("the new name"))


def _alter_column(cursor: Cursor) -> list[SchemaChange]:
    """Spark's ALTER COLUMN."""
    path = cursor.path("the name of a column")
    if cursor.take("TYPE"):
        return [UpdateColumnType(path, cursor.data_type(), keep_nullability=True)]
    if cursor.take("COMMENT"):
        return [UpdateColumnComment(path, cursor.string())]
    if cursor.take("SET", "NOT", "NULL"):
        return [UpdateColumnNullability(path, False)]
    if cursor.take("DROP", "NOT", "NULL"):
        return [UpdateColumnNullability(path, True)]
    if cursor.take("SET", "DEFAULT"):
        return [UpdateColumnDefaultValue(path, default_text(cursor))]
    if cursor.take("DROP", "DEFAULT"):
        return [UpdateColumnDefaultValue(path, None)]
    position = read_position(cursor)
    if position is None:
        raise cursor.unexpected("TYPE", "COMMENT", "SET", "DROP", "FIRST", "AFTER")
    return [UpdateColumnPosition(path[0], position)]


def _change_column(cursor: Cursor) -> list[SchemaChange]:
    """Spark's CHANGE COLUMN: as ALTER COLUMN, or Hive's form of it, which names the column twice."""
    start = cursor.index
    path = cursor.path("the name of a column")
    if cursor.token is None or cursor.token.text != path[-1]:
        cursor.index = start
        return _alter_column(cursor)
    cursor.name("the same name again")
    changes: list[SchemaChange] = [UpdateColumnType(path, cursor.data_type(), keep_nullability=True)]
    if cursor.take("COMMENT"):
        changes.append(UpdateColumnComment(path, cursor.string()))
    position = read_position(cursor)
    return changes if position is None else [*changes, UpdateColumnPosition(path[0], position)]


def _drop_partitions(cursor: Cursor, path: tuple[str, ...]) -> DropPartitions:
    cursor.expect("DROP")
    if_exists = cursor.if_exists()
    specs = []
    while True:
        cursor.expect("PARTITION")
        specs.append(read_spec(cursor))
        if not cursor.take(","):
            return DropPartitions(path, tuple(specs), if_exists)


def _add_partitions(cursor: Cursor, path: tuple[str, ...]) -> AddPartitions:
    cursor.expect("ADD")
    if_not_exists = cursor.if_not_exists()
    specs = []
    while cursor.take("PARTITION"):
        specs.append(read_spec(cursor))
        if cursor.peek("LOCATION") or cursor.peek("WITH"):
            problem = "a partition of Paimon has its place in the table's folder, and no options"
            raise cursor.error(problem, "Leave this out.", token=cursor.token)
        cursor.take(",")
    return AddPartitions(path, tuple(specs), if_not_exists)


def _comment(cursor: Cursor) -> AlterTable:
    path = cursor.path("the name of a table")
    cursor.expect("IS")
    return AlterTable(path, (UpdateComment(None if cursor.take("NULL") else cursor.string()),))


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("ALTER", "TABLE"): _alter,
    ("COMMENT", "ON", "TABLE"): _comment,
    ("MSCK", "REPAIR", "TABLE"): lambda cursor: RepairTable(cursor.path("the name of a table")),
}
