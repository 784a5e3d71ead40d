"""Which tables there are: those described, and those of the catalog that a pattern matches.

The catalog is asked when the code location is loaded: a new table appears with the next reload. Of a table that is not
described column by column, the schema says which steps apply to it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import dagster as dg

from maintenance.errors import ErrorClass, NotFoundError, PaimonError
from maintenance.project.config import Project, TableConfig, TablePattern
from maintenance.project.findings import Finding
from maintenance.table.table import Table
from maintenance.threads import map_in_threads
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.holdings import catalog_findings, read_holdings, with_databases_of

_READERS = 32
_NAME = re.compile(r"\w+\.\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the catalog was found to hold.

    Attributes:
        project: with every table it is about, each with what the patterns and its schema say of it.
        findings: what tables.yaml names and the catalog does not hold.
        names: the tables that patterns were matched with.
        odd: tables that are left out, since Dagster takes no such names.
        unreadable: tables of the project that exist and cannot be read.
    """

    project: Project
    findings: tuple[Finding, ...]
    names: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()
    unreadable: Mapping[str, PaimonError] = field(default_factory=dict)

    @property
    def doubtful(self) -> tuple[TablePattern, ...]:
        """The patterns that match nothing."""
        places = {finding.place[1] for finding in self.findings if finding.place[0] == "patterns"}
        return tuple(pattern for number, pattern in enumerate(self.project.patterns) if number in places)


def discover(project: Project, catalog: PaimonCatalog) -> Discovery:
    """As `survey`; what is missing or cannot be read is logged as a warning."""
    discovery = survey(project, catalog)
    log = dg.get_dagster_logger()
    if discovery.odd:
        log.warning(f"Left out, since only letters, digits and _ make names in Dagster: {list(discovery.odd)}")
    for name, error in discovery.unreadable.items():
        log.warning(f"{name} cannot be read: {error}")
    for finding in discovery.findings:
        log.warning(f"tables.yaml, {finding.path}: {finding.found} {finding.fix}")
    return discovery


def survey(project: Project, catalog: PaimonCatalog) -> Discovery:
    """Look for the tables of a project.

    A table that cannot be read stays as it is described: it must not hide the others. Raises: what goes wrong when the
    catalog is listed.
    """
    with catalog.at_work():
        return _survey(project, catalog)


def _survey(project: Project, catalog: PaimonCatalog) -> Discovery:
    holdings = read_holdings(catalog, [pattern.database for pattern in project.patterns])
    names = holdings.names()
    fit = tuple(name for name in names if _NAME.fullmatch(name))
    whole = project.with_patterns(fit)
    tables = map_in_threads(lambda table: _known(table, catalog), whole.tables, _READERS)
    missing = [seen.table.identifier for seen in tables if not seen.exists]
    findings = catalog_findings(whole, with_databases_of(holdings, catalog, missing), missing)
    return Discovery(
        whole.model_copy(update={"tables": tuple(seen.table for seen in tables)}),
        tuple(findings),
        fit,
        tuple(name for name in names if name not in fit),
        {seen.table.identifier: seen.error for seen in tables if seen.error is not None},
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """A table with what its page shows, and its keys and options where it is not created by this project."""

    table: TableConfig
    exists: bool = True
    error: PaimonError | None = None


def known_table(described: TableConfig, catalog: PaimonCatalog) -> TableConfig:
    """A table with what the catalog holds of it; as it is described where it does not exist or cannot be read."""
    return _known(described, catalog).table


def named_tables(project: Project, catalog: PaimonCatalog) -> Project:
    """The project with every table it is about, by name alone: no table is opened, so ten thousand take a moment.

    Raises: what goes wrong when the catalog is listed.
    """
    holdings = read_holdings(catalog, [pattern.database for pattern in project.patterns])
    return project.with_patterns(tuple(name for name in holdings.names() if _NAME.fullmatch(name)))


def _known(described: TableConfig, catalog: PaimonCatalog) -> _Known:
    try:
        table = catalog.get_table(described.identifier)
    except PaimonError as error:
        if isinstance(error, NotFoundError) and error.error_class == ErrorClass.USER:
            return _Known(described, exists=False)  # it will be there with a later reload
        return _Known(described, error=error)
    known = described.with_found(table.location, table.schema)
    if described.columns:
        return _Known(known)
    return _Known(known if known.materialized is None else _with_lineage(known, table, catalog))


def _with_lineage(known: TableConfig, table: Table, catalog: PaimonCatalog) -> TableConfig:
    """A materialized table with what its query says of its sources; what tables.yaml says of one goes before."""
    # Few projects have materialized tables, and the parser of queries takes long to import.
    from maintenance.sql.materialized.lineage import lineage_or_none
    from maintenance.sql.session import Session
    from maintenance.sql.session_state import DEFAULT_CATALOG

    session = Session(catalog.open(), None, "flink", makes_default=False)
    found = lineage_or_none(session, table, DEFAULT_CATALOG)
    sources = {} if found is None else {name: dict(columns) for name, columns in found.sources.items()}
    fit = {name: columns for name, columns in sources.items() if _NAME.fullmatch(name)}
    return known.model_copy(update={"lineage": {**fit, **known.lineage}})
