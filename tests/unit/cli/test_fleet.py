"""Figures and judgements of all tables, a line for each."""

import json
from pathlib import Path
from typing import Any

import pytest

from maintenance.cli.exits import FAILED, NOTHING_TO_DO, REFUSED
from maintenance.cli.main import run
from maintenance.sql import Session

SCRIPT = """
CREATE DATABASE shop;
CREATE TABLE shop.orders (id INT PRIMARY KEY NOT ENFORCED, v STRING) WITH ('bucket' = '1', 'write-only' = 'true');
INSERT INTO shop.orders VALUES (1, 'a'), (2, 'b');
INSERT INTO shop.orders VALUES (2, 'c');
CREATE TABLE shop.log (id INT)
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    list(Session({"warehouse": str(tmp_path)}, dialect="flink").execute(SCRIPT))
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    return capsys.readouterr().out


def objects(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    lines = printed(capsys, *arguments, "--json", code=code).splitlines()
    return {row["table"]: row for row in map(json.loads, lines)}


def test_the_long_list_has_figures(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = objects(capsys, "--warehouse", str(lake), "tables", "shop", "--long")
    orders = rows["orders"]
    assert (orders["kind"], orders["rows"], orders["files"], orders["level0_files"], orders["sorted_runs"]) == (
        "primary key", 3, 2, 2, 2,
    )  # fmt: skip
    stored = sum(path.stat().st_size for path in (lake / "shop.db" / "orders" / "bucket-0").iterdir())
    assert (orders["bytes"], orders["snapshots"], orders["problem"]) == (stored, 2, "")
    assert (rows["log"]["kind"], rows["log"]["rows"], rows["log"]["changed"]) == ("append", 0, None)


def test_people_read_sizes_and_times(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "--warehouse", str(lake), "tables", "--long")
    (line,) = [line for line in text.splitlines() if "orders" in line]
    assert "KiB" in line or "bytes" in line
    assert "level0_files" in text.splitlines()[1] + text.splitlines()[0]


def test_a_plan_of_all_tables_is_a_sentence_for_each_action(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session({"warehouse": str(lake)}, dialect="flink")
    list(session.execute(";".join(f"INSERT INTO shop.log VALUES ({i})" for i in range(12))))
    start = ["--warehouse", str(lake), "fleet", "--dry-run"]
    summary, *lines = printed(capsys, *start).splitlines()
    assert "over 2 tables" in summary
    assert any(line.startswith("now: compact shop.log: 12 small files; 11 files less, in about ") for line in lines)
    assert len(lines) == len(printed(capsys, *start, "--json").splitlines())
    _, *lines = printed(capsys, *start, "--bytes", "1", code=NOTHING_TO_DO).splitlines()
    assert all(line.startswith("later: ") and "; more than twice the budget of a day" in line for line in lines)


def test_every_table_is_judged(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {*objects(capsys, "--warehouse", str(lake), "health")} == {"orders", "log"}
    (data,) = list((lake / "shop.db" / "orders" / "bucket-0").iterdir())[:1]
    data.unlink()
    (lake / "shop.db" / "log" / "schema" / "schema-0").write_text("{")
    rows = objects(capsys, "--warehouse", str(lake), "health", code=FAILED)
    assert not rows["orders"]["healthy"]
    assert "readable" in rows["orders"]["wrong"]
    assert rows["orders"]["fix"]
    assert rows["orders"]["snapshots"] == 2
    assert not rows["log"]["healthy"]
    assert rows["log"]["found"]
    long = objects(capsys, "--warehouse", str(lake), "tables", "--long")
    assert rows["log"]["found"].startswith(long["log"]["problem"])


def test_a_database_that_is_not_there_is_refused(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "--warehouse", str(lake), "tables", "missing", "--long", code=REFUSED)


def test_targets_of_a_table_and_of_a_pattern_are_kept_to(
    tmp_path: Path, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tables.yaml"
    targets = "{targets: {sorted_runs: 1, orphan_bytes: 9}}"
    start = f"warehouse: {lake}\npatterns:\n  - {{pattern: 'shop.*', health: {targets}}}\n"
    file.write_text(start)
    rows = objects(capsys, "--tables", str(file), "health", code=FAILED)
    assert rows["orders"]["wrong"] == "health_targets"
    assert rows["orders"]["found"] == "sorted_runs is 2 sorted runs, and its target 1 sorted runs"
    assert rows["orders"]["fix"].startswith("Compact the table.")
    assert rows["log"]["healthy"], "it has no commits yet"
    own = "tables:\n  - {identifier: shop.orders, health: {targets: {sorted_runs: 2, orphan_bytes: 9}}}\n"
    file.write_text(start + own)
    lines = printed(capsys, "--tables", str(file), "health", "shop.orders", "--json").splitlines()
    (said,) = [row["found"] for row in map(json.loads, lines) if row["check"] == "health_targets"]
    assert said == "1 part with a target keeps to it; not measured here: orphan_bytes"
    part = "'sorted_rums' is no part of the health"
    for wrong, problem in (("sorted_rums: 2", part), ("sorted_runs: -1", "below 0")):
        file.write_text(start.replace("sorted_runs: 1", wrong))
        assert run(["--tables", str(file), "health", "shop.orders"]) == 2
        assert problem in capsys.readouterr().err
