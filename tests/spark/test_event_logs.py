"""An application of Spark writes its event log, and the advice goes by the filters of its queries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maintenance.operations import advise
from maintenance.spark.session import ROOT
from tests.small_tables import batch, small_table

pytestmark = pytest.mark.slow

QUERIES = """
import sys
from maintenance.connector.data_source import register
from maintenance.spark.session import get_session

codec, logs, table = sys.argv[1:]
settings = {"enabled": "true", "dir": logs, "compress": "true", "compression.codec": codec}
spark = get_session(master="local[1]", config={f"spark.eventLog.{key}": value for key, value in settings.items()})
register(spark)
spark.read.format("paimon").load(table).createOrReplaceTempView("t")
for asked in ("v = '0001'", "v IN ('0003', 'a)')", "k > 5 AND upper(v) = 'X'"):
    spark.sql(f"SELECT * FROM t WHERE {asked}").collect()
spark.stop()
"""


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_advice_goes_by_the_event_log_of_an_application(codec: str, tmp_path: Path) -> None:
    table = small_table(tmp_path / "w", primary_key=False)
    table.write_arrow(batch({number: f"{number * 7919 % 1000:04}" for number in range(0, 2000, 2)}))
    logs = tmp_path / "logs"
    logs.mkdir()
    env = {**os.environ, "PYTHONPATH": ROOT, "PYSPARK_PYTHON": sys.executable}
    arguments = [codec, logs.as_uri(), table.location]
    command = [sys.executable, "-c", QUERIES, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    report = advise(table, event_logs=str(logs))
    (found,) = [each for each in report.advice if each.about == "indexes"]
    assert found.found.startswith("3 conditions")
    assert ".columns' = 'v'" in found.to_do
