"""What keeps things, and what other retention would delete."""

from datetime import datetime

import pyarrow as pa

from maintenance.operations import explain, held_bytes, what_if
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import TABLE, Call, Parameter, Procedure, names, number, options, specs, text
from maintenance.sql.result import Result


def _explain(call: Call) -> Result:
    partitions = call.get("partition")
    partition = {} if partitions is None else {"partition": partitions[0]}
    report = explain(call.table(), **call.passed("file", "snapshot_id", "tag"), **partition)
    rows = [(keeper.holder, " → ".join(keeper.chain), keeper.reason, keeper.release) for keeper in report.kept_by]
    shown = Result.of_texts(("kept_by", "chain", "reason", "release"), rows)
    return Result(shown.to_arrow(), nothing_to_do=not rows)


def _what_if(call: Call) -> Result:
    arguments = call.passed("without_tags", "without_consumers")
    table = call.session.table(path_of(call.get("table")))
    losses = what_if(table, call.get("options"), **arguments).losses
    return Result(
        pa.table(
            {
                "moment": [_moment(loss.moment) for loss in losses],
                "snapshots": [len(loss.snapshots) for loss in losses],
                "tags": pa.array([", ".join(loss.tags) for loss in losses], pa.string()),
                "files": [loss.files for loss in losses],
                "bytes": [loss.bytes for loss in losses],
                "lost_from": pa.array([_moment(loss.lost_from) for loss in losses], pa.string()),
                "lost_to": pa.array([_moment(loss.lost_to) for loss in losses], pa.string()),
                "kept_tags": pa.array([", ".join(loss.kept_tags) for loss in losses], pa.string()),
            }
        )
    )


def _held_bytes(call: Call) -> Result:
    held = held_bytes(call.table())
    columns = ("kind", "name", "files", "bytes", "only_bytes")
    return Result(pa.table({name: [getattr(one, name) for one in held] for name in columns}))


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


PROCEDURES = (
    Procedure(
        "explain",
        (
            TABLE,
            Parameter("file", text),
            Parameter("snapshot_id", number, others=("snapshot",)),
            Parameter("tag", text),
            Parameter("partition", specs),
        ),
        _explain,
    ),
    Procedure("held_bytes", (TABLE,), _held_bytes),
    Procedure(
        "what_if",
        (
            TABLE,
            Parameter("options", options),
            Parameter("without_tags", names),
            Parameter("without_consumers", names),
        ),
        _what_if,
    ),
)
