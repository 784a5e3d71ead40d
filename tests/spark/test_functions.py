"""Functions that this process computes by itself: the same values as Spark gives, and as Flink gave once.

Flink's values are those of Flink 1.20; where Spark runs Flink's dialect the same is expected, or an error.
"""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from maintenance.errors import SqlError
from maintenance.sql import Session

URL = "http://u:p@h.com:80/p/q.html?k=v&x=y#r"
PARTS = ("HOST", "PATH", "QUERY", "REF", "PROTOCOL", "AUTHORITY", "FILE", "USERINFO", "NOPE", "host")
URLS = (
    "http://h.com", "http://h.com?", "http://h.com/p", "h.com/p", "mailto:a@b.c", "", "/only/a/path?q",
    "ftp://[::1]:8/x",
    "http://h.com/%20x?a=b?c#d",
)  # fmt: skip
OF_SPARK = (
    "crc32('abc')", "crc32(X'616263')", "crc32(s)", "sha2(s, 512)", "sha2(s, 384)", "sha2(s, 224)", "sha2(s, 0)",
    "sha2(b, 512)", "crc32(b)",
    *(f"soundex('{word}')" for word in ("Robert", "Ashcraft", "Tymczak", "Pfister", "", "123", "é", "A b", "honeyman",
                                        "Jackson", "aé", "w")),
    *(f"width_bucket({given})" for given in ("5.3, 0.2, 10.6, 5", "-1, 0, 10, 5", "10, 0, 10, 5", "3, 10, 0, 5",
                                             "11, 10, 0, 5", "0, 10, 0, 5", "3, 10, 0, 0", "3, 5, 5, 3", "n, 0, 9, 4",
                                             "NULL, 0, 1, 2", "DOUBLE('NaN'), 0, 1, 2")),
    *(f"str_to_map({given})" for given in ("'a:1,b:2'", "'a'", "''", "'a=1=2&b', '&', '='", "'a:1,,b:'", "s",
                                           "CAST(NULL AS STRING)")),
    "elt(2, 'a', 'b')", "elt(CAST(NULL AS INT), 'a')", "elt(1, 5, 'x')", "elt(n, s, 'x', 'y')",
    *(f"parse_url('{URL}', '{part}')" for part in PARTS),
    *(f"parse_url('{url}', '{part}')" for url in URLS for part in PARTS[:8]),
    "parse_url('http://h.com/p?k=v&kk=w', 'QUERY', 'k')", "parse_url('http://h.com/p?k=v&kk=w', 'QUERY', 'z')",
    "parse_url('http://h.com/p?k=', 'QUERY', 'k')", "parse_url('http://h.com/p?k=v', 'HOST', 'k')",
    *(f"format_number({given})" for given in ("12345678901234567890.125BD, 2", "0.125BD, 2", "0.135BD, 2",
                                              "-1234.5BD, 0", "-1235.5BD, 0", "-0.001BD, 2", "1.5BD, 4", "0.125D, 2",
                                              "12345, 0", "n, 3",
                                              "1e20D, 1", "CAST(-0.4 AS DECIMAL(3, 1)), 0", "1234567BD, 0", "d, 1",
                                              "99999.95BD, 1")),
)  # fmt: skip
FAILING = ("elt(3, 'a', 'b')", "elt(0, 'a')", "str_to_map('a:1,a:2')", "parse_url('http://h.com/a b', 'PATH')",
           "parse_url('http://h.com/%zz', 'PATH')", "parse_url('http://h.com/#a#b', 'PATH')")  # fmt: skip
