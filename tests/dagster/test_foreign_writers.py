"""Java and pypaimon at one table: people are told who they are; of clean work they are told nothing."""

import json
import subprocess
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.project.config import Project, TableConfig
from maintenance.project.policies import Alerts, CompactionPolicy
from maintenance.project.targets.webhook import Webhook
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.cases import wants_all
from tests.dagster.conftest import Receiver, evaluate, switch_on
from tests.java import conftest as java_tests
from tests.java.process import JavaProcess
from tests.pypaimon import test_read_by_pypaimon as pypaimon_tests
from tests.tables import create_table

java = java_tests.java
pypaimon = pypaimon_tests.pypaimon
Hook = tuple[str, type[Receiver]]
WRITE_STREAM = Path(__file__).parents[1] / "pypaimon" / "write_stream.py"


def watched(warehouse: Path, url: str, *, automatic: bool = True) -> Project:
    return Project(
        warehouse=str(warehouse),
        history=None,
        alerts=Alerts(targets=(Webhook(kind="webhook", url=url),)),
        # Others compact it: whether we do so beside them is a check of its own.
        tables=(TableConfig(identifier="db.t", compaction=CompactionPolicy(automatic=automatic)),),
    )


class Ticks:
    """The radar and the alerts, tick by tick, as the daemon does it."""

    def __init__(self, project: Project, instance: dg.DagsterInstance) -> None:
        self.project, self.instance = project, instance
        self.cursors: dict[str, str | None] = {"check_radar": None, "alerts": None}

    def one(self) -> None:
        for sensor, cursor in self.cursors.items():
            self.cursors[sensor] = evaluate(self.project, self.instance, sensor, cursor).cursor


class PypaimonWriter:
    """A streaming job of pypaimon, in a process of its own."""

    def __init__(self, python: Path, warehouse: Path) -> None:
        self.process = subprocess.Popen(
            [python, WRITE_STREAM, warehouse], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.user = self._line()

    def write(self, rows: list[tuple[int, str]]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(rows) + "\n")
        self.process.stdin.flush()
        self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, f"pypaimon ended with code {self.process.poll()}"
        return line

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)


@pytest.mark.slow
def test_java_and_pypaimon_fight_over_a_table_and_both_are_named_within_a_tick(
    java: JavaProcess,
    pypaimon: Path,
    receiver: Hook,
    instance: dg.DagsterInstance,
    tmp_path: Path,
) -> None:
    url, handler = receiver
    warehouse = str(tmp_path)
    columns = [("id", "INT NOT NULL"), ("v", "STRING")]
    options = {"bucket": "1", "num-sorted-run.compaction-trigger": "2", "commit.user-prefix": "etl"}
    java.create_table(warehouse, "db.t", columns, (["id"], []), options)
    ticks = Ticks(watched(tmp_path, url, automatic=False), instance)
    for number in (1, 2):
        java.write_stream(warehouse, "db.t", "flink-orders", number, [(1, f"java {number}")])
    ticks.one()
    assert handler.received == [], "one writer that compacts what it writes is fine"
    python = PypaimonWriter(pypaimon, tmp_path)
    try:
        python.write([(1, "python 1"), (2, "python 1")])
        java.write_stream(warehouse, "db.t", "flink-orders", 3, [(1, "java 3")])
        python.write([(3, "python 2")])
    finally:
        python.close()
    ticks.one()
    reported = {alert["subject"]: alert for alert in handler.received}
    # pypaimon does not compact, and nobody else is going to.
    due = reported.pop("Check nothing_due of db.t")
    assert due["state"] == "failed"
    assert set(reported) == {"Check no_bucket_overlap of db.t", "Check writers_are_write_only of db.t"}
    assert python.user.startswith("etl_")
    for alert in reported.values():
        assert alert["state"] == "failed"
        assert "'flink-orders'" in alert["summary"]
        assert f"'{python.user}'" in alert["summary"]
        assert "bucket 0" in alert["summary"]
        assert "write-only" in alert["summary"] + alert["fix"]
    ticks.one()
    assert len(handler.received) == 3, "once"


@pytest.mark.slow
def test_many_clean_commits_raise_nothing(receiver: Hook, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    """Two writers, each with a partition of its own, and one compaction: what the documentation recommends.

    At night they are a thousand commits.
    """
    commits = 500 if wants_all() else 150
    url, handler = receiver
    fields = (("p", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING"))
    table = create_table(
        tmp_path, fields, ("p", "id"), {"write-only": "true", "num-sorted-run.compaction-trigger": "5"},
        partition_keys=("p",),
    )  # fmt: skip
    ticks = Ticks(watched(tmp_path, url), instance)
    switch_on(instance, keys.EXPIRY_SCHEDULE)  # what expires here is none of its business
    for number in range(commits):
        for part, writer in enumerate(("orders-eu", "orders-us")):
            columns = [[part] * 2, [number % 50, 100 + number % 7]]
            rows = pa.table([*(pa.array(column, pa.int32()) for column in columns), [f"{number}"] * 2],
                            names=["p", "id", "v"])  # fmt: skip
            table.write_arrow(rows, commit_user=writer, commit_identifier=number)
        if number % 5 == 4:
            compact(None, table)
        if number % 50 == 49:
            expire_snapshots(table, retain_max=100, retain_min=20)
            ticks.one()
            assert handler.received == []
    assert (table.snapshots.latest_id() or 0) > 2 * commits
    assert PaimonCatalog(warehouse=str(tmp_path)).get_table("db.t").to_arrow().num_rows == 2 * 57
