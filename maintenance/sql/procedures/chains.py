"""Chain tables."""

from typing import Any

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.operations import compact_chain_table
from maintenance.operations.plans.dry_run_plans import COMPACT_CHAIN_TABLE
from maintenance.operations.rows.compact_chain_table import CompactChainTableReport
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    TABLE,
    Call,
    Parameter,
    Procedure,
    dry_run_planning,
    specs,
    truth,
)
from maintenance.sql.result import Result


def _compact_chain_table(call: Call) -> Result:
    report = compact_chain_table(call.session.spark, call.table(), **_chosen(call), **call.passed("dry_run"))
    return _completed(call, report)


def _chosen(call: Call) -> dict[str, Any]:
    partitions = call.get("partition")
    if len(partitions) != 1:
        raise OptionError(f"{len(partitions)} partitions are named", "compact_chain_table", "Name one.")
    return {"partition": partitions[0], **call.passed("overwrite")}


def _completed(_: Call, report: CompactChainTableReport) -> Result:
    if report.dry_run:
        return Result(pa.table({"files": [report.files], "bytes": [report.bytes]}), not report.files)
    return Result(pa.table({"result": [report.snapshot_id is not None]}), report.snapshot_id is None)


PROCEDURES = (
    Procedure(
        "compact_chain_table",
        (TABLE, Parameter("partition", specs, required=True), Parameter("overwrite", truth), DRY_RUN),
        _compact_chain_table,
        planning=dry_run_planning(COMPACT_CHAIN_TABLE, _chosen, _completed, lambda call: {"spark": call.session.spark}),
    ),
)
