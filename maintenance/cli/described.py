"""What a ``tables.yaml`` says of a table: its owners, by what it is judged, its writers and its retention.

What is said later wins: each matching pattern in turn, then the table's own entry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from maintenance.cli.tables_file import content_of, is_about, node_at, option_text
from maintenance.errors import OptionError
from maintenance.monitor.backlog import BacklogLimits
from maintenance.monitor.health import Rules
from maintenance.monitor.score import checked_targets
from maintenance.monitor.settled import SettledBy
from maintenance.monitor.triggers import Triggers
from maintenance.operations.expiry.rules import RetentionChoice, retained_since
from maintenance.operations.fleet.settings import FleetSettings, budget_of, prices_of, weights_of
from maintenance.operations.history import HISTORY_DATABASE
from maintenance.options.option import duration
from maintenance.options.own import BESIDE_OTHER_COMPACTORS, COMPACTION_PROOF

_LIMITS = ("max_age", "max_level0_files", "max_small_share", "max_changelog_lag", "max_invisible")
_TIMES = ("max_age", "max_invisible", "max_held", "settled_after")
_SETTLED = {"settled_commits": "commits", "settled_after": "time"}
_TRIGGERED = ("trigger", "level0_files", "small_files", "deleted_share", "changelog_lag")
_TRIGGERS = {"trigger": "sorted_runs"}
_CONDUCT = {"proof": COMPACTION_PROOF.key, "beside_other_compactors": BESIDE_OTHER_COMPACTORS.key}
_COUNTS = {"keep_at_most": "retain_max", "keep_at_least": "retain_min"}


@dataclass(slots=True)
class DescribedRetention:
    """`values`: of `retention`, by name; `lines`: of the file, where each is said; `zone`: where days begin."""

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    zone: str = "UTC"

    def text(self, path: Path) -> str:
        """``retention.keep_at_least = 3 (tables.yaml, line 12)``; empty where nothing is said."""
        said = (f"retention.{name} = {value} ({path.name}, line {self.lines[name]})" for name, value in self._set())
        return "; ".join(said)

    def arguments(self, now: datetime) -> dict[str, Any]:
        """The same as what `expire_snapshots` and `forecast` take. Raises: ValueError: a duration is none."""
        found = {_COUNTS[name]: int(value) for name, value in self._set() if name in _COUNTS}
        retained = self.values.get("time_retained")
        if retained is None:
            return found
        zone = ZoneInfo(self.values.get("time_zone") or self.zone) if self.values.get("full_days") else None
        return {**found, "older_than": retained_since(now, duration(str(retained)), zone)}

    def _set(self) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name, value in self.values.items() if value is not None)


@dataclass(frozen=True, slots=True)
class Described:
    """A tables.yaml. `root`: its nodes, which know their lines."""

    content: Mapping[str, Any]
    root: Any

    @classmethod
    def read(cls, path: Path) -> "Described":
        """Raises: OptionError: the file cannot be read."""
        content = content_of(path)
        import yaml

        return cls(content, yaml.compose(path.read_text(encoding="utf-8-sig"), yaml.SafeLoader))

    def retention(self, identifier: str) -> DescribedRetention:
        """What the file says of the retention of a table."""
        found = DescribedRetention(zone=str((self.content.get("expiry") or {}).get("time_zone") or "UTC"))
        for place, entry in self._entries(identifier):
            retention = entry.get("retention")
            if not isinstance(retention, Mapping):
                continue
            for name, value in retention.items():
                found.values[str(name)] = value
                found.lines[str(name)] = node_at(self.root, (*place, "retention", str(name))).start_mark.line + 1
        return found

    def rules(self, identifier: str) -> Rules:
        """By what a table is judged. Raises: OptionError: a value is none."""
        checks, compaction = self._said(identifier, "checks"), self._said(identifier, "compaction")
        health = self._said(identifier, "health")
        triggers = {_TRIGGERS.get(name, name): value for name, value in compaction.items() if name in _TRIGGERED}
        try:
            return Rules(
                BacklogLimits(**{name: _limit(name, value) for name, value in checks.items() if name in _LIMITS}),
                _limit("max_held", checks["max_held"]) if "max_held" in checks else None,
                SettledBy(**{new: _limit(old, checks[old]) for old, new in _SETTLED.items() if old in checks}),
                Triggers(**triggers),
                {key: option_text(compaction[name]) for name, key in _CONDUCT.items() if name in compaction},
                any(self._entries(identifier)) and bool(compaction.get("automatic", True)),
                checked_targets(dict(health.get("targets") or {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            fix = "Run paimon-maintenance check: it names the line."
            raise OptionError(f"the limits of {identifier} cannot be read: {error}", "tables.yaml", fix) from error

    def writers(self, identifier: str) -> Mapping[str, str]:
        """The job behind each commit user or pattern of one, as far as it is said."""
        return {str(user): str(job) for user, job in self._said(identifier, "writers").items()}

    @property
    def history(self) -> str:
        """The database of the history."""
        return str(self.content.get("history") or HISTORY_DATABASE)

    def fleet(self, now: datetime) -> FleetSettings:
        """What the file says of the work on all tables. Raises: ValueError, TypeError: it is not right."""
        said, prices = self.content.get("fleet") or {}, self.content.get("costs")
        zone = str(said.get("time_zone") or "UTC")

        def retention(identifier: str) -> RetentionChoice:
            return RetentionChoice(**self.retention(identifier).arguments(now))

        return FleetSettings(
            budget_of(said.get("budget") or {}, zone),
            weights_of(said.get("weights") or {}),
            None if prices is None else prices_of(prices),
            retention,
        )

    def maintained(self) -> Sequence[str]:
        """Names of the tables that have an entry of their own, except those that a first run creates."""
        entries = self.content.get("tables") or ()
        return [str(entry.get("identifier")) for entry in entries if not entry.get("columns")]

    def owners(self, identifier: str) -> Sequence[str]:
        """Whose table it is."""
        said = [entry["owners"] for _, entry in self._entries(identifier) if entry.get("owners")]
        return [str(owner) for owner in said[-1]] if said and isinstance(said[-1], list) else []

    def _said(self, identifier: str, section: str) -> Mapping[str, Any]:
        """What is said last of each setting of a section."""
        said = [entry[section] for _, entry in self._entries(identifier) if isinstance(entry.get(section), Mapping)]
        return {str(name): value for each in said for name, value in each.items() if value is not None}

    def _entries(self, identifier: str) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
        """What is said of a table, with where it stands."""
        for number, entry in enumerate(self.content.get("patterns") or ()):
            if is_about(identifier, str(entry.get("pattern")), map(str, entry.get("without") or ())):
                yield ("patterns", number), entry
        for number, entry in enumerate(self.content.get("tables") or ()):
            if entry.get("identifier") == identifier:
                yield ("tables", number), entry


def _limit(name: str, value: Any) -> Any:
    """A limit as the engine takes it. Raises: ValueError: it is no duration, where it must be one."""
    return duration(str(value)) if name in _TIMES else value
