"""Judges a table, whatever state it is in.

That a table cannot be read is a judgement as well: nothing that is wrong with a table raises here, and what can still
be judged of it is judged.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from assets.config import TableConfig
from assets.due import nothing_due
from assets.holdings import no_table, read_holdings
from assets.resources import PaimonCatalog
from maintenance.errors import ErrorClass, NotFoundError
from maintenance.monitor.backlog import CHANGELOG_LAG, LEVEL0_BACKLOG, SMALL_FILES, judge_backlog
from maintenance.monitor.census import take_census
from maintenance.monitor.chain import snapshot_chain_intact
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import READABLE, ReadFault, lost_files, readable
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.second_compactor import compacts_alone
from maintenance.monitor.triggers import judge as compaction_need
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.monitor.writers import judge_writers
from maintenance.options.option import duration
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

COMMITS_LOOKED_AT = 100
# A backlog that one of these reports is not reported a second time as a compaction that is due.
_BACKLOGS = (ROWS_VISIBLE, LEVEL0_BACKLOG, SMALL_FILES, CHANGELOG_LAG)


def look_at(catalog: PaimonCatalog, config: TableConfig, now: datetime, *, watched: bool) -> tuple[Judgement, ...]:
    """Every judgement that can be made of a table, from metadata and listings; none of one still to be created here.

    What cannot be read is looked at a second time before it counts: an expiry may just have removed it.

    Args: `now`: with a time zone; `watched`: the sensor is on that starts compactions.
    """
    found = _look_at(catalog, config, now, watched=watched)
    if all(judgement.passed for judgement in found if judgement.check == READABLE):
        return found
    return _look_at(catalog, config, now, watched=watched)


def _look_at(catalog: PaimonCatalog, config: TableConfig, now: datetime, *, watched: bool) -> tuple[Judgement, ...]:
    try:
        return judge(config, catalog.get_table(config.identifier), now, watched=watched)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table cannot be read
        if isinstance(error, NotFoundError) and error.error_class == ErrorClass.USER:
            return () if config.columns else (_absent(catalog, config.identifier),)
        return (readable([ReadFault.of(error)]),)


def _absent(catalog: PaimonCatalog, identifier: str) -> Judgement:
    """The judgement over a table that does not exist, with the name that may be meant."""
    try:
        found = no_table(identifier, read_holdings(catalog, [identifier.partition(".")[0]]))
    except Exception as error:  # noqa: BLE001 - the database cannot be listed either
        return readable([ReadFault.of(error)])
    return readable([ReadFault(found.found, identifier, found.fix)])


def judge(config: TableConfig, table: Table, now: datetime, *, watched: bool) -> tuple[Judgement, ...]:
    """Every judgement that can be made of an open table; the first one is whether it can be read."""
    held = duration(config.checks.max_held) if config.checks.max_held else None
    judging = _Judging()
    # Where the current state cannot be read, every other part would only stumble over the same file.
    if judging.attempt(lambda: judging.note_lost(table, now)):
        judging.attempt(lambda: _judge_writers(config, table))
        judging.attempt(lambda: [deletion_vectors_intact(table)])
        judging.attempt(lambda: [snapshot_chain_intact(table)])
        judging.attempt(lambda: judge_backlog(table, config.checks.limits, now))
        judging.attempt(lambda: [retention_blockers(table, now, max_age=held)])
        judging.attempt(lambda: [judging.due(config, table, watched=watched)])
    return (readable(list(judging.faults)), *judging.judgements)


def _judge_writers(config: TableConfig, table: Table) -> Iterable[Judgement]:
    census = take_census(table, limit=COMMITS_LOOKED_AT)
    conduct = table.copy(config.compaction.conduct)
    alone = compacts_alone(conduct, census, automatic=config.compaction.automatic)
    return (*judge_writers(table, census), alone)


@dataclass(slots=True)
class _Judging:
    """What was judged so far. `faults`: what could not be read, each once, in the order in which it was met."""

    judgements: list[Judgement] = field(default_factory=list)
    faults: dict[ReadFault, None] = field(default_factory=dict)

    def attempt(self, part: Callable[[], Iterable[Judgement]]) -> bool:
        """Judge one part. Returns False, and notes why, if that cannot be done."""
        try:
            self.judgements += part()
        except Exception as error:  # noqa: BLE001 - what is broken in one place must not hide the rest
            self.faults[ReadFault.of(error)] = None
            return False
        return True

    def note_lost(self, table: Table, now: datetime) -> Iterable[Judgement]:
        """Note the files of the current state that are missing or cut off; judges nothing yet."""
        snapshot = table.latest_snapshot()
        self.faults.update(dict.fromkeys([] if snapshot is None else lost_files(table, snapshot, now)))
        return ()

    def due(self, config: TableConfig, table: Table, *, watched: bool) -> Judgement:
        need = compaction_need(table, table_shape(table), config.compaction.triggers)
        failed = {judgement.check for judgement in self.judgements if not judgement.passed}
        told = next((check for check in _BACKLOGS if check in failed), None)
        return nothing_due(config, need, watched=watched, told=told)
