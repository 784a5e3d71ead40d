"""tables.yaml: the tables a project maintains, read into frozen models.

A mistake in the file is an OptionError that names its line; an unknown or repeated key is a mistake. An entry of
`patterns` holds settings for every table of the catalog that it matches; where several speak of one table, the later
entry wins, and the table's own entry over all of them, setting by setting.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, InstanceOf, PrivateAttr, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from maintenance.errors import OptionError, PaimonError, SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.schema import PARTITION, PRIMARY_KEY, keys_of
from maintenance.monitor.health import Rules
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.fleet.settings import FleetSettings, Prices, budget_of, prices_of, weights_of
from maintenance.operations.history import HISTORY_DATABASE
from maintenance.operations.ingestion.cdc.forms import form_of
from maintenance.operations.ingestion.landing import PARQUET, LandingFolder
from maintenance.options import table as table_options
from maintenance.options.known import as_meant, check_set
from maintenance.options.materialized import Definition
from maintenance.options.option import duration
from maintenance.project.catalog_options import path_from, rooted_warehouse
from maintenance.project.entry import Entry
from maintenance.project.policies import (
    Alerts,
    BinPolicy,
    ChecksPolicy,
    CompactionPolicy,
    CronText,
    DurationText,
    HealthPolicy,
    IndexColumns,
    Options,
    OrphansPolicy,
    PartitionsPolicy,
    ProofsPolicy,
    RetentionPolicy,
    TableAlerts,
    TagPolicy,
    TuningPolicy,
    TypeText,
    ZoneName,
)
from maintenance.project.yaml_file import YamlFile
from maintenance.spark.engine import LOCAL_MASTER, Engine, EngineKind
from maintenance.types.data_type import DataField

_MAY_BE_EMPTY = "may be empty"
ENGINE_MEANS = (
    "spark, sail (which needs no Java), embedded (no Spark), or auto: Spark where a Java is found, else Sail."
)
# The jobs that use Spark, by their tag paimon/action; a run from an asset's page counts as maintain or compact.
SPARK_ACTIONS = (
    "maintain",
    "ingest",
    "refresh",
    "compact",
    "change_rows",
    "restore_partitions",
    "plan_fleet",
    "prove_compactions",
    "statement",
    "clone",
    "audit",
    "prove",
    "fsck",
    "expire",
    "tag",
    "create_tag",
)


class Landing(Entry):
    """A folder into which a feed delivers micro-batches, one file each.

    A file is named ``<delivery>-batch-<number>.parquet``, of other formats ``….json`` or ``….json.gz``. Files are taken
    by delivery; the batch number is the commit identifier, so that a batch which is delivered again is not committed
    again.
    """

    path: str = Field(description="A folder, relative to that of the file, or a URI.")
    commit_user: str = Field(description="Stable name of this feed: with the batch number it identifies a commit.")
    row_kind_column: str | None = Field(default=None, description="Column with +I, -U, +U or -D; absent: all are +I.")
    format: Literal["parquet", "debezium-json", "canal-json", "maxwell-json", "json"] = Field(
        default="parquet", description="Of the files: Parquet, or change messages of a tool, one on each line."
    )
    options: Options = Field(default={}, description="How the tool writes values, in its own words.")
    bad_lines: Literal["fail", "set_aside"] = Field(
        default="fail", description="Of lines that are no changes: commit nothing of the file, or put them into _bad."
    )

    @model_validator(mode="after")
    def options_are_known(self) -> "Landing":
        if self.format == PARQUET and self.options:
            raise ValueError("format 'parquet' has no options")
        if self.format != PARQUET:
            try:
                form_of(self.format, self.options, self.row_kind_column)
            except OptionError as error:
                raise ValueError(f"{error.found}; {error.fix}") from error
        return self

    @property
    def folder(self) -> LandingFolder:
        """The same as the engine takes it."""
        return LandingFolder(
            self.path, self.commit_user, self.row_kind_column, self.format, self.options, self.bad_lines
        )


class TableSettings(Entry):
    """How a table is kept: what a pattern may say as well as a table's own entry."""

    description: str = ""
    owners: tuple[str, ...] = Field(default=(), description="E-mail addresses or team:<name>, as Dagster wants them.")
    tag: TagPolicy | None = Field(default=None, description="Absent or null: no automatic tags.")
    checks: ChecksPolicy = ChecksPolicy()
    health: HealthPolicy = HealthPolicy()
    compaction: CompactionPolicy = CompactionPolicy()
    retention: RetentionPolicy = RetentionPolicy()
    orphans: OrphansPolicy | None = Field(default=None, description="Absent or null: orphan files are left alone.")
    bin: BinPolicy | None = Field(default=None, description="Absent or null: what is deleted is destroyed at once.")
    partitions: PartitionsPolicy = PartitionsPolicy()
    proofs: ProofsPolicy | None = Field(
        default=None, description="Absent or null: compactions of other engines are proved when a person asks for it."
    )
    tuning: TuningPolicy | None = Field(
        default=None, description="Absent or null: settings are looked into when a person asks for it."
    )
    index_columns: IndexColumns = IndexColumns()
    alerts: TableAlerts = TableAlerts()
    writers: dict[str, str] = Field(
        default={},
        description="Commit user, or a pattern with * -> the job behind it, wherever a check names the user.",
    )
    links: dict[str, str] = Field(default={}, description="Name -> URL, shown on the table's page: a runbook, a board.")
    spark_options: Options = Field(
        default={}, description="Spark's options in runs on this table; they override the job's."
    )


