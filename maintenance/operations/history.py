"""What maintenance did, kept in the lake itself: one Paimon table in a database of its own, `_maintenance.history`.

One row for each operation of a run, failed ones too. Any reader of Paimon can query it, and plans are estimated by it.
It is an append table without buckets, so that runs write it side by side. Whoever writes it keeps it small: once it has
many snapshots, its small files are merged and the old snapshots expire.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.attempts import bytes_committed
from maintenance.errors import NotFoundError, PaimonError, SchemaError
from maintenance.fs.reported import calls_so_far
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.schema import Schema
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.append import append
from maintenance.operations.plan_store import MANY, StoredPlan
from maintenance.table.table import Table

HISTORY_DATABASE = "_maintenance"
_NAME = "history"
SUCCEEDED = "succeeded"
FAILED = "failed"
_ROWS_LOOKED_AT = 20
_ROWS_OF_ALL = 20_000
_ROWS_AT_ONCE = 10_000
_COLUMNS = (
    ("finished_at", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", pa.timestamp("ms", "UTC")),
    ("table_name", "STRING NOT NULL", pa.string()),
    ("operation", "STRING NOT NULL", pa.string()),
    ("outcome", "STRING NOT NULL", pa.string()),
    ("run_id", "STRING", pa.string()),
    ("seconds", "DOUBLE", pa.float64()),
    ("snapshot_id", "BIGINT", pa.int64()),
    ("input_bytes", "BIGINT", pa.int64()),
    ("files_before", "BIGINT", pa.int64()),
    ("files_after", "BIGINT", pa.int64()),
    ("bytes_before", "BIGINT", pa.int64()),
    ("bytes_after", "BIGINT", pa.int64()),
    ("details", "STRING", pa.string()),
)
_OPTIONS = {"bucket": "-1", "compaction.min.file-num": "10", "snapshot.num-retained.max": "20"}
# From this many snapshots on, the table is compacted and expired.
_SNAPSHOTS = 40
# Plans of up to this many tables are estimated, each from its own history.
_ESTIMATED = 50
# Steps whose past runs say how quickly a table is compacted.
_SIMILAR = {"compact": ("compact", "compaction", "compact_database")}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One operation of one run.

    Attributes:
        finished_at: with a time zone. outcome: ``succeeded`` or ``failed``.
        snapshot_id: the table's newest afterwards. seconds, *_bytes: None where unknown.
        files_*, bytes_*: of the table, before and after.
        details: more numbers of the operation's report; of a failure, what was found, where and the next step.
    """

    finished_at: datetime
    table_name: str
    operation: str
    outcome: str = SUCCEEDED
    run_id: str | None = None
    seconds: float | None = None
    snapshot_id: int | None = None
    input_bytes: int | None = None
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Used:
    """What this process and its ended children have used up to a moment; the engine of Spark is another process.

    Attributes: `core_seconds`: of processors; `requests`: calls of the storage; `written_bytes`: of files committed.
    """

    core_seconds: float
    requests: int
    written_bytes: int

    @classmethod
    def so_far(cls) -> "Used":
        """Up to now."""
        times = os.times()
        return cls(
            times.user + times.system + times.children_user + times.children_system, calls_so_far(), bytes_committed()
        )

    def until_now(self) -> dict[str, float | int]:
        """What was used since then, as details of an entry."""
        now = Used.so_far()
        return {
            "core_seconds": round(now.core_seconds - self.core_seconds, 3),
            "requests": now.requests - self.requests,
            "written_bytes": now.written_bytes - self.written_bytes,
        }


def history_table(database: str) -> str:
    """The history table of a database."""
    return f"{database}.{_NAME}"


def history_of(database: str | None, table: str) -> str | None:
    """The history table for what is done to a table. None: there is no such database, or it is the table's own."""
    return None if database is None or table.partition(".")[0] == database else history_table(database)


def write_history(catalog: Catalog, history: str, entries: Sequence[HistoryEntry]) -> None:
    """Append entries to the history table, as one commit; it and its database are created if they do not exist.

    Raises: what writing, committing, and tidying it up raise.
    """
    if not entries:
        return
    columns = [pa.array([_value(entry, name) for entry in entries], arrow_type) for name, _, arrow_type in _COLUMNS]
    rows = pa.table(dict(zip((name for name, _, _ in _COLUMNS), columns, strict=True)))
    try:
        table = catalog.get_table(history)
    except NotFoundError:
        schema = Schema([(name, text) for name, text, _ in _COLUMNS], options=_OPTIONS, comment=__doc__.split("\n")[0])
        catalog.create_database(history.partition(".")[0], ignore_if_exists=True)
        catalog.create_table(history, schema, ignore_if_exists=True)
        table = catalog.get_table(history)
    if not isinstance(table, Table):
        raise SchemaError(f"'{history}' is a system table", "history", "Choose another name.")
    append(table, rows)
    _keep_small(table)


def history_unless_it_fails(
    catalog: Catalog, history: str, entries: Sequence[HistoryEntry], *, only_if_kept: bool = False
) -> str:
    """As `write_history`, where the work is done whether or not it can be written down.

    Args: `only_if_kept`: nothing is written where there is no history yet.
    Returns: why it could not be written, in a sentence; empty otherwise.
    """
    try:
        if not only_if_kept or _kept(catalog, history) is not None:
            write_history(catalog, history, entries)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from being written
        return f"The history table {history} could not be written: {error}"
    return ""


