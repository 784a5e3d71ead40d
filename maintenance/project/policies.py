"""The parts of tables.yaml that say how tables are kept: frozen models, each refusing what it does not know."""

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterBadDateError
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from maintenance.errors import PaimonError
from maintenance.monitor.backlog import BacklogLimits
from maintenance.monitor.score import checked_targets
from maintenance.monitor.settled import SettledBy
from maintenance.monitor.triggers import Triggers
from maintenance.operations.expiry.rules import retained_since
from maintenance.operations.tuning.sure_settings import bounds_of
from maintenance.options.option import duration
from maintenance.options.own import BESIDE_OTHER_COMPACTORS, COMPACTION_PROOF
from maintenance.options.table import COMPACTION_MIN_FILE_NUM, NUM_SORTED_RUN_COMPACTION_TRIGGER
from maintenance.project.catalog_options import option_text
from maintenance.project.entry import Entry
from maintenance.project.targets.registry import AlertTarget
from maintenance.types.data_type import parse_type


def _type_text(text: str) -> str:
    try:
        parse_type(text)
    except PaimonError as error:
        raise ValueError(error.found) from error
    return text


def _duration_text(text: str) -> str:
    duration(text)
    return text


def _texts(options: Any) -> Any:
    """YAML's true, 2 and 0.1 as texts."""
    return {key: option_text(value) for key, value in options.items()} if isinstance(options, dict) else options


def _cron_text(text: str) -> str:
    said = f"'{text}' is not a cron schedule of five fields"
    if text.startswith("@"):
        raise ValueError(said)
    # Dagster takes no schedule that never comes either: the 30th of February.
    if len(text.split()) != _CRON_FIELDS or not croniter.is_valid(text) or _never(text):
        raise ValueError(said)
    return text


def _never(cron: str) -> bool:
    try:
        croniter(cron, datetime.now(UTC)).get_next(float)
    except CroniterBadDateError:
        return True
    return False


def _zone_text(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"'{name}' is not a time zone") from None
    return name


_CRON_FIELDS = 5

Options = Annotated[dict[str, str], BeforeValidator(_texts)]
TypeText = Annotated[str, AfterValidator(_type_text)]
DurationText = Annotated[str, AfterValidator(_duration_text)]
CronText = Annotated[str, AfterValidator(_cron_text)]
ZoneName = Annotated[str, AfterValidator(_zone_text)]


# Where people find Dagster's web server, unless tables.yaml says it.
URL_VARIABLE = "PAIMON_DAGSTER_URL"
# Of a tag without another name.
DEFAULT_NAME = "{date}"


class TagPolicy(Entry):
    """A tag before each expiry, so that a known state outlives it; with a cron, the tag of each period instead."""

    name: str = Field(
        default=DEFAULT_NAME,
        description="{date}: today in the schedule's zone, with a cron the day on which the period began; {time}: when"
        " it began; {snapshot}: the snapshot's id, without a cron.",
    )
    time_retained: DurationText = Field(default="90 d", description="How long the tag lives, as Paimon writes it.")
    cron: CronText | None = Field(default=None, description="When a period ends and the next begins, e.g. 0 0 * * *.")
    time_zone: ZoneName | None = Field(default=None, description="Where the cron's hours are; absent: the expiry's.")
    since: date = Field(default=date(2026, 1, 1), description="The first day whose periods a backfill may tag.")

    @property
    def lifetime(self) -> timedelta:
        return duration(self.time_retained)

    @property
    def is_daily(self) -> bool:
        """Whether no day has more than one period."""
        minute_and_hour = (self.cron or "").split()[:2]
        return len(minute_and_hour) == 2 and all(part.isdecimal() for part in minute_and_hour)

    @model_validator(mode="after")
    def names_differ(self) -> Self:
        fillable = ("date", "time") if self.cron else ("date", "snapshot")
        try:
            self.name.format(**dict.fromkeys(fillable, "x"))
        except (KeyError, IndexError, ValueError):
            names = " and ".join(f"{{{name}}}" for name in fillable)
            raise ValueError(f"name '{self.name}': only {names} are filled in here") from None
        required = [] if self.cron is None else ["{date}"] if self.is_daily else ["{date}", "{time}"]
        missing = [part for part in required if part not in self.name]
        if missing:
            raise ValueError(f"name '{self.name}' is the same for several periods: it needs {' and '.join(missing)}")
        return self


