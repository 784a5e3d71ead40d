"""Judges a table, whatever state it is in.

That a table cannot be read is a judgement as well: nothing that is wrong with a table raises here, and what can still
be judged of it is judged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from maintenance.errors import CorruptFileError, ErrorClass, NotFoundError, PaimonError
from maintenance.metadata.zone import local_time
from maintenance.monitor.health import AskAcknowledged, Judging
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import naming_jobs
from maintenance.monitor.readable import ReadFault
from maintenance.monitor.score import HealthRecord, Held, health_record, health_targets
from maintenance.monitor.triggers import judge as compaction_need
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.operations.acknowledgements.acknowledged import acknowledged
from maintenance.operations.checks.way_back import way_back
from maintenance.operations.expiry.expire_partitions import DuePartitions, partitions_due
from maintenance.operations.expiry.expire_tags import due_tags
from maintenance.operations.expiry.kept_snapshots import KeptSnapshots, kept_snapshots
from maintenance.operations.retention.next_expiry import NextExpiry, next_expiry
from maintenance.project.config import TableConfig
from maintenance.table.acknowledged import Acknowledged
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets.checks.due import (
    Automation,
    compaction_chore,
    expiry_chore,
    index_chore,
    nothing_due,
    tag_chore,
)
from paimon_maintenance.assets.checks.expiring import expiry_due, retention_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import NO_STATE, by_job
from paimon_maintenance.assets.warehouse.holdings import no_table, read_holdings

# The search for a state to go back to reads manifests; a sensor's tick has no time for more of them.
_SEARCHED_BYTES = 8 << 20
# Nor for the states of more snapshots than these.
_STATES_READ = 128


@dataclass(frozen=True, slots=True)
class TableHealth:
    """What a look at a table yields.

    Attributes:
        judgements: of all checks that can be made; the first one is whether the table can be read.
        table, shape: None where the table cannot be read.
        kept: its snapshots, and what they hold; None where they cannot be read.
        expiry: the next one; None where it takes too long to find out.
        partitions: that are past their retention; None: they never expire, or it takes too long to find out.
        record: how well it is kept; None where it cannot be read.
    """

    judgements: tuple[Judgement, ...]
    table: Table | None = None
    shape: TableShape | None = None
    kept: KeptSnapshots | None = None
    expiry: NextExpiry | None = None
    partitions: DuePartitions | None = None
    record: HealthRecord | None = None

    @property
    def freed(self) -> int | None:
        """The bytes that the next expiry frees."""
        return None if self.expiry is None else self.expiry.bytes


def _not_counted(_: str) -> None:
    return None


def look_at(
    catalog: PaimonCatalog, config: TableConfig, now: datetime, *, automation: Automation
) -> tuple[Judgement, ...]:
    """The judgements of `see`."""
    return see(catalog, config, now, automation=automation).judgements


def see(
    catalog: PaimonCatalog,
    config: TableConfig,
    now: datetime,
    *,
    automation: Automation,
    zone: ZoneInfo | None = None,
    orphans: Callable[[str], int | None] = _not_counted,
) -> TableHealth:
    """Every judgement that can be made of a table, from metadata and listings; none of one still to be created here.

    What cannot be read is looked at a second time before it counts: an expiry may just have removed it.

    Args: `now`: with a time zone; `automation`: what is on; `zone`: where days begin, unless the policy names one;
        None: as the expiry of its project; `orphans`: gives the bytes of a table that nothing names, as last counted.
    """
    zone = zone or config.zone
    reading = _read(catalog, config, now, automation, zone)
    if reading.judging.faults:
        reading = _read(catalog, config, now, automation, zone)
    if not reading.exists:
        return TableHealth(())
    faults = list(reading.judging.faults)
    if faults and faults[0].damage:
        faults[0] = _with_way_back(catalog, config.identifier, faults)
    judgements = tuple(naming_jobs(judgement, config.writers) for judgement in reading.judging.whole(faults))
    record = None if reading.table is None else _record(reading, reading.table, config, now, orphans)
    if record is not None:
        judgements = (*judgements, health_targets(record, config.health.targets))
    found = (reading.table, reading.shape, reading.kept, reading.expiry, reading.partitions)
    return TableHealth(judgements, *found, record)


def _record(
    reading: "_Reading", table: Table, config: TableConfig, now: datetime, orphans: Callable[[str], int | None]
) -> HealthRecord | None:
    """How well the table is kept; None where what that takes cannot be read, which another judgement says."""
    held = Held.of(reading.judging.judgements, orphans(config.identifier))
    try:
        return health_record(table, now, config.rules.targets, held)
    except PaimonError:
        return None


@dataclass(slots=True)
class _Reading:
    """What a look at a table yields.

    Attributes:
        exists: False for a table that this project is still to create.
        table, shape, kept, expiry, partitions: None as long as they could not be read.
        due_tags: how many tags are past their time, as far as they can be read.
    """

    judging: Judging = field(default_factory=Judging)
    exists: bool = True
    table: Table | None = None
    shape: TableShape | None = None
    kept: KeptSnapshots | None = None
    expiry: NextExpiry | None = None
    partitions: DuePartitions | None = None
    due_tags: int = 0


def _read(
    catalog: PaimonCatalog, config: TableConfig, now: datetime, automation: Automation, zone: ZoneInfo
) -> _Reading:
    reading = _Reading()
    judging = reading.judging
    try:
        table = catalog.get_table(config.identifier)
    except Exception as error:  # noqa: BLE001 - whatever it is, the table cannot be read
        absent = isinstance(error, NotFoundError) and error.error_class == ErrorClass.USER
        reading.exists = not (absent and config.columns)
        judging.faults[_absent(catalog, config.identifier) if absent else ReadFault.of(error)] = None
        return reading
    if judging.look(table, config.rules, now, acknowledged_of(catalog, config)):
        judging.attempt(lambda: _measured(reading, table))
        judging.attempt(lambda: [_judge_expiry(config, reading, table, now, automation, zone)])
        judging.attempt(lambda: [_judge_due(config, reading, table, now, automation, zone)])
    return reading


def _absent(catalog: PaimonCatalog, identifier: str) -> ReadFault:
    """The fault of a table that does not exist, with the name that may be meant."""
    try:
        finding = no_table(identifier, read_holdings(catalog, [identifier.partition(".")[0]]))
    except Exception as error:  # noqa: BLE001 - the database cannot be listed either
        return ReadFault.of(error)
    return ReadFault(finding.found, identifier, finding.fix, damage=False)


def _with_way_back(catalog: PaimonCatalog, identifier: str, faults: Sequence[ReadFault]) -> ReadFault:
    """The first fault; its next step names the state to go back to, unless the table is too large to look for one."""
    first = faults[0]
    try:
        file_io, location = catalog.place_of(identifier)
        metadata = sum(file.size for file in file_io.list_files(f"{location}/manifest"))
        if metadata > _SEARCHED_BYTES:
            return first
        where = " ".join(fault.where for fault in faults)
        back = way_back(file_io, location, CorruptFileError(first.found, where, first.fix))
    except Exception:  # noqa: BLE001 - the table is damaged: what was found first is what has to be reported
        return first
    return replace(first, fix=f"{first.fix} {NO_STATE if back is None else by_job(back)}")


def acknowledged_of(catalog: PaimonCatalog, config: TableConfig) -> AskAcknowledged:
    """Looks up what was acknowledged of a table; nothing where there is no history."""

    def found() -> Mapping[str, Acknowledged]:
        history = catalog.history_of(config.identifier)
        return {} if history is None else acknowledged(catalog.open(), history, config.identifier)

    return found


def _measured(reading: _Reading, table: Table) -> Iterable[Judgement]:
    reading.table, reading.shape = table, table_shape(table)
    return ()


def _judge_due(
    config: TableConfig, reading: _Reading, table: Table, now: datetime, automation: Automation, zone: ZoneInfo
) -> Judgement:
    shape = reading.shape or table_shape(table)
    need = compaction_need(table, shape, config.compaction.triggers)
    failed = {judgement.check for judgement in reading.judging.judgements if not judgement.passed}
    # Hidden rows are why the compaction is due, and that check asks for it: one fault is told once.
    reported_by = ROWS_VISIBLE if ROWS_VISIBLE in failed else None
    snapshots = 0 if reading.kept is None else reading.kept.due
    chores = (
        *compaction_chore(config, need, automation, reported_by),
        *expiry_chore(config, snapshots, reading.due_tags, reading.partitions, automation),
        *index_chore(config, table, shape, automation, now),
        *tag_chore(config, table, automation, zone),
    )
    return nothing_due(need, chores)


def _judge_expiry(
    config: TableConfig, reading: _Reading, table: Table, now: datetime, automation: Automation, zone: ZoneInfo
) -> Judgement:
    choice = retention_of(config, now, zone)
    tags = table.tags.all()
    reading.kept = kept_snapshots(table, now, choice, tags=tags)
    if _is_searched(table):
        reading.expiry = next_expiry(table, now, choice)
        reading.partitions = partitions_due(table, now)
    reading.due_tags = len(due_tags(table, local_time(now), None, tags))
    live = 0 if reading.shape is None else reading.shape.bytes
    freed = None if reading.expiry is None else reading.expiry.bytes
    return expiry_due(config, reading.kept, live, expires=automation.expires, freed=freed, options=table.options)


def _is_searched(table: Table) -> bool:
    """Whether it is found out what the next expiry frees: not where too many manifests would have to be read."""
    if len(table.snapshots.list_ids()) > _STATES_READ:
        return False
    manifests = table.file_io.list_files(table.paths.manifest_folder())
    return sum(file.size for file in manifests) <= _SEARCHED_BYTES
