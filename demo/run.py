"""Drives the demo: delivers the feed round by round, and lets the tables' own jobs do the rest.

The runs are those that a person launches in Dagster's UI, recorded in the same instance; they happen in this process
so that one Spark session serves them all. Starting over is safe at any time: the demo first removes what it made.
"""

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa

from maintenance.catalog import Catalog, SetOption
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.history import HISTORY_DATABASE
from maintenance.project.config import Project, load_project
from maintenance.scan.explain import INDEX
from maintenance.spark.workers import check_workers
from maintenance.table.shape import TableShape, table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import spark_of
from paimon_maintenance.assets.runs.records import records_kept_open
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary
from paimon_maintenance.assets.steps.row_changes import CHANGE_ROWS, STEP, RowChange
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.demo import console, correction, flights, routes, weather
from paimon_maintenance.demo.feed import FLIGHT_ROUNDS, WEATHER_ROUNDS, Delivery, deliver, deliveries
from paimon_maintenance.demo.page import Account, page_of
from paimon_maintenance.demo.pipeline import Followed, follow, records_of
from paimon_maintenance.demo.report import (
    Change,
    Check,
    Corrected,
    Measured,
    RoundResult,
    changelog_report,
    check_report,
    console_report,
    correction_report,
    table_report,
)

FLIGHTS, WEATHER, ROUTE_DAY = "demo.flights", "demo.weather", "demo.route_day"
HONOLULU = "month = 7 AND time_hour = TIMESTAMP '2013-07-11T14:00:00Z' AND carrier = 'HA' AND flight = 51"
HONOLULU_NAME = "Hawaiian Airlines 51, New York JFK to Honolulu, 11 July 2013 (demo.flights)"
INDEX_QUERIES = {
    FLIGHTS: ("dest = 'LEX'",),
    WEATHER: ("wind_dir = 80 AND visib = 0.5", "precip BETWEEN 0.41 AND 0.42"),
}
# By which kind of index such a query is answered.
INDEX_KINDS = {
    "dest = 'LEX'": "bloom filter",
    "wind_dir = 80 AND visib = 0.5": "bitmap",
    "precip BETWEEN 0.41 AND 0.42": "BSI",
}
# Indexes that are asked for when there are files without.
LATE_INDEXES = {
    FLIGHTS: {"file-index.bloom-filter.columns": "tailnum,dest", "file-index.bloom-filter.dest.items": "200"},
    WEATHER: {"file-index.bitmap.columns": "wind_dir,visib", "file-index.bsi.columns": "precip"},
}
QUERIES = {
    FLIGHTS: "origin = 'JFK' AND dep_delay > 60",
    WEATHER: "origin = 'JFK' AND visib < 1",
    ROUTE_DAY: "origin = 'JFK' AND cancellations > 5",
}
# Where the pipeline from the flights to their routes keeps its position.
CHECKPOINT = FOLDER / "landing" / "route_day_checkpoint"
# The report as a page.
PAGE = FOLDER / ".artifacts" / "demo" / "report.html"
# Dagster's UI lists a run under its job by this tag.
REPOSITORY = {".dagster/repository": "__repository__@paimon_maintenance"}


@dataclass(slots=True)
class Demo:
    """The demo while it runs. `seen`: the newest snapshot of demo.flights whose changelog has been shown."""

    project: Project
    definitions: dg.Definitions
    instance: dg.DagsterInstance
    catalog: PaimonCatalog
    seen: int = 0

    def run(self, identifier: str, round_number: int, followed: Followed | None = None) -> RoundResult:
        """Launch a table's job and measure the table. Raises SystemExit if the run fails.

        `followed`: what a pipeline wrote before, of a table without a landing folder.
        """
        started = time.monotonic()
        job = self.definitions.resolve_job_def(keys.job("maintain", identifier))
        result = job.execute_in_process(
            run_config=run_config(identifier, round_number),
            instance=self.instance,
            tags={**REPOSITORY, "paimon/round": str(round_number)},
            raise_on_error=False,
        )
        if not result.success:
            raise SystemExit(f"The run {result.run_id} failed; the reason stands above, and in the UI: make ui")
        graph = keys.asset_key(identifier).to_python_identifier()
        summary: RunSummary = result.output_for_node(f"{graph}.describe")
        if followed is not None:
            summary = summary.and_then("ingest", StepSummary(ingested_by(followed)))
        return measure(self.catalog.get_table(identifier), summary, time.monotonic() - started)

    def correct_weather(self) -> Corrected:
        """Launch the job that corrects past weather. Raises SystemExit if the run fails."""
        before = correction.marks(self.catalog.open(), WEATHER)
        job = self.definitions.resolve_job_def(CHANGE_ROWS)
        result = job.execute_in_process(
            run_config=correction.run_config(WEATHER), instance=self.instance, tags=REPOSITORY, raise_on_error=False
        )
        if not result.success:
            raise SystemExit(f"The run {result.run_id} failed; the reason stands above, and in the UI: make ui")
        change: RowChange = result.output_for_node(STEP)
        assert change.report is not None, "it was no dry run"
        return Corrected(
            change.report.updated_rows,
            change.report.touched_files,
            change.report.method,
            change.report.snapshot_ids[-1],
            (("before", before), ("after the UPDATE", correction.marks(self.catalog.open(), WEATHER))),
        )

    def described(self, identifier: str) -> Table:
        """A table, made from its description where it is not there yet."""
        return self.catalog.get_or_create(next(each for each in self.project.tables if each.identifier == identifier))

    def new_changes(self) -> list[Change]:
        """What a subscriber reads of the flight to Honolulu after this round: older changelogs may expire."""
        changes, self.seen = changes_after(self.catalog.open(), FLIGHTS, HONOLULU, self.seen)
        return changes


