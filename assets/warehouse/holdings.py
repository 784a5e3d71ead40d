"""What the warehouse holds of what tables.yaml names.

A wrong path, a pattern that matches nothing and a misspelt table cannot be seen in the file itself. They are
found by a pure function, so that loading, a check and a console can each report them in their way.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from maintenance.project.config import Project, TablePattern
from maintenance.project.findings import Finding
from maintenance.spelling import nearest, suggestion
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a warehouse holds.

    Attributes:
        exists: whether the warehouse itself is there; `neighbours`: folders next to it, where it is not.
        tables: names by database, of the databases that were listed.
    """

    warehouse: str
    exists: bool
    databases: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, ...]] | None = None
    neighbours: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """The listed tables, as database.table."""
        return [f"{database}.{table}" for database, tables in (self.tables or {}).items() for table in tables]


def read_holdings(catalog: PaimonCatalog, names_or_databases: Iterable[str]) -> Holdings:
    """List the warehouse. `names_or_databases`: patterns of the databases whose tables are listed, too."""
    opened, warehouse = catalog.open(), catalog.warehouse.rstrip("/")
    databases = tuple(opened.list_databases())
    if not databases and not opened.warehouse_exists():
        parent = warehouse.rpartition("/")[0]
        neighbours = [f"{parent}/{name}" for name in catalog.file_io().list_folders(parent)] if parent else []
        return Holdings(warehouse, exists=False, neighbours=tuple(neighbours))
    parts = set(names_or_databases)
    chosen = [name for name in databases if any(fnmatchcase(name, part) for part in parts)]
    tables = {database: tuple(opened.list_tables(database)) for database in chosen}
    return Holdings(warehouse, exists=True, databases=databases, tables=tables)


def with_databases_of(holdings: Holdings, catalog: PaimonCatalog, identifiers: Iterable[str]) -> Holdings:
    """The same, with the tables in the databases of these identifiers listed, too."""
    named = {identifier.partition(".")[0] for identifier in identifiers}
    listed = holdings.tables or {}
    unlisted = [name for name in holdings.databases if name in named and name not in listed]
    opened = catalog.open()
    return replace(holdings, tables={**listed, **{name: tuple(opened.list_tables(name)) for name in unlisted}})


def catalog_findings(project: Project, holdings: Holdings, missing: Collection[str] = ()) -> list[Finding]:
    """What the project names and the warehouse does not hold.

    A table that is described with its columns is created here, so it may be missing, and with it the warehouse. Of a
    pattern nothing is said unless the databases that it speaks of were listed.

    Args: `missing`: tables of the project that do not exist, their databases listed in `holdings`.
    """
    created = [table.identifier for table in project.tables if table.columns]
    if not holdings.exists:
        return [] if created else [_no_warehouse(holdings)]
    findings = []
    names = [*created, *holdings.names()]
    for number, pattern in enumerate(project.patterns):
        if _is_listed(pattern, holdings) and not any(pattern.matches(name) for name in names):
            findings.append(_no_match(number, pattern, holdings))
    for number, table in enumerate(project.tables):
        if table.identifier in missing and not table.columns:
            findings.append(no_table(table.identifier, holdings, ("tables", number, "identifier")))
    return findings


def _is_listed(pattern: TablePattern, holdings: Holdings) -> bool:
    """Whether the tables of each database that the pattern speaks of are known."""
    return all(name in (holdings.tables or {}) for name in holdings.databases if fnmatchcase(name, pattern.database))


def no_table(identifier: str, holdings: Holdings, place: tuple[str | int, ...] = ()) -> Finding:
    """The finding that a table does not exist, with the name that may be meant."""
    database, _, name = identifier.partition(".")
    if database not in holdings.databases:
        existing = _listed(holdings.databases, "It has no database.", "Databases: ")
        meant = nearest(database, holdings.databases)
        guess = f" Did you mean '{meant}.{name}'?" if meant else ""
        problem = (
            f"table '{identifier}' does not exist: {holdings.warehouse} has no database '{database}'.{guess} {existing}"
        )
    else:
        tables = [f"{database}.{table}" for table in (holdings.tables or {}).get(database, ())]
        existing = _listed(tables, f"Database '{database}' is empty.", "Tables there: ")
        problem = f"table '{identifier}' does not exist.{suggestion(identifier, tables) or f' {existing}'}"
    fix = "Correct its name in tables.yaml, or remove it; if it was dropped on purpose, reload the code location."
    return Finding(place, problem, fix, identifier)


def _no_warehouse(holdings: Holdings) -> Finding:
    problem = f"the warehouse {holdings.warehouse} does not exist.{suggestion(holdings.warehouse, holdings.neighbours)}"
    fix = "Correct 'warehouse' in tables.yaml: a path on this machine, relative to the folder of that file, or a URI."
    return Finding(("warehouse",), problem, fix)


def _no_match(number: int, pattern: TablePattern, holdings: Holdings) -> Finding:
    within = [name for name in holdings.databases if fnmatchcase(name, pattern.database)]
    if not within:
        meant = suggestion(pattern.database, holdings.databases)
        existing = _listed(holdings.databases, "It has none.", "Databases: ")
        problem = f"'{pattern.pattern}' matches nothing: {holdings.warehouse} has no such database.{meant} {existing}"
    else:
        tables = [name for name in holdings.names() if name.partition(".")[0] in within]
        existing = _listed(tables, f"Empty: {', '.join(within[:_SHOWN])}.", "Tables there: ")
        problem = f"'{pattern.pattern}' matches no table.{suggestion(pattern.pattern, tables)} {existing}"
    fix = "Correct the pattern in tables.yaml, or remove it; once there is such a table, reload the code location."
    return Finding(("patterns", number, "pattern"), problem, fix)


def _listed(names: Sequence[str], none: str, introduction: str) -> str:
    if not names:
        return none
    and_others = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{introduction}{', '.join(names[:_SHOWN])}{and_others}."
