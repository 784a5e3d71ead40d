"""Global indexes."""

import pyarrow as pa

from maintenance.operations import create_global_index, drop_global_index
from maintenance.sql.procedures.procedure import DRY_RUN, TABLE, Call, Parameter, Procedure, options, specs, text
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
    names = call.passed("partitions", "dry_run")
    report = drop_global_index(call.table(), call.get("index_column"), call.get("index_type"), **names)
    rows = pa.table({"result": [True], "dropped_file_count": pa.array([report.files], pa.int64())})
    return Result(rows, nothing_to_do=not report.files)


PROCEDURES = (
    Procedure("create_global_index", (TABLE, _COLUMN, _TYPE, _PARTITIONS, Parameter("options", options)), _create),
    Procedure("drop_global_index", (TABLE, _COLUMN, _TYPE, _PARTITIONS, DRY_RUN), _drop),
)