class ChecksPolicy(Entry):
    """When the checks of a table fail. What is left empty has the engine's own limit."""

    max_age: DurationText | None = Field(default=None, description="Age of the newest rows; absent: no limit.")
    max_level0_files: int | None = Field(default=None, ge=1, description="In one bucket; absent: twice the trigger.")
    max_small_share: float = Field(default=0.8, ge=0, le=1, description="Of all files, once there are many.")
    max_changelog_lag: int = Field(default=20, ge=0, description="Commits that are not in a changelog yet.")
    max_invisible: DurationText = Field(
        default="15 min",
        description="How long batch reads may miss committed rows of a table that is compacted at all.",
    )
    max_held: DurationText | None = Field(
        default=None, description="Maximum age of a state held by a consumer or tag; absent: retention plus a week."
    )
    max_orphan_share: float = Field(
        default=0.1, ge=0, le=1, description="Bytes that nothing names, of all bytes in the table's folder."
    )
    max_orphan_bytes: int | None = Field(
        default=None, ge=0, description="Bytes that nothing names; absent: only their share counts."
    )

    max_retained_share: float = Field(
        default=0.9,
        ge=0,
        le=1,
        description="Bytes that only old snapshots need, of them and the live ones, while no expiry is switched on.",
    )
    settled_commits: int = Field(
        default=20, ge=1, le=90, description="A conflict is over once this many commits in a row come from one writer."
    )
    settled_after: DurationText = Field(
        default="24 h", description="A conflict is over once only one writer has committed for this long."
    )

    @property
    def settled_by(self) -> SettledBy:
        """When a conflict of writers is over."""
        return SettledBy(self.settled_commits, duration(self.settled_after))

    @property
    def limits(self) -> BacklogLimits:
        return BacklogLimits(
            max_age=duration(self.max_age) if self.max_age else None,
            max_level0_files=self.max_level0_files,
            max_small_share=self.max_small_share,
            max_changelog_lag=self.max_changelog_lag,
            max_invisible=duration(self.max_invisible),
        )


class HealthPolicy(Entry):
    """What the health of a table is measured by. What is left out comes from the table's options and `checks`."""

    targets: Annotated[dict[str, float], AfterValidator(checked_targets)] = Field(
        default={}, description="Part of the health -> the most that is good, in the part's unit: sorted_runs: 10."
    )


class CompactionPolicy(Entry):
    """When the sensor asks for the compaction of a table. Without `trigger` the table's own options say it."""

    automatic: bool = Field(default=True, description="Off: only a person or a backfill compacts this table.")
    trigger: int | None = Field(
        default=None, ge=2, description="Sorted runs, or small files without a primary key, in one bucket."
    )
    level0_files: int | None = Field(default=None, ge=2, description="In one bucket; its partition is merged fully.")
    small_files: int | None = Field(default=None, ge=2, description="In one bucket; its partition is merged fully.")
    deleted_share: float | None = Field(
        default=None, gt=0, le=1, description="Of a partition's rows, deleted but still stored; it is merged fully."
    )
    changelog_lag: int | None = Field(default=None, ge=1, description="Commits that are not in a changelog yet.")
    proof: Literal["auto", "full", "sampled", "off"] | None = Field(
        default=None,
        description="How a compaction is verified before its commit; absent: as the table's options say.",
    )

    beside_other_compactors: bool | None = Field(
        default=None,
        description="Compact a table with deletion vectors although another engine has compacted it, which may bring"
        " deleted rows back; absent: as the table's options say.",
    )

    @property
    def triggers(self) -> Triggers:
        return Triggers(self.trigger, self.level0_files, self.small_files, self.deleted_share, self.changelog_lag)

    def options(self, has_primary_key: bool) -> dict[str, str]:
        """The table options by which a compaction goes: what this policy says of it, and how it is carried out."""
        option = NUM_SORTED_RUN_COMPACTION_TRIGGER if has_primary_key else COMPACTION_MIN_FILE_NUM
        return {**({} if self.trigger is None else {option.key: str(self.trigger)}), **self.conduct}

    @property
    def conduct(self) -> dict[str, str]:
        """How all that merges files is carried out, as table options; what the policy leaves open is not there."""
        allowed = self.beside_other_compactors
        return {
            **({} if self.proof is None else {COMPACTION_PROOF.key: self.proof}),
            **({} if allowed is None else {BESIDE_OTHER_COMPACTORS.key: str(allowed).lower()}),
        }


