"""The commands of `paimonctl` that the demo's report shows: they run as they are shown."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.create_tag import create_tag
from paimon_maintenance.demo import console
from paimon_maintenance.demo.console import Example, Maintained, examples, show
from paimon_maintenance.demo.run import FLIGHTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the commands as scripts/install writes them, for the Python of the tests."""
    folder = tmp_path_factory.mktemp("bin")
    subprocess.run([sys.executable, "scripts/link_commands.py", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture(autouse=True)
def this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Maintained]:
    """A folder with a warehouse of few flights, two of them in three states with tags; and its last compaction."""
    folder = tmp_path_factory.mktemp("lake")
    catalog = open_catalog({"warehouse": str(folder / "warehouse")})
    catalog.create_database("demo")
    columns = [
        ("month", "INT NOT NULL"),
        ("carrier", "STRING NOT NULL"),
        ("flight", "INT NOT NULL"),
        ("flight_date", "DATE"),
        ("origin", "STRING"),
        ("dest", "STRING"),
        ("status", "STRING"),
        ("dep_delay", "SMALLINT"),
        ("arr_delay", "SMALLINT"),
    ]
    keys = ["month", "carrier", "flight"]
    catalog.create_table(FLIGHTS, Schema(columns, keys, ["month"], {"bucket": "1", "write-only": "true"}))
    table = catalog.get_table(FLIGHTS)
    assert isinstance(table, CatalogTable)
    states = [("scheduled", None, None), ("departed", -9, None), ("arrived", -9, -4)]
    maintained = Maintained(0, 0)
    for number, (status, departs, arrives) in enumerate(states, 1):
        for month in (7, 8):
            values = [month, "HA", 51, date(2013, month, 11), "JFK", "HNL", status, departs, arrives]
            types = [pa.int32(), pa.string(), pa.int32(), pa.date32(), *[pa.string()] * 3, pa.int16(), pa.int16()]
            arrays = [pa.array([value], kind) for value, kind in zip(values, types, strict=True)]
            table.write_arrow(pa.table(arrays, names=[name for name, _ in columns]))
        before = table.snapshots.latest_id()
        report = compact(None, table, full=True)
        assert before is not None
        maintained = Maintained(before, report.snapshot_ids[-1])
        create_tag(table, f"run-{number}")
    return folder, maintained


def cells(output: str) -> list[list[str]]:
    """The words of a table's rows, without its head."""
    return [line.split() for line in output.splitlines()[2:]]


@pytest.mark.slow
def test_each_shows_what_it_says(lake: tuple[Path, Maintained], commands: Path) -> None:
    folder, maintained = lake
    shown = show(examples("warehouse", maintained), folder, commands)
    assert [one.example.command for one in shown] == [one.command for one in examples("warehouse", maintained)]
    by_origin, by_tag, states, files, plan, expiry = (one.output for one in shown)
    assert cells(by_origin) == [["JFK", "2", "-9.0", "0"]]
    assert cells(by_tag) == [["run-1", "scheduled"], ["run-2", "departed", "-9"], ["run-3", "arrived", "-9", "-4"]]
    assert cells(states) == [["before", "maintenance", "2", "-18"], ["after", "maintenance", "2", "-18"]]
    (before, many, records, _), (after, few, rows, _) = cells(files)
    assert (int(before), int(after)) == (maintained.before, maintained.after)
    assert (many, records, few, rows) == ("4", "4", "2", "2")
    assert "columns: month, carrier, dest" in plan
    assert "filter: (month = 7) AND (dest = 'HNL')" in plan
    assert int(cells(expiry)[0][0]) > 0
    table = open_catalog({"warehouse": str(folder / "warehouse")}).get_table(FLIGHTS)
    assert isinstance(table, CatalogTable)
    assert table.snapshots.earliest_id() == 1


@pytest.mark.slow
def test_a_command_that_fails_is_named_with_its_error(lake: tuple[Path, Maintained], commands: Path) -> None:
    folder, maintained = lake
    wrong = Example("paimonctl --warehouse warehouse sql 'SELECT gate FROM demo.flights'", "It fails.")
    with pytest.raises(SystemExit) as failed:
        show([*examples("warehouse", maintained)[:1], wrong], folder, commands)
    said = str(failed.value)
    assert f"failed with exit code 2:\n{wrong.command}\n" in said
    assert "column 'gate' does not exist" in said


def test_without_the_command_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="scripts/install run"):
        show(examples("warehouse", Maintained(1, 2)), tmp_path, tmp_path)


def test_settings_of_a_person_do_not_count(
    lake: tuple[Path, Maintained], commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMON_PROFILE", "of-a-person")
    (shown,) = show(examples("warehouse", lake[1])[:1], lake[0], commands)
    assert cells(shown.output) == [["JFK", "2", "-9.0", "0"]]


def test_a_warehouse_elsewhere_is_quoted() -> None:
    assert examples("my lake", Maintained(1, 2))[0].command.startswith("paimonctl --warehouse 'my lake' sql ")


def test_commands_are_written_once(commands: Path) -> None:
    written = commands / "paimonctl"
    before = written.stat().st_mtime_ns
    subprocess.run([sys.executable, "scripts/link_commands.py", str(commands)], cwd=ROOT, check=True)
    assert written.stat().st_mtime_ns == before
    helped = subprocess.run([str(written), "--help"], capture_output=True, text=True, check=True)
    assert helped.stdout.startswith("Usage: paimonctl")
    assert {path.name for path in commands.iterdir()} == {"paimonctl", "paimon-maintenance"}
    assert console.show([], commands, commands) == []
