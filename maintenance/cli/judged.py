"""What is wrong with a table now, by the computation that Dagster's checks and the console use, too.

Whether a sensor or a schedule is on only Dagster knows: a compaction that is due is told as such here, and snapshots
that can expire are not told.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from maintenance.catalog import Catalog, CatalogTable
from maintenance.errors import NotFoundError, PaimonError, UnsupportedError
from maintenance.monitor.health import Judging, Rules
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import naming_jobs
from maintenance.monitor.readable import ReadFault
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.score import HealthRecord, Held, health_record, health_targets
from maintenance.monitor.triggers import NOTHING_DUE, judge
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.operations.acknowledgements.acknowledged import acknowledged
from maintenance.operations.history import history_table
from maintenance.table.shape import table_shape

if TYPE_CHECKING:  # tables.yaml is read with pydantic, which only those need who have one
    from maintenance.project.config import Project, TableConfig


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the tables of a catalog.

    Attributes:
        history: the database whose history says what was acknowledged.
        project: says by what each table is judged; None: the engine's own limits hold.
        max_age: of the newest rows, in place of what the file says.
    """

    catalog: Catalog
    history: str
    project: "Project | None" = None
    max_age: timedelta | None = None

    def __call__(self, name: str) -> tuple[Judgement, ...]:
        """The judgements of a table, the first one whether it can be read; nothing where it has no snapshots.

        What cannot be read is looked at a second time before it counts: an expiry may just have removed it.
        Raises: NotFoundError: there is no such table. OptionError: of the file.
        """
        rules = self._rules(name)
        if self.max_age is not None:
            rules = replace(rules, limits=replace(rules.limits, max_age=self.max_age))
        judging = self._look(name, rules)
        if judging is not None and judging.faults:
            judging = self._look(name, rules)
        if judging is None:
            return ()
        described = self._described(name)
        writers = {} if described is None else described.writers
        judgements = tuple(naming_jobs(judgement, writers) for judgement in judging.whole())
        if not rules.health or judging.faults:
            return judgements
        return (*judgements, health_targets(self.record(name), rules.health))

    def record(self, name: str) -> HealthRecord:
        """How well a table is kept. Raises: UnsupportedError: it has no snapshots; what reading its metadata raises."""
        now, table = datetime.now(UTC), self.catalog.open_table(name)
        if not isinstance(table, CatalogTable):
            fix = "Name the table itself."
            raise UnsupportedError("there is nothing to judge in such a table", f"table {name}", fix)
        held = Held.of([retention_blockers(table, now)])
        return health_record(table, now, self._rules(name).targets, held)

    def score(self, name: str, judgements: Iterable[Judgement]) -> int | None:
        """The score of a table that was judged; None: it cannot be read."""
        now = datetime.now(UTC)
        try:
            table = self.catalog.get_table(name)
            held = Held.of(judgements)
            return health_record(table, now, self._rules(name).targets, held).score
        except PaimonError:
            return None

    def _rules(self, name: str) -> Rules:
        described = self._described(name)
        return Rules() if described is None else described.rules

    def _described(self, name: str) -> "TableConfig | None":
        return None if self.project is None else self.project.table(name)

    def _look(self, name: str, rules: Rules) -> Judging | None:
        judging, now = Judging(), datetime.now(UTC)
        try:
            table = self.catalog.get_table(name)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the table cannot be read
            judging.faults[ReadFault.of(error)] = None
            return judging
        if not isinstance(table, CatalogTable):
            return None

        def due() -> Iterable[Judgement]:
            wrong = {judgement.check for judgement in judging.judgements if not judgement.passed}
            yield _nothing_due(table, rules, is_told=ROWS_VISIBLE in wrong)

        if judging.look(table, rules, now, lambda: acknowledged(self.catalog, history_table(self.history), name)):
            judging.attempt(due)
        return judging


def _nothing_due(table: CatalogTable, rules: Rules, *, is_told: bool) -> Judgement:
    """`is_told`: hidden rows are why the compaction is due, and their check asks for it."""
    need = judge(table, table_shape(table), rules.triggers)
    if not need.due:
        return Judgement(NOTHING_DUE, True, f"nothing is due: {need.reason}")
    what = f"a compaction is due: {need.reason}"
    if is_told:
        return Judgement(NOTHING_DUE, True, f"{what}; {ROWS_VISIBLE} reports it")
    return Judgement(NOTHING_DUE, False, what, f"Run paimonctl compact {table.identifier}.")
