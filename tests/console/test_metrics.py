"""What Prometheus scrapes: the figures of the fleet's page and of the history, by documented names."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from maintenance.catalog import CatalogTable
from maintenance.operations.history import HistoryEntry, history_table, write_history
from tests.console_site import Site
from tests.servers.processes import free_port
from tests.tables import create_table, keyed, open_warehouse

ROOT = Path(__file__).parents[2]
PRICES = "costs: {gb_month: 0.02, core_hour: 1.0, currency: EUR}\n"


def scraped(site: Site) -> dict[str, Metric]:
    answer = site.get("/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {metric.name: metric for metric in text_string_to_metric_families(answer.html)}


def value(metric: Metric, **labels: str) -> float:
    (sample,) = [sample for sample in metric.samples if labels.items() <= sample.labels.items()]
    return float(sample.value)


def test_tables_and_runs_are_metrics(site: Site, tables_yaml: Path, tmp_path: Path) -> None:
    tables_yaml.write_text(tables_yaml.read_text() + PRICES)
    create_table(tmp_path / "lake", name="db.calm").write_arrow(keyed({1: "a"}))
    at = datetime(2026, 5, 1, tzinfo=UTC)
    now = datetime.now(UTC).replace(microsecond=0)
    entries = [
        HistoryEntry(now, "db.calm", "compact", seconds=2.5, files_before=9, files_after=2,
                     details={"core_seconds": 3600.0, "requests": 40, "written_bytes": 100, "deleted_bytes": 1 << 30}),
        HistoryEntry(now, "db.calm", "compact", seconds=1.5, input_bytes=7),
        HistoryEntry(now, "db.calm", "compact", outcome="failed"),
        HistoryEntry(at, "db.calm", "compact", seconds=9.0),
        *(HistoryEntry(now, "db.calm", "tag", seconds=0.5) for _ in range(30)),
    ]  # fmt: skip
    write_history(open_warehouse(tmp_path / "lake"), history_table("_maintenance"), entries)
    found = scraped(site)
    assert value(found["paimon_table_files"], table="db.calm") == 1
    assert value(found["paimon_table_state"], table="db.calm", state="healthy") == 1
    assert value(found["paimon_table_state"], table="db.t", state="healthy") == 0
    assert value(found["paimon_table_state"], table="db.t", state="unhealthy") == 1
    assert 0 <= value(found["paimon_table_health_score"], table="db.t") <= 100
    compacted = {"table": "db.calm", "operation": "compact", "outcome": "succeeded"}
    assert value(found["paimon_operation_runs_week"], **compacted) == 2
    assert value(found["paimon_operation_seconds_week"], **compacted) == 4
    assert value(found["paimon_operation_runs_week"], table="db.calm", outcome="failed") == 1
    assert value(found["paimon_operation_runs_week"], table="db.calm", operation="tag") == 30
    work = {"core_seconds": 3601.5, "requests": 40, "read_bytes": 7, "written_bytes": 100, "freed_bytes": 1 << 30,
            "files_less": 7}  # fmt: skip
    for name, expected in work.items():
        metric = found[f"paimon_operation_{name}_week"]
        assert value(metric, **compacted) == expected
    seconds = 3601.5 + 30 * 0.5
    assert value(found["paimon_table_spent_week"], table="db.calm", currency="EUR") == pytest.approx(seconds / 3600)
    assert value(found["paimon_table_saved_month"], table="db.calm", currency="EUR") == pytest.approx(0.02)
    live = value(found["paimon_table_live_bytes"], table="db.calm")
    stored = value(found["paimon_table_storage_month"], table="db.calm", currency="EUR")
    assert stored == pytest.approx(0.02 * live / (1 << 30))
    last = value(found["paimon_operation_last_timestamp_seconds"], table="db.calm", outcome="failed")
    assert last == now.timestamp()


def test_names_are_those_of_the_docs_and_the_dashboard(site: Site, tables_yaml: Path) -> None:
    tables_yaml.write_text(tables_yaml.read_text() + PRICES)
    names = set(scraped(site))
    documented = set(re.findall(r"`(paimon_\w+)`", (ROOT / "docs" / "watching.md").read_text()))
    assert names == documented
    dashboard = json.loads((ROOT / "examples" / "grafana" / "paimon-tables.json").read_text())
    asked = {name for panel in dashboard["panels"] for target in panel["targets"]
             for name in re.findall(r"paimon_\w+", target["expr"])}  # fmt: skip
    assert asked <= names
    assert len(asked) > 8


def test_a_scrape_fails_where_tables_yaml_cannot_be_read(
    site: Site, tables_yaml: Path, instance: dg.DagsterInstance
) -> None:
    tables_yaml.write_text("warehouse: [")
    answer = site.get("/metrics")
    assert answer.status == 500
    assert "tables.yaml" in answer.text


def started(command: list[str], where: Path, **variables: str) -> subprocess.Popen[str]:
    out = where / f"{Path(command[0]).name}.log"
    with out.open("w") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, text=True, cwd=where, env={**os.environ, **variables})


def asked(address: str, patience: float = 60.0) -> Any:
    """What an address answers, in JSON, once it does."""
    end = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                found = json.load(answer)
            if found["data"].get("result", True):
                return found["data"]
        except OSError:
            pass
        assert time.monotonic() < end, f"{address} has given nothing"
        time.sleep(0.5)


@pytest.mark.slow
def test_a_prometheus_scrapes_them(tables_yaml: Path, keyed_table: CatalogTable, tmp_path: Path) -> None:
    found = subprocess.run([ROOT / "scripts" / "prometheus"], capture_output=True, text=True, check=False)
    if found.returncode and not os.environ.get("CI"):
        pytest.skip(found.stderr)
    console, server = free_port(), free_port()
    scraping = {"job_name": "paimon", "static_configs": [{"targets": [f"localhost:{console}"]}]}
    settings = {"global": {"scrape_interval": "1s"}, "scrape_configs": [scraping]}
    (tmp_path / "prometheus.yml").write_text(json.dumps(settings))
    commands = (
        [sys.executable, "-m", "paimon_maintenance.commands.main", "console", str(tables_yaml), "-p", str(console)],
        [
            found.stdout.strip(),
            "--config.file=prometheus.yml",
            f"--web.listen-address=127.0.0.1:{server}",
            "--storage.tsdb.path=data",
        ],
    )
    running = [started(command, tmp_path, PYTHONPATH=str(ROOT), DAGSTER_HOME="") for command in commands]
    try:
        query = "paimon_table_files%7Btable%3D%22db.t%22%7D"
        (sample,) = asked(f"http://127.0.0.1:{server}/api/v1/query?query={query}")["result"]
        assert sample["metric"] | {"table": "db.t", "job": "paimon"} == sample["metric"]
        assert float(sample["value"][1]) == 5
        (target,) = asked(f"http://127.0.0.1:{server}/api/v1/targets")["activeTargets"]
        assert (target["health"], target["lastError"]) == ("up", "")
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)
