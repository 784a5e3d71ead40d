"""Statements of Paimon's documents return on every engine what they are to return."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.sql.test_documents import SCRIPTS, run_script


@pytest.mark.parametrize("script", [pytest.param(script, id=script["about"]) for script in SCRIPTS])
def test_a_script_of_the_documents(spark: SparkSession, tmp_path: Path, script: dict[str, Any]) -> None:
    run_script(tmp_path, script, spark)
