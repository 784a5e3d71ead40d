"""tables.yaml: the tables this project maintains, read into frozen models.

A mistake in the file is told with its line, as an OptionError; an unknown or repeated key is a mistake.
"""

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from maintenance.errors import OptionError, PaimonError
from maintenance.monitor.backlog import BacklogLimits
from maintenance.options.option import duration
from maintenance.types.data_type import parse_type

FOLDER = Path(__file__).resolve().parent.parent


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
    """YAML's true, 2 and 0.1 in the form in which Paimon and Spark take options: text."""
    if not isinstance(options, dict):
        return options
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}


Options = Annotated[dict[str, str], BeforeValidator(_texts)]
TypeText = Annotated[str, AfterValidator(_type_text)]
DurationText = Annotated[str, AfterValidator(_duration_text)]


class Entry(BaseModel, frozen=True, extra="forbid"):
    """A part of tables.yaml: read once, never changed, and only with the keys that are known."""


class Landing(Entry):
    """A folder into which a feed delivers micro-batches, one Parquet file each.

    A file is named ``<delivery>-batch-<number>.parquet``. Files are taken by delivery; the batch number is the commit
    identifier, so that a batch which is delivered again is not committed again.
    """

    path: str = Field(description="Folder, relative to the project's, or a URI.")
    commit_user: str = Field(description="Stable name of this feed: with the batch number it identifies a commit.")
    row_kind_column: str | None = Field(default=None, description="Column with +I, -U, +U or -D; absent: all are +I.")


class TagPolicy(Entry):
    """The tag that is created before each expiry, so that a known state outlives it."""

    name: str = Field(default="{date}", description="{date} is today in the schedule's time zone, {snapshot} the id.")
    time_retained: DurationText = Field(default="90 d", description="How long the tag lives, as Paimon writes it.")

    @property
    def lifetime(self) -> timedelta:
        return duration(self.time_retained)


class ChecksPolicy(Entry):
    """When the checks of a table fail. What is left empty has the engine's own limit."""

    max_age: DurationText | None = Field(default=None, description="Of the newest snapshot; absent: any age is well.")
    max_level0_files: int | None = Field(default=None, ge=1, description="In one bucket; absent: twice the trigger.")
    max_small_share: float = Field(default=0.8, ge=0, le=1, description="Of all files, once there are 50.")
    max_changelog_lag: int = Field(default=20, ge=0, description="Commits that no changelog has yet.")
    max_held: DurationText | None = Field(
        default=None, description="How old a state may be that a consumer or tag holds; absent: retention plus a week."
    )

    @property
    def limits(self) -> BacklogLimits:
        return BacklogLimits(
            max_age=duration(self.max_age) if self.max_age else None,
            max_level0_files=self.max_level0_files,
            max_small_share=self.max_small_share,
            max_changelog_lag=self.max_changelog_lag,
        )


class Webhook(Entry):
    """Alerts as an HTTP POST. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["webhook"]
    url: str
    format: Literal["json", "slack"] = Field(default="json", description="Generic JSON, or Slack's blocks.")


class Email(Entry):
    """Alerts by e-mail. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["email"]
    host: str
    port: int = 25
    sender: str
    to: tuple[str, ...]
    user: str | None = None
    password: str | None = None
    starttls: bool = False


class Alerts(Entry):
    """Who is told of failed runs and checks: once per fault, and again when it is over."""

    url: str = Field(default="http://localhost:3000", description="Where Dagster's web server is, for links.")
    targets: tuple[Annotated[Webhook | Email, Field(discriminator="kind")], ...] = ()


class TableConfig(Entry):
    """One table: what it is called, how it is created if it does not exist, where its rows come from."""

    identifier: str = Field(pattern=r"^\w+\.\w+$", description="database.table")
    description: str = ""
    owners: tuple[str, ...] = Field(default=(), description="E-mail addresses or team:<name>, as Dagster wants them.")
    columns: dict[str, TypeText] = Field(
        default={}, description="Column -> Paimon type; empty: the table exists already."
    )
    primary_keys: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Options = Field(default={}, description="Paimon's table options, used when the table is created.")
    landing: Landing | None = Field(default=None, description="Absent: someone else writes this table.")
    tag: TagPolicy = TagPolicy()
    checks: ChecksPolicy = ChecksPolicy()

    @model_validator(mode="after")
    def keys_are_columns(self) -> "TableConfig":
        for key in (*self.primary_keys, *self.partition_keys):
            if self.columns and key not in self.columns:
                raise ValueError(f"the key '{key}' is not among the columns")
        return self

    @property
    def has_changelog(self) -> bool:
        return self.options.get("changelog-producer", "none") != "none"

    @property
    def writes_changelog(self) -> bool:
        """Whether a step of its own makes the changelog; with producer input the writers do."""
        return self.options.get("changelog-producer") in ("lookup", "full-compaction")

    @property
    def has_file_index(self) -> bool:
        return any(key.startswith("file-index.") and key.endswith(".columns") for key in self.options)


