"""What a ``tables.yaml`` says of a table: its owners, how old its rows may be, and its retention.

What is said later wins: each matching pattern in turn, then the table's own entry.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from maintenance.cli.tables_file import content_of, is_about, node_at
from maintenance.operations.expiry.rules import retained_since
from maintenance.options.option import duration

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

    def max_age(self, identifier: str) -> timedelta | None:
        """How old the newest rows of a table may be. Raises: ValueError: what the file says is no duration."""
        checks = [entry["checks"] for _, entry in self._entries(identifier) if isinstance(entry.get("checks"), Mapping)]
        said = [each["max_age"] for each in checks if each.get("max_age")]
        return duration(str(said[-1])) if said else None

    def maintained(self) -> Sequence[str]:
        """Names of the tables that have an entry of their own, except those that a first run creates."""
        entries = self.content.get("tables") or ()
        return [str(entry.get("identifier")) for entry in entries if not entry.get("columns")]

    def owners(self, identifier: str) -> Sequence[str]:
        """Whose table it is."""
        said = [entry["owners"] for _, entry in self._entries(identifier) if entry.get("owners")]
        return [str(owner) for owner in said[-1]] if said and isinstance(said[-1], list) else []

    def _entries(self, identifier: str) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
        """What is said of a table, with where it stands."""
        for number, entry in enumerate(self.content.get("patterns") or ()):
            if is_about(identifier, str(entry.get("pattern")), map(str, entry.get("without") or ())):
                yield ("patterns", number), entry
        for number, entry in enumerate(self.content.get("tables") or ()):
            if entry.get("identifier") == identifier:
                yield ("tables", number), entry