class TablePattern(TableSettings):
    """Settings for every table of the catalog whose name matches."""

    pattern: str = Field(pattern=r"^[\w*?\[\]!-]+\.[\w*?\[\]!-]+$", description="database.table with *, ? or [abc].")
    without: tuple[str, ...] = Field(default=(), description="Patterns of tables that this entry is not about.")

    @property
    def database(self) -> str:
        """The part of the pattern that databases match."""
        return self.pattern.partition(".")[0]

    def matches(self, identifier: str) -> bool:
        """Whether this entry is about the table; upper and lower case differ."""
        return fnmatchcase(identifier, self.pattern) and not any(fnmatchcase(identifier, no) for no in self.without)


@dataclass(frozen=True, slots=True)
class FoundTable:
    """What the catalog holds of a table when the definitions are loaded."""

    location: str
    fields: tuple[DataField, ...]
    comment: str | None


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a project was read from, to say where a setting stands. It makes no two projects differ."""

    file: YamlFile = field(compare=False)
    project: "Project" = field(compare=False)


class TableConfig(TableSettings):
    """One table: what it is called, how it is created if it does not exist, where its rows come from."""

    _origin: Origin | None = PrivateAttr(default=None)
    _per_database: bool = PrivateAttr(default=False)
    _time_zone: str = PrivateAttr(default="UTC")

    identifier: str = Field(pattern=r"^\w+\.\w+$", description="database.table")
    columns: dict[str, TypeText] = Field(
        default={}, description="Column -> Paimon type; empty: the table exists already."
    )
    comments: dict[str, str] = Field(default={}, description="Column -> what it holds; for the columns given above.")
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Options = Field(default={}, description="Paimon's table options, used when the table is created.")
    landing: Landing | None = Field(default=None, description="Absent: someone else writes this table.")
    lineage: dict[str, dict[str, tuple[str, ...]]] = Field(
        default={}, description="Table this one is made from -> column here -> its columns there; {}: columns unknown."
    )
    found: SkipJsonSchema[InstanceOf[FoundTable] | None] = Field(default=None, exclude=True)

    @property
    def origin(self) -> Origin | None:
        """Where its settings stand; None: they come from no file."""
        return self._origin

    @property
    def zone(self) -> ZoneInfo:
        """Where days begin: as its project's expiry says; UTC where it is of none."""
        return ZoneInfo(self._time_zone)

    def kept(self, now: datetime) -> RetentionChoice:
        """What the expiry of its snapshots keeps."""
        policy = self.retention
        return RetentionChoice(policy.keep_at_most, policy.keep_at_least, policy.older_than(now, self.zone))

    def fleet_settings(self, now: datetime) -> FleetSettings:
        """By what work on it is planned: weights, prices and retention, as its project has them."""
        kept = self.kept(now)
        if self._origin is None:
            return FleetSettings(retention=lambda _: kept)
        return self._origin.project.fleet_settings(lambda _: kept)

    @property
    def grouped(self) -> bool:
        """Whether Dagster shows it as a partition of its database. A materialized table has conditions of its own."""
        return self._per_database and self.materialized is None

    @property
    def rules(self) -> Rules:
        """By what its checks judge."""
        checks, compaction = self.checks, self.compaction
        held = duration(checks.max_held) if checks.max_held else None
        triggers, conduct = compaction.triggers, compaction.conduct
        return Rules(
            checks.limits, held, checks.settled_by, triggers, conduct, compaction.automatic, self.health.targets
        )

    @property
    def settings(self) -> dict[str, Any]:
        """How it is kept, as JSON can hold it."""
        return self.model_dump(mode="json", include=set(TableSettings.model_fields))

    def with_settings_of(self, other: "TableConfig") -> "TableConfig":
        """The same table, kept as the other one is."""
        settings = {name: getattr(other, name) for name in TableSettings.model_fields}
        changed = self.model_copy(update={**settings, "description": other.description or self.description})
        changed._origin, changed._time_zone = other.origin, other._time_zone
        return changed

    def with_found(self, location: str, schema: TableSchema) -> "TableConfig":
        """With what the catalog holds of it: its keys and options, too, if this project does not create it."""
        found = FoundTable(location, tuple(schema.fields), schema.comment or None)
        if self.columns:
            return self.model_copy(update={"found": found})
        facts = {
            "found": found,
            "primary_keys": tuple(schema.primary_keys),
            "partition_keys": tuple(schema.partition_keys),
            "options": {**self.options, **schema.options},
        }
        return self.model_copy(update=facts)

    @model_validator(mode="before")
    @classmethod
    def keys_among_options(cls, given: Any) -> Any:
        """Keys that are written as options are keys."""
        options = given.get("options") if isinstance(given, Mapping) else None
        if not isinstance(options, Mapping) or not {PRIMARY_KEY, PARTITION} & set(options):
            return given
        rest, found = dict(options), {}
        for option, name in ((PRIMARY_KEY, "primary_keys"), (PARTITION, "partition_keys")):
            if isinstance(rest.get(option), str):
                try:
                    found[name] = keys_of(rest, option, given.get(name) or ())
                except SchemaError as error:
                    raise ValueError(error.found) from error
        return {**given, **found, "options": rest}

    @field_validator("options")
    @classmethod
    def options_are_options(cls, options: Options) -> Options:
        """The rule for all who set options; which kinds of tables there may be the catalog says."""
        of_kind = (table_options.TYPE.key, table_options.FILE_FORMAT.key)
        meant = as_meant(options, "tables.yaml")
        try:
            check_set({key: value for key, value in meant.items() if key not in of_kind}, {}, "tables.yaml")
        except PaimonError as error:
            raise ValueError(f"{error.found}. {error.fix}") from error
        return meant

    @model_validator(mode="after")
    def keys_are_columns(self) -> "TableConfig":
        for key in (*self.primary_keys, *self.partition_keys):
            if self.columns and key not in self.columns:
                raise ValueError(f"the key '{key}' is not among the columns")
        if self.lineage and self.landing:
            raise ValueError("lineage is for tables that others write; this one comes from its landing folder")
        for name in (*self.comments, *(name for columns in self.lineage.values() for name in columns)):
            if (self.columns or name in self.comments) and name not in self.columns:
                raise ValueError(f"'{name}' is not among the columns")
        return self

    @property
    def period_tags(self) -> TagPolicy | None:
        """The policy of tags by the clock; None where there is none."""
        return self.tag if self.tag and self.tag.cron else None

    @property
    def has_changelog(self) -> bool:
        return self.options.get("changelog-producer", "none") != "none"

    @property
    def writes_changelog(self) -> bool:
        """Whether a step of its own makes the changelog; with producer input the writers do."""
        return self.options.get("changelog-producer") in ("lookup", "full-compaction")

    @property
    def is_external(self) -> bool:
        """Whether someone else writes the table: then its asset shows what they commit."""
        return self.landing is None

    @property
    def materialized(self) -> Definition | None:
        """What defines it, where it is a materialized table whose definition can be read."""
        return None if self.landing or self.found is None else Definition.find(self.options)

    @property
    def may_expire_partitions(self) -> bool:
        """Whether its options ask for it; those of a table that exists already are not known here."""
        return not self.columns or bool(self.partition_keys and "partition.expiration-time" in self.options)

    @property
    def has_file_index(self) -> bool:
        return bool(self.index_columns.options({})) or any(
            key.startswith("file-index.") and key.endswith(".columns") for key in self.options
        )