class Expiry(Entry):
    """When the daily expiry runs."""

    cron: str = "0 3 * * *"
    time_zone: str = Field(default="UTC", description="An IANA name; days and hours of the schedule are counted in it.")

    @field_validator("time_zone")
    @classmethod
    def is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"'{name}' is not a time zone") from None
        return name


class SparkConfig(Entry):
    """Where the steps do their work. A run may set all of it anew in the Launchpad."""

    master: str = Field(default="local[*]", description="Spark's master URL; local[*] uses this machine's cores.")
    remote: str | None = Field(default=None, description="A Spark Connect server, sc://host:port, instead of a master.")
    options: Options = Field(default={}, description="More of Spark's options; they win over the project's.")


class Project(Entry):
    """The whole of tables.yaml."""

    warehouse: str = Field(description="Root path, relative to the project's folder, or URI of the warehouse.")
    catalog: Options = Field(default={}, description="More of Paimon's catalog options.")
    spark: SparkConfig = SparkConfig()
    expiry: Expiry = Expiry()
    alerts: Alerts = Alerts()
    tables: tuple[TableConfig, ...]

    @field_validator("tables")
    @classmethod
    def are_different(cls, tables: tuple[TableConfig, ...]) -> tuple[TableConfig, ...]:
        names = [table.identifier for table in tables]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the table '{name}' is described twice")
        return tables


def project_of_environment() -> Project:
    """The tables to maintain: those of PAIMON_TABLES, a file like demo/tables.yaml, or else the example's."""
    return load_project(Path(os.environ.get("PAIMON_TABLES") or FOLDER / "demo" / "tables.yaml"), FOLDER)


def load_project(path: Path, folder: Path) -> Project:
    """Read tables.yaml; relative paths in it start at `folder`. Raises OptionError, with the line of the mistake."""
    project = parse_project(path)
    tables = tuple(
        table.model_copy(
            update={"landing": table.landing.model_copy(update={"path": _from(folder, table.landing.path)})}
        )
        if table.landing
        else table
        for table in project.tables
    )
    return project.model_copy(update={"warehouse": _from(folder, project.warehouse), "tables": tables})


def _from(folder: Path, path: str) -> str:
    return path if "://" in path else str(folder.resolve() / path)


def parse_project(path: Path) -> Project:
    """tables.yaml as it is written. Raises OptionError, with the line of the mistake."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except FileNotFoundError as error:
        raise OptionError("the file does not exist", str(path), "Write it, or name another one.") from error
    except yaml.MarkedYAMLError as error:
        raise _mistake(path, error.problem_mark, f"this is not YAML: {error.problem}") from error
    if root is None:
        raise OptionError("the file is empty", str(path), "Describe a warehouse and its tables in it.")
    _forbid_repeated_keys(root, path)
    try:
        return Project.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        mark = _node_at(root, first["loc"]).start_mark
        place = ".".join(str(part) for part in first["loc"])
        raise _mistake(path, mark, f"{place}: {first['msg']}" if place else first["msg"]) from error


def _mistake(path: Path, mark: yaml.Mark | None, found: str) -> OptionError:
    where = f"{path}, line {mark.line + 1}" if mark else str(path)
    return OptionError(found, where, "Correct this line.")


def _forbid_repeated_keys(node: yaml.Node, path: Path) -> None:
    """YAML lets the last of several equal keys win without a word: a setting would be lost."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _forbid_repeated_keys(child, path)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if key.value in seen:
            raise _mistake(path, key.start_mark, f"the key '{key.value}' stands here a second time")
        seen.add(key.value)
        _forbid_repeated_keys(value, path)


def _node_at(node: yaml.Node, location: Sequence[int | str]) -> yaml.Node:
    """Where to point for a pydantic location: the value if it is a scalar, else its key, or what encloses it."""
    shown = node
    for part in location:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            shown = node = node.value[part]
            continue
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        entry = next(((key, value) for key, value in entries if key.value == str(part)), None)
        if entry is None:
            break
        key, node = entry
        shown = node if isinstance(node, yaml.ScalarNode) else key
    return shown
