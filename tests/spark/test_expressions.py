"""Every entry of the table of expressions over edge values beside Spark: the same value and type, or both an error."""

import datetime as dt
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from maintenance.errors import PaimonError
from maintenance.sql import Session
from tests.examples import some
from tests.expression_samples import COLUMNS, ROWS, Sample, samples, table_values
from tests.expressions_not_yet import NOT_YET

SAMPLES = [sample for sample in some(samples("spark"), 150) if sample.text not in NOT_YET]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = Session({"warehouse": str(tmp_path_factory.mktemp("warehouse"))}, dialect="spark")
    made.sql("SET spark.sql.session.timeZone = UTC")
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    made.sql(f"CREATE TABLE samples (id INT, {listed})")
    made.sql(f"INSERT INTO samples VALUES {table_values()}")
    return made


@pytest.fixture(scope="module", autouse=True)
def rows(spark: SparkSession) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    casts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, (kind, _) in COLUMNS.items())
    names = ", ".join(["id", *COLUMNS])
    spark.sql(f"SELECT id, {casts} FROM VALUES {table_values()} AS v({names})").createOrReplaceTempView("samples")
    yield
    spark.catalog.dropTempView("samples")
    if zone is not None:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.name}: {sample.text}")
def test_beside_spark(spark: SparkSession, session: Session, sample: Sample) -> None:
    different = difference(spark, session, sample)
    assert different is None, different


def difference(spark: SparkSession, session: Session, sample: Sample) -> str | None:
    """How the two are not the same; None: they are, or it is refused here in our words."""
    theirs, ours = _asked_spark(spark, sample.query), _asked(session, sample.query)
    if isinstance(theirs, pa.Table) and isinstance(ours, pa.Table):
        return _compared(theirs, ours, sample)
    if isinstance(theirs, Exception) and isinstance(ours, Exception) and sample.role != "value":
        return None
    if sample.role != "value" or _is_refused(ours):
        return None if _is_refused(ours) else f"Spark: {_short(theirs)}; here: {_short(ours)}"
    # Some rows are errors: those of the others are compared one by one.
    for number in ROWS:
        theirs, ours = _asked_spark(spark, sample.of_row(number)), _asked(session, sample.of_row(number))
        if isinstance(theirs, pa.Table) and isinstance(ours, pa.Table):
            found = _compared(theirs, ours, sample)
            if found is not None:
                return f"row {number}: {found}"
        elif isinstance(theirs, pa.Table) or isinstance(ours, pa.Table):
            return f"row {number}: Spark: {_short(theirs)}; here: {_short(ours)}"
    return None


def _asked_spark(spark: SparkSession, query: str) -> pa.Table | Exception:
    try:
        return spark.sql(query).toArrow()
    except PySparkException as error:
        return error


def _asked(session: Session, query: str) -> pa.Table | Exception:
    try:
        return session.sql(query).to_arrow()
    except PaimonError as error:
        return error


def _is_refused(answer: pa.Table | Exception) -> bool:
    """Whether a query is one that needs an engine, and says so."""
    return isinstance(answer, Exception) and "--engine spark" in str(answer)


def _compared(theirs: pa.Table, ours: pa.Table, sample: Sample) -> str | None:
    column, own = theirs.column("x"), ours.column("x")
    kinds = _shown(column.type), _shown(own.type)
    if kinds[0] != kinds[1]:
        return f"Spark's type is {kinds[0]}, ours {kinds[1]}"
    values, found = _values(column), _values(own)
    if sample.is_free:
        values, found = ([_free(value) for value in listed] for listed in (values, found))
    return None if repr(values) == repr(found) else f"Spark: {values}, here: {found}"


def _values(column: pa.ChunkedArray) -> list[Any]:
    # Python has no days before the year 1 and after 9999.
    whole = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
    whole = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) and column.type.unit == "us" else whole
    return [_plain(value, column.type) for value in whole.to_pylist()]


def _shown(kind: pa.DataType) -> str:
    if pa.types.is_null(kind):
        return "void"
    if pa.types.is_duration(kind) or pa.types.is_interval(kind):
        return "interval"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if pa.types.is_map(kind):
        return f"map<{_shown(kind.key_type)}, {_shown(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{_shown(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{part.name}: {_shown(part.type)}' for part in kind)}>"
    return str(kind).removeprefix("large_")


def _plain(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.11g}"
    if isinstance(value, pa.MonthDayNano):
        return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    if value is not None and pa.types.is_map(kind):
        return sorted(((_plain(k, kind.key_type), _plain(v, kind.item_type)) for k, v in value), key=repr)
    if value is not None and pa.types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return value


def _free(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, list) else value


def _short(answer: pa.Table | Exception) -> str:
    return str(answer.to_pydict() if isinstance(answer, pa.Table) else answer).replace("\n", " ")[:300]


def test_a_wrong_value_would_be_seen() -> None:
    one, other = (pa.table({"x": pa.array([value])}) for value in (1, 2))
    assert _compared(one, other, Sample("x", "x", "value")) is not None
    assert _compared(one, pa.table({"x": pa.array([1], pa.int32())}), Sample("x", "x", "value")) is not None
    assert _compared(one, one, Sample("x", "x", "value")) is None


def test_what_is_not_yet_right_is_a_call_of_an_entry() -> None:
    assert {sample.text for sample in samples("spark")} >= set(NOT_YET), Path(__file__).name