def ingested_by(followed: Followed) -> dict[str, int]:
    """The numbers of a pipeline in the words of the ingestion step."""
    return {"committed_batches": followed.batches, "repeated_batches": 0, "row_count": followed.rows}


def new_snapshots(catalog: Catalog, identifier: str, seen: int) -> list[tuple[int, dict[str, str]]]:
    """The snapshots after `seen`, oldest first, each with the options that read its changes."""
    snapshots = catalog.get_table(f"{identifier}$snapshots").to_arrow(columns=["snapshot_id"])
    new = sorted(number for number in snapshots["snapshot_id"].to_pylist() if number > seen)
    return [(number, {"incremental-between": f"{number - 1},{number}"}) for number in new]


def changes_after(catalog: Catalog, identifier: str, where: str, seen: int) -> tuple[list[Change], int]:
    """The changelog rows that pass a filter, of the snapshots after `seen`, oldest first, and the newest snapshot."""
    log = catalog.get_table(f"{identifier}$audit_log")
    found: list[Change] = []
    for snapshot_id, between in new_snapshots(catalog, identifier, seen):
        found += [Change(snapshot_id, row) for row in log.to_arrow(where=where, options=between).to_pylist()]
        seen = snapshot_id
    return found, seen


def run_config(identifier: str, round_number: int) -> dict[str, Any]:
    """What a person could type into the Launchpad: the tag's name, and short messages instead of Dagster's events."""
    steps = {"tag": {"config": {"name": f"run-{round_number}", "time_retained": "90 d"}}}
    return {"ops": {keys.asset_key(identifier).to_python_identifier(): {"ops": steps}}, "loggers": {"progress": {}}}


def measure(table: Table, summary: RunSummary, seconds: float) -> RoundResult:
    """The table before compaction, still readable by time travel, and as the run left it."""
    ingested: Mapping[str, Any] = summary.steps["ingest"].facts
    compacted: Mapping[str, Any] = summary.steps["compact"].facts
    before: Mapping[str, Any] = summary.steps["compact"].before
    after, base = table_shape(table), str(compacted["base_snapshot_id"])
    newest = table.snapshots.latest_id()
    assert newest is not None
    return RoundResult(
        before=Measured(
            files=before["files"],
            sorted_runs_max=before["sorted runs (most in a bucket)"],
            sorted_runs_mean=before["sorted runs (mean of buckets)"],
            size=before["bytes"],
            snapshots=before["snapshots"],
            seconds=query_seconds(table, {"scan.snapshot-id": base}),
        ),
        after=measured(after, query_seconds(table, {})),
        maintained=console.Maintained(compacted["base_snapshot_id"], newest),
        batches=ingested["committed_batches"],
        repeated=ingested["repeated_batches"],
        rows=ingested["row_count"],
        seconds=seconds,
    )


def measured(shape: TableShape, seconds: float) -> Measured:
    return Measured(
        files=shape.files,
        sorted_runs_max=shape.sorted_runs_max,
        sorted_runs_mean=float(shape.sorted_runs_avg),
        size=shape.bytes,
        snapshots=shape.snapshots,
        seconds=seconds,
    )


