"""The retention of a table as a ``tables.yaml`` says it, so that a forecast goes by what the expiry in Dagster goes by.

What is said later wins: each matching pattern in turn, then the table's own entry.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from maintenance.cli.tables_file import content_of
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


def retention_of(path: Path, identifier: str) -> DescribedRetention:
    """What the file says of a table. Raises: OptionError: the file cannot be read."""
    content, lines = content_of(path), _Lines(path)
    found = DescribedRetention(zone=str((content.get("expiry") or {}).get("time_zone") or "UTC"))
    for key, number, entry in _entries(content, identifier):
        retention = entry.get("retention")
        if not isinstance(retention, Mapping):
            continue
        for name, value in retention.items():
            found.values[str(name)] = value
            found.lines[str(name)] = lines.of(key, number, "retention", str(name))
    return found


def _entries(content: Mapping[str, Any], identifier: str) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    for number, entry in enumerate(content.get("patterns") or ()):
        excepted = any(fnmatchcase(identifier, str(no)) for no in entry.get("without") or ())
        if fnmatchcase(identifier, str(entry.get("pattern"))) and not excepted:
            yield "patterns", number, entry
    for number, entry in enumerate(content.get("tables") or ()):
        if entry.get("identifier") == identifier:
            yield "tables", number, entry


class _Lines:
    """Where the parts of a YAML file stand."""

    def __init__(self, path: Path) -> None:
        import yaml

        self._root: Any = yaml.compose(path.read_text(encoding="utf-8-sig"), yaml.SafeLoader)

    def of(self, *place: str | int) -> int:
        """The line of a key, from 1; of the nearest part around it where it cannot be found."""
        node, line = self._root, self._root.start_mark.line
        for part in place:
            if isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line
                continue
            pair = next((pair for pair in node.value if pair[0].value == part), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line, pair[1]
        return int(line) + 1
