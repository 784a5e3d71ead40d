"""Chain tables."""

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.operations import compact_chain_table
from maintenance.sql.procedures.procedure import DRY_RUN, TABLE, Call, Parameter, Procedure, specs, truth
from maintenance.sql.result import Result


def _compact_chain_table(call: Call) -> Result:
    partitions = call.get("partition")
    if len(partitions) != 1:
        raise OptionError(f"{len(partitions)} partitions are named", "compact_chain_table", "Name one.")
    how = call.passed("overwrite", "dry_run")
    report = compact_chain_table(call.session.spark, call.table(), partitions[0], **how)
    if report.dry_run:
        return Result(pa.table({"files": [report.files], "bytes": [report.bytes]}), not report.files)
    return Result(pa.table({"result": [report.snapshot_id is not None]}), report.snapshot_id is None)


PROCEDURES = (
    Procedure(
        "compact_chain_table",
        (TABLE, Parameter("partition", specs, required=True), Parameter("overwrite", truth), DRY_RUN),
        _compact_chain_table,
    ),
)
