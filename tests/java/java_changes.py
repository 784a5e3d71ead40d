"""Schema changes as objects of the Java core, and the schemas that come of them."""

from collections.abc import Sequence
from typing import Any

import jpype

from maintenance.metastore.schema_change import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    Position,
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
    path_of,
)
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type
from tests.java.java_casts import JavaCasts


class JavaChanges:
    """Makes changes of Java. `paimon`: Java's package."""

    def __init__(self, paimon: Any) -> None:
        self._paimon = paimon
        self._change = paimon.schema.SchemaChange

    def of(self, changes: Sequence[SchemaChange]) -> Any:
        """A list of them; one with a default value becomes two, for Java adds a column without."""
        actual = jpype.java.util.ArrayList()
        for change in changes:
            actual.add(self._of(change))
            if isinstance(change, AddColumn) and change.default_value is not None:
                actual.add(self._change.updateColumnDefaultValue(list(path_of(change.column)), change.default_value))
        return actual

    def next_schema(self, schema: str, changes: Sequence[SchemaChange], *, has_snapshot: bool) -> str | None:
        """The schema file after changes, None if Java refuses. `schema`: the file before."""
        lazy = self._paimon.utils.LazyField
        snapshots = lazy(
            jpype.JProxy("java.util.function.Supplier", {"get": lambda: jpype.java.lang.Boolean(has_snapshot)})
        )
        name = self._paimon.catalog.Identifier.create("db", "t")
        names = lazy(jpype.JProxy("java.util.function.Supplier", {"get": lambda: name}))
        old = self._paimon.schema.TableSchema.fromJson(schema)
        try:
            manager = self._paimon.schema.SchemaManager
            new = manager.generateTableSchema(old, self.of(changes), snapshots, names)
            self._paimon.schema.SchemaValidation.validateTableSchema(new)
        except jpype.JException:
            return None
        return str(new.toString())

    def _of(self, change: SchemaChange) -> Any:
        make = self._change
        match change:
            case SetOption(key, value):
                return make.setOption(key, value)
            case RemoveOption(key):
                return make.removeOption(key)
            case UpdateComment(comment):
                return make.updateComment(comment)
            case DropPrimaryKey():
                return make.dropPrimaryKey()
            case AddColumn(column, data_type, comment, position):
                path = path_of(column)
                return make.addColumn(list(path), self._type(data_type), comment, self._move(path[-1], position))
            case RenameColumn(column, new_name):
                return make.renameColumn(list(path_of(column)), new_name)
            case DropColumn(column):
                return make.dropColumn(list(path_of(column)))
        return self._update_of(change)

    def _update_of(self, change: SchemaChange) -> Any:
        make = self._change
        match change:
            case UpdateColumnType(column, data_type, keep):
                return make.updateColumnType(list(path_of(column)), self._type(data_type), keep)
            case UpdateColumnNullability(column, nullable):
                return make.updateColumnNullability(list(path_of(column)), nullable)
            case UpdateColumnComment(column, comment):
                return make.updateColumnComment(list(path_of(column)), comment)
            case UpdateColumnDefaultValue(column, text):
                return make.updateColumnDefaultValue(list(path_of(column)), text)
            case UpdateColumnPosition(column, position):
                return make.updateColumnPosition(self._move(column, position))
        raise AssertionError(change)

    def _type(self, data_type: str | DataType) -> Any:
        parsed = parse_data_type(data_type) if isinstance(data_type, str) else data_type
        return JavaCasts(self._paimon).data_type(parsed)

    def _move(self, name: str, position: Position | None) -> Any:
        if position is None:
            return None
        move = self._change.Move
        if position.reference is None:
            return getattr(move, position.where)(name)
        return getattr(move, position.where)(name, position.reference)