class RetentionPolicy(Entry):
    """What the expiry of snapshots keeps. What is left empty comes from the table's own options."""

    keep_at_least: int | None = Field(
        default=None, ge=1, description="The fewest snapshots to keep, however old they are."
    )
    keep_at_most: int | None = Field(
        default=None, ge=1, description="The most snapshots to keep, however new they are."
    )
    time_retained: DurationText | None = Field(
        default=None, description="Keep snapshots that were replaced more recently than this."
    )
    full_days: bool = Field(default=False, description="Count from midnight: what the day before the limit saw, stays.")
    time_zone: ZoneName | None = Field(default=None, description="Where midnight is; absent: the expiry's zone.")

    @model_validator(mode="after")
    def fits(self) -> Self:
        if self.keep_at_least and self.keep_at_most and self.keep_at_least > self.keep_at_most:
            raise ValueError(f"keep_at_least {self.keep_at_least} is more than keep_at_most {self.keep_at_most}")
        if self.full_days and self.time_retained is None:
            raise ValueError("full_days needs time_retained")
        return self

    def older_than(self, now: datetime, zone: ZoneInfo) -> datetime | None:
        """The moment before which snapshots must have been replaced to go; None: the table's options decide.

        Args: `now`: with a time zone; `zone`: of the schedule, used where the policy names none.
        """
        if self.time_retained is None:
            return None
        own = ZoneInfo(self.time_zone) if self.time_zone else zone
        return retained_since(now, duration(self.time_retained), own if self.full_days else None)


class OrphansPolicy(Entry):
    """The removal of orphan files, behind each expiry."""

    minimum_age: DurationText = Field(
        default="1 d", description="Younger files stay: no writer may take longer from its first file to its commit."
    )
    max_files: int | None = Field(default=100_000, ge=1, description="Most files deleted in one run, oldest first.")
    time_limit: DurationText | None = Field(default=None, description="After this long no further batch is begun.")


class BinPolicy(Entry):
    """Deletions put their files into the bin of the warehouse, so that they can be taken back."""

    window: DurationText = Field(default="7 d", description="How long; `empty_bin` takes the longest of all tables.")
    max_bytes: int | None = Field(
        default=None, ge=0, description="That the bin of all tables may hold; `empty_bin` takes the largest limit."
    )


class ProofsPolicy(Entry):
    """Which compactions of other engines are proved by themselves, once the sensor foreign_compactions sees them."""

    percent: int = Field(default=100, ge=1, le=100, description="How many of 100 compactions; always the same ones.")
    max_bytes_per_day: int | None = Field(
        default=None, ge=0, description="How much to read in 24 hours, the newest compactions first; absent: no limit."
    )


def _checked_bounds(given: dict[str, list[Any]]) -> dict[str, list[Any]]:
    bounds_of(given)
    return given


