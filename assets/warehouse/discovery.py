"""Which tables there are: those described, and those of the catalog that a pattern matches.

The catalog is asked when the code location is loaded: a new table appears with the next reload. Of a table that is not
described column by column, the schema says which steps apply to it.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dagster as dg

from assets.project.config import FoundTable, Project, TableConfig, TablePattern
from assets.project.findings import Finding
from assets.resources.catalog import PaimonCatalog
from assets.warehouse.holdings import Holdings, catalog_findings, read_holdings, with_databases_of
from maintenance.errors import ErrorClass, NotFoundError, PaimonError

_READERS = 32
_NAME = re.compile(r"\w+\.\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the catalog was found to hold.

    Attributes:
        project: with every table it is about, each with what the patterns and its schema say of it.
        findings: what tables.yaml names and the catalog does not hold.
    """

    project: Project
    findings: tuple[Finding, ...]

    @property
    def doubtful(self) -> tuple[TablePattern, ...]:
        """The patterns that match nothing."""
        places = {finding.place[1] for finding in self.findings if finding.place[0] == "patterns"}
        return tuple(pattern for number, pattern in enumerate(self.project.patterns) if number in places)


def discover(project: Project, catalog: PaimonCatalog) -> Discovery:
    """Look for the tables of a project. What is missing or cannot be read is logged as a warning.

    A table that cannot be read stays as it is described: it must not hide the others. Raises: what goes wrong when the
    catalog is listed.
    """
    holdings = read_holdings(catalog, [pattern.database for pattern in project.patterns])
    whole = project.with_patterns(_fit_for_dagster(holdings))
    with ThreadPoolExecutor(_READERS) as pool:
        known = list(pool.map(lambda table: _known(table, catalog), whole.tables))
    missing = [table.identifier for table, there in known if not there]
    findings = catalog_findings(whole, with_databases_of(holdings, catalog, missing), missing)
    for finding in findings:
        dg.get_dagster_logger().warning(f"tables.yaml, {finding.path}: {finding.found} {finding.fix}")
    return Discovery(whole.model_copy(update={"tables": tuple(table for table, _ in known)}), tuple(findings))


def _fit_for_dagster(holdings: Holdings) -> list[str]:
    names = holdings.names()
    odd = [name for name in names if not _NAME.fullmatch(name)]
    if odd:
        dg.get_dagster_logger().warning(f"Left out, since only letters, digits and _ make names in Dagster: {odd}")
    return [name for name in names if _NAME.fullmatch(name)]


def _known(described: TableConfig, catalog: PaimonCatalog) -> tuple[TableConfig, bool]:
    """The table with what its page shows, and its keys and options where it is not created by this project.

    Returns: the table; whether it exists.
    """
    try:
        table = catalog.get_table(described.identifier)
    except PaimonError as error:
        if isinstance(error, NotFoundError) and error.error_class == ErrorClass.USER:
            return described, False  # it will be there with a later reload
        dg.get_dagster_logger().warning(f"{described.identifier} cannot be read: {error}")
        return described, True
    schema = table.schema
    found = FoundTable(table.location, tuple(schema.fields), schema.comment or None)
    if described.columns:
        return described.model_copy(update={"found": found}), True
    facts = {
        "found": found,
        "primary_keys": tuple(schema.primary_keys),
        "partition_keys": tuple(schema.partition_keys),
        "options": {**described.options, **schema.options},
    }
    return described.model_copy(update=facts), True
