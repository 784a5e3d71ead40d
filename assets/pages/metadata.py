"""What Dagster shows of a table as it is now: numbers it can plot, and changes before and after."""

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import dagster as dg

from maintenance.amounts import seconds_text, size_text
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.catalogue import STORAGE_KIND
from paimon_maintenance.assets.runs.summary import Numbers, RunSummary, fields_of

_PATHS_SHOWN = 10_000
SKIPPED_SHARE = "files skipped by indexes (share of probe)"
_TOLD_BEFORE = ("files", "sorted runs (most in a bucket)", "bytes")


def table_metadata(table: Table, shape: TableShape) -> dict[str, Any]:
    """A table as it is now. Plain numbers, since Dagster plots these from run to run."""
    # Before compaction a key may have several records, deletes among them: the rows are not known without reading.
    merged = not table.is_primary_key_table or (shape.level0_files == 0 and shape.sorted_runs_max <= 1)
    return {
        "dagster/table_name": table.identifier,
        "dagster/storage_kind": STORAGE_KIND,
        "dagster/uri": table.location,
        **({"dagster/row_count": shape.rows} if merged else {}),
        "dagster/size_bytes": shape.bytes,
        "snapshot": shape.snapshot_id or 0,
        # What is zero comes last: it says the least.
        **dict(sorted(shape_numbers(shape).items(), key=lambda item: not item[1])),
    }


def shape_numbers(shape: TableShape) -> dict[str, int | float]:
    """The numbers that maintenance moves, in words a person reads under a plot."""
    return {
        "files": shape.files,
        "level-0 files": shape.level0_files,
        "sorted runs (most in a bucket)": shape.sorted_runs_max,
        "sorted runs (mean of buckets)": round(float(shape.sorted_runs_avg), 2),
        "bytes": shape.bytes,
        "records": shape.rows,
        "snapshots": shape.snapshots,
        "tags": shape.tags,
        "indexed files": shape.index_files,
        "indexes beside data files": shape.index_side_files,
        "bytes of file indexes": shape.index_bytes,
        "files with deletion vectors": shape.vectors,
        "rows deleted by vectors": shape.deleted_rows,
        "bytes of deletion vectors": shape.vector_bytes,
    }


def before_and_after(before: Numbers, after: Numbers) -> dg.TableMetadataValue:
    """Two sets of shape_numbers side by side."""
    schema = dg.TableSchema([dg.TableColumn("measure"), dg.TableColumn("before"), dg.TableColumn("after")])
    records = [
        dg.TableRecord({"measure": name, "before": before.get(name, 0), "after": value})
        for name, value in after.items()
        if value or before.get(name)
    ]
    return dg.MetadataValue.table(records, schema)


def closing_metadata(table: Table, shape: TableShape, summary: RunSummary) -> dict[str, Any]:
    """A table at the end of a run: as it is, and what the run's steps changed and how long they took."""
    metadata, before = table_metadata(table, shape), summary.before
    if before:
        metadata["before and after"] = before_and_after(before, shape_numbers(shape))
        metadata.update({f"{name} before": value for name, value in before.items() if name in _TOLD_BEFORE})
    indexing = summary.steps.get("file_index")
    if indexing is not None and indexing.facts.get("probe_values"):
        metadata[SKIPPED_SHARE] = round(float(indexing.facts["probe_skipped_share"]), 4)
    for step, done in summary.steps.items():
        if "seconds" in done.facts:
            metadata[f"seconds of {step}"] = round(float(done.facts["seconds"]), 3)
    return metadata


def report_metadata(report: Any, *, plotted: bool = True) -> dict[str, Any]:
    """The fields of an operation's report: numbers and texts as they are, the rest as JSON, long lists counted too.

    `plotted`: sizes and times stay numbers, since Dagster plots those of assets; of a step people read them.
    """
    metadata: dict[str, Any] = {}
    for name, value in fields_of(report).items():
        if value is None or isinstance(value, TableShape):  # `before_and_after` shows those
            continue
        label = name.replace("_", " ")
        if isinstance(value, (bool, int, float, str)):
            metadata[label] = value if plotted else _read(name, value)
        elif isinstance(value, (list, tuple)):
            metadata[f"{label} (count)"] = len(value)
            if value:
                metadata[label] = dg.MetadataValue.json(_plain(value[:_PATHS_SHOWN]))
        elif value:
            metadata[label] = dg.MetadataValue.json(_plain(value))
    return metadata


def _read(name: str, value: bool | int | float | str) -> bool | int | float | str:
    """A number of a report as people read it, by what it is called."""
    if isinstance(value, (bool, str)):
        return value
    if name == "seconds" or name.endswith("_seconds"):
        return seconds_text(value)
    return size_text(int(value)) if name == "bytes" or name.endswith("_bytes") else value


def warn_of_finding(context: dg.OpExecutionContext, report: Any) -> None:
    """Say in the log what a report found wrong with what was asked for; its metadata shows it too."""
    finding = getattr(report, "finding", None)
    if finding is not None:
        context.log.warning(finding)


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, float, str)) or value is None else str(value)
