"""Flink's statement sets: INSERTs that are read as a whole and run one after the other; and the end of a script.

In Flink they are one job. Here each is a commit of its own, so those before one that fails stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot.tokens import TokenType

from maintenance.sql.cursor import STATEMENT_SETS, Cursor
from maintenance.sql.result import Result
from maintenance.sql.statements.inserts import Inserts
from maintenance.sql.statements.statement import Parse, Statement

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Exit:
    """Ends a script."""

    def run(self, session: "SessionState") -> Result:
        return Result()


def _set(cursor: Cursor, parse: Parse) -> Inserts:
    statements: list[Statement] = []
    while not cursor.take("END"):
        start = cursor.index
        while not cursor.at_end() and cursor.words[cursor.index].token_type is not TokenType.SEMICOLON:
            cursor.index += 1
        if cursor.at_end():
            raise cursor.unexpected("END")
        inner = Cursor(cursor.source, cursor.words[start : cursor.index], cursor.full)
        cursor.index += 1
        if not inner.words:
            continue
        if not inner.peek("INSERT"):
            raise inner.error(
                "a statement set has INSERTs alone", "Write this one before or behind it.", token=inner.token
            )
        statements.append(parse(inner))
    return Inserts(tuple(statements))


def statements_with(parse: Parse) -> Mapping[tuple[str, ...], Parse]:
    """The statements of this module. `parse`: reads those that a set holds."""
    return {
        **dict.fromkeys(STATEMENT_SETS, lambda cursor: _set(cursor, parse)),
        ("EXIT",): lambda cursor: Exit(),
        ("QUIT",): lambda cursor: Exit(),
    }