def _checked_budget(given: dict[str, Any]) -> dict[str, Any]:
    budget_of(given)
    return given


def _checked_weights(given: dict[str, Any]) -> dict[str, Any]:
    weights_of(given)
    return given


class Fleet(Entry):
    """When the page over all tables is rewritten, once its schedule is switched on; and what work on all may take."""

    cron: CronText = "0 6 * * *"
    time_zone: ZoneName = Field(default="UTC", description="An IANA name.")
    budget: Annotated[dict[str, Any], AfterValidator(_checked_budget)] = Field(
        default={},
        description="seconds, bytes: of work in a period; per: hour, day, week; windows: 22:00-06:00; patience: 14 d.",
    )
    weights: Annotated[dict[str, Any], AfterValidator(_checked_weights)] = Field(
        default={}, description="What a gain is worth: files: 1, bytes: 8 of a GiB, runs: 1."
    )


def _checked_prices(given: dict[str, Any]) -> dict[str, Any]:
    prices_of(given)
    return given


class Radar(Entry):
    """How the sensor check_radar looks at tables that nobody commits to."""

    judge_again: DurationText = Field(
        default="5 min", description="Each table is checked again after this time at the latest."
    )

    @property
    def again_seconds(self) -> float:
        return duration(self.judge_again).total_seconds()


