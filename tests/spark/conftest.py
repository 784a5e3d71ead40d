"""One Spark session for all tests here."""

import pytest
from pyspark.sql import SparkSession

from maintenance.spark.session import get_session

# Queries here are small: to compile one takes longer than to run it.
_SETTINGS = {"spark.sql.shuffle.partitions": "3", "spark.sql.codegen.wholeStage": "false"}
_STARTED: list[SparkSession] = []


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session of the module before, or a new one where a test elsewhere in this process has stopped it since."""
    if _STARTED and _STARTED[-1].sparkContext._jsc is not None:
        return _STARTED[-1]
    other = SparkSession.getActiveSession()
    if other is not None:
        other.stop()
    _STARTED.append(get_session(master="local[2]", config=_SETTINGS))
    return _STARTED[-1]
