"""Each database as an asset whose partitions are its tables: for as many tables as Dagster cannot hold as assets.

Materialising a partition runs the chain of that table, step by step as for a table with an asset of its own. Its page
and what others commit to it are events of the partition. Checks are of the database, and name the tables that fail.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from maintenance.monitor.judgement import Judgement
from maintenance.project.config import TableConfig
from maintenance.threads import map_in_threads
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.databases import evaluations
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.checks.long_checks import LONG_CHECKS
from paimon_maintenance.assets.pages.catalogue import STORAGE_KIND
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.steps.any_table import AnyTable, holding
from paimon_maintenance.assets.steps.chain import COMPACTION, EXPIRY, INGEST, chain
from paimon_maintenance.assets.steps.ops import DESCRIBE, known_table

_READERS = 8


@dataclass(frozen=True)
class Database:
    """A database with those of its tables that are partitions of its asset."""

    name: str
    tables: Sequence[TableConfig]

    @property
    def partitions(self) -> dg.DynamicPartitionsDefinition:
        """Its tables, mirrored by a sensor."""
        return dg.DynamicPartitionsDefinition(name=keys.partitions(self.name))


def databases_of(tables: Iterable[TableConfig]) -> list[Database]:
    """The databases of tables that are partitions."""
    members: dict[str, list[TableConfig]] = {}
    for table in tables:
        if table.grouped:
            members.setdefault(table.identifier.partition(".")[0], []).append(table)
    return [Database(name, found) for name, found in members.items()]


def database_asset(database: Database, steps: AnyTable) -> dg.AssetsDefinition:
    """The asset of a database. `steps`: of any table."""

    @dg.graph(name=f"tables_of_{database.name}", out=dg.GraphOut())
    def tables_of_database() -> object:
        parts = [steps.step(step) for step in (INGEST, *COMPACTION, *EXPIRY)]
        return chain([steps.choose_partition(), *parts, steps.op(DESCRIBE)])

    text = f"The tables of {database.name}, each a partition; materialising one ingests, compacts and expires it."
    asset = dg.AssetsDefinition.from_graph(
        tables_of_database,
        keys_by_output_name={"result": keys.database_key(database.name)},
        partitions_def=database.partitions,
        backfill_policy=dg.BackfillPolicy.multi_run(1),
        group_name=database.name,
        descriptions_by_output_name={"result": text},
        metadata_by_output_name={"result": {"tables": len(database.tables), **console_link("")}},
    )
    return asset.map_asset_specs(lambda spec: spec.replace_attributes(kinds={STORAGE_KIND, "spark"}))


def database_checks(database: Database) -> list[dg.AssetChecksDefinition]:
    """Its checks: over all tables, and those that take long of one partition at a time."""
    return [_short_checks(database), _long_checks(database)]


def _short_checks(database: Database) -> dg.AssetChecksDefinition:
    key = keys.database_key(database.name)

    @dg.multi_asset_check(
        name=f"checks_of_{database.name}",
        specs=[dg.AssetCheckSpec(name, asset=key, description=text) for name, text in DESCRIPTIONS.items()],
        can_subset=True,
    )
    def checks(context: dg.AssetCheckExecutionContext, catalog: PaimonCatalog) -> Iterator[dg.AssetCheckResult]:
        automation = automation_of(context.instance, location_of(context.run))
        now, selected = datetime.now(UTC), {check.name for check in context.selected_asset_check_keys}

        def judged(table: TableConfig) -> Sequence[Judgement]:
            return look_at(catalog, table, now, automation=automation)

        with as_dagster_failure(context):
            names = [table.identifier for table in database.tables]
            found = dict(zip(names, map_in_threads(judged, database.tables, _READERS), strict=True))
            for event in evaluations(database.name, names, found, {}):
                if event.check_name in selected:
                    yield dg.AssetCheckResult(
                        asset_key=key,
                        check_name=event.check_name,
                        passed=event.passed,
                        severity=event.severity,
                        description=event.description,
                        metadata=event.metadata,
                    )

    return checks


def _long_checks(database: Database) -> dg.AssetChecksDefinition:
    key = keys.database_key(database.name)
    with warnings.catch_warnings():
        # Dagster calls partitions of checks a preview, once for each check.
        warnings.simplefilter("ignore")
        specs = [
            dg.AssetCheckSpec(check.name, asset=key, description=check.text, partitions_def=database.partitions)
            for check in LONG_CHECKS
        ]

    @dg.multi_asset_check(
        name=f"long_checks_of_{database.name}",
        specs=specs,
        can_subset=True,
        required_resource_keys={"catalog", "spark"},
    )
    def checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        with as_dagster_failure(context):
            table = known_table(database.tables, context.partition_key, "of these checks")
        selected = {check.name for check in context.selected_asset_check_keys}
        with holding(context.op_execution_context, table):
            for check in LONG_CHECKS:
                if check.name in selected:
                    yield check.result(context, None, table)

    return checks