class TuningPolicy(Entry):
    """What is done once a week about settings that would be better; `tuning: propose` says the mode alone."""

    mode: Literal["propose", "apply"] = Field(
        description="propose: advice in the history; apply: options whose effect is sure are set, too, watched for a"
        " week, and taken back if they are measured worse."
    )
    bounds: Annotated[dict[str, list[Any]], AfterValidator(_checked_bounds)] = Field(
        default={},
        description="Option -> the least and the most that may be set: snapshot.time-retained: [1 h, 7 d]. What is"
        " retained is only tuned within such bounds.",
    )

    @model_validator(mode="before")
    @classmethod
    def written_as_mode(cls, given: Any) -> Any:
        return {"mode": given} if isinstance(given, str) else given


class PartitionsPolicy(Entry):
    """How the partitions of a table are mirrored in Dagster."""

    max_keys: int = Field(default=1000, ge=1, le=5000, description="The newest partitions only; Dagster slows beyond.")


class IndexColumns(Entry):
    """Columns whose file indexes are built besides those that the table's own options ask for."""

    bloom_filter: tuple[str, ...] = ()
    bitmap: tuple[str, ...] = ()
    bsi: tuple[str, ...] = ()
    range_bitmap: tuple[str, ...] = ()

    def options(self, table_options: Mapping[str, str]) -> dict[str, str]:
        """Paimon's table options for these columns and those that `table_options` name; empty if there are none."""
        chosen = {"bloom-filter": self.bloom_filter, "bitmap": self.bitmap, "bsi": self.bsi}
        chosen["range-bitmap"] = self.range_bitmap
        options: dict[str, str] = {}
        for kind, columns in chosen.items():
            key = f"file-index.{kind}.columns"
            named = [name.strip() for name in table_options.get(key, "").split(",") if name.strip()]
            if columns:
                options[key] = ",".join(dict.fromkeys([*named, *columns]))
        return options


_SLACK = "https://hooks.slack.com/"


def _as_targets(given: Any) -> Any:
    """A list instead of settings: of targets, where `to` is the address of a webhook or an e-mail address."""
    if not isinstance(given, (list, tuple)):
        return given
    return {"targets": [_with_kind(target) for target in given]}


def _with_kind(target: Any) -> Any:
    """The target with its kind, which `to` says: an address of the web, or addresses of people."""
    if not isinstance(target, dict) or "kind" in target or "to" not in target:
        return target
    to, others = target["to"], {name: value for name, value in target.items() if name != "to"}
    if isinstance(to, list) or (isinstance(to, str) and "@" in to and "://" not in to):
        return {"kind": "email", "to": to, **others}
    slack = {"format": "slack"} if isinstance(to, str) and to.startswith(_SLACK) else {}
    return {"kind": "webhook", "url": to, **slack, **others}


class TableAlerts(Entry):
    """Who else is notified of a table's faults."""

    targets: tuple[AlertTarget, ...] = ()
    instead: bool = Field(default=False, description="The project's targets get no alerts of this table.")
    muted_until: date | None = Field(default=None, description="No alerts of this table before this day, in UTC.")

    @model_validator(mode="before")
    @classmethod
    def written_as_list(cls, given: Any) -> Any:
        return _as_targets(given)

    def is_muted(self) -> bool:
        """Whether nobody is to be told of the table today."""
        return self.muted_until is not None and datetime.now(UTC).date() < self.muted_until


class Alerts(Entry):
    """Who is notified of failed runs and checks: once per fault, and again when it is over."""

    url: str | None = Field(
        default=None,
        description=f"Where people find Dagster's web server, for links; absent: ${URL_VARIABLE}, which make ui sets.",
    )
    targets: tuple[AlertTarget, ...] = ()
    daily: CronText | None = Field(
        default=None, description="When the report of a day is sent to the targets, e.g. 0 8 * * *; absent: never."
    )
    time_zone: ZoneName = Field(default="UTC", description="Where the hours of `daily` are.")

    @model_validator(mode="before")
    @classmethod
    def written_as_list(cls, given: Any) -> Any:
        return _as_targets(given)

    @property
    def address(self) -> str:
        """Where links start, without a slash at the end; empty where nobody has said it: links are paths then."""
        return (self.url or os.environ.get(URL_VARIABLE, "")).rstrip("/")
