"""A session runs statements."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.located import in_statement
from maintenance.sql.place import in_sql
from maintenance.sql.result import Result
from maintenance.sql.session_state import SessionState
from maintenance.sql.statements.grammar import parse
from maintenance.sql.statements.queries import Select
from maintenance.sql.statements.statement import Planned, Statement

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.operations.progress import Progress

_MOST_PARSED, _LONGEST_PARSED = 100, 20_000


@dataclass(repr=False, eq=False)
class Session(SessionState):
    """Runs statements one after the other; not for several threads.

    Args:
        catalog: Paimon's catalog options, or an open catalog. It is called `paimon`, and the session starts in its
            database `default`, which is made if it is not there.
        spark: a session that runs queries, and the operations that use it; None = `engine` says.
        dialect: ``flink`` or ``spark``, of the statements; it does not depend on what runs them.
        makes_default: whether the database `default` is made; a session that only looks makes nothing.
        engine: what runs queries and operations, see `Engine`: ``embedded`` (this process), ``spark``, ``sail``,
            ``auto``, or the address of a Spark. It is started when it is first needed. None = as `spark` says.

    `run`: what is committed to tables names it in its snapshots; None: nothing.
    """

    _parsed: dict[tuple[str, str], Select] = field(init=False, default_factory=dict, repr=False)

    def beside(self, dialect: Literal["flink", "spark"]) -> Self:
        """Deprecated: the name of `in_dialect` before."""
        warnings.warn("Use in_dialect instead of beside.", DeprecationWarning, stacklevel=2)
        return self.in_dialect(dialect)

    def sql(self, text: str) -> Result:
        """Run one statement; a semicolon may close it. Raises: SqlError."""
        known = self._parsed.get((text, self.dialect))
        if known is not None:
            return self._carried_out(known, lambda: statements_of(self._source(text))[0])
        source = self._source(text)
        cursors = statements_of(source)
        if not cursors:
            raise source.error(0, 1, "there is no statement", "Write one.")
        if len(cursors) > 1:
            raise cursors[1].error(
                "there is a second statement", "Use execute for a script.", token=cursors[1].words[0]
            )
        statement = self._read(cursors[0])
        if isinstance(statement, Select):
            self._remember(text, statement)
        return self._carried_out(statement, lambda: cursors[0])

    def execute(self, script: str) -> Iterator[Result]:
        """Run the statements of a script, and yield the result of each. Raises: SqlError, at the first that fails."""
        for cursor in statements_of(self._source(script)):
            yield self._run(cursor)
            if cursor.ends_script:
                return

    def plan(self, text: str) -> "StoredPlan":
        """What a statement would do now, without doing it: of what changes or deletes rows or tables, or such a CALL.

        `sql.plans.keep_plan` keeps it. Raises: SqlError: such statements have no plans.
        """
        source = self._source(text)
        cursors = statements_of(source)
        if len(cursors) != 1:
            raise source.error(0, 1, f"{len(cursors)} statements are given", "Give one.")
        statement = self._read(cursors[0])
        if not isinstance(statement, Planned):
            raise cursors[0].error(
                "such statements have no plans",
                "Use DELETE, UPDATE, MERGE INTO, DROP TABLE, TRUNCATE TABLE, DROP PARTITION, or CALL.",
                token=cursors[0].words[0],
            )
        with in_statement(lambda: cursors[0]):
            return statement.plan(self)

    def apply(self, plan: "StoredPlan | str", *, into_bin: bool = False, progress: "Progress | None" = None) -> Result:
        """Do what a plan says and nothing else.

        Args: `plan`: or the id of one that is kept; `into_bin`, `progress`: as of `sql.plans.apply_plan`.
        Raises: SqlError, of the class `OutdatedPlanError` too: something else would be done now.
        """
        # Plans know all operations, which take long to import.
        from maintenance.sql.plans import apply_plan, kept_plan, noted

        with in_sql():
            found = kept_plan(self, plan) if isinstance(plan, str) else plan
            with noted(self, found):
                return apply_plan(self, found, into_bin=into_bin, progress=progress)

    def _source(self, text: str) -> Source:
        return Source(text, self.sql_dialect)

    def _remember(self, text: str, query: Select) -> None:
        """Keep a query that was read: the same ones come again and again, and running them changes nothing of it."""
        if len(self._parsed) >= _MOST_PARSED:
            self._parsed.clear()
        if len(text) <= _LONGEST_PARSED:
            self._parsed[text, self.dialect] = query

    def _run(self, cursor: Cursor) -> Result:
        return self._carried_out(self._read(cursor), lambda: cursor)

    @staticmethod
    def _read(cursor: Cursor) -> Statement:
        with in_statement(lambda: cursor):
            return parse(cursor)

    def _carried_out(self, statement: Statement, cursor: Callable[[], Cursor]) -> Result:
        with in_statement(cursor):
            return statement.run(self)
