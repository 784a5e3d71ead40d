"""Does tables.yaml mean what its author wants? It is read, the warehouse is asked, and nothing is changed."""

import json
from collections.abc import Iterator
from pathlib import Path

from maintenance.errors import OptionError
from maintenance.monitor.readable import ReadFault
from paimon_maintenance.assets.project.config import FOLDER, Project, load_project
from paimon_maintenance.assets.project.effective import effective_settings
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import Discovery, survey
from paimon_maintenance.sensors.targets.trial import try_targets

_SHOWN = 20


def check(path: Path, *, defaults: bool = False, alerts: bool = False) -> int:
    """Print what a tables.yaml means for the warehouse it names.

    Args: `defaults`: also settings that nobody has set; `alerts`: a test alert goes to every target.
    Returns: 0 if nothing is wrong, else 1.
    """
    try:
        project = load_project(path, FOLDER)
    except OptionError as error:
        print(error)
        return 1
    catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog)
    print(f"{path}: warehouse {project.warehouse}")
    try:
        found = survey(project, catalog)
    except Exception as error:  # noqa: BLE001 - whatever it is, the warehouse cannot be reached
        fault = ReadFault.of(error)
        print(f"error: the warehouse cannot be listed: {fault} {fault.fix}")
        return 1
    for line in _lines(project, found, defaults=defaults):
        print(line)
    errors = _errors(found)
    for line in errors:
        print(f"error: {line}")
    unsent = try_targets(project) if alerts else 0
    return 1 if errors or unsent else 0


def _lines(project: Project, found: Discovery, *, defaults: bool) -> Iterator[str]:
    """What each pattern matches, and each table with its settings."""
    for pattern in project.patterns:
        matching = [table.identifier for table in found.project.tables if pattern.matches(table.identifier)]
        listed = ", ".join(matching[:_SHOWN]) + (f" and {len(matching) - _SHOWN} more" if matching[_SHOWN:] else "")
        yield f"pattern {pattern.pattern}: {len(matching)} tables{': ' if matching else ''}{listed}"
    for table in found.project.tables:
        there = table.found is not None or table.identifier in found.unreadable
        yield f"table {table.identifier}" + (" (to be created)" if table.columns and not there else "")
        for setting in effective_settings(project, table.identifier, defaults=defaults):
            yield f"  {setting.name} = {json.dumps(setting.value, default=str)}  ({setting.source})"


def _errors(found: Discovery) -> list[str]:
    """What is wrong, one line each."""
    said = [f"{finding.path}: {finding.found} {finding.fix}" for finding in found.findings]
    said += [f"{name} is left out: only letters, digits and _ make names in Dagster" for name in found.odd]
    return said + [f"{name} cannot be read: {error}" for name, error in found.unreadable.items()]
