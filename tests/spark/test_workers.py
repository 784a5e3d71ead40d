"""Sessions whose Python workers lack what tasks need say so, whatever is asked of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from maintenance.spark.errors import as_paimon_error
from tests.small_tables import put, small_table

ROOT = Path(__file__).parents[2]
ASKED = """
import sys
from pyspark.sql import SparkSession
from maintenance.connector import register
from maintenance.errors import PaimonError
from maintenance.operations import compact
from maintenance.sql import Session
from tests.small_tables import table_in
from pathlib import Path

builder = SparkSession.builder.config("spark.ui.enabled", "false") if sys.argv[1] == "classic" else SparkSession.builder
local = "local[2]"
spark = (builder.master(local) if sys.argv[1] == "classic" else builder.remote(local)).getOrCreate()
table, session = table_in(Path(sys.argv[2])), Session({"warehouse": sys.argv[2]}, spark, "spark")
for work in (
    lambda: register(spark),
    lambda: table.to_spark(spark).collect(),
    lambda: compact(spark, table, full=True),
    lambda: session.sql("SELECT * FROM db.t"),
    lambda: session.sql("UPDATE db.t SET v = upper(v)"),
):
    try:
        work()
        print("told: nothing")
    except PaimonError as error:
        print("told:", error)
"""


@pytest.mark.parametrize("kind", ["classic", pytest.param("connect", marks=pytest.mark.slow)])
def test_a_python_without_packages(tmp_path: Path, kind: str) -> None:
    table = small_table(tmp_path / "lake")
    for _ in range(2):
        put(table, {1: "a", 2: "b"})
    bare = tmp_path / "python"
    # Without `site` it finds Spark's own modules and nothing else.
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    variables = {"PYSPARK_PYTHON": str(bare), "PYTHONPATH": str(ROOT)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        [sys.executable, "-c", ASKED, kind, str(tmp_path / "lake")],
        env=kept | variables, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if line.startswith("told:")]
    assert len(told) == 5, done.stderr[-3000:]
    for line in told:
        assert "the Python workers of Spark cannot run the task: " in line
        assert "No module named 'pyarrow'" in line
        assert "Set PYSPARK_PYTHON" in line
    assert len(table.snapshots.list_ids()) == 2


def test_another_version_of_python_is_named() -> None:
    text = "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11.\nat x"
    error = as_paimon_error(PySparkException(text), "a place")
    assert error.found.endswith("Python in worker has different version: 3.9 than that in driver: 3.11")
    assert error.where == "the Spark session"