def query_seconds(table: Table, options: dict[str, str]) -> float:
    """Time the table's fixed query; the better of two, so that neither state profits from a warm disk cache alone."""
    times = []
    for _ in range(2):
        started = time.perf_counter()
        table.to_arrow(where=QUERIES[table.identifier], options=options)
        times.append(time.perf_counter() - started)
    return min(times)


def declare_indexes(catalog: PaimonCatalog, identifier: str) -> None:
    """Ask for more file indexes, as a person would with ALTER TABLE: older files get them from the file-index step."""
    options = LATE_INDEXES[identifier]
    catalog.open().alter_table(identifier, [SetOption(key, value) for key, value in options.items()])
    settings = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    _say(f"ALTER TABLE {identifier} SET ({settings}): older files lack these indexes")


def index_report(table: Table, query: str) -> str:
    """How many files a query for rare values need not read."""
    found = explain_scan(table, query)
    skipped = len(found.files) - found.kept
    by_index = found.skipped.get(INDEX, 0)
    rows = f"{found.rows} rows left by them" if found.kept else "nothing left"
    kind = f" ({INDEX_KINDS[query]})" if query in INDEX_KINDS else ""
    return f"  {query}{kind}: {skipped} of {len(found.files)} files skipped, {by_index} by file indexes, {rows}"


def clear(project: Project, instance: dg.DagsterInstance) -> None:
    """Remove what an earlier demo made: landing folders, tables, and what Dagster recorded of them; nothing else."""
    shutil.rmtree(CHECKPOINT, ignore_errors=True)
    for table in project.tables:
        if table.landing:
            shutil.rmtree(table.landing.path, ignore_errors=True)
        database, name = table.identifier.split(".")
        shutil.rmtree(Path(project.warehouse) / f"{database}.db" / name, ignore_errors=True)
        for run in instance.get_runs(dg.RunsFilter(tags={"paimon/table": table.identifier})):
            shutil.rmtree(Path(instance.storage_directory()) / run.run_id, ignore_errors=True)
            # A demo that was killed still holds the table's pool.
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
            instance.delete_run(run.run_id)
    shutil.rmtree(Path(project.warehouse) / f"{HISTORY_DATABASE}.db", ignore_errors=True)
    makes = (keys.asset_key, keys.partition_states, keys.compaction)
    instance.wipe_assets([make(table.identifier) for table in project.tables for make in makes])


@contextmanager
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    """The instance that `make ui` shows. Its configuration lies in the project's folder, its storage under that."""
    os.chdir(FOLDER)
    os.environ["DAGSTER_HOME"] = str(FOLDER)
    with records_kept_open(), dg.DagsterInstance.get() as instance:
        yield instance


def start_spark(project: Project) -> Any:
    """Open the session that all runs share, where there is one, and its first process of Python."""
    session = spark_of(project).session()
    if session is not None:
        check_workers(session)
    return session


def all_deliveries() -> dict[str, list[list[Delivery]]]:
    """The whole feed of each table, by round."""
    streams: dict[str, tuple[pa.Table, str, Sequence[Any]]] = {
        FLIGHTS: (flights.change_stream(), "event_time", FLIGHT_ROUNDS),
        WEATHER: (weather.observations(), "time_hour", WEATHER_ROUNDS),
    }
    return {name: deliveries(stream, column, rounds) for name, (stream, column, rounds) in streams.items()}


