"""Clones as an operation: of a table, of the tables of a database or of a catalog, into another catalog or this one."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
from maintenance.fs.settings import settings_of
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.open import open_metastore
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone import clone as clone  # noqa: PLC0414 - users have it from here
from maintenance.operations.databases.clone_database import CloneDatabaseReport, clone_database
from maintenance.operations.databases.clone_plan import (
    CLONE_DATABASE,
    apply_clone,
    apply_clone_database,
    plan_clone,
    plan_clone_database,
)
from maintenance.operations.operation import Keeping, Operation, Planned, Run, Shown, Spelling, lazily
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import StoredPlan
from maintenance.options.environment import from_environment
from maintenance.table.table import Table

_CONFS = ("catalog_conf", "target_catalog_conf")
_SECRET = re.compile(r"secret|password|token|credential|access.?key|\bkey$|account\.key")
_VARIABLE = re.compile(r"(\$\{\w+\})+")
_WHERE = "sys.clone"
Report = CloneReport | CloneDatabaseReport


@dataclass(frozen=True, slots=True)
class CloneTables:
    """What is copied, and where to. `source`, `goal`: full names instead, whose copy replaces what the target has."""

    database: Annotated[str | None, Param("The database to copy; empty: all of them.")] = None
    table: Annotated[
        str | None, Param("The table of that database to copy; empty: all tables, one after the other.")
    ] = None
    catalog_conf: Annotated[
        Mapping[str, str] | None,
        Param("Options of the catalog of the source, as k1=v1,k2=v2; empty: this one. Write secrets as ${NAME}."),
    ] = None
    target_database: Annotated[str | None, Param("The database to copy to; empty: the one of the same name.")] = None
    target_table: Annotated[str | None, Param("The table to copy to; empty: the one of the same name.")] = None
    target_catalog_conf: Annotated[
        Mapping[str, str] | None,
        Param(
            "Options of the other catalog, such as {warehouse: s3://copy/lake}; empty: this one. ${NAME} is read from"
            " the environment: write secrets so."
        ),
    ] = None
    parallelism: Annotated[int, Param("Files at a time, where Spark does not copy them.")] = 8
    where: Annotated[str | None, Param("For a single table: copy only the partitions for which this is true.")] = None
    included_tables: Annotated[Sequence[str], Param("For a database: copy only these tables; empty: all.")] = ()
    excluded_tables: Annotated[Sequence[str], Param("For a database: leave these tables out.")] = ()
    prefer_file_format: Annotated[str | None, Param("Refused: files are copied as they are.")] = None
    clone_from: Annotated[str, Param("Only 'paimon': tables of other formats are migrated instead.")] = "paimon"
    meta_only: Annotated[bool, Param("Create the tables, but copy no rows.")] = False
    clone_if_exists: Annotated[bool, Param("False: leave tables alone that exist already.")] = True
    target_table_conf: Annotated[Mapping[str, str] | None, Param("Refused: schemas are copied as they are.")] = None
    snapshot_id: Annotated[int | None, Param("For a single table: copy this snapshot; empty: the newest.")] = None
    tag: Annotated[str | None, Param("For a single table: copy the snapshot of this tag.")] = None
    source: str | None = None
    goal: str | None = None

    @property
    def confs(self) -> dict[str, dict[str, str]]:
        """The configurations of both catalogs, by the names of their parameters."""
        return dict(zip(_CONFS, (dict(self.catalog_conf or {}), dict(self.target_catalog_conf or {})), strict=True))

    @property
    def chosen(self) -> dict[str, Any]:
        """The tables of a database, or of all, and what they are called in the target. Raises: SqlError."""
        if self.where:
            raise SqlError("a condition is over the partitions of one table", _WHERE, "Add table => '…'.")
        own = {"target_database": self.target_database, "included": self.included_tables}
        return {**own, "excluded": self.excluded_tables, **self._shape}

    @property
    def state(self) -> dict[str, Any]:
        """Which state of a table is copied, and how."""
        return {"snapshot_id": self.snapshot_id, "tag": self.tag, "where": self.where, **self._shape}

    @property
    def _shape(self) -> dict[str, Any]:
        return {"meta_only": self.meta_only, "clone_if_exists": self.clone_if_exists}

    def check(self) -> None:
        """Raises: SqlError: a parameter of Paimon's that this clone cannot honour is set."""
        if self.clone_from.lower() != "paimon":
            raise SqlError("tables of Paimon alone are cloned", _WHERE, "Use CALL sys.migrate_table for Hive's.")
        refused = {"prefer_file_format": self.prefer_file_format, "target_table_conf": self.target_table_conf}
        for name, value in refused.items():
            if value:
                raise SqlError(
                    f"'{name}' is not possible: files and schemas are copied as they are",
                    _WHERE,
                    "Leave it out, or write the rows: CREATE TABLE … AS SELECT.",
                )

    def named(self, source: Catalog) -> tuple[Table, str]:
        """The table, and the name of its copy. Raises: SqlError, NotFoundError."""
        if self.database is None:
            raise SqlError("a table is named without its database", _WHERE, "Add database => '…'.")
        goal = f"{self.target_database or self.database}.{self.target_table or self.table}"
        return _table(source, f"{self.database}.{self.table}"), goal


