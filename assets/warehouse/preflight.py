"""What would go wrong with a tables.yaml, looked for before anything runs: all of it, and nothing is changed."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from maintenance.amounts import number_of
from maintenance.metadata.expired import is_held
from maintenance.monitor.readable import ReadFault
from maintenance.options.environment import variables_of
from maintenance.project.config import Project, TableConfig, TableSettings
from maintenance.project.effective import entries_of
from maintenance.project.findings import Finding, Place
from maintenance.table.table import Table
from maintenance.threads import map_in_threads
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import spark_of
from paimon_maintenance.assets.warehouse.discovery import Discovery, survey

_READERS = 32
_READS_VARIABLES = ("catalog", "alerts")
_FIX = "Run the job fsck on the table: it names all that is broken, and a snapshot to go back to."


def unset_variables(content: Any, place: Place = ()) -> Iterator[Finding]:
    """Environment variables that the file names and nobody has set. `content`: the file as plain values."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from unset_variables(value, (*place, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from unset_variables(value, (*place, number))
    elif isinstance(content, str) and not {*place}.isdisjoint(_READS_VARIABLES):
        for name in variables_of(content):
            if name not in os.environ:
                yield Finding(place, f"the environment variable {name} is not set", f"Set {name} where Dagster runs.")


def warehouse_problems(project: Project, catalog: PaimonCatalog) -> tuple[Discovery | None, list[Finding]]:
    """What the warehouse holds, None if it cannot be listed; and what is wrong with it and with the feeds."""
    try:
        found = survey(project, catalog)
    except Exception as error:  # noqa: BLE001 - whatever it is, the warehouse cannot be reached
        fault = ReadFault.of(error)
        return None, [Finding(("warehouse",), f"the warehouse cannot be listed: {fault}", fault.fix)]
    problems = [*found.findings]
    for name in found.odd:
        problem = f"{name} is left out: only letters, digits and _ make names in Dagster"
        problems.append(Finding(place_of(project, name), problem, "Rename the table to see it in Dagster.", name))
    for name, unreadable in found.unreadable.items():
        fault = ReadFault.of(unreadable)
        problems.append(Finding(place_of(project, name), f"{name} cannot be read: {fault}", fault.fix, name))
    problems += _missing_columns(project, found.project.tables)
    readable = [table for table in found.project.tables if table.found is not None]
    problems += _together(map_in_threads(lambda table: _newest(project, catalog, table), readable, _READERS))
    problems += _together(
        map_in_threads(lambda table: _landing(project, catalog, table), found.project.tables, _READERS)
    )
    return found, problems


def spark_problems(project: Project) -> list[Finding]:
    """Whether the engine of the steps starts and can run a task."""
    try:
        session = spark_of(project).session()
        if session is not None:
            # Importing Spark takes seconds that only this needs.
            from maintenance.spark.workers import check_workers

            check_workers(session)
    except Exception as error:  # noqa: BLE001 - whatever it is, no step could work
        fault = ReadFault.of(error)
        return [Finding(("spark",), f"no step can use Spark: {fault}", fault.fix)]
    return []


def place_of(project: Project, identifier: str) -> Place:
    """Where the file speaks of a table: its own entry, or else the last pattern that matches it."""
    said = [
        (*place, "identifier" if place[0] == "tables" else "pattern") for place, _ in entries_of(project, identifier)
    ]
    return said[-1] if said else ("warehouse",)


def _together(parts: Iterable[Iterable[Finding]]) -> list[Finding]:
    return [finding for part in parts for finding in part]


def _missing_columns(project: Project, tables: Iterable[TableConfig]) -> Iterator[Finding]:
    """Columns that settings name and the tables do not have."""
    for table in tables:
        columns = {field.name for field in table.found.fields} if table.found else {*table.columns}
        if not columns:
            continue  # it does not exist, which is said already
        for place, entry in entries_of(project, table.identifier):
            for where, name in _named_columns(entry):
                if name not in columns:
                    problem = f"{table.identifier} has no column '{name}'"
                    fix = f"Its columns are {', '.join(sorted(columns))}."
                    yield Finding((*place, *where), problem, fix, table.identifier)


def _named_columns(entry: TableSettings) -> Iterator[tuple[Place, str]]:
    for kind, columns in entry.index_columns.model_dump().items():
        for number, name in enumerate(columns):
            yield ("index_columns", kind, number), name
    if isinstance(entry, TableConfig):
        for source, columns in entry.lineage.items():
            for name in columns:
                yield ("lineage", source, name), name


def _newest(project: Project, catalog: PaimonCatalog, config: TableConfig) -> list[Finding]:
    """What is wrong with the newest snapshot: its manifests are opened by their sizes, and not read."""
    name = config.identifier

    def said(found: str, fix: str) -> Finding:
        return Finding(place_of(project, name), f"{name}: {found}", fix, name)

    try:
        table = catalog.get_table(name)
        snapshot = table.latest_snapshot()
        if snapshot is None:
            return []
        manifests = table.manifests.data_manifests(snapshot)
        found = [
            said(f"snapshot {snapshot.id} needs {table.paths.manifest(each.file_name)}, which {problem}", _FIX)
            for each in manifests
            if (problem := _size_problem(table, each.file_name, each.file_size))
        ]
        # What an expired snapshot needed may be gone.
        return found if not found or is_held(table.file_io, table.paths, snapshot.id) else []
    except Exception as error:  # noqa: BLE001 - told like any other fault of the table
        fault = ReadFault.of(error)
        return [said(f"the newest snapshot cannot be read: {fault}", fault.fix)]


def _size_problem(table: Table, name: str, expected: int) -> str | None:
    size = table.file_io.size(table.paths.manifest(name))
    if size is None:
        return "is missing"
    return None if size == expected else f"has {number_of(size, 'byte')} instead of {expected:,}"


def _landing(project: Project, catalog: PaimonCatalog, config: TableConfig) -> list[Finding]:
    """Whether the folder that the rows come from can be listed; it may come into being with the first file."""
    if config.landing is None:
        return []
    try:
        catalog.file_io().list_files(config.landing.path)
    except Exception as error:  # noqa: BLE001 - told with its place
        fault = ReadFault.of(error)
        place = place_of(project, config.identifier)
        where = (*place[:2], "landing", "path") if place[0] == "tables" else place
        return [Finding(where, f"the landing folder cannot be listed: {fault}", fault.fix, config.identifier)]
    return []
