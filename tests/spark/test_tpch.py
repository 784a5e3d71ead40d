"""TPC-H over Paimon tables: DuckDB's own answers on plain parquet, embedded and on Spark."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

from benchmarks.contest import agree, plain_rows
from benchmarks.sql import ask_duckdb, filled
from benchmarks.tpch.queries import QUERIES
from benchmarks.tpch.tables import generated
from maintenance.sql import Session
from tests.examples import some

pytestmark = pytest.mark.slow

Answers = dict[int, list[list[Any]]]
# Spark takes seconds for each.
ON_SPARK = some(list(QUERIES), 9)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generated(tmp_path_factory.mktemp("tpch") / "tpch-0.1", 0.1)


@pytest.fixture(scope="module")
def expected(parquet: Path) -> Answers:
    ask = ask_duckdb(str(parquet))
    return {number: plain_rows(ask(query)) for number, query in QUERIES.items()}


def check(session: Session, expected: Answers, numbers: Iterable[int] = QUERIES) -> None:
    wrong = [
        number for number in numbers if not agree(plain_rows(session.sql(QUERIES[number]).to_arrow()), expected[number])
    ]
    assert not wrong
    assert all(expected[number] for number in QUERIES)


@pytest.mark.parametrize("dialect", ["spark", "flink"])
@pytest.mark.parametrize("keyed", [False, True])
def test_answers_without_spark_are_those_of_duckdb(
    parquet: Path, expected: Answers, dialect: Literal["flink", "spark"], keyed: bool
) -> None:
    check(Session({"warehouse": str(filled(parquet, keyed=keyed))}, dialect=dialect), expected)


def test_answers_on_spark_are_those_of_duckdb(parquet: Path, expected: Answers, spark: SparkSession) -> None:
    check(Session({"warehouse": str(filled(parquet, keyed=False))}, spark=spark), expected, ON_SPARK)


@pytest.mark.parametrize(("keyed", "dialect"), [(True, "spark"), (False, "flink")])
def test_on_spark_as_embedded(
    tmp_path: Path, spark: SparkSession, keyed: bool, dialect: Literal["flink", "spark"]
) -> None:
    warehouse = {"warehouse": str(filled(generated(tmp_path / "tpch-0.01", 0.01), keyed=keyed))}
    embedded, on_spark = Session(warehouse, dialect=dialect), Session(warehouse, dialect=dialect, spark=spark)
    different = []
    for number in ON_SPARK:
        query = QUERIES[number]
        ours, sparks = embedded.sql(query).to_arrow(), on_spark.sql(query).to_arrow()
        columns, its_columns = ([(field.name, field.type) for field in rows.schema] for rows in (ours, sparks))
        if columns != its_columns or not agree(plain_rows(ours), plain_rows(sparks)):
            different.append(number)
    assert not different
