"""Which settings hold for a table, and where each of them is said."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.project.config import Project, TableConfig, TablePattern, TableSettings
from maintenance.project.findings import Place

_NOT_SETTINGS = {"identifier", "pattern", "without", "found"}
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that holds. `name`: ``compaction.trigger``; `source`: where in tables.yaml it is said, or DEFAULT.

    `place`: the same as keys and positions from the root of the file; empty: nobody has said it.
    """

    name: str
    value: Any
    source: str
    place: Place = ()


def effective_settings(project: Project, identifier: str, *, defaults: bool = False) -> list[Setting]:
    """The settings of a table, by name. What is said later wins, as in `Project.with_patterns`.

    Args: `project`: as tables.yaml describes it; `defaults`: also what nobody has set.
    """
    settings: dict[str, Setting] = {}
    if defaults:
        _add(settings, TableConfig(identifier=identifier), DEFAULT, (), exclude_unset=False)
    for place, entry in entries_of(project, identifier):
        said = ".".join(map(str, place))
        source = f"{said}, {entry.pattern}" if isinstance(entry, TablePattern) else said
        _add(settings, entry, source, place)
    return [settings[name] for name in sorted(settings)]


def entries_of(project: Project, identifier: str) -> Iterator[tuple[Place, TableSettings]]:
    """What the file says of a table, with where it stands: each matching pattern, then the table's own entry."""
    for number, pattern in enumerate(project.patterns):
        if pattern.matches(identifier):
            yield ("patterns", number), pattern
    for number, table in enumerate(project.tables):
        if table.identifier == identifier:
            yield ("tables", number), table


def _add(
    settings: dict[str, Setting], entry: TableSettings, source: str, place: Place, *, exclude_unset: bool = True
) -> None:
    """Put what an entry says over what was said before."""
    for name, value in _flat(entry.model_dump(exclude_unset=exclude_unset, exclude=_NOT_SETTINGS)):
        parts = name.split(".")
        above = {".".join(parts[:length]) for length in range(1, len(parts))}
        for other in [one for one in settings if one in above or one.startswith(f"{name}.")]:
            del settings[other]
        settings[name] = Setting(name, value, source, (*place, *parts) if place else ())


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def said_of(config: TableConfig, part: str) -> str:
    """What the file says of a part of a table's settings, and where: ``retention.keep_at_least = 3 (tables.yaml, line
    12)``. Empty where it says nothing of it, or nobody knows the file. `part`: ``retention``.
    """
    origin = config.origin
    if origin is None:
        return ""
    found = effective_settings(origin.project, config.identifier)
    chosen = [one for one in found if one.name == part or one.name.startswith(f"{part}.")]
    folder = f"{origin.file.path.parent}/"
    return "; ".join(
        f"{one.name} = {one.value} ({origin.file.where(one.place).removeprefix(folder)})" for one in chosen
    )
