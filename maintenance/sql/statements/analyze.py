"""ANALYZE TABLE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.operations import analyze_table
from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Analyze:
    """`columns`: to count, None = all; empty for none."""

    path: tuple[str, ...]
    columns: tuple[str, ...] | None = ()

    def run(self, session: "SessionState") -> Result:
        analyze_table(session.changed(self.path), columns=self.columns, all_columns=self.columns is None)
        return Result()


def _analyze(cursor: Cursor) -> Analyze:
    path = cursor.path("the name of a table")
    if cursor.peek("PARTITION"):
        raise cursor.error(
            "statistics of single partitions are not supported", "Leave PARTITION out.", token=cursor.token
        )
    cursor.expect("COMPUTE", "STATISTICS")
    if cursor.take("FOR"):
        if cursor.take("ALL"):
            cursor.expect("COLUMNS")
            return Analyze(path, None)
        cursor.expect("COLUMNS")
        names = [cursor.name("the name of a column")]
        while cursor.take(","):
            names.append(cursor.name("the name of a column"))
        return Analyze(path, tuple(names))
    if cursor.peek("NOSCAN"):
        raise cursor.error("NOSCAN has no effect on tables of Paimon", "Leave it out.", token=cursor.token)
    return Analyze(path)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {("ANALYZE", "TABLE"): _analyze}
