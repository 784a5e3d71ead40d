"""Does the warehouse hold what tables.yaml names? A check beside the page over all tables: it is none of theirs.

That a single table does not exist is reported by its own check `readable`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from maintenance.monitor.judgement import Judgement
from maintenance.monitor.readable import ReadFault
from maintenance.project.config import Project, TablePattern
from maintenance.project.findings import Finding
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.holdings import catalog_findings, read_holdings

CONFIGURATION = "configuration"
DESCRIPTION = "The warehouse can be reached and holds what tables.yaml names."


@dataclass(frozen=True, slots=True)
class Configuration:
    """The judgement, and whether tables can be looked at: without the warehouse each of them would only fail, too."""

    judgement: Judgement
    reachable: bool = True


def configuration(project: Project, catalog: PaimonCatalog, patterns: Sequence[TablePattern]) -> Configuration:
    """Judge a project as it was read from tables.yaml. `patterns`: those of it whose databases are listed for it."""
    try:
        holdings = read_holdings(catalog, [pattern.database for pattern in patterns])
    except Exception as error:  # noqa: BLE001 - whatever it is, the warehouse cannot be reached
        fault = ReadFault.of(error)
        problem = f"the warehouse {catalog.warehouse} cannot be listed: {fault}"
        return Configuration(Judgement(CONFIGURATION, False, problem, fault.fix), reachable=False)
    judgement = _judged(catalog_findings(project, holdings))
    return Configuration(judgement, reachable=holdings.exists or judgement.passed)


def _judged(findings: Sequence[Finding]) -> Judgement:
    if not findings:
        return Judgement(CONFIGURATION, True, "the warehouse holds what tables.yaml names")
    first, *others = findings
    summary = f"{first.found.rstrip('.')}; and {len(others)} more" if others else first.found
    rows = [{"place": finding.path, "found": finding.found, "next step": finding.fix} for finding in findings]
    return Judgement(CONFIGURATION, False, summary, first.fix, {"findings": rows})


def check_spec() -> dg.AssetCheckSpec:
    """The check as Dagster shows it."""
    return dg.AssetCheckSpec(CONFIGURATION, asset=keys.FLEET, description=DESCRIPTION)
