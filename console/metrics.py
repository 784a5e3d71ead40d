"""What monitoring systems read: the state of all tables and the runs of a week, in Prometheus' text format.

The figures are those of the fleet's page and of the history; nothing is read for a scrape that a page would not read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from maintenance.operations.bin.bytes_in_bin import BytesInBin
from maintenance.operations.fleet.settings import Prices
from paimon_maintenance.assets.pages.fleet import FleetRow
from paimon_maintenance.console.fleet import STATES, Line
from paimon_maintenance.console.lake import OfWeek

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


# Of runs in the last week: the field of their work, and what it is.
_OF_RUNS = {
    "paimon_operation_runs_week": ("runs", "Runs of the operation in the last week."),
    "paimon_operation_seconds_week": ("seconds", "Seconds that they took together."),
    "paimon_operation_core_seconds_week": ("core_seconds", "Seconds of processors that they took together."),
    "paimon_operation_requests_week": ("requests", "Requests to the store that they made together."),
    "paimon_operation_read_bytes_week": ("read_bytes", "Bytes of the files that they took."),
    "paimon_operation_written_bytes_week": ("written_bytes", "Bytes of the files that they committed."),
    "paimon_operation_freed_bytes_week": ("freed", "Bytes that they freed."),
    "paimon_operation_files_less_week": ("files_less", "Files that readers open no more, by compactions."),
}


@dataclass(frozen=True, eq=False)
class TableMetrics(Collector):
    """The metrics of one scrape.

    `week`: by table, operation and outcome; `bins`: by table; `prices`: None: none are set.
    """

    lines: Sequence[Line]
    week: Mapping[tuple[str, str, str], OfWeek]
    bins: Mapping[str, BytesInBin]
    prices: Prices | None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All metrics with their samples."""
        rows: list[FleetRow] = [line.row for line in self.lines if line.row is not None]
        for name, (field, text) in _OF_TABLES.items():
            yield _metric(name, text, [((row.table,), getattr(row, field)) for row in rows])
        binned = [((name,), found.bytes) for name, found in self.bins.items()]
        yield _metric("paimon_table_binned_bytes", "Bytes that the bin holds of the table.", binned)
        states = [((line.name, each), line.state == each) for line in self.lines for each in STATES]
        yield _metric("paimon_table_state", "1 of the state that the table is in.", states, "state")
        read = [((line.name,), line.at.timestamp()) for line in self.lines if line.at is not None]
        yield _metric("paimon_table_read_timestamp_seconds", "When the table was looked at.", read)
        kinds = ("operation", "outcome")
        for name, (field, text) in _OF_RUNS.items():
            runs = [(kind, getattr(done.work, field)) for kind, done in self.week.items()]
            yield _metric(name, text, runs, *kinds)
        last = [(kind, done.last.timestamp()) for kind, done in self.week.items()]
        yield _metric("paimon_operation_last_timestamp_seconds", "When the last one ended.", last, *kinds)
        if self.prices is not None:
            yield from self._money(rows, self.prices)

    def _money(self, rows: Sequence[FleetRow], prices: Prices) -> Iterator[GaugeMetricFamily]:
        spent: dict[str, float] = {}
        saved: dict[str, float] = {}
        for (table, _, _), done in self.week.items():
            spent[table] = spent.get(table, 0.0) + prices.of_work(done.work.core_seconds, done.work.requests or 0)
            saved[table] = saved.get(table, 0.0) + prices.of_month(done.work.freed)
        binned = {name: found.bytes for name, found in self.bins.items()}
        stored = {row.table: prices.of_month(row.bytes + row.old_bytes + binned.get(row.table, 0)) for row in rows}
        for name, text, found in (
            ("paimon_table_spent_week", "Money that the work of the last week cost.", spent),
            ("paimon_table_saved_month", "What the bytes freed in the last week would cost in a month.", saved),
            ("paimon_table_storage_month", "What the bytes of the table cost in a month.", stored),
        ):
            yield _metric(name, text, [((table, prices.currency), each) for table, each in found.items()], "currency")


def _metric(
    name: str, text: str, samples: Iterable[tuple[Sequence[str], float | None]], *labels: str
) -> GaugeMetricFamily:
    """A metric; `samples`: the table and the values of `labels`, and a value, None: it is not known."""
    metric = GaugeMetricFamily(name, text, labels=["table", *labels])
    for values, value in samples:
        if value is not None:
            metric.add_metric(values, value)
    return metric


def metrics_text(metrics: TableMetrics) -> bytes:
    """The answer to a scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    return generate_latest(registry)
