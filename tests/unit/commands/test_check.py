"""`paimon-maintenance check`: what a tables.yaml means for its warehouse, and an exit code."""

import shutil
import tomllib
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.project.config import Project
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import Discovery, survey
from paimon_maintenance.commands.main import main

TEXT = """
warehouse: {folder}/lake
patterns:
  - pattern: shop.*
    compaction: {{trigger: 8}}
    tag: {{time_retained: 7 d}}
  - pattern: shop.ord*
    compaction: {{trigger: 4}}
tables:
  - identifier: shop.orders
    tag: null
  - identifier: shop.new
    columns: {{id: INT}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    catalog.create_database("shop")
    for name in ("orders", "visits"):
        catalog.create_table(f"shop.{name}", Schema([("id", "INT")]))
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT.format(folder=tmp_path))
    return path


def test_each_setting_says_where_it_comes_from(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "pattern shop.*: 2 tables: shop.orders, shop.visits; to be created: shop.new" in lines
    assert "pattern shop.ord*: 1 table: shop.orders" in lines
    orders = lines.index("table shop.orders")
    assert lines[orders + 1 : orders + 3] == [
        "  compaction.trigger = 4  (patterns.1, shop.ord*)",
        "  tag = null  (tables.0)",
    ]
    visits = lines.index("table shop.visits")
    assert lines[visits + 1 : visits + 3] == [
        "  compaction.trigger = 8  (patterns.0, shop.*)",
        '  tag.time_retained = "7 d"  (patterns.0, shop.*)',
    ]
    assert "table shop.new (to be created)" in lines
    assert lines[-1] == "0 problems"


def test_defaults_are_shown_on_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--defaults", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "  compaction.automatic = true  (default)" in shown
    assert "  compaction.trigger = 4  (patterns.1, shop.ord*)" in shown


WRONG = {
    "no match": ("pattern: shop.ord*", "pattern: shp.*", "line 7: patterns.1.pattern: 'shp.*' matches nothing"),
    "misspelt": ("identifier: shop.orders", "identifier: shop.ordes", "Did you mean 'shop.orders'?"),
    "unknown key": ("{trigger: 4}", "{triger: 4}", "line 8: patterns.1.compaction.triger: "),
    "warehouse": ("/lake", "/lakes", "does not exist"),
    "column": (
        "tag: null",
        "index_columns: {bitmap: [id, idd]}",
        "line 11: tables.0.index_columns.bitmap.1: shop.orders",
    ),
    "variable": (
        "patterns:",
        "catalog: {s3.access-key: '${NO_KEY}'}\npatterns:",
        "line 3: catalog.s3.access-key: the e",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_and_fails(wrong: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, said = WRONG[wrong]
    text = file.read_text()
    assert good in text
    text = text.replace(good, bad)
    if wrong == "warehouse":
        text = text[: text.index("  - identifier: shop.new")]
    file.write_text(text)
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert said in shown
    assert shown.endswith("1 problem\n") or wrong == "variable", "a warehouse cannot be opened without its options"


def test_all_that_is_wrong_is_said_at_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = file.read_text().replace("{trigger: 8}", "{trigger: eight}").replace("shop.ord*", "shop.odd*")
    text = text.replace("identifier: shop.orders\n    tag: null", "identifier: shop.visit\n    owner: me@example.com")
    more = "  - identifier: shop.visits\n    index_columns: {bsi: [amount]}\n"
    more += "alerts: {targets: [{kind: webhook, url: '${NO}'}]}\n"
    file.write_text(text + more)
    assert main(["check", str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    problems = [line.partition("tables.yaml, ")[2] for line in lines if "tables.yaml, line" in line]
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["line 5", "patterns.0.compaction.trigger"],
        ["line 11", "tables.0.owner"],
        ["line 16", "alerts.targets.0.url"],
        ["line 7", "patterns.1.pattern"],
        ["line 10", "tables.0.identifier"],
        ["line 15", "tables.2.index_columns.bsi.0"],
    ]
    assert lines[-1] == "6 problems"
    named = " ".join(line for line in lines if line.startswith(("pattern", "table"))).split()
    assert "shop.visits" in named
    assert "shop.visit" not in named


def test_an_entry_that_cannot_be_used_does_not_hide_what_is_wrong_with_others(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = file.read_text().replace("pattern: shop.*", "pattern: shop").replace("trigger: 4", "triger: 4")
    file.write_text(f"{text}  - identifier: shop.non\n")
    assert main(["check", str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition("line ")[2].split(": ")[0] for line in lines if ", line " in line] == ["4", "8", "14"]
    assert lines[-1] == "3 problems"


@pytest.mark.parametrize("damage", ["cut off", "missing"])
def test_the_newest_snapshot_is_looked_at(damage: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = open_catalog({"warehouse": str(file.parent / "lake")}).get_table("shop.visits")
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32())}))
    assert main(["check", str(file)]) == 0
    capsys.readouterr()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (manifest,) = table.manifests.data_manifests(snapshot)
    path = Path(table.paths.manifest(manifest.file_name))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert f"line 4: patterns.0.pattern: shop.visits: snapshot 1 needs {path}, which " in shown
    assert ("is missing" if damage == "missing" else f"instead of {manifest.file_size:,}") in shown


def test_a_table_that_goes_meanwhile_is_a_problem(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen_then_gone(project: Project, catalog: PaimonCatalog) -> Discovery:
        found = survey(project, catalog)
        shutil.rmtree(file.parent / "lake" / "shop.db" / "visits")
        return found

    monkeypatch.setattr("paimon_maintenance.assets.warehouse.preflight.survey", seen_then_gone)
    assert main(["check", str(file)]) == 1
    assert (
        "shop.visits: the newest snapshot cannot be read: table 'shop.visits' does not exist" in capsys.readouterr().out
    )


def test_the_engine_is_tried_on_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{file.read_text()}spark: {{remote: 'sc://127.0.0.1:1'}}\n")
    assert main(["check", str(file)]) == 0
    assert main(["check", "--spark", str(file)]) == 1
    assert "spark: no step can use Spark: no Spark Connect server answers" in capsys.readouterr().out


def test_a_table_that_cannot_be_read_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "lake" / "shop.db" / "visits" / "schema" / "schema-0").write_text("{")
    assert main(["check", str(file)]) == 1
    assert "line 4: patterns.0.pattern: shop.visits cannot be read: " in capsys.readouterr().out


def test_alert_targets_are_tried_on_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = "alerts: {targets: [{kind: webhook, url: 'http://127.0.0.1:9/hook'}]}"
    file.write_text(f"{file.read_text()}{target}\n")
    assert main(["check", str(file)]) == 0
    assert main(["check", "--alerts", str(file)]) == 1
    assert "webhook: " in capsys.readouterr().out


def test_the_console_script_is_this_one() -> None:
    scripts = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, name = scripts["paimon-maintenance"].partition(":")
    assert getattr(import_module(module), name) is main
