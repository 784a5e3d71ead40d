"""The checks of databases whose tables are partitions: one of each kind, which fails while a table fails it.

Dagster keeps one result of a check of a partition that no run has made, and no second one; so what the sensor finds is
told of the database. The result names each table that fails, with what was found and what to do, and is the memory from
which the next one is made: a look at some tables says nothing new of the others.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance

from maintenance.amounts import number_of
from maintenance.monitor.judgement import Judgement
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS, is_severe
from paimon_maintenance.assets.dagster_release import partition_filter
from paimon_maintenance.assets.project.console_links import console_link

FAILING = "failing tables"
_FOUND, _FIX, _SEVERE = "found", "next step", "severe"
_AGAIN_SECONDS = 6 * 3600.0
# Of more tables than these only the names are kept, and of fewer a table is shown.
_DESCRIBED, _SHOWN, _NAMED = 1000, 200, 5
Rows = Mapping[str, Mapping[str, Any]]


def last_rows(instance: DagsterInstance, databases: Collection[str]) -> dict[AssetCheckKey, tuple[Any, Rows]]:
    """The newest results of the checks of databases: the record, and the tables that fail."""
    wanted = [AssetCheckKey(keys.database_key(name), check) for name in databases for check in DESCRIPTIONS]
    found = instance.event_log_storage.get_latest_asset_check_execution_by_key(wanted, **whole()) if wanted else {}
    return {key: (record, _rows_of(record)) for key, record in found.items()}


def whole() -> dict[str, Any]:
    """The argument that chooses results that are of no partition."""
    return partition_filter(None, unpartitioned=True)


def _rows_of(record: Any) -> Rows:
    stored = None if record.evaluation is None else record.evaluation.metadata.get(FAILING)
    return {} if stored is None else stored.value


def evaluations(
    database: str,
    tables: Collection[str],
    judged: Mapping[str, Sequence[Judgement]],
    before: Mapping[AssetCheckKey, tuple[Any, Rows]],
) -> list[dg.AssetCheckEvaluation]:
    """The results of the checks that have changed, or were reported long ago.

    Args: `tables`: all of the database; `judged`: some of them as they are now; `before`: what `last_rows` gives.
    """
    members, found = set(tables), []
    for check in DESCRIPTIONS:
        record, old = before.get(AssetCheckKey(keys.database_key(database), check), (None, {}))
        rows = {table: row for table, row in old.items() if table in members}
        for table, judgements in judged.items():
            for judgement in judgements:
                if judgement.check == check:
                    rows.pop(table, None)
                    rows |= {} if judgement.passed else {table: _row(judgement)}
        rows = {table: row if n < _DESCRIBED else {} for n, (table, row) in enumerate(sorted(rows.items()))}
        is_old = record is None or time.time() - record.create_timestamp >= _AGAIN_SECONDS
        if is_old or rows != old:
            found.append(_evaluation(database, check, rows, len(members)))
    return found


def _row(judgement: Judgement) -> Mapping[str, Any]:
    return {_FOUND: judgement.summary, _FIX: judgement.fix or "", _SEVERE: is_severe(judgement)}


def _evaluation(database: str, check: str, rows: Rows, tables: int) -> dg.AssetCheckEvaluation:
    metadata: dict[str, Any] = {FAILING: dg.MetadataValue.json(dict(rows)), **console_link("")}
    if rows:
        shown = [
            dg.TableRecord({"table": table, _FOUND: row.get(_FOUND, ""), _FIX: row.get(_FIX, "")})
            for table, row in list(rows.items())[:_SHOWN]
        ]
        metadata = {"tables": dg.MetadataValue.table(shown), **metadata}
    names = ", ".join(list(rows)[:_NAMED]) + (f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else "")
    severe = any(row.get(_SEVERE) for row in rows.values())
    return dg.AssetCheckEvaluation(
        asset_key=keys.database_key(database),
        check_name=check,
        passed=not rows,
        severity=dg.AssetCheckSeverity.ERROR if severe else dg.AssetCheckSeverity.WARN,
        description=f"{len(rows):,} of {number_of(tables, 'table')}: {names}." if rows else DESCRIPTIONS[check],
        metadata=metadata,
    )


def found_and_fix(row: Mapping[str, Any]) -> tuple[str, str]:
    """What was found of a table that fails, and the next step."""
    return str(row.get(_FOUND, "")), str(row.get(_FIX, ""))
