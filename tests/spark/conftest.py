"""One Spark session for all tests here."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from maintenance.spark.session import get_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    other = SparkSession.getActiveSession()
    if other is not None:
        other.stop()
    session = get_session(master="local[2]", config={"spark.sql.shuffle.partitions": "3"})
    yield session
    session.stop()
