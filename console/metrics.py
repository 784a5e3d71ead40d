"""What monitoring systems read: the state of all tables and the runs of a week, in Prometheus' text format.

The figures are those of the fleet's page and of the history; nothing is read for a scrape that a page would not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from paimon_maintenance.assets.pages.fleet import FleetRow
from paimon_maintenance.console.fleet import STATES, Line

CONTENT_TYPE = CONTENT_TYPE_LATEST
# By the names of metrics: the field of a table's row, and what it is.
_OF_TABLES = {
    "paimon_table_health_score": ("score", "Health of the table, from 0 to 100."),
    "paimon_table_files": ("files", "Live data files."),
    "paimon_table_live_bytes": ("bytes", "Bytes of live data files."),
    "paimon_table_retained_bytes": ("old_bytes", "Bytes of data files that only old snapshots and tags need."),
    "paimon_table_freeable_bytes": ("freed", "Bytes that the next expiry frees."),
    "paimon_table_waiting_rows": ("waiting_rows", "Rows in files that no compaction has merged yet."),
    "paimon_table_sorted_runs": ("sorted_runs", "Sorted runs that a read merges in the worst bucket."),
    "paimon_table_snapshots": ("snapshots", "Snapshots that exist."),
    "paimon_table_expirable_snapshots": ("due_snapshots", "Snapshots that the next expiry deletes."),
}


@dataclass(frozen=True, eq=False)
class TableMetrics(Collector):
    """The metrics of one scrape. `past`: rows of the history of each table, newest first."""

    lines: Sequence[Line]
    past: Mapping[str, Sequence[Mapping[str, Any]]]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All metrics with their samples."""
        rows: list[FleetRow] = [line.row for line in self.lines if line.row is not None]
        for name, (field, text) in _OF_TABLES.items():
            metric = GaugeMetricFamily(name, text, labels=["table"])
            for row in rows:
                value = getattr(row, field)
                if value is not None:
                    metric.add_metric([row.table], value)
            yield metric
        state = GaugeMetricFamily(
            "paimon_table_state", "1 of the state that the table is in.", labels=["table", "state"]
        )
        read = GaugeMetricFamily(
            "paimon_table_read_timestamp_seconds", "When the table was looked at.", labels=["table"]
        )
        for line in self.lines:
            for each in STATES:
                state.add_metric([line.name, each], line.state == each)
            if line.at is not None:
                read.add_metric([line.name], line.at.timestamp())
        yield from (state, read)
        yield from self._runs()

    def _runs(self) -> Iterator[GaugeMetricFamily]:
        labels = ["table", "operation", "outcome"]
        runs = GaugeMetricFamily("paimon_operation_runs_week", "Runs of the operation in the last week.", labels=labels)
        work = GaugeMetricFamily("paimon_operation_seconds_week", "Seconds that they took together.", labels=labels)
        last = GaugeMetricFamily("paimon_operation_last_timestamp_seconds", "When the last one ended.", labels=labels)
        for table, rows in self.past.items():
            by_kind: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
            for row in rows:
                by_kind.setdefault((row["operation"], row["outcome"]), []).append(row)
            for kind, of_kind in by_kind.items():
                runs.add_metric([table, *kind], len(of_kind))
                work.add_metric([table, *kind], sum(row["seconds"] or 0.0 for row in of_kind))
                last.add_metric([table, *kind], max(row["finished_at"] for row in of_kind).timestamp())
        yield from (runs, work, last)


def metrics_text(lines: Sequence[Line], past: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    """The answer to a scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(TableMetrics(lines, past))
    return generate_latest(registry)
