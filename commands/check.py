"""Does tables.yaml mean what its author wants? It is read, the warehouse is asked, and nothing is changed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.project.config import Project, rooted
from maintenance.project.effective import effective_settings
from maintenance.project.findings import Finding
from maintenance.project.yaml_file import YamlFile
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import Discovery
from paimon_maintenance.assets.warehouse.preflight import spark_problems, unset_variables, warehouse_problems
from paimon_maintenance.sensors.targets.trial import try_targets

_SHOWN = 20


def check(path: Path, *, defaults: bool = False, alerts: bool = False, spark: bool = False) -> int:
    """Print what a tables.yaml means for the warehouse it names, and each problem in a line of its own.

    Args: `defaults`: also settings that nobody has set; `alerts`: a test alert goes to every target; `spark`: the
        engine is started, and runs a task.
    Returns: 0 if nothing is wrong, else 1.
    """
    try:
        file = YamlFile.read(path)
    except OptionError as error:
        print(f"{error.where}: {error.found}. {error.fix}")
        return _ended(1)
    sound = file.sound_part(Project)
    count = _told(file, [*sound.mistakes, *unset_variables(file.content)])
    if sound.model is None:
        return _ended(count)
    project = rooted(sound.model, path.parent)
    catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog)
    print(f"{path}: warehouse {project.warehouse}")
    found, problems = warehouse_problems(project, catalog)
    if found is not None:
        for line in _lines(project, found, defaults=defaults):
            print(line)
    problems += spark_problems(project) if spark else []
    count += _told(file, [sound.in_file(problem) for problem in problems])
    unsent = try_targets(project) if alerts else 0
    return _ended(count + unsent)


def _told(file: YamlFile, problems: Sequence[Finding]) -> int:
    """Print them, each with its line. Returns how many there are."""
    for problem in problems:
        print(
            f"{file.where(problem.place)}: {problem.path}: {problem.found.rstrip('.')}. {problem.fix}".replace(
                "\n", " "
            )
        )
    return len(problems)


def _ended(count: int) -> int:
    print(number_of(count, "problem"))
    return 1 if count else 0


def _lines(project: Project, found: Discovery, *, defaults: bool) -> Iterator[str]:
    """What each pattern matches, and each table with its settings."""
    existing = {*found.names} | {table.identifier for table in found.project.tables if table.found is not None}
    for pattern in project.patterns:
        matching = [table.identifier for table in found.project.tables if pattern.matches(table.identifier)]
        found_here = [name for name in matching if name in existing]
        later = [t.identifier for t in found.project.tables if t.columns and t.identifier in {*matching} - existing]
        listed = ", ".join(found_here[:_SHOWN])
        listed += f" and {len(found_here) - _SHOWN} more" if found_here[_SHOWN:] else ""
        counted = number_of(len(found_here), "table")
        created = f"; to be created: {', '.join(later)}" if later else ""
        yield f"pattern {pattern.pattern}: {counted}{': ' if found_here else ''}{listed}{created}"
    for table in found.project.tables:
        there = table.identifier in existing or table.identifier in found.unreadable
        if not there and not table.columns:
            continue  # it does not exist, and is told as a problem
        yield f"table {table.identifier}" + ("" if there else " (to be created)")
        for setting in effective_settings(project, table.identifier, defaults=defaults):
            yield f"  {setting.name} = {json.dumps(setting.value, default=str)}  ({setting.source})"