# Expression -> what Flink gives.
OF_FLINK: dict[str, Any] = {
    "STR_TO_MAP('a=1,b=2')": {"a": "1", "b": "2"},
    "STR_TO_MAP('a')": {"a": None},
    "STR_TO_MAP('a=1=2,b=')": {"a": "1=2", "b": ""},
    "STR_TO_MAP('a:1;b:2', ';', ':')": {"a": "1", "b": "2"},
    "STR_TO_MAP('')": {},
    "STR_TO_MAP('a=1,,b=2')": {"a": "1", "": None, "b": "2"},
    "PARSE_URL('http://h.com', 'PATH')": "",
    "PARSE_URL('http://h.com', 'QUERY')": None,
    "PARSE_URL('http://h.com?', 'QUERY')": "",
    "PARSE_URL('http://h.com/p', 'FILE')": "/p",
    "PARSE_URL('h.com/p', 'HOST')": None,
    "PARSE_URL('http://h.com/p?k=v&kk=w', 'QUERY', 'k')": "v",
    "ARRAY[7, 8][1]": 7,
    "ARRAY[7, 8][3]": None,
    "WEEK(DATE '2024-02-29')": 9,
    "CAST(CAST('Infinity' AS DOUBLE) AS BIGINT)": 2**63 - 1,
    "CAST(CAST('-Infinity' AS DOUBLE) AS INT)": -(2**31),
    "CAST(CAST('NaN' AS DOUBLE) AS INT)": 0,
    "CAST(CAST(12 AS INT) AS DECIMAL(3, 2))": None,
    "IS_DIGIT('12')": True,
    "IS_DIGIT('1a')": False,
    "IS_DIGIT('')": False,
    "IS_DIGIT(CAST(NULL AS STRING))": False,
    "IS_DIGIT('٣')": True,
    "IS_ALPHA('é')": True,
    "IS_ALPHA('a b')": False,
    "IS_DECIMAL('1.')": True,
    "IS_DECIMAL('.5')": True,
    "IS_DECIMAL('1e5')": True,
    "IS_DECIMAL(' 1')": True,
    "IS_DECIMAL('x')": False,
    "CONVERT_TZ('1970-01-01 00:00:00', 'UTC', 'America/Los_Angeles')": "1969-12-31 16:00:00",
    "CONVERT_TZ('1970-01-01 00:00:00.5', 'UTC', 'Asia/Tokyo')": "1970-01-01 09:00:00",
    "CONVERT_TZ('1970-01-01', 'UTC', 'Asia/Tokyo')": None,
    "CONVERT_TZ('x', 'UTC', 'Asia/Tokyo')": None,
    "CONVERT_TZ('2024-07-01 12:00:00', 'GMT+08:00', 'UTC')": "2024-07-01 04:00:00",
}


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE f (n INT, s STRING, d DECIMAL(12, 3), b BINARY)")
    session.sql("INSERT INTO f VALUES (1, 'k:v', 1234.250, X'00ff'), (3, 'Ä', -7.35, X''), (NULL, NULL, NULL, NULL)")
    return {"warehouse": str(tmp_path)}


@pytest.mark.slow
def test_functions_of_spark_are_the_same_with_spark_and_without(options: dict[str, str], spark: SparkSession) -> None:
    alone, shared = Session(options), Session(options, spark)
    wrong = []
    for expression in OF_SPARK:
        text = f"SELECT n, {expression} AS x FROM f ORDER BY n"
        actual, expected = (session.sql(text).to_arrow() for session in (alone, shared))
        same = [plain(row["x"]) for row in actual.to_pylist()] == [plain(row["x"]) for row in expected.to_pylist()]
        if not same or actual.schema.field("x").type != expected.schema.field("x").type:
            wrong.append((expression, actual.column("x"), expected.column("x")))
    assert wrong == []


def plain(value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, list) else value


@pytest.mark.parametrize("expression", FAILING)
def test_what_is_an_error_in_spark_is_one_without_it(
    options: dict[str, str], spark: SparkSession, expression: str
) -> None:
    for session in (Session(options), Session(options, spark)):
        with pytest.raises(SqlError):
            session.sql(f"SELECT {expression}").to_arrow()


def test_functions_of_flink_have_its_values_with_spark_and_without(
    options: dict[str, str], spark: SparkSession
) -> None:
    for session in (Session(options, dialect="flink"), Session(options, spark, "flink")):
        for expression, expected in OF_FLINK.items():
            [row] = session.sql(f"SELECT {expression} AS x").to_arrow().to_pylist()
            value = dict(row["x"]) if isinstance(expected, dict) else row["x"]
            assert value == expected, (expression, session.spark)


