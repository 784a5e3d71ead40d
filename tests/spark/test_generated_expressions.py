"""Generated expressions of Spark's dialect, beside Spark: the same value and type, or refused in our words."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Literal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from maintenance.errors import PaimonError
from maintenance.sql import Session
from tests.examples import SEARCHES, examples
from tests.models.spark_expressions import COLUMNS, ROWS, Expression, expressions, table_values
from tests.spark.test_expressions import _free, _shown, _values

Verdict = Literal["equal", "refused", "wrong", "wrong type", "foreign", "laxer", "both refuse"]
_FOREIGN = re.compile(
    r"DuckDB|explicit type cast|argument types|Binder|Conversion Error|Catalog Error|Parser Error|Not implemented"
    r"|Unimplemented|Scalar Function|sqlglot|syntax error at or near|Could not (convert|parse|cast)|Invalid Input"
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return made_session(tmp_path_factory.mktemp("warehouse"))


@pytest.fixture(scope="module", autouse=True)
def view(spark: SparkSession) -> Iterator[None]:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    made_view(spark)
    yield
    spark.catalog.dropTempView("samples")
    if zone is not None:
        spark.conf.set("spark.sql.session.timeZone", zone)


def made_session(warehouse: Path) -> Session:
    session = Session({"warehouse": str(warehouse)}, dialect="spark")
    session.sql("SET spark.sql.session.timeZone = UTC")
    session.sql(f"CREATE TABLE samples (id INT, {', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())})")
    session.sql(f"INSERT INTO samples VALUES {table_values()}")
    return session


def made_view(spark: SparkSession) -> None:
    # A view's CHAR and VARCHAR are texts, as they are stored.
    casts = [
        f"CAST({name} AS {kind}) AS {name}"
        for name, (kind, _) in COLUMNS.items()
        if not kind.startswith(("CHAR", "VARCHAR"))
    ]
    texts = [name for name, (kind, _) in COLUMNS.items() if kind.startswith(("CHAR", "VARCHAR"))]
    names = ", ".join(["id", *COLUMNS])
    spark.sql(
        f"SELECT id, {', '.join([*casts, *texts])} FROM VALUES {table_values()} AS v({names})"
    ).createOrReplaceTempView("samples")


def verdict(spark: SparkSession, session: Session, found: Expression) -> tuple[Verdict, str]:
    """How an expression fares, and what is seen of it."""
    seen = _verdict(_asked_spark(spark, found.query), _asked(session, found.query), found)
    if found.is_of_rows and seen[0] in ("laxer", "wrong", "both refuse") and "rows fail" in seen[1]:
        # Some rows are errors: each is compared by itself.
        by_row = [
            _verdict(_asked_spark(spark, found.of_row(row)), _asked(session, found.of_row(row)), found) for row in ROWS
        ]
        return next((each for each in by_row if each[0] not in ("equal", "both refuse")), ("equal", ""))
    return seen


def _verdict(theirs: pa.Table | Exception, ours: pa.Table | Exception, found: Expression) -> tuple[Verdict, str]:
    shown = f"Spark: {_short(theirs)}; here: {_short(ours)}"
    if isinstance(ours, Exception):
        if not isinstance(ours, PaimonError) or _FOREIGN.search(str(ours)):
            return "foreign", shown
        if isinstance(theirs, Exception):
            return "both refuse", "" if _is_refused(ours) or _is_analysed(theirs) else "rows fail"
        return ("refused", shown) if _is_refused(ours) else ("wrong", f"rows fail; {shown}")
    if isinstance(theirs, Exception):
        return "laxer", shown if _is_analysed(theirs) else f"rows fail; {shown}"
    column, own = theirs.column("x"), ours.column("x")
    if _shown(column.type) != _shown(own.type):
        return "wrong type", f"Spark: {_shown(column.type)}; here: {_shown(own.type)}"
    values = [_values(each) for each in (column, own)]
    if found.is_free:
        values = [[_free(value) for value in listed] for listed in values]
    same = repr(values[0]) == repr(values[1])
    return ("equal", "") if same else ("wrong", f"Spark: {values[0]}; here: {values[1]}")


def _asked_spark(spark: SparkSession, query: str) -> pa.Table | Exception:
    try:
        return spark.sql(query).toArrow()
    except PySparkException as error:
        return error


def _asked(session: Session, query: str) -> pa.Table | Exception:
    try:
        return session.sql(query).to_arrow()
    except Exception as error:  # noqa: BLE001 (what is not of the family is a verdict)
        return error


def _is_refused(answer: Exception) -> bool:
    return "--engine spark" in str(answer) or "have no type in common" in str(answer) or " is no " in str(answer)


def _is_analysed(error: Exception) -> bool:
    """Whether Spark refuses a query before it reads a row."""
    return type(error).__name__ in ("AnalysisException", "ParseException")


def _short(answer: pa.Table | Exception) -> str:
    # Python has no days after 9999.
    return " ".join((answer["x"].to_string() if isinstance(answer, pa.Table) else str(answer)).split())[:240]


# What was found, one for each kind.
MENDED = (
    Expression("operator", "i16 ^ 1"),
    Expression("operator", "0 | i16"),
    Expression("operator", "ts - tn"),
    Expression("operator", "day - ts"),
    Expression("operator", "tn - day"),
    Expression("cast", "CAST(ts AS DECIMAL(38, 18))"),
    Expression("cast", "TRY_CAST(f32 AS DECIMAL(38, 18))"),
    Expression("cast", "CAST(f64 AS TIMESTAMP)"),
    Expression("cast", "TRY_CAST(f64 AS TIMESTAMP)"),
    Expression("function", "months_between(tn, day)"),
    Expression("function", "array_join(a, '-')"),
    Expression("function", "array_join(a, '-', '?')"),
    Expression("window", "lead(i16, 2, 0) OVER (ORDER BY id)"),
    Expression("function", "ceil(d2, 1)"),
    Expression("function", "sign(f64)"),
    Expression("function", "signum(f32)"),
    Expression("window", "lag(d2, 2, 0) OVER (ORDER BY id)"),
)
REFUSED = (
    "'1' + day", "ts + i16", "day + i64", "md5(i8)", "sha2(i8, 256)", "crc32(i8)", "floor(f32, 1)",
    "max(m)", "min(array(m))",
)  # fmt: skip
# Errors here where Spark gives a value that DuckDB has not: bytes that are no UTF-8 as a text, seconds that no
# timestamp holds.
_NOT_YET = re.compile(r"\by\b.*LIKE|\(i64 AS TIMESTAMP\)")
# Of these no row is an error.
WRITTEN = (
    "i16 ^ 1", "i8 + i16 * 0.5", "f32 * d2", "COALESCE(d2, i64)", "CAST(ts AS DECIMAL(38, 18))", "d2 / 3",
    "IF(b, f32, i32)", "concat(s, i32)", "array_join(a, '-')", "CAST(day AS TIMESTAMP_NTZ)",
)  # fmt: skip


@pytest.mark.parametrize("found", MENDED, ids=lambda found: found.text)
def test_what_was_mended(spark: SparkSession, session: Session, found: Expression) -> None:
    assert verdict(spark, session, found) == ("equal", "")


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(session: Session, text: str) -> None:
    with pytest.raises(PaimonError, match="--engine spark"):
        session.sql(f"SELECT {text} AS x FROM samples").to_arrow()


def test_generated(spark: SparkSession, session: Session) -> None:
    seed = Random().randrange(10**9) if SEARCHES else 1
    found = [
        (each, *verdict(spark, session, each))
        for each in expressions(seed, examples(60))
        if not _NOT_YET.search(each.text)
    ]
    assert [each for each in found if each[1] in ("wrong", "wrong type", "foreign")] == [], seed
    tally = Counter(each[1] for each in found)
    assert tally["laxer"] <= len(found) // 100, [each for each in found if each[1] == "laxer"]
    assert tally["equal"] >= 0.95 * (tally["equal"] + tally["refused"]), [
        each for each in found if each[1] == "refused"
    ]


@pytest.mark.parametrize("text", WRITTEN)
def test_written(spark: SparkSession, session: Session, text: str) -> None:
    """What is selected is what is stored, in columns of the same type, and what is found."""
    query = Expression("operator", text).query
    expected, kind = spark.sql(query).toArrow(), spark.sql(query).schema["x"].dataType.simpleString()
    for name in ("made", "filled", "changed"):
        session.sql(f"DROP TABLE IF EXISTS {name}")
    session.sql(f"CREATE TABLE made AS {query}")
    session.sql(f"CREATE TABLE filled (id INT, x {kind})")
    session.sql(f"INSERT INTO filled {query}")
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    session.sql(f"CREATE TABLE changed (id INT, {columns}, x {kind})")
    session.sql("INSERT INTO changed SELECT *, NULL FROM samples")
    session.sql(f"UPDATE changed SET x = {text}")
    for name in ("made", "filled", "changed"):
        stored = session.sql(f"SELECT id, x FROM {name} ORDER BY id").to_arrow()
        assert _verdict(expected, stored, Expression("operator", text)) == ("equal", ""), name
    where = f"SELECT id FROM changed WHERE x <=> ({text})"
    assert session.sql(where).to_arrow().num_rows == len(ROWS)


def test_a_difference_would_be_seen() -> None:
    one, other, small = (
        pa.table({"x": pa.array([value], kind)}) for value, kind in ((1, "int32"), (2, "int32"), (1, "int8"))
    )
    found = Expression("operator", "x")
    assert [_verdict(one, each, found)[0] for each in (one, other, small)] == ["equal", "wrong", "wrong type"]
    assert _verdict(one, ValueError("Binder Error"), found)[0] == "foreign"
