"""Which tables a run is about: its process loads the definitions of these alone, not those of a thousand others.

Whoever starts the run sets them before the definitions are loaded, as the forked launcher does. Where nothing is set,
as in a code server, all tables are loaded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import dagster as dg

from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.table_of_run import is_of_database, small_tables_of, table_of

# The actions with a job for each table: its name says which.
_TABLE_ACTIONS = ("maintain", "refresh", "compact", "expire", "ingest", "audit", "fsck", keys.PROVE)
# The jobs for any table, whose runs say which.
_OF_ANY_TABLE = (*(action for action in _TABLE_ACTIONS if action != "expire"), keys.EXPIRE_TABLE)
_ASSETS = "__ASSET_JOB"  # Dagster's name of a run of assets that belongs to no job
_NAMES: ContextVar[frozenset[str]] = ContextVar("tables of this process's run", default=frozenset())


@contextmanager
def within_run(run: dg.DagsterRun) -> Iterator[None]:
    """What is loaded meanwhile is for this run."""
    token = _NAMES.set(tables_of(run))
    try:
        yield
    finally:
        _NAMES.reset(token)


def tables_of(run: dg.DagsterRun) -> frozenset[str]:
    """The identifiers of the tables that a run's definitions are about; empty if that can be any table."""
    table = table_of(run)
    if table and run.job_name in [keys.job(action, table) for action in _TABLE_ACTIONS]:
        return frozenset([table])
    if table and (run.job_name in _OF_ANY_TABLE or is_of_database(run)):
        return frozenset([table])
    if run.job_name == keys.COMPACT_SMALL:
        return small_tables_of(run)
    checks = run.asset_check_selection or ()
    selected = [*(run.asset_selection or ()), *(check.asset_key for check in checks)]
    if run.job_name != _ASSETS or any(len(key.path) < len(("database", "table")) for key in selected):
        return frozenset()
    return frozenset(".".join(key.path[:2]) for key in selected)


def scoped(project: Project) -> Project:
    """The project, with no more tables than this process's run is about.

    With those that they are made from: Dagster records the versions of what an asset depends on.
    """
    names = _NAMES.get()
    whole = project.with_patterns(sorted(names))
    chosen = [table for table in whole.tables if table.identifier in names]
    if not names or len(chosen) < len(names):
        return project
    above = {upstream for table in chosen for upstream in table.lineage}
    whole = project.with_patterns(sorted(names | above))
    tables = tuple(table for table in whole.tables if table.identifier in names | above)
    return whole.model_copy(update={"tables": tables, "patterns": ()})
