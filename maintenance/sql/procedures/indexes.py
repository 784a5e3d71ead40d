"""Global indexes."""

from typing import Any

import pyarrow as pa

from maintenance.operations import create_global_index, drop_global_index
from maintenance.operations.indexes.global_index_report import GlobalIndexReport
from maintenance.operations.plans.dry_run_plans import DROP_GLOBAL_INDEX
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    TABLE,
    Call,
    Parameter,
    Procedure,
    dry_run_planning,
    options,
    specs,
    text,
)
from maintenance.sql.result import Result

_COLUMN = Parameter("index_column", text, required=True)
_TYPE = Parameter("index_type", text, required=True)
_PARTITIONS = Parameter("partitions", specs)


def _create(call: Call) -> Result:
    report = create_global_index(
        call.session.spark,
        call.table(),
        call.get("index_column"),
        call.get("index_type").strip().lower(),
        **call.passed("partitions", "options"),
    )
    return call.done(nothing_to_do=not report.files)


def _drop(call: Call) -> Result:
    return _dropped(call, drop_global_index(call.table(), **_index(call), **call.passed("dry_run")))


def _index(call: Call) -> dict[str, Any]:
    names = {"column": call.get("index_column"), "index_type": call.get("index_type")}
    return {**names, **call.passed("partitions")}


def _dropped(_: Call, report: GlobalIndexReport) -> Result:
    rows = pa.table({"result": [True], "dropped_file_count": pa.array([report.files], pa.int64())})
    return Result(rows, nothing_to_do=not report.files)


PROCEDURES = (
    Procedure("create_global_index", (TABLE, _COLUMN, _TYPE, _PARTITIONS, Parameter("options", options)), _create),
    Procedure(
        "drop_global_index",
        (TABLE, _COLUMN, _TYPE, _PARTITIONS, DRY_RUN),
        _drop,
        planning=dry_run_planning(DROP_GLOBAL_INDEX, _index, _dropped),
    ),
)
