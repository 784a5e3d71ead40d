"""What a release of Spark lacks is done in another way, or refused by its name."""

import sys

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.errors import UnsupportedError
from maintenance.spark.release import arrow_of, check_data_sources, check_stream_sources


class OlderFrame:
    """A DataFrame of Spark 3.5."""

    def __init__(self, frame: object) -> None:
        self._frame = frame

    def __getattr__(self, name: str) -> object:
        if name == "toArrow":
            raise AttributeError(name)
        return getattr(self._frame, name)


def test_rows_come_without_to_arrow(spark: SparkSession) -> None:
    frame = spark.range(0, 5, 1, 3).selectExpr("id", "cast(id AS STRING) AS text")
    assert arrow_of(OlderFrame(frame)).sort_by("id").to_pylist() == frame.toArrow().to_pylist()  # type: ignore[arg-type]
    nothing = arrow_of(OlderFrame(frame.where("id < 0")))  # type: ignore[arg-type]
    assert nothing.num_rows == 0
    assert nothing.schema.types == [pa.int64(), pa.string()]


def test_the_connector_names_the_release_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    with pytest.raises(UnsupportedError, match=r"has no data sources in Python.* Use PySpark 4\.1 or newer"):
        check_data_sources()


def test_a_stream_names_the_release_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    check_stream_sources()
    monkeypatch.setattr("maintenance.spark.release.find_spec", lambda _: None)
    with pytest.raises(UnsupportedError, match=r"streams have limits.* Use PySpark 4\.2 or newer"):
        check_stream_sources()
