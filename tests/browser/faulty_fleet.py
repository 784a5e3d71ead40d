"""A fleet of ten tables with one fault each, as they come about in practice, and a healthy one; each can be repaired.

Nothing is mocked: files are cut off and deleted, writers get into each other's way, a reader is stuck, a foreign writer
notes wrong key ranges so that the proof of a compaction fails, and a table is misspelt in tables.yaml.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.commit.identity import CommitIdentity
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.row_attempts import RowAttempts
from maintenance.operations.refs.reset_consumer import reset_consumer
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows

HEALTHY = "fleet.orders"
PROOF = "fleet.proof"
MISSPELT = "fleet.ordes"
_OLD = timedelta(days=30)

TABLES = """
warehouse: {folder}/lake
history: null
radar: {{judge_again: 20 s}}
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 2
alerts:
  url: http://dagster.example
  targets: [{{kind: webhook, url: "{webhook}"}}{others}]
patterns:
  - pattern: fleet.*
    compaction: {{automatic: false}}
tables:
  - identifier: fleet.dead_writer
    checks: {{max_age: 1 h}}
  - identifier: {misspelt}
"""


@dataclass(frozen=True)
class Fault:
    """One table's fault.

    Attributes:
        check: the check that is red; `cause`, `step`: parts of what it says is wrong, and of what to do.
        make, repair: of the table; None where the fault lies in tables.yaml.
    """

    table: str
    check: str
    cause: str
    step: str
    make: Callable[[CatalogTable], None] | None
    repair: Callable[[CatalogTable], None] | None

    @property
    def needs_run(self) -> bool:
        """Whether it shows only once the table is compacted, and the failed run is what people are told of."""
        return self.table == PROOF


@dataclass(frozen=True)
class Fleet:
    """The fleet below `folder`. `webhook`: where alerts go; `others`: more targets, as YAML."""

    folder: Path
    webhook: str
    others: tuple[str, ...] = ()

    @property
    def yaml(self) -> Path:
        return self.folder / "tables.yaml"

    @property
    def warehouse(self) -> str:
        return str(self.folder / "lake")

    def build(self) -> None:
        """Write all tables, with their faults, and tables.yaml."""
        catalog = open_catalog({"warehouse": self.warehouse})
        catalog.create_database("fleet")
        _create(catalog, HEALTHY)
        _put(self.table(HEALTHY), "till", 1)
        for fault in FAULTS:
            if fault.make is not None:
                _create(catalog, fault.table, **_OPTIONS.get(fault.table, {}))
                fault.make(self.table(fault.table))
        self._describe(MISSPELT)

    def repair(self, fault: Fault) -> None:
        """Take a fault away, as a person would. Definitions are loaded again after one of tables.yaml."""
        if fault.repair is not None:
            fault.repair(self.table(fault.table))
        else:
            self._describe(HEALTHY)

    def table(self, name: str) -> CatalogTable:
        table = open_catalog({"warehouse": self.warehouse}).get_table(name)
        assert isinstance(table, CatalogTable)
        return table

    def _describe(self, name: str) -> None:
        others = "".join(f", {target}" for target in self.others)
        reported = TABLES.format(folder=self.folder, webhook=self.webhook, others=others, misspelt=name)
        self.yaml.write_text(reported)


_OPTIONS = {"fleet.invisible_rows": {"deletion-vectors.enabled": "true"}}


def _create(catalog: Catalog, name: str, **options: str) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "STRING")]
    chosen = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "50", **options}
    catalog.create_table(name, Schema(fields, ["id"], [], chosen))


def _rows(first: int, last: int, text: str) -> pa.Table:
    ids = pa.array(range(first, last), pa.int32())
    return pa.table({"id": ids, "v": pa.array([text] * len(ids))})


def _put(table: CatalogTable, writer: str, number: int) -> None:
    table.write_arrow(_rows(0, 10, writer), commit_user=writer, commit_identifier=number)


def _snapshot(table: CatalogTable) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def _replace_snapshot(table: CatalogTable, snapshot: Snapshot) -> None:
    Path(table.paths.snapshot(snapshot.id)).write_bytes(serialize_snapshot(snapshot))


def _set_aside(path: Path) -> Path:
    """Where the whole file is kept until the repair, outside the table."""
    return Path(str(path).replace("/lake/", "/aside/"))


def _damage(path: Path, left: int | None) -> None:
    """Cut a file off, or delete it. `left`: bytes that remain."""
    aside = _set_aside(path)
    aside.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(path, aside)
    if left is not None:
        path.write_bytes(aside.read_bytes()[:left])


def _restore(table: CatalogTable) -> None:
    """Put back what was set aside of a table."""
    folder = _set_aside(Path(table.location))
    shutil.copytree(folder, table.location, dirs_exist_ok=True)
    shutil.rmtree(folder)


def _break_snapshot(table: CatalogTable) -> None:
    for number in range(2):
        _put(table, "etl", number)
    _damage(Path(table.paths.snapshot(2)), 40)


def _cut_data_file(table: CatalogTable) -> None:
    _put(table, "etl", 1)
    (entry,) = table.manifests.live_entries(_snapshot(table))
    _damage(Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)), 100)


def _lose_manifest(table: CatalogTable) -> None:
    _put(table, "etl", 1)
    (manifest,) = table.manifests.data_manifests(_snapshot(table))
    _damage(Path(table.paths.manifest(manifest.file_name)), None)


def _age_snapshot(table: CatalogTable, snapshot_id: int) -> None:
    snapshot = table.snapshots.get(snapshot_id)
    old = snapshot.time_millis - int(_OLD.total_seconds() * 1000)
    _replace_snapshot(table, replace(snapshot, time_millis=old))


def _stop_writer(table: CatalogTable) -> None:
    _put(table, "flink-etl", 1)
    _age_snapshot(table, 1)
    compact(None, table, full=True)


def _hide_rows(table: CatalogTable) -> None:
    _put(table, "flink-etl", 1)


def _two_compactors(table: CatalogTable) -> None:
    for number in range(3):
        _put(table, "etl", number)
        compact(None, table, full=True)
        if number == 1:
            _replace_snapshot(table, replace(_snapshot(table), commit_user="flink-compactor", properties=None))


def _two_writers(table: CatalogTable) -> None:
    for number, writer in enumerate(("flink-job", "spark-job", "flink-job")):
        _put(table, writer, number)


def _forget(table: CatalogTable) -> None:
    """Let what happened expire: the writers have been put right, and only what they do now counts."""
    _put(table, "flink-job", 10)
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)


def _stick_consumer(table: CatalogTable) -> None:
    for number in range(2):
        _put(table, "etl", number)
    _age_snapshot(table, 1)
    reset_consumer(table, "dashboard", next_snapshot=1)


def _move_consumer(table: CatalogTable) -> None:
    reset_consumer(table, "dashboard", next_snapshot=_snapshot(table).id + 1)


def _note_wrong_keys(table: CatalogTable) -> None:
    """Two files overlap, and a foreign writer says that they do not: merging them as it says gives keys twice."""
    table.write_arrow(_rows(15, 16, "etl"), commit_user="etl", commit_identifier=0)
    (entry,) = table.manifests.live_entries(_snapshot(table))
    _put(table, "etl", 1)
    context = table.write_context()
    for attempt in RowAttempts(None, table, CommitIdentity("etl", 2)):
        with attempt:
            messages = write_rows(context, attempt.state, conform(_rows(0, 20, "broken"), None, context))
            files = [(m, tuple(replace(f, min_key=entry.file.max_key) for f in m.new_files)) for m in messages]
            attempt.wrote([replace(message, new_files=wrong) for message, wrong in files])


def _take_back(table: CatalogTable) -> None:
    rollback_to(table, snapshot_id=2)
    shutil.rmtree(Path(table.location) / "_quarantine")


def _compact(table: CatalogTable) -> None:
    compact(None, table)


FAULTS = (
    Fault("fleet.broken_snapshot", "readable", "snapshot-2", "the job rollback, with snapshot_id: 1", _break_snapshot,
          _restore),
    Fault("fleet.cut_data_file", "readable", "a file has 100 bytes", "Restore the file", _cut_data_file, _restore),
    Fault("fleet.lost_manifest", "readable", "manifest-", "restore it from a copy", _lose_manifest, _restore),
    Fault("fleet.dead_writer", "freshness", "by 'flink-etl'", "the job that writes", _stop_writer,
          lambda table: _put(table, "flink-etl", 2)),
    Fault("fleet.invisible_rows", "rows_visible", "10 committed rows in 1 file are invisible", "Compact the table",
          _hide_rows, _compact),
    Fault("fleet.two_compactors", "single_compactor", "'flink-compactor'", "Let one job compact", _two_compactors,
          _forget),
    Fault("fleet.two_writers", "no_bucket_overlap", "'spark-job' (snapshot 2)", "Let one job write", _two_writers,
          _forget),
    Fault("fleet.stuck_consumer", "retention_blockers", "consumer 'dashboard' holds snapshot 1", "Reset or delete",
          _stick_consumer, _move_consumer),
    Fault(PROOF, "nothing_quarantined", "failed its verification", "delete that folder", _note_wrong_keys, _take_back),
    Fault(MISSPELT, "readable", "Did you mean 'fleet.orders'?", "Correct its name", None, None),
)  # fmt: skip
