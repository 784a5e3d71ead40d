"""Assignments of UPDATE and MERGE INTO, to columns or to fields of the ROWs in them.

A field that is assigned makes a new ROW of the others as they are; one that was null is a ROW then, as in Spark.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp

from maintenance.spelling import meant, suggestion
from maintenance.sql.cursor import Cursor
from maintenance.sql.defaults import is_default, new_value
from maintenance.sql.place import unknown_column
from maintenance.table.table import Table
from maintenance.types.data_type import DataField, DataType

Path = tuple[str, ...]


def assigned_columns(
    cursor: Cursor, table: Table, assignments: Mapping[Path, exp.Expr], aliases: Sequence[str]
) -> Mapping[str, exp.Expr]:
    """New values by column.

    Args: `assignments`: new values by what is written; `aliases`: names of the table, which may stand in front; the
        first one is that of the query.
    Raises: SqlError: a column or field does not exist, or is assigned twice.
    """
    by_column: dict[str, dict[Path, exp.Expr]] = {}
    for written, value in assignments.items():
        field, inner = _found(cursor, table, written, aliases)
        fields = by_column.setdefault(field.name, {})
        if any(inner[: len(other)] == other[: len(inner)] for other in fields):
            problem = f"'{'.'.join((field.name, *inner))}' is assigned twice"
            raise cursor.error(problem, "Assign it once.", token=cursor.find("column", written[-1], last=True))
        if inner and is_default(value):
            problem = f"'{'.'.join((field.name, *inner))}' has no default, as a field of a ROW"
            raise cursor.error(problem, "Write the value.", token=cursor.place(value))
        fields[inner] = new_value(cursor, table, field, value)
    types = {field.name: field.type for field in table.schema.fields}
    return {
        name: _value(exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(aliases[0], quoted=True)),
                     types[name], fields)
        for name, fields in by_column.items()
    }  # fmt: skip


def _found(cursor: Cursor, table: Table, written: Path, aliases: Sequence[str]) -> tuple[DataField, Path]:
    """The column that is meant, and the path inside it."""
    columns = table.schema.fields
    # The name of a table may stand behind those of its database and catalog.
    starts = [0, *(n for n in range(1, len(written)) if written[n - 1].lower() in map(str.lower, aliases))]
    for start in starts:
        field = _named(columns, written[start])
        if field is not None:
            return field, _inner(cursor, field.type, written[start + 1 :])
    name = written[starts[-1]] if len(starts) > 1 else written[-1] if len(written) > 1 else written[0]
    names = [field.name for field in columns]
    raise cursor.error(*unknown_column(name, names), token=cursor.find("column", name))


def _inner(cursor: Cursor, kind: DataType, path: Path) -> Path:
    """The path with the names that the fields have."""
    if not path:
        return ()
    field = _named(kind.fields, path[0])
    if field is None:
        names = [each.name for each in kind.fields]
        fix = f"The fields are: {', '.join(names)}.{suggestion(path[0], names)}" if names else "Assign all of it."
        raise cursor.error(f"{kind} has no field '{path[0]}' to assign", fix, token=cursor.find("column", path[0]))
    return (field.name, *_inner(cursor, field.type, path[1:]))


def _named(fields: Sequence[DataField], name: str) -> DataField | None:
    """The only one that is meant; None also where several are."""
    names = meant((field.name for field in fields), name)
    return next(field for field in fields if field.name == names[0]) if len(names) == 1 else None


def _value(old: exp.Expr, kind: DataType, assigned: Mapping[Path, exp.Expr]) -> exp.Expr:
    """A value with some of its fields replaced."""
    if () in assigned:
        return assigned[()]
    parts = []
    for field in kind.fields:
        place = exp.Dot(this=old.copy(), expression=exp.to_identifier(field.name, quoted=True))
        inside = {path[1:]: value for path, value in assigned.items() if path[0] == field.name}
        value = _value(place, field.type, inside) if inside else place
        parts.append(exp.PropertyEQ(this=exp.to_identifier(field.name, quoted=True), expression=value.copy()))
    return exp.Struct(expressions=parts)