# Of a time before 1970, an earlier day, and numbers that smaller types do not hold.
_ROW = (
    "(VALUES (TIMESTAMP '1969-12-31 23:58:57.123', DATE '1581-03-04', CAST(1e20 AS DOUBLE), 100000,"
    " CAST(5000000000 AS BIGINT), CAST(123456789.5 AS DECIMAL(20, 2)))) AS v(t, d, f, i, b, c)"
)
OTHERWISE_THAN_SPARK: dict[str, Any] = {
    "YEAR(t)": 1970, "QUARTER(t)": 1, "MONTH(t)": 1, "WEEK(t)": 1, "DAYOFYEAR(t)": 1, "DAYOFMONTH(t)": 1,
    "DAYOFWEEK(t)": 5, "HOUR(t)": 0, "MINUTE(t)": -1, "SECOND(t)": -2, "EXTRACT(WEEK FROM t)": 1,
    "EXTRACT(YEAR FROM t)": 1970, "EXTRACT(SECOND FROM t) * 2": -4, "CAST(t AS DATE)": dt.date(1970, 1, 1),
    "EXTRACT(MILLISECOND FROM t)": -877, "EXTRACT(EPOCH FROM t)": -62, "YEAR(t - INTERVAL '1' DAY)": 1969,
    "HOUR(d)": 0, "SECOND(d)": -22, "WEEK(d)": 10, "YEAR(d)": 1581, "EXTRACT(EPOCH FROM d)": -12270268800,
    "CAST(CAST(f AS DOUBLE) AS TINYINT)": -1, "CAST(CAST(f AS DOUBLE) AS SMALLINT)": -1,
    "TRY_CAST(CAST(i AS INT) AS TINYINT)": -96, "CAST(CAST(i AS INT) AS SMALLINT)": -31072,
    "CAST(CAST(b AS BIGINT) AS INT)": 705032704, "TRY_CAST(CAST(b AS BIGINT) AS SMALLINT)": -3584,
    "TRY_CAST(CAST(f AS DOUBLE) AS INT)": 2147483647, "TRY_CAST(CAST(c AS DECIMAL(20, 2)) AS TINYINT)": 21,
    "TRY_CAST(TRIM('12x') AS INT)": None,
}  # fmt: skip


def test_values_that_flink_has_otherwise_than_spark(options: dict[str, str], spark: SparkSession) -> None:
    for session in (Session(options, dialect="flink"), Session(options, spark, "flink")):
        listed = ", ".join(f"{text} AS x{number}" for number, text in enumerate(OTHERWISE_THAN_SPARK))
        found = session.sql(f"SELECT {listed} FROM {_ROW}").to_arrow().to_pylist()[0].values()
        different = {text: value for (text, expected), value in zip(OTHERWISE_THAN_SPARK.items(), found, strict=True)
                     if value != expected}  # fmt: skip
        assert different == {}, session.spark


def test_a_number_that_spark_alone_knows_is_not_made_null(options: dict[str, str], spark: SparkSession) -> None:
    with pytest.raises(SqlError, match="has another value on Spark"):
        Session(options, spark, "flink").sql(f"SELECT TRY_CAST(POWER(i, 2) AS TINYINT) AS x FROM {_ROW}").to_arrow()


def test_of_flink_in_this_process(options: dict[str, str], spark: SparkSession) -> None:
    alone, shared = Session(options, dialect="flink"), Session(options, spark, "flink")
    assert alone.sql("SELECT PARSE_URL('http://h.com/a b', 'PATH') AS x").to_arrow().to_pylist() == [{"x": "/a b"}]
    [row] = alone.sql("SELECT STR_TO_MAP('a=1,a=2') AS x").to_arrow().to_pylist()
    assert row["x"] == [("a", "2")]
    counted = "SELECT COLLECT(x) AS x FROM (VALUES (1), (2), (2), (CAST(NULL AS INT))) AS t(x)"
    [row] = alone.sql(counted).to_arrow().to_pylist()
    assert row["x"] == [(1, 1), (2, 2)]
    for text, problem in {
        counted: "COLLECT is not there on Spark",
        "SELECT STDDEV_POP(x) AS x FROM (VALUES (1), (4)) AS t(x)": "not supported on Spark",
        "SELECT STR_TO_MAP('a|1', ',', '|')": "plain texts in quotes",
        "SELECT STR_TO_MAP('a=1,a=2')": "uplicate",
        "SELECT PARSE_URL('http://h.com/a b', 'PATH')": "INVALID_URL",
    }.items():
        with pytest.raises(SqlError, match=problem):
            shared.sql(text).to_arrow()