def main() -> int:
    """Run the demo; returns the exit code."""
    started = time.monotonic()
    project = load_project(FOLDER / "demo" / "tables.yaml")
    landings = {table.identifier: Path(table.landing.path) for table in project.tables if table.landing}
    # Java starts beside this process, which has other things to do until its first run.
    with dagster_instance() as instance, ThreadPoolExecutor(1) as beside:
        spark = beside.submit(start_spark, project)
        clear(project, instance)
        catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog)
        demo = Demo(project, build_definitions(project), instance, catalog)
        _say("Reading the flights and the weather of New York in 2013")
        feed = all_deliveries()
        # Spark takes some seconds to learn of the pipeline's source, which nobody needs before the first run has ended.
        records = beside.submit(records_of, spark.result(), demo.described(FLIGHTS), demo.described(ROUTE_DAY))
        results: dict[str, list[RoundResult]] = {FLIGHTS: [], WEATHER: [], ROUTE_DAY: []}
        changes: list[Change] = []
        corrected: Corrected | None = None
        for number in range(1, len(FLIGHT_ROUNDS) + 1):
            for identifier in (FLIGHTS, WEATHER):
                batches = feed[identifier][number - 1]
                _say(f"Run {number} of {len(FLIGHT_ROUNDS)}, {identifier}: {len(batches)} micro-batches have landed")
                deliver(batches, landings[identifier])
                if (identifier, number) == (WEATHER, len(FLIGHT_ROUNDS)):
                    _say(f"UPDATE of {WEATHER}, which holds nine months: {correction.NAME}")
                    corrected = demo.correct_weather()
                if number == len(FLIGHT_ROUNDS):
                    declare_indexes(catalog, identifier)
                results[identifier].append(demo.run(identifier, number))
                if (identifier, number) == (FLIGHTS, len(FLIGHT_ROUNDS)):
                    commands = console.examples(
                        os.path.relpath(project.warehouse, FOLDER), results[FLIGHTS][-1].maintained
                    )
                    shown = beside.submit(console.show, commands, FOLDER)
            _say(f"Run {number} of {len(FLIGHT_ROUNDS)}, {ROUTE_DAY}: a stream follows the changelog of the flights")
            followed = follow(records.result(), demo.described(ROUTE_DAY), CHECKPOINT)
            results[ROUTE_DAY].append(demo.run(ROUTE_DAY, number, followed))
            changes += demo.new_changes()
        assert corrected is not None
        last = correction.marks(catalog.open(), WEATHER)
        corrected = replace(corrected, marks=(*corrected.marks, ("after the next run", last)))
        return _report(project, catalog, Story(results, changes, corrected, shown, started))


@dataclass(frozen=True, slots=True)
class Story:
    """What has happened. `results`: by table; `changes`: of one flight; `shown`: commands that still run."""

    results: dict[str, list[RoundResult]]
    changes: Sequence[Change]
    corrected: Corrected
    shown: Future[list[console.Shown]]
    started: float


def _report(project: Project, catalog: PaimonCatalog, story: Story) -> int:
    """Print the report, and write it as a page. Raises: SystemExit: a command that it shows failed."""
    print()
    skipped = {
        name: [index_report(catalog.get_table(name), query) for query in queries]
        for name, queries in INDEX_QUERIES.items()
    }
    for identifier, rounds in story.results.items():
        print("\n".join(table_report(identifier, QUERIES[identifier], rounds)))
        print("".join(f"{line}\n" for line in skipped.get(identifier, ())))
    corrected_name = f"{WEATHER}: {correction.NAME}"
    print("\n".join(correction_report(corrected_name, story.corrected)), end="\n\n")
    print("\n".join(changelog_report(HONOLULU_NAME, story.changes)))
    audit = audit_changelog(None, catalog.get_table(FLIGHTS))
    print(f"  {audit}", end="\n\n")
    checked = checks(*(catalog.get_table(name).to_arrow() for name in (FLIGHTS, WEATHER, ROUTE_DAY)))
    print("\n".join(console_report(story.shown.result())), end="\n\n")
    print("\n".join(map(check_report, checked)), end="\n\n")
    seconds = time.monotonic() - story.started
    account = Account(
        results=story.results,
        queries=QUERIES,
        skipped=skipped,
        correction=corrected_name,
        corrected=story.corrected,
        flight=HONOLULU_NAME,
        changes=story.changes,
        audit=str(audit),
        checks=checked,
        console=story.shown.result(),
        warehouse=str(project.warehouse),
        seconds=seconds,
    )
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page_of(account))
    print(f"The tables, for any reader of Apache Paimon: {project.warehouse}")
    print(f"This report as a page: {PAGE.as_uri()}")
    print("Dagster with these runs, every table and its plots: make ui")
    print(f"The demo took {seconds:.0f} s.")
    return 0 if audit.holds and all(check.right for check in checked) else 1


def checks(flight_rows: pa.Table, weather_rows: pa.Table, route_rows: pa.Table) -> list[Check]:
    """Whether the tables hold what pandas makes of the source; of the weather with the same correction."""
    by_key = flight_rows.sort_by([(name, "ascending") for name in flights.KEY]).to_pandas()
    return [
        Check(FLIGHTS, len(by_key), routes.same(by_key, flights.final_rows().to_pandas())),
        Check(WEATHER, weather_rows.num_rows, routes.same(correction.found(weather_rows), correction.expected())),
        Check(ROUTE_DAY, route_rows.num_rows, routes.same(routes.found(route_rows), routes.expected())),
    ]


def _say(line: str) -> None:
    print(line, flush=True)
