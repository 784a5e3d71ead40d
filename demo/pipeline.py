"""The pipeline from the flights to their routes: follows the changelog of demo.flights and writes demo.route_day.

A Spark Structured Streaming query that takes what is there and ends, as a scheduled one does. Its checkpoint says where
it goes on, and each of its micro-batches is one commit, exactly once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.connector.data_source import register
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.ingestion.ingest_stream import ingest_stream
from maintenance.operations.ingestion.stream_sink import Sink
from maintenance.spark.types import spark_ddl
from maintenance.table.table import Table
from maintenance.types.data_type import DataField, parse_type
from paimon_maintenance.demo import routes
from paimon_maintenance.demo.flights import ROW_KIND


@dataclass(frozen=True, slots=True)
class Followed:
    """What one run of the pipeline committed. `rows`: after merging within each batch."""

    batches: int
    rows: int


def records_of(spark: Any, flights: Table, route_day: Table) -> Any:
    """What the pipeline writes, as a streaming DataFrame that each of its runs starts a query of."""
    register(spark)
    changes = (
        spark.readStream.format("paimon")
        .option("scan.mode", "latest-full")
        .option("read.changelog", "true")
        .load(flights.location)
        .select(*routes.READ)
    )
    kind = DataField(len(route_day.schema.fields), ROW_KIND, parse_type("STRING"))
    return changes.mapInArrow(partial(_records, routes.all_aircraft()), spark_ddl([*route_day.schema.fields, kind]))


def follow(records: Any, route_day: Table, checkpoint: Path) -> Followed:
    """Bring the changes since the last run into `route_day`; the first run begins with the rows that are there."""
    before = route_day.snapshots.latest_id() or 0
    sink = Sink(str(checkpoint), row_kind_column=ROW_KIND)
    ingest_stream(records.sparkSession, records, lambda: route_day, sink).awaitTermination()
    new = [route_day.snapshots.get(number) for number in route_day.snapshots.list_ids() if number > before]
    appended = [snapshot for snapshot in new if snapshot.commit_kind == CommitKind.APPEND]
    return Followed(len(appended), sum(snapshot.delta_record_count for snapshot in appended))


def _records(aircraft: routes.Aircraft, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from routes.records(pa.Table.from_batches([batch]), aircraft).to_batches()
