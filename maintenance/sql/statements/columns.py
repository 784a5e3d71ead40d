"""Columns as CREATE TABLE and ALTER TABLE write them."""

from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.tokens import Token

from maintenance.metastore.schema_change import FIRST, Position, after
from maintenance.sql.cursor import Cursor
from maintenance.types.data_type import DataField, DataType


@dataclass(frozen=True, slots=True)
class Column:
    """A column as it is written. `is_key`: it is the primary key by itself."""

    name: str
    type: DataType
    comment: str | None = None
    default: str | None = None
    is_key: bool = False

    def field(self) -> DataField:
        return DataField(0, self.name, self.type, self.comment, self.default)


@dataclass(frozen=True, slots=True)
class Computed:
    """A computed column as it is written, ``name AS expression [COMMENT 'text']``."""

    name: str
    text: str
    expression: exp.Expr
    comment: str | None = None


def read_column(cursor: Cursor) -> Column | Computed:
    """``name type [NOT NULL] [PRIMARY KEY NOT ENFORCED] [DEFAULT value] [COMMENT 'text']``, or in Flink a computed one.

    Raises: SqlError.
    """
    name = cursor.name("the name of a column")
    if not cursor.take("AS"):
        return read_type(cursor, name)
    if cursor.is_spark:
        raise cursor.error(
            f"column '{name}' is computed, and Paimon stores columns only", "Compute it in a query or a view."
        )
    span = cursor.span(",", ")", "COMMENT", "FIRST", "AFTER")
    expression: exp.Expr = cursor.parsed(span, exp.Condition)
    return Computed(name, cursor.stored_text(span, expression), expression, cursor.comment())


def read_type(cursor: Cursor, name: str) -> Column:
    """What follows the name of a column."""
    column = Column(name, cursor.data_type())
    while True:
        if cursor.take("NOT", "NULL"):
            column = replace(column, type=column.type.as_nullable(False))
        elif cursor.take("PRIMARY", "KEY"):
            not_enforced(cursor, cursor.words[cursor.index - 2])
            column = replace(column, is_key=True)
        elif cursor.take("COMMENT"):
            column = replace(column, comment=cursor.string())
        elif cursor.take("DEFAULT"):
            column = replace(column, default=default_text(cursor))
        elif cursor.take("METADATA"):
            raise cursor.error(f"column '{name}' is a metadata column, which Paimon does not support", "Leave it out.")
        elif not cursor.take("NULL"):
            return column


def not_enforced(cursor: Cursor, key: Token) -> None:
    """Paimon keeps keys unique when it merges. Flink wants that said; Spark has no words for it.

    Args: `key`: the word PRIMARY. Raises: SqlError.
    """
    if cursor.take("NOT", "ENFORCED") or (cursor.is_spark and not cursor.peek("ENFORCED")):
        return
    token = cursor.token if cursor.peek("ENFORCED") else key
    raise cursor.error(
        "a primary key is not enforced: rows of one key are merged", "Write PRIMARY KEY (…) NOT ENFORCED.", token=token
    )


_MADE = ("array", "map", "struct", "named_struct", "row")


def default_text(cursor: Cursor) -> str | None:
    """The text that writers put in place of null: of a literal its value, of an array, map or row as it is written."""
    span = cursor.span(",", ")", "COMMENT", "NOT", "FIRST", "AFTER", "PRIMARY")
    node = cursor.parsed(span, exp.Condition)
    literal = node.this if isinstance(node, exp.Cast) else node
    if isinstance(literal, exp.Null):
        return None
    if isinstance(literal, exp.Neg) and isinstance(literal.this, exp.Literal):
        return f"-{literal.this.name}"
    if isinstance(literal, exp.Boolean):
        return str(literal.this).lower()
    is_made = isinstance(literal, exp.Anonymous) and literal.name.lower() in _MADE
    if is_made or isinstance(literal, exp.Array | exp.VarMap | exp.Map | exp.Struct):
        return cursor.text(span)
    if not isinstance(literal, exp.Literal):
        raise cursor.error(f"the default '{node.sql(cursor.source.dialect)}' is not a literal", "Write a literal.")
    # Spark reads the text as an expression.
    return spark_literal(literal.name) if cursor.is_spark and literal is node and literal.is_string else literal.name


def spark_literal(text: str) -> str:
    """A text in quotes, as Spark writes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def read_position(cursor: Cursor) -> Position | None:
    """``FIRST`` or ``AFTER column``, if it comes next."""
    if cursor.take("FIRST"):
        return FIRST
    return after(cursor.name("the name of a column")) if cursor.take("AFTER") else None
