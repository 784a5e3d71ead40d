"""The word DEFAULT as a value, in INSERT, UPDATE and MERGE INTO.

Writers put a column's default in place of null. Files of single columns do not, so there the value itself is written.
"""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.operations.rows.evolved import is_evolved
from maintenance.spelling import meant
from maintenance.sql.cursor import Cursor
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

_CASTABLE = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "CHAR", "VARCHAR", "DATE")


def is_default(node: exp.Expr) -> bool:
    """Whether an expression is this word, and no column in quotes."""
    if isinstance(node, exp.Var):
        return node.name.upper() == "DEFAULT"
    if not isinstance(node, exp.Column) or node.table or not isinstance(node.this, exp.Identifier):
        return False
    return not node.this.quoted and node.name.upper() == "DEFAULT"


def put_defaults(query: exp.Expr) -> exp.Expr:
    """The query of an INSERT without the word, where it is a whole value of a row."""
    query = query.copy()
    for part in _rows(query):
        for value in part.expressions:
            if is_default(value.unalias()):
                value.replace(exp.null())
    return query


def _rows(query: exp.Expr) -> list[exp.Expr]:
    """What has the values of rows: tuples, and the lists of a SELECT."""
    if isinstance(query, exp.Subquery | exp.SetOperation):
        return [part for side in (query.this, query.args.get("expression")) if side for part in _rows(side)]
    if isinstance(query, exp.Values):
        return [each for each in query.expressions if isinstance(each, exp.Tuple)]
    if not isinstance(query, exp.Select):
        return []
    values = query.find(exp.Values)
    return [query, *(_rows(values) if values is not None and query.is_star else [])]


def new_value(cursor: Cursor, table: Table, field: DataField, value: exp.Expr) -> exp.Expr:
    """What an assignment to a column writes. Raises: SqlError: the default cannot be written by this statement."""
    if not is_default(value):
        return value
    if field.default_value is None or not is_evolved(table):
        return exp.null()
    if field.type.root in _CASTABLE:
        text = field.default_value
        is_quoted = len(text) > 1 and text.startswith("'") and text.endswith("'")
        return exp.cast(exp.Literal.string(text[1:-1] if is_quoted else text), str(field.type.as_nullable()))
    problem = f"the default of column '{field.name}', a {field.type}, cannot be taken here"
    raise cursor.error(problem, "Write the value itself.", token=cursor.place(value))


def default_values(
    cursor: Cursor, table: Table, names: Sequence[str], values: Sequence[exp.Expr]
) -> dict[str, exp.Expr]:
    """What each column gets in the INSERT of a MERGE, by its name in the table if that has it.

    Raises: SqlError: one is there twice; as `new_value`.
    """
    given: dict[str, exp.Expr] = {}
    for written, value in zip(names, values, strict=True):
        matches = meant(table.schema.field_names, written)
        name = matches[0] if len(matches) == 1 else written
        if name in given:
            token = cursor.find("column", written, last=True)
            raise cursor.error(f"column '{written}' is assigned twice", "Assign it once.", token=token)
        given[name] = new_value(cursor, table, table.schema.field(name), value) if len(matches) == 1 else value
    return given