class Expiry(Entry):
    """When the daily expiry runs."""

    cron: CronText = "0 3 * * *"
    time_zone: ZoneName = Field(default="UTC", description="An IANA name: the zone of the schedule's days and hours.")


class Assets(Entry):
    """What is an asset in Dagster."""

    per: Literal["table", "database"] = Field(
        default="table", description="database: one asset for each, with its tables as partitions; for thousands."
    )


class EmptyBin(Entry):
    """When the bin is emptied, once its schedule is switched on; what goes, the policies `bin` of the tables say."""

    cron: CronText = "0 5 * * *"
    time_zone: ZoneName = Field(default="UTC", description="An IANA name.")


class SparkConfig(Entry):
    """Where the steps do their work. A run may set all of it again in the Launchpad."""

    engine: str = Field(default=EngineKind.AUTO.value, description=ENGINE_MEANS)
    master: str = Field(default=LOCAL_MASTER, description="Spark's master URL; local[*] uses this machine's cores.")
    remote: str | None = Field(default=None, description="A Spark Connect server, sc://host:port, instead of a master.")
    options: Options = Field(default={}, description="More Spark options; they override the project's.")
    jobs: dict[str, Options] = Field(default={}, description="Options of some jobs; they override `options`.")

    @model_validator(mode="after")
    def is_one_engine(self) -> "SparkConfig":
        try:
            _ = self.chosen
        except OptionError as error:
            raise ValueError(f"{error.found}. {error.fix}") from error
        return self

    @property
    def chosen(self) -> Engine:
        """What does the work of the steps."""
        return Engine.of_settings(self.engine, self.master, self.remote, "spark")

    @field_validator("jobs")
    @classmethod
    def are_known(cls, jobs: dict[str, Options]) -> dict[str, Options]:
        for name in jobs:
            if name not in SPARK_ACTIONS:
                raise ValueError(f"no job '{name}' uses Spark; name one of {', '.join(SPARK_ACTIONS)}")
        return jobs


