"""`paimon-maintenance check`: what a tables.yaml means for its warehouse, and an exit code."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from maintenance.catalog import Schema, open_catalog
from paimon_maintenance.assets.project.config import FOLDER
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
    assert "pattern shop.*: 3 tables: shop.orders, shop.new, shop.visits" in lines
    assert "pattern shop.ord*: 1 tables: shop.orders" in lines
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
    assert not [line for line in lines if line.startswith("error")]


def test_defaults_are_shown_on_request(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--defaults", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "  compaction.automatic = true  (default)" in shown
    assert "  compaction.trigger = 4  (patterns.1, shop.ord*)" in shown


WRONG = {
    "no match": ("pattern: shop.ord*", "pattern: shp.*", "patterns.1.pattern: 'shp.*' matches nothing"),
    "misspelt": ("identifier: shop.orders", "identifier: shop.ordes", "Did you mean 'shop.orders'?"),
    "unknown key": ("{trigger: 4}", "{triger: 4}", "line 8"),
    "warehouse": ("/lake", "/lakes", "does not exist"),
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
    assert said in capsys.readouterr().out


def test_a_table_that_cannot_be_read_is_an_error(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "lake" / "shop.db" / "visits" / "schema" / "schema-0").write_text("{")
    assert main(["check", str(file)]) == 1
    assert "error: shop.visits cannot be read: " in capsys.readouterr().out


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