def _kept(catalog: Catalog, history: str) -> Any:
    """The history table; None where there is no history yet."""
    try:
        return catalog.get_table(history)
    except NotFoundError:
        return None


def bytes_of(facts: Mapping[str, Any]) -> Any:
    """What an operation has read or deleted, as its report calls it; None where it says nothing."""
    return next((facts[name] for name in ("input_bytes", "deleted_bytes", "bytes") if name in facts), None)


def _keep_small(table: Table) -> None:
    earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
    if earliest is not None and latest is not None and latest - earliest + 1 >= _SNAPSHOTS:
        compact(None, table)
        expire_snapshots(table)


def read_history(
    catalog: Catalog, history: str, table_name: str, operation: str | None = None, most: int = _ROWS_LOOKED_AT
) -> list[dict[str, Any]]:
    """The newest entries about a table, newest first, a few of them; none where there is no history yet."""
    table = _kept(catalog, history)
    if table is None:
        return []
    name = table_name.replace("'", "''")
    where = f"table_name = '{name}'" + (f" AND operation = '{operation}'" if operation else "")
    newest_first = table.to_arrow(where=where).sort_by([("finished_at", "descending")])
    rows: list[dict[str, Any]] = newest_first.slice(0, most).to_pylist()
    return rows


def read_histories(catalog: Catalog, history: str, since: datetime) -> dict[str, list[dict[str, Any]]]:
    """The newest entries about each table, newest first, a few of each; of tables with none since then, nothing.

    Args: `since`: with a time zone.
    """
    by_table: dict[str, list[dict[str, Any]]] = {}
    for row in read_span(catalog, history, since)[0]:
        rows = by_table.setdefault(row["table_name"], [])
        if len(rows) < _ROWS_LOOKED_AT:
            rows.append(row)
    return by_table


def read_span(
    catalog: Catalog, history: str, since: datetime, until: datetime | None = None, *, table_name: str | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The entries in a span of time, newest first, and how many earlier ones of too many are left out.

    Args: `since`, `until`: with time zones; the latter None: to this day; `table_name`: about that one alone. Nothing
        where there is no history yet.
    """
    newest_first = _span(catalog, history, since, until, table_name).sort_by([("finished_at", "descending")])
    rows: list[dict[str, Any]] = newest_first.slice(0, _ROWS_OF_ALL).to_pylist()
    return rows, newest_first.num_rows - len(rows)


def each_entry(catalog: Catalog, history: str, since: datetime) -> Iterator[dict[str, Any]]:
    """All entries about all tables since then, in no order, however many there are. Args: as of `read_span`."""
    for batch in _span(catalog, history, since).to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _span(
    catalog: Catalog, history: str, since: datetime, until: datetime | None = None, table_name: str | None = None
) -> pa.Table:
    table = _kept(catalog, history)
    if table is None:
        return pa.schema([(name, arrow_type) for name, _, arrow_type in _COLUMNS]).empty_table()
    # A literal is of whole seconds, so the first and the last one are cut to the moment afterwards.
    where = f"finished_at >= TIMESTAMP '{since.astimezone(UTC):%Y-%m-%d %H:%M:%S}'"
    found = table.to_arrow(where=where if table_name is None else f"{where} AND table_name = '{table_name}'")
    inside = pc.greater_equal(found["finished_at"], pa.scalar(since, found["finished_at"].type))
    if until is not None:
        inside = pc.and_(inside, pc.less(found["finished_at"], pa.scalar(until, found["finished_at"].type)))
    return found.filter(inside)


def estimated_seconds(past: Sequence[Mapping[str, Any]], input_bytes: int) -> float | None:
    """How long an operation may take on this many bytes, by the speed of those that succeeded; None if unknown.

    Without bytes, as a tag is created, it is the mean of their times.
    """
    timed = [row for row in past if row["outcome"] == SUCCEEDED and row["seconds"]]
    if not input_bytes:
        return sum(row["seconds"] for row in timed) / len(timed) if timed else None
    with_size = [row for row in timed if row["input_bytes"]]
    done = sum(row["input_bytes"] for row in with_size)
    return input_bytes * sum(row["seconds"] for row in with_size) / done if done else None


def planned_seconds(catalog: Catalog, database: str | None, plan: StoredPlan) -> float | None:
    """How long a plan may take, by past runs on its tables; None if there were none, or they cannot be read.

    Args: `database`: of the history; None = there is none.
    """
    if plan.table == MANY:
        if "plans" not in plan.arguments:  # of the bin, or of a database's copies: there are no past runs to compare
            return None
        plans = [StoredPlan.of_dict(stored) for stored in plan.arguments["plans"][: _ESTIMATED + 1]]
        if len(plans) > _ESTIMATED:
            return None
        parts = [planned_seconds(catalog, database, stored) for stored in plans]
        return None if None in parts else sum(filter(None, parts))
    history = history_of(database, plan.table)
    if history is None:
        return None
    if not plan.groups:
        return 0.0
    try:
        steps = _SIMILAR.get(plan.operation, (plan.operation,))
        past = [row for step in steps for row in read_history(catalog, history, plan.table, step)]
    except (PaimonError, OSError):  # a plan is worth as much without a guess
        return None
    return estimated_seconds(past, plan.bytes)


def _value(entry: HistoryEntry, name: str) -> Any:
    value = getattr(entry, name)
    return json.dumps(value, sort_keys=True, default=str) if name == "details" else value