class Project(Entry):
    """The whole of tables.yaml."""

    _file: YamlFile | None = PrivateAttr(default=None)

    warehouse: str = Field(
        description="Root path, relative to the folder of the file, or URI of the warehouse; its name at a REST server."
    )
    catalog: Options = Field(
        default={}, description="More of Paimon's catalog options; ${NAME} is read from the environment."
    )
    spark: SparkConfig = SparkConfig()
    expiry: Expiry = Expiry()
    empty_bin: EmptyBin = EmptyBin()
    fleet: Fleet = Fleet()
    costs: Annotated[dict[str, Any], AfterValidator(_checked_prices)] | None = Field(
        default=None, description="Prices: gb_month, million_requests, core_hour, and their currency."
    )
    radar: Radar = Radar()
    assets: Assets = Assets()
    alerts: Alerts = Alerts()
    history: Annotated[str, Field(pattern=r"^\w+$")] | None = Field(
        default=HISTORY_DATABASE,
        description="Database of the table `history`, which records every operation; null: no history.",
    )
    patterns: tuple[TablePattern, ...] = ()
    tables: tuple[TableConfig, ...] = ()

    @field_validator("tables")
    @classmethod
    def are_different(cls, tables: tuple[TableConfig, ...]) -> tuple[TableConfig, ...]:
        seen: dict[str, str] = {}
        for name in (table.identifier for table in tables):
            other = seen.setdefault(name.replace(".", "_"), name)
            if other != name:
                raise ValueError(f"'{other}' and '{name}' would have the same names in Dagster; leave one out")
        if len(seen) < len(tables):
            names = sorted(table.identifier for table in tables)
            twice = next(name for name, other in pairwise(names) if name == other)
            raise ValueError(f"the table '{twice}' has two entries")
        return tables

    @model_validator(mode="after")
    def is_about_something(self, info: ValidationInfo) -> "Project":
        if not (info.context or {}).get(_MAY_BE_EMPTY) and not self.patterns and not self.tables:
            raise ValueError("there are neither tables nor patterns")
        return self

    @property
    def path(self) -> Path | None:
        """The file that it was read from."""
        return None if self._file is None else self._file.path

    @property
    def prices(self) -> Prices | None:
        """Those of `costs`; None: none are set."""
        return None if self.costs is None else prices_of(self.costs)

    def fleet_settings(self, retention: Callable[[str], RetentionChoice]) -> FleetSettings:
        """By what work on all tables is planned. `retention`: of each table, by its name."""
        fleet = self.fleet
        budget = budget_of(fleet.budget, fleet.time_zone)
        return FleetSettings(budget, weights_of(fleet.weights), self.prices, retention)

    def table(self, identifier: str) -> TableConfig | None:
        """A table with what the patterns say of it; None: nothing is said of it.

        Patterns do not match tables in the database of the history.
        """
        described = next((table for table in self.tables if table.identifier == identifier), None)
        if described is not None:
            return self._merged(described)
        return next(self._found(self._matching([identifier])), None)

    def with_patterns(self, names: Sequence[str]) -> "Project":
        """Every table described here or found in the catalog under a pattern, with what the patterns say of it.

        Patterns do not match tables in the database of the history.
        """
        described = {table.identifier: table for table in self.tables}
        more = self._matching([name for name in names if name not in described])
        tables = (*(self._merged(table) for table in self.tables), *self._found(more))
        return self.model_copy(update={"tables": self.are_different(tables)})

    def _matching(self, names: Sequence[str]) -> Sequence[str]:
        of_users = [name for name in names if name.partition(".")[0] != self.history]
        return [name for name in of_users if any(pattern.matches(name) for pattern in self.patterns)]

    def _found(self, names: Sequence[str]) -> Iterator[TableConfig]:
        """Tables without an entry. Those that the same patterns match are alike: each kind of them is made once."""
        alike: dict[tuple[int, ...], TableConfig] = {}
        for name in names:
            kind = tuple(number for number, pattern in enumerate(self.patterns) if pattern.matches(name))
            if kind not in alike:
                alike[kind] = self._merged(TableConfig(identifier=name))
            yield alike[kind].model_copy(update={"identifier": name})

    def _merged(self, table: TableConfig) -> TableConfig:
        # What was merged before is an entry of no file.
        origin = table.origin or (None if self._file is None else Origin(self._file, self))
        merged = self._with_settings(table).model_copy()
        merged._origin = origin
        merged._per_database, merged._time_zone = self.assets.per == "database", self.expiry.time_zone
        return merged

    def _with_settings(self, table: TableConfig) -> TableConfig:
        matching = [pattern for pattern in self.patterns if pattern.matches(table.identifier)]
        if not matching:
            return table
        settings: dict[str, Any] = {}
        for pattern in matching:
            settings = _over(settings, pattern.model_dump(exclude_unset=True, exclude={"pattern", "without"}))
        return TableConfig.model_validate(_over(settings, table.model_dump(exclude_unset=True)))


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two sets of settings as one; what both say is said by `above`."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        merged[key] = _over(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return merged


def load_project(path: Path, folder: Path | None = None) -> Project:
    """Read tables.yaml; relative paths in it start at its folder, or at `folder`.

    Raises: OptionError, with the line of the mistake.
    """
    return rooted(parse_project(path), folder or path.parent)


def rooted(project: Project, folder: Path) -> Project:
    """The project with its relative paths starting at `folder`."""
    tables = tuple(
        table.model_copy(
            update={"landing": table.landing.model_copy(update={"path": path_from(folder, table.landing.path)})}
        )
        if table.landing
        else table
        for table in project.tables
    )
    warehouse = rooted_warehouse(folder, project.warehouse, project.catalog)
    return project.model_copy(update={"warehouse": warehouse, "tables": tables})


def parse_project(path: Path, *, may_be_empty: bool = False) -> Project:
    """tables.yaml as it is written. `may_be_empty`: it need not be about any table.

    Raises: OptionError, with the line of the mistake.
    """
    file = YamlFile.read(path)
    project = file.as_model(Project, {_MAY_BE_EMPTY: may_be_empty})
    project._file = file
    return project