def _work(run: Run, catalog: Catalog, asked: CloneTables, *, dry_run: bool) -> Report:
    how: dict[str, Any] = {"parallelism": asked.parallelism, "dry_run": dry_run, "progress": run.progress}
    how["spark"] = None if dry_run else run.session()
    if asked.source is not None and asked.goal is not None:
        (own, name), (target, goal) = (run.table_name(catalog, each) for each in (asked.source, asked.goal))
        return clone(_table(own, name), target, goal, replace_others=True, where=asked.where, **how)
    asked.check()
    source, target = _catalogs(catalog, asked.confs)
    if asked.table is None:
        return clone_database(source, asked.database, target, **asked.chosen, **how)
    table, goal = asked.named(source)
    return clone(table, target, goal, **asked.state, **how)


def _make(_: Run, catalog: Catalog, planned: Planned) -> StoredPlan:
    asked: CloneTables = planned.request
    asked.check()
    confs = asked.confs
    _check_secrets(confs)
    source, target = _catalogs(catalog, confs)
    if asked.table is None:
        made = plan_clone_database(source, asked.database, target, **asked.chosen)
    else:
        table, goal = asked.named(source)
        made = plan_clone(table, target, goal, **asked.state)
    return replace(made, arguments={**made.arguments, **confs})


def _carry_out(run: Run, catalog: Catalog, plan: StoredPlan) -> Report:
    source, target = _catalogs(catalog, plan.arguments)
    how: dict[str, Any] = {"spark": run.session(), "progress": run.progress}
    if plan.operation == CLONE_DATABASE:
        return apply_clone_database(source, target, plan, **how)
    return apply_clone(_table(source, plan.table), target, plan, **how)


def _check_secrets(confs: Mapping[str, Mapping[str, str]]) -> None:
    """Raises: SqlError: a plan, which lies in the warehouse for others to read, would have a secret in it."""
    for name, conf in confs.items():
        for key, value in conf.items():
            if _SECRET.search(key.lower()) and not _VARIABLE.fullmatch(value):
                raise SqlError(
                    f"'{key}' of {name} is a secret, and a plan is read by others",
                    _WHERE,
                    "Write ${NAME}: the environment variable NAME is read when the plan is made and applied.",
                )


def _catalogs(current: Catalog, confs: Mapping[str, Any]) -> tuple[Catalog, Catalog]:
    """The catalogs of the source and of the target, by their configurations."""
    source, target = (_catalog(current, name, confs.get(name) or {}) for name in _CONFS)
    return source, target


def _catalog(current: Catalog, name: str, given: Mapping[str, str]) -> Catalog:
    """The catalog of a configuration; without one it is the current. Settings of stores are its own, if not given.

    ${NAME} in a value is an environment variable.
    """
    if not given:
        return current
    shared = {key: value for key, value in current.options.items() if settings_of({key: value})}
    own = {key: from_environment(value, f"{name}: {key}") for key, value in given.items()}
    return open_metastore({**shared, **own})


def _table(source: Catalog, name: str) -> Table:
    table = source.get_table(name)
    if not isinstance(table, Table):
        fix = "Name a table of Paimon that has files of its own: no view, format table or object table."
        raise SqlError(f"'{name}' has no files of its own", _WHERE, fix)
    return table


_COLUMNS = {
    "source": pa.string(),
    "target": pa.string(),
    "source_snapshot_id": pa.int64(),
    "snapshot_id": pa.int64(),
    "files": pa.int64(),
    "bytes": pa.int64(),
    "copied_files": pa.int64(),
    "copied_bytes": pa.int64(),
    "leaving_files": pa.int64(),
    "rows": pa.int64(),
    "digest": pa.string(),
}


def _shown(report: Report) -> Shown:
    """A row for each table. A dry run says what would be copied. Raises: the worst error of a table that failed."""
    if isinstance(report, CloneDatabaseReport) and report.errors:
        raise worst_of(report.errors.values())
    reports = list(report.reports.values()) if isinstance(report, CloneDatabaseReport) else [report]
    rows = [_row(each) for each in reports]
    done = any(each.snapshot_id is not None or (each.dry_run and each.new_files) for each in reports)
    return Shown(pa.Table.from_pylist(rows, pa.schema(_COLUMNS.items())), nothing_to_do=not done)


def _row(report: CloneReport) -> dict[str, Any]:
    found = {**asdict(report), "source": report.table, "source_snapshot_id": report.source_snapshot}
    if report.dry_run:
        found |= {"copied_files": report.new_files, "copied_bytes": report.new_bytes}
    return {name: found[name] for name in _COLUMNS}


OPERATION = Operation(
    "clone",
    "Copy a table or database to another warehouse, or update the copy.",
    CloneTables,
    *lazily(_work, lambda _, __: ()),
    _shown,
    keeping=Keeping(_make, _carry_out, (CLONE_DATABASE,)),
    of_catalog=True,
    uses_spark=True,
    spellings=(
        Spelling("clone", "Copy a table or database to another warehouse, or update the copy."),
        # Java's `CopyFilesProcedure`: the newest state takes the place of what the target has.
        Spelling(
            "copy",
            parameters=(
                Param(name="source_table", field="source", required=True),
                Param(name="target_table", field="goal", required=True),
                "where",
            ),
            has_plans=False,
        ),
    ),
)
