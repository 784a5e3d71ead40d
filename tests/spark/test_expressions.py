"""Every entry of the table of expressions over edge values beside Spark: the same value and type, or both an error."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from maintenance.errors import PaimonError
from maintenance.sql import Session
from tests.beside_spark import IN_ORDER, asked, asked_spark, free, is_refused, short, shown_type, values
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
    query = f"SELECT {IN_ORDER} id, {casts} FROM VALUES {table_values()} AS v({names})"
    spark.sql(query).createOrReplaceTempView("samples")
    yield
    spark.catalog.dropTempView("samples")
    if zone is not None:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample.name}: {sample.text}")
def test_each_entry_gives_the_value_and_type_of_spark(spark: SparkSession, session: Session, sample: Sample) -> None:
    different = difference(spark, session, sample)
    assert different is None, different


def difference(spark: SparkSession, session: Session, sample: Sample) -> str | None:
    """How the two are not the same; None: they are, or it is refused here in our words."""
    theirs, ours = asked_spark(spark, sample.query), _of_the_family(asked(session, sample.query))
    if isinstance(theirs, pa.Table) and isinstance(ours, pa.Table):
        return _compared(theirs, ours, sample)
    if isinstance(theirs, Exception) and isinstance(ours, Exception) and sample.role != "value":
        return None
    if sample.role != "value" or is_refused(ours):
        return None if is_refused(ours) else f"Spark: {short(theirs)}; here: {short(ours)}"
    # Some rows are errors: those of the others are compared one by one.
    for number in ROWS:
        theirs, ours = asked_spark(spark, sample.of_row(number)), _of_the_family(asked(session, sample.of_row(number)))
        if isinstance(theirs, pa.Table) and isinstance(ours, pa.Table):
            found = _compared(theirs, ours, sample)
            if found is not None:
                return f"row {number}: {found}"
        elif isinstance(theirs, pa.Table) or isinstance(ours, pa.Table):
            return f"row {number}: Spark: {short(theirs)}; here: {short(ours)}"
    return None


def _of_the_family(answer: pa.Table | Exception) -> pa.Table | Exception:
    if isinstance(answer, Exception) and not isinstance(answer, PaimonError):
        raise answer
    return answer


def _compared(theirs: pa.Table, ours: pa.Table, sample: Sample) -> str | None:
    column, own = theirs.column("x"), ours.column("x")
    kinds = shown_type(column.type), shown_type(own.type)
    if kinds[0] != kinds[1]:
        return f"Spark's type is {kinds[0]}, ours {kinds[1]}"
    expected, found = values(column), values(own)
    if sample.is_free:
        expected, found = ([free(value) for value in listed] for listed in (expected, found))
    return None if repr(expected) == repr(found) else f"Spark: {expected}, here: {found}"


def test_a_wrong_value_would_be_seen() -> None:
    one, other = (pa.table({"x": pa.array([value])}) for value in (1, 2))
    assert _compared(one, other, Sample("x", "x", "value")) is not None
    assert _compared(one, pa.table({"x": pa.array([1], pa.int32())}), Sample("x", "x", "value")) is not None
    assert _compared(one, one, Sample("x", "x", "value")) is None


def test_what_is_not_yet_right_is_a_call_of_an_entry() -> None:
    assert {sample.text for sample in samples("spark")} >= set(NOT_YET), Path(__file__).name
