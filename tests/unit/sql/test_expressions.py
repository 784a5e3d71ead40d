"""Values and types of expressions without Spark are those of Spark, or the expression is refused at its place."""

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.errors import UnsupportedError
from maintenance.sql import Session, SqlError
from maintenance.sql.expressions.entries import BOTH
from maintenance.sql.expressions.table import ENTRIES, entries_of
from tests.tables import create_table


@pytest.fixture(scope="module")
def spark_dialect(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session({"warehouse": str(tmp_path_factory.mktemp("spark"))}, dialect="spark")


@pytest.fixture(scope="module")
def flink_dialect(tmp_path_factory: pytest.TempPathFactory) -> Session:
    return Session({"warehouse": str(tmp_path_factory.mktemp("flink"))}, dialect="flink")


NEGATED = (
    ("s NOT LIKE 'a%'", [False, True, None]),
    ("s NOT LIKE 'a!_%' ESCAPE '!'", [True, True, None]),
    ("NOT s NOT LIKE 'a%'", [True, False, None]),
    ("id = 1 AND s NOT LIKE '%b'", [False, False, False]),
)  # fmt: skip
OF_SEVERAL = (
    ("s NOT ILIKE 'A%'", [False, True, None]),
    ("s NOT LIKE ANY ('a%', '%b')", [False, True, None]),
    ("s NOT LIKE ALL ('a%', 'x%')", [False, False, None]),
)


@pytest.mark.parametrize("dialect", ["spark", "flink"])
def test_a_negated_like_is_right_as_a_value_and_as_a_condition(request: pytest.FixtureRequest, dialect: str) -> None:
    session: Session = request.getfixturevalue(f"{dialect}_dialect")
    session.sql("CREATE TABLE texts (id INT, s STRING)")
    session.sql("INSERT INTO texts VALUES (1, 'ab'), (2, 'xyz'), (3, NULL)")
    for text, expected in (*NEGATED, *(OF_SEVERAL if dialect == "spark" else ())):
        rows = session.sql(f"SELECT {text} AS x FROM texts ORDER BY id").to_arrow()
        assert rows.column("x").to_pylist() == expected, text
        found = session.sql(f"SELECT id FROM texts WHERE {text} ORDER BY id").to_arrow()
        assert found.column("id").to_pylist() == [n for n, held in enumerate(expected, start=1) if held], text


# What Spark 4 gives, and the name of its type in Arrow.
OF_SPARK = [
    ("7 DIV 1.5", 4, "int64"),
    ("CAST(1 AS SMALLINT) + 1", 2, "int32"),
    ("CAST(0.1 AS FLOAT) + 1", 1.1000000014901161, "double"),
    ("CAST(1.5 AS FLOAT) * 2.5", 3.75, "double"),
    ("NULL || 'x'", None, "string"),
    ("CAST(CAST('NaN' AS DOUBLE) AS STRING)", "NaN", "string"),
    ("CAST(CAST('-inf' AS DOUBLE) AS STRING)", "-Infinity", "string"),
    ("CAST(CAST('inf' AS DOUBLE) AS DECIMAL(10, 2))", None, "decimal128(10, 2)"),
    ("CAST(1e7 AS STRING)", "1.0E7", "string"),
    ("CAST(TIMESTAMP '1970-01-01 00:00:01.5Z' AS BIGINT)", 1, "int64"),
    ("TRY_CAST(TIMESTAMP '1970-01-01 00:00:01.5Z' AS DOUBLE)", 1.5, "double"),
    ("CAST('ö' AS BINARY)", b"\xc3\xb6", "binary"),
    ("CAST(X'C3B6' AS STRING)", "ö", "string"),
    ("'5' > 3", True, "bool"),
    ("'5' + 3", 8, "int64"),
    ("length(123)", 3, "int32"),
    ("'a%b' LIKE 'a\\\\%b'", True, "bool"),
    ("1.5 / 2", Decimal("0.750000"), "decimal128(7, 6)"),
    ("transform(array(5, 6), (x, i) -> i)", [0, 1], "list<l: int32>"),
    ("aggregate(array(1, 2), 0, (a, x) -> a + x, a -> a * 10)", 30, "int32"),
    ("sequence(5, 1)", [5, 4, 3, 2, 1], "list<l: int32>"),
    ("left('abc', NULL)", None, "string"),
    ("array_union(array(1, 2), array(2, 3))", [1, 2, 3], "list<l: int32>"),
    ("CAST(0.5 AS FLOAT) / 2", 0.25, "double"),
    ("'a\\\\b' LIKE r'a\\\\b'", True, "bool"),
    (r"regexp_extract('100-200', r'(\d+)-(\d+)', 2)", "200", "string"),
    ("1 << 33", 2, "int32"),
    ("sign(INTERVAL '-100' YEAR)", -1.0, "double"),
    ("-8 >> 1", -4, "int32"),
    ("shiftrightunsigned(-1L, 63)", 1, "int64"),
    ("extract(MINUTE FROM INTERVAL '123 23:55:59.002001' DAY TO SECOND)", 55, "int8"),
    ("date_part('SECOND', INTERVAL 5 HOURS 30 SECONDS)", Decimal("30.000000"), "decimal128(8, 6)"),
    ("extract(MONTH FROM INTERVAL '2021-11' YEAR TO MONTH)", 11, "int8"),
    ("levenshtein('kitten', 'sitting', 2)", -1, "int32"),
    ("levenshtein('a', 'a', CAST(NULL AS INT))", None, "int32"),
    ("decode(NULL, 6, 'Spark', NULL, 'SQL', 4, 'rocks')", "SQL", "string"),
    ("mask('AbCD123-@$#', NULL, 'q', 'd', 'o')", "AqCDdddoooo", "string"),
    ("ceil(3.1411, -3)", Decimal(1000), "decimal128(4, 0)"),
    ("split('oneAtwoBthreeC', '[ABC]', 2)", ["one", "twoBthreeC"], "list<l: string>"),
    ("reverse(X'0AFF')", b"\xff\n", "binary"),
    ("reverse(CAST('' AS BINARY))", b"", "binary"),
    ("floor(100BD)", Decimal(100), "decimal128(3, 0)"),
    ("CAST(DATE '0001-01-01' - INTERVAL 1 MONTH AS STRING)", "0000-12-01", "string"),
    ("'' || (DATE '9999-12-31' + INTERVAL 1 DAY)", "+10000-01-01", "string"),
    ("sequence(3Y, 1)", [3, 2, 1], "list<l: int32>"),
    ("array(named_struct('k', 'a'), NULL).k", ["a", None], "list<l: string>"),
    ("map_from_entries(array(NULL, struct(CAST(NULL AS STRING), 1)))", None, "map<string, int32>"),
    ("pmod(99999.99, CAST(-3 AS DECIMAL(38, 0)))", Decimal("0.99"), "decimal128(7, 2)"),
    ("pmod(-99999.99, CAST(12 AS DECIMAL(38, 0)))", Decimal("8.01"), "decimal128(7, 2)"),
    ("upper('Straße')", "STRASSE", "string"),
    ("false = true > true", False, "bool"),
    ("1 > 2 <=> false = true", True, "bool"),
    ("1 = 2 IS NULL", False, "bool"),
    ("CAST(NULL AS INT) IN (CAST(left('x', 1) AS INT))", None, "bool"),
    ("json_array_length('b') IN (SELECT 1)", None, "bool"),
    ("unix_timestamp(TIMESTAMP_NTZ '1970-01-01 00:00:01')", 1, "int64"),
    ("CAST(pow(1, double('NaN')) AS STRING)", "NaN", "string"),
    ("CAST(pow(-1, double('inf')) AS STRING)", "NaN", "string"),
    ("overlay(X'616263' PLACING X'01' FROM 0 FOR 0)", b"\x01abc", "binary"),
    ("rpad(X'', CAST(NULL AS INT), X'')", None, "binary"),
    (r"regexp_replace('abc', '(b)', r'[\1\$$1]')", "a[1$b]c", "string"),
    ("regexp_replace('abab', '^a', 'x', 3)", "abxb", "string"),
    ("regexp_extract_all('ab', '(a)|(b)', 2)", ["", "b"], "list<l: string>"),
    ("split_part('abc', '', 1)", "abc", "string"),
    ("substring_index('abc', '', 1)", "", "string"),
    ("reverse('xe\u0301')", "\u0301ex", "string"),
    ("concat()", "", "string"),
    ("try_to_binary(' YWI', 'base64')", b"ab", "binary"),
    ("try_to_binary('YWI==', 'base64')", None, "binary"),
    ("get_json_object('{\"a\": 1}', 'a')", None, "string"),
    ("date_diff(MONTH, DATE '2024-02-29', DATE '9999-12-31')", 95710, "int64"),
    ("timestamp_seconds(double('NaN'))", None, "timestamp[us, tz=UTC]"),
    (
        "CAST(TIMESTAMP '0001-01-02 00:00:00.000001Z' AS DECIMAL(20, 6))",
        Decimal("-62135510399.999999"),
        "decimal128(20, 6)",
    ),
    ("try_make_timestamp_ntz(2024, 2, 29, 24, 0, 0)", None, "timestamp[us]"),
    (r"'abc\n' RLIKE 'c$'", True, "bool"),
    (r"'a\rb' RLIKE 'a.b'", False, "bool"),
    (r"'a\rb' RLIKE '(?s)a.b'", True, "bool"),
    (r"'a\u000bb' RLIKE r'a[\s]b'", True, "bool"),
    (r"'éa' RLIKE r'^[^\p{Alpha}]\u0061$'", True, "bool"),
]


@pytest.mark.parametrize(("text", "value", "kind"), OF_SPARK)
def test_a_value_and_its_type_are_those_of_spark(spark_dialect: Session, text: str, value: Any, kind: str) -> None:
    column = spark_dialect.sql(f"SELECT {text} AS x").to_arrow().column("x")
    assert (column.to_pylist(), str(column.type)) == ([value], kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("collect_list(x)", []),
        ("array_agg(x)", []),
        ("count_if(x > 1)", 0),
        ("sum(x)", None),
        ("listagg(x)", None),
    ],
)
def test_an_aggregate_of_nothing(spark_dialect: Session, text: str, expected: Any) -> None:
    rows = spark_dialect.sql(f"SELECT {text} AS y FROM VALUES (1) AS t(x) WHERE x > 1").to_arrow()
    assert rows.column("y").to_pylist() == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first(x)", None),
        ("any_value(x)", None),
        ("last(x, true)", 3),
        ("any(x > 2)", True),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY y)", 2.0),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY y DESC) FILTER (WHERE y < 3)", 2.0),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY y) FILTER (WHERE y < 3)", 1.0),
        ("percentile_disc(0.3) WITHIN GROUP (ORDER BY y DESC)", 3.0),
        ("mode() WITHIN GROUP (ORDER BY y DESC)", 3),
        ("mode(y, true)", 1),
        ("try_sum(9223372036854775807L)", None),
        ("try_avg(y)", 2.0),
        ("first(x) IGNORE NULLS", 3),
        ("min_by(x, y)", None),
        ("count(DISTINCT x)", 1),
        ("sum(x) FILTER (WHERE y > 1)", 3),
        ("kurtosis(y)", -1.5),
        ("skewness(y)", 0.0),
        ("listagg(CAST(y AS STRING))", "123"),
    ],
)
def test_an_aggregate_beside_nulls(spark_dialect: Session, text: str, expected: Any) -> None:
    rows = spark_dialect.sql(f"SELECT {text} AS z FROM VALUES (NULL, 1), (3, 2), (NULL, 3) AS t(x, y)").to_arrow()
    (found,) = rows.column("z").to_pylist()
    assert math.isclose(found, expected) if isinstance(expected, float) else found == expected


def test_an_average_of_one_side_of_pairs_is_one_of_its_type(spark_dialect: Session) -> None:
    pairs = "VALUES (1, 1.50), (2, NULL), (NULL, 7.25), (4, 2.00) AS t(x, y)"
    column = spark_dialect.sql(f"SELECT regr_avgx(x, y) AS z FROM {pairs}").to_arrow().column("z")
    assert (column.to_pylist(), str(column.type)) == ([Decimal("1.750000")], "decimal128(7, 6)")


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("SELECT 1 + nothing(2)", 12, "function NOTHING is not supported (INT)"),
        ("SELECT upper(array('a'))", 8, "UPPER does not take (ARRAY<STRING>)"),
        ("SELECT 1, instr('a', 'b', 1, 1)", 11, "INSTR gets 4 arguments and takes 2"),
        ("SELECT str_to_map(X'61')", 8, "STR_TO_MAP does not take (BYTES)"),
        ("SELECT sequence(1.5, 2)", 8, "SEQUENCE does not take (DECIMAL(2, 1), INT)"),
        ("SELECT transform(array(1), x -> x + sum(1))", 37, "an aggregate or window function stands in a lambda"),
        ("SELECT aggregate(array(1), 0, (a, x) -> max(a))", 41, "an aggregate or window function stands in a lambda"),
        ("SELECT nth_value(1, 2) OVER ()", 8, "NTH_VALUE without an order of rows"),
        ("SELECT ntile(0) OVER (ORDER BY 1)", 14, "NTILE makes one part or more, and 0 are asked for"),
        ("SELECT 'a' LIKE 'a\\\\d'", 17, "stands in front of another sign"),
        ("SELECT 'a' RLIKE '[[:alpha:]]'", 18, "a class of signs in another one in a pattern"),
        ("SELECT split('a|b', '|')", 21, "SPLIT by a pattern that finds the empty text"),
        ("SELECT regexp_replace('a', 'a', '${x}')", 8, "REGEXP_REPLACE by this text"),
        ("SELECT count(DISTINCT *) FROM VALUES (1) AS t(x)", 8, "COUNT(DISTINCT *)"),
        ("SELECT array(1).k", 8, "ARRAY<INT> has no fields, and 'k' is asked of it"),
    ],
)
def test_what_has_no_entry_is_refused_at_its_place(spark_dialect: Session, text: str, place: int, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        spark_dialect.sql(text)
    assert caught.value.column == place
    assert said in str(caught.value)


@pytest.mark.parametrize(("text", "said"), [
    ("make_timestamp_ntz(2024, 2, 29, 24, 0, 0)", "hours are from 0 to 23"),
    ("regexp_replace('b', 'b', x) FROM VALUES ('$1') AS t(x)", "a computed text with a backslash or"),
    ("try_mod(x, 0.07) FROM VALUES (99999999999999999999999999999999999999) AS t(x)", "needs more than 38 digits"),
    ("map_from_arrays(array(1, 2), array(1))", "the keys and the values of a map are not equally many"),
    ("like('a', concat('a', chr(92), 'd'))", "stands in front of another sign"),
    ("'a' LIKE concat('a', chr(92), 'd')", "stands in front of another sign"),
])  # fmt: skip
def test_what_a_value_is_refused_for_is_said(spark_dialect: Session, text: str, said: str) -> None:
    with pytest.raises(SqlError, match=said):
        spark_dialect.sql(f"SELECT {text}")


def test_times_are_apart_by_what_the_clock_shows(spark_dialect: Session) -> None:
    spark_dialect.sql("SET spark.sql.session.timeZone = America/New_York")
    one, other = "TIMESTAMP '2024-03-09 12:00:00'", "TIMESTAMP '2024-03-10 12:00:00'"
    query = f"SELECT {other} - {one} = INTERVAL 1 DAY AS x, timestampdiff(HOUR, {one}, {other}) AS y"
    assert spark_dialect.sql(query).to_arrow().to_pylist() == [{"x": True, "y": 24}]


@pytest.mark.parametrize(("step", "hours"), [("12 HOUR", [0, 12, 24, 36]), ("1 DAY", [0, 23, 47])])
def test_a_sequence_has_steps_as_long_as_they_are_written(spark_dialect: Session, step: str, hours: list[int]) -> None:
    spark_dialect.sql("SET spark.sql.session.timeZone = America/New_York")
    times = f"sequence(TIMESTAMP '2024-03-09 12:00:00', TIMESTAMP '2024-03-11 12:00:00', INTERVAL {step})"
    passed = f"transform({times}, t -> (unix_seconds(t) - 1710003600) DIV 3600)"
    assert spark_dialect.sql(f"SELECT {passed} AS x").to_arrow().column("x").to_pylist() == [hours]


def test_an_hour_that_the_clock_shows_twice_is_cut_to_its_own_begin(spark_dialect: Session) -> None:
    spark_dialect.sql("SET spark.sql.session.timeZone = America/New_York")
    cut = ", ".join(
        f"unix_seconds(date_trunc('{unit}', TIMESTAMP '2024-11-03 0{hour}:30:15Z')) % 86400 AS {unit}{hour}"
        for unit in ("HOUR", "MINUTE")
        for hour in (5, 6)
    )
    found = spark_dialect.sql(f"SELECT {cut}").to_arrow().to_pylist()
    assert found == [{"HOUR5": 18000, "HOUR6": 21600, "MINUTE5": 19800, "MINUTE6": 23400}]


@pytest.mark.parametrize("text", [
    "array_sort(array(1, 2, 3), (x, y) -> if((x - y) % 3 IN (1, -2), 1, -1))",
    "array_sort(sequence(1, 40), (x, y) -> 1)",
])  # fmt: skip
def test_an_array_is_not_sorted_by_what_is_no_order(spark_dialect: Session, text: str) -> None:
    with pytest.raises(SqlError, match=r"gives no order .*--engine spark"):
        spark_dialect.sql(f"SELECT {text}")


def test_a_refused_function_names_another_engine(spark_dialect: Session) -> None:
    with pytest.raises(UnsupportedError, match="--engine spark"):
        spark_dialect.sql("SELECT from_json('{}', 'a INT')")


def test_what_flink_alone_has_is_left_to_flink(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Run the statement in Flink") as caught:
        Session({"warehouse": str(tmp_path)}, dialect="flink").sql("SELECT ENCODE('a', 'US-ASCII')")
    assert "--engine spark" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["1 / 0", "1 % 0", "5.0e0 % 0", "CAST('x' AS INT)", "CAST(300 AS TINYINT)", "2147483647 + 1"]
)
def test_what_is_an_error_with_ansi_is_one_here(spark_dialect: Session, text: str) -> None:
    with pytest.raises(SqlError):
        spark_dialect.sql(f"SELECT {text}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CAST(TRUE AS STRING)", "TRUE"),
        ("CAST('abc' AS CHAR(5))", "abc  "),
        ("CAST('abc' AS VARCHAR(2))", "ab"),
        ("7 / 2", 3),
        ("3 BETWEEN '1' AND '4'", True),
        ("CAST('2024-01-01' AS STRING) = DATE '2024-01-01'", True),
        ("SIGN(CAST(-5 AS BIGINT))", -1),
        ("SIGN(CAST(1.5 AS DECIMAL(5, 2)))", Decimal("1.00")),
        ("CAST('abc' AS BYTES)", b"abc"),
        ("EXTRACT(EPOCH FROM TIMESTAMP '2024-01-01 00:00:00')", 1704067200),
        ("JSON_VALUE('{\"a\": {\"b\": 1}}', '$.a.b' RETURNING INTEGER)", 1),
        ("JSON_VALUE('{\"a\": []}', 'lax $.a')", None),
        ("JSON_VALUE('{\"a\": \"[x\"}', '$.a')", "[x"),
        ("JSON_VALUE('x', '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'f' ON ERROR)", "f"),
        ("JSON_VALUE('{}', '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'f' ON ERROR)", "e"),
        ("JSON_QUERY('{\"a\": [1, 2]}', '$.a')", "[1,2]"),
        ("JSON_EXISTS('{\"a\": 1}', '$.a')", True),
        ("JSON_EXISTS('x', '$.a')", False),
        ("TYPEOF('abc')", "CHAR(3) NOT NULL"),
        ("TYPEOF(CAST(NULL AS TIMESTAMP_LTZ(3)))", "TIMESTAMP_LTZ(3)"),
        ("TRUE = 'true'", False),
        ("CAST(CAST('12:34:56.789' AS TIME(3)) AS STRING)", "12:34:56"),
        ("EXTRACT(MILLISECOND FROM TIME '12:34:56.789')", 789),
        ("ARRAY_CONTAINS(ARRAY[CAST('NaN' AS DOUBLE)], CAST('NaN' AS DOUBLE))", False),
    ],
)
def test_expressions_of_flink_have_the_values_of_flink(flink_dialect: Session, text: str, expected: Any) -> None:
    assert flink_dialect.sql(f"SELECT {text} AS x").to_arrow().column("x").to_pylist() == [expected]


@pytest.mark.parametrize("text", ["CAST('1' AS STRING) = 1", "1 = '1'"])
def test_flink_has_no_equality_of_a_text_and_a_number(flink_dialect: Session, text: str) -> None:
    with pytest.raises(UnsupportedError, match="'=' does not take"):
        flink_dialect.sql(f"SELECT {text} AS x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ARRAY_MAX(NULL)", "a NULL in ARRAY_MAX has no type"),
        ("1 + NULL", "has no type"),
        ("CASE WHEN TRUE THEN NULL END", "a CASE of NULLs has no type"),
        ("FIRST_VALUE('x')", r"FIRST_VALUE does not take \(CHAR\(1\)\)"),
        ("ARRAY_CONTAINS(ARRAY[1], CAST(1 AS BIGINT))", "ARRAY_CONTAINS does not take"),
        ("ARRAY_APPEND(ARRAY['a'], 'bb')", "ARRAY_APPEND does not take"),
        ("GREATEST(CAST(NULL AS DECIMAL(5, 1)), 1.25)", "GREATEST of a decimal that is NULL"),
        ("CAST(TIMESTAMP '1969-12-31 23:00:00' AS TIME)", "before 1970"),
        ("ARRAY[1, 2][0]", "arrays begin at 1"),
        ("1 LIMIT 1, 2", "Flink has no LIMIT of two numbers"),
    ],
)
def test_what_flink_fails_at_is_refused(flink_dialect: Session, text: str, said: str) -> None:
    with pytest.raises(SqlError, match=said):
        flink_dialect.sql(f"SELECT {text}").to_arrow()


def test_lag_over_a_null_with_a_default_is_left_to_flink(flink_dialect: Session) -> None:
    rows = "(VALUES (1, 5), (2, CAST(NULL AS INT)), (3, 7)) AS t(id, x)"
    found = flink_dialect.sql(f"SELECT LAG(id, 1, 0) OVER (ORDER BY id) AS y FROM {rows}").to_arrow()
    assert found.column("y").to_pylist() == [0, 1, 2]
    with pytest.raises(SqlError, match="Run the statement in Flink"):
        flink_dialect.sql(f"SELECT LAG(x, 1, 0) OVER (ORDER BY id) AS y FROM {rows}").to_arrow()


def test_a_char_is_filled_up_in_a_list(flink_dialect: Session) -> None:
    flink_dialect.sql("CREATE TABLE chars (c CHAR(5), s STRING)")
    flink_dialect.sql("INSERT INTO chars VALUES ('ab   ', 'ab'), ('ab   ', 'x')")
    found = flink_dialect.sql("SELECT c IN (s) AS x, c IN ('ab') AS y FROM chars ORDER BY s").to_arrow()
    assert found.to_pydict() == {"x": [True, False], "y": [False, False]}


@pytest.mark.parametrize(
    "text",
    [
        "sort_array(array(map('k', 1)))", "array_max(array(struct(map('k', 1))))", "map('k', 1) IN (map('k', 1))",
        "struct(map('k', 1)) = struct(map('k', 2))", "greatest(map('k', 1), map('k', 2))", "mode(array(0D))",
        "mode(array(1), true)",
    ],
)  # fmt: skip
def test_what_has_no_order_in_spark_is_not_compared(spark_dialect: Session, text: str) -> None:
    with pytest.raises(UnsupportedError, match="--engine spark"):
        spark_dialect.sql(f"SELECT {text} AS x")


@pytest.mark.parametrize(
    "text",
    ["array(struct(1 AS a), struct(2 AS b))", "coalesce(struct(1 AS a), struct(2 AS b))",
     "map('k', struct(1 AS a), 'l', struct(1 AS b))", "CASE WHEN true THEN struct(1 AS a) ELSE struct(2 AS b) END"],
)  # fmt: skip
def test_rows_of_one_type_have_the_same_names_in_spark(spark_dialect: Session, text: str) -> None:
    with pytest.raises(SqlError, match=r"does not take|no type in common"):
        spark_dialect.sql(f"SELECT {text} AS x")


def test_an_aggregate_of_what_a_lambda_gives(spark_dialect: Session) -> None:
    rows = "(VALUES (array(1, 2)), (array(2, 3)), (array(0)), (array(9, 8, 7))) AS t(a)"
    listed = ", ".join(f"{name}(size(filter(a, x -> x > 1)))" for name in ("skewness", "kurtosis"))
    found = spark_dialect.sql(f"SELECT {listed} FROM {rows}").to_arrow().to_pylist()[0].values()
    assert list(found) == pytest.approx([0.0, -1.36])


_NAN, _INFINITY = float("nan"), float("inf")
CUBE_ROOTS = {
    -76.34244849288599: -4.2421761200427355, 9.767101633242422e125: 9.921756604887346e41, 456.46: 7.699589566024256,
    -3.5888957331424675e-66: -1.5310414446959897e-22, -1.27968122597074e-308: -2.33901998675691e-103,
    0.0: 0.0, -0.5: -0.7937005259840998, 27.0: 3.0, _NAN: _NAN, _INFINITY: _INFINITY, -_INFINITY: -_INFINITY,
}  # fmt: skip


def test_a_cube_root_has_the_last_bit_of_java(spark_dialect: Session) -> None:
    """What `Math.cbrt` gives, and what the C library gives otherwise; zeros, NaN and infinity stay."""
    listed = ", ".join(f"cbrt(CAST('{each!r}' AS DOUBLE)) AS x{number}" for number, each in enumerate(CUBE_ROOTS))
    found = spark_dialect.sql(f"SELECT {listed}").to_arrow().to_pylist()[0].values()
    assert [repr(each) for each in found] == [repr(each) for each in CUBE_ROOTS.values()]


# By the query over floats: -2.5, -0.0, NULL, NaN and infinity.
FLOATS_IN_FLINK = {
    **{f"SELECT f FROM floats WHERE {condition}": "0.0" for condition in (
        "f = 0", "0e0 = f", "f = -0e0", "f * 1 = 0", "CAST(f AS FLOAT) = 0e0", "f BETWEEN 0 AND 0", "NOT (f <> 0)",
        "(f = 0) IS TRUE", "f <= 0 AND f >= 0", "f IS NOT DISTINCT FROM 0e0", "f = 0 GROUP BY f")},
    "SELECT f FROM floats WHERE f = 0 OR id = 9": "-0.0", "SELECT f FROM floats WHERE f = i": "-0.0",
    "SELECT f FROM floats WHERE f > -1 AND f < 1": "-0.0",
    "SELECT * FROM (SELECT f, id FROM floats) AS q WHERE f = 0": "0.0",
    "SELECT f FROM floats GROUP BY f HAVING f = 0": "0.0", "SELECT MAX(f) FROM floats WHERE f = 0": "0.0",
    "SELECT p.f FROM floats AS p JOIN floats AS q ON p.id = q.id AND p.f = 0e0": "0.0",
    "SELECT q.f FROM floats AS p JOIN floats AS q ON p.f = q.f WHERE p.f = 0e0": "0.0",
    "SELECT q.f FROM floats AS p LEFT JOIN floats AS q ON p.id = q.id AND q.f = 0e0 WHERE p.id = 1": "-0.0",
    "SELECT 0e0 * -i FROM floats WHERE i = 1": "0.0", "SELECT f * (i - 1) FROM floats WHERE f = 0": "-0.0",
    **{f"SELECT COUNT(*) FROM (SELECT DISTINCT {text} AS z FROM floats) AS q": count for text, count in (
        ("SQRT(f)", "5"), ("LN(f)", "5"), ("SIN(f)", "5"), ("ACOS(f)", "4"), ("POWER(f, 0.5)", "5"))},
    "SELECT COUNT(DISTINCT SQRT(f)) FROM floats": "4", "SELECT MAX(SQRT(f)) FROM floats": "nan",
    "SELECT MIN(LN(f)) FROM floats": "nan", "SELECT MAX(f) FROM floats": "inf", "SELECT MIN(f) FROM floats": "-2.5",
    "SELECT MIN(SQRT(f)) OVER (ORDER BY id) FROM floats WHERE id < 2 LIMIT 1": "nan",
}  # fmt: skip


@pytest.fixture(scope="module")
def floats(tmp_path_factory: pytest.TempPathFactory) -> Session:
    warehouse = tmp_path_factory.mktemp("floats")
    columns = {"id": range(5), "f": (-2.5, -0.0, None, float("nan"), float("inf")), "i": (1, 0, None, 3, 4)}
    schema = pa.schema({"id": pa.int32(), "f": pa.float64(), "i": pa.int32()})
    table = create_table(warehouse, [("id", "INT"), ("f", "DOUBLE"), ("i", "INT")], (), name="db.floats")
    table.write_arrow(pa.table(columns, schema))
    session = Session({"warehouse": str(warehouse)}, dialect="flink")
    session.sql("USE db")
    return session


@pytest.mark.parametrize(("query", "expected"), FLOATS_IN_FLINK.items())
def test_zeros_and_nan_of_flink(floats: Session, query: str, expected: str) -> None:
    assert str(floats.sql(query).to_arrow().column(0)[0].as_py()) == expected


@pytest.mark.parametrize("text", ["avg(x)", "avg(DISTINCT x)", "try_avg(x)"])
def test_an_average_that_the_order_of_rows_decides_is_left_to_spark(spark_dialect: Session, text: str) -> None:
    values = "(1), (-9223372036854775807), (9223372036854775807), (3)"
    with pytest.raises(SqlError, match="--engine spark"):
        spark_dialect.sql(f"SELECT {text} AS y FROM VALUES {values} AS t(x)").to_arrow()
    found = spark_dialect.sql(f"SELECT {text} AS y FROM VALUES (9223372036854775807), (3) AS t(x)").to_arrow()
    assert found.column("y").to_pylist() == [4.611686018427388e18]


def test_an_average_of_decimals_that_has_no_room(spark_dialect: Session) -> None:
    large = "FROM VALUES (CAST('12345678901234567890.5' AS DECIMAL(38, 18))) AS t(x)"
    assert spark_dialect.sql(f"SELECT try_avg(x) AS y {large}").to_arrow().column("y").to_pylist() == [None]
    with pytest.raises(SqlError, match="out of the range"):
        spark_dialect.sql(f"SELECT avg(x) AS y {large}").to_arrow()


def test_a_time_that_spark_writes_has_microseconds(spark_dialect: Session) -> None:
    found = spark_dialect.sql("SELECT TIMESTAMP_NTZ'2024-01-01 00:00:00.1234567' AS x").to_arrow()
    assert str(found.schema.field("x").type) == "timestamp[us]"


def test_every_entry_has_a_dialect_and_is_found_by_its_names() -> None:
    for entry in ENTRIES:
        assert entry.dialects
        for dialect in entry.dialects:
            assert dialect in BOTH
            assert all(entry in entries_of(dialect)[name] for name in entry.names)


def test_show_functions_lists_what_is_known(spark_dialect: Session, flink_dialect: Session) -> None:
    names = {session: set(session.sql("SHOW FUNCTIONS").to_arrow().column(0).to_pylist())
             for session in (spark_dialect, flink_dialect)}  # fmt: skip
    assert "collect_list" in names[spark_dialect] - names[flink_dialect]
    assert "split_index" in names[flink_dialect] - names[spark_dialect]


@pytest.mark.parametrize(("text", "shown"), [("map(f, 1)", "-0.0"), ("map(-0.0D, 1)", "0.0")], ids=str)
def test_a_map_over_rows_keeps_the_sign_of_a_zero_that_constants_lose(tmp_path: Path, text: str, shown: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE zeros (f DOUBLE)")
    session.sql("INSERT INTO zeros VALUES (-0.0D)")
    [[(key, _)]] = session.sql(f"SELECT {text} AS x FROM zeros").to_arrow()["x"].to_pylist()
    assert str(key) == shown


def test_filter_keeps_rows_from_an_aggregate_whose_arguments_would_fail(
    spark_dialect: Session, flink_dialect: Session
) -> None:
    """As in Spark, where DISTINCT, a window and count_if read all of them. Flink always does."""
    values = "FROM (VALUES (0, 'x'), (2, '3')) AS v(k, s)"
    filtered = "FILTER (WHERE k <> 0)"
    for text, expected in (
        ("max(6 / k)", 3.0),
        ("collect_list(6 / k)", [3.0]),
        ("sum(CAST(s AS INT))", 3),
        ("max_by(s, 6 / k)", "3"),
        ("listagg(s, ',') WITHIN GROUP (ORDER BY 6 / k)", "3"),
    ):
        rows = spark_dialect.sql(f"SELECT {text} {filtered} AS x {values}").to_arrow()
        assert rows.column("x").to_pylist() == [expected], text
    for text in (
        f"count(DISTINCT 6 / k) {filtered}",
        f"max(6 / k) {filtered} OVER ()",
        f"count_if(6 / k > 1) {filtered}",
    ):
        with pytest.raises(SqlError, match="division by zero"):
            spark_dialect.sql(f"SELECT {text} AS x {values}").to_arrow()
    with pytest.raises(SqlError, match="'x' is not INT"):
        flink_dialect.sql(f"SELECT sum(CAST(s AS INT)) {filtered} AS x {values}").to_arrow()


@pytest.mark.parametrize("pattern", ["uuuu", "[yyyy]", "yyyy#", "{yyyy}"])
def test_patterns_of_times_that_spark_reads_otherwise_are_refused(spark_dialect: Session, pattern: str) -> None:
    with pytest.raises(UnsupportedError, match="this pattern of a time is not supported"):
        spark_dialect.sql(f"SELECT date_format(DATE'2024-01-02', '{pattern}')")


@pytest.mark.parametrize(
    "text",
    ["bit_and(5, 3)", "unix_date('2024-01-01')", "unix_seconds(DATE'2024-01-01')", "unix_micros('2024-01-01')",
     "make_timestamp('2024-01-01')", "timestamp_millis('1')", "timestamp_micros(1.5D)", "array_join(array('a'), 1)",
     "greatest(1, '2')", "least(DATE'2024-01-01', '2024-01-02')", "stack(2, 1, 2L)", "(1, 2) IN (SELECT 1, true)"],
)  # fmt: skip
def test_what_nothing_becomes_by_itself_in_spark_is_refused(spark_dialect: Session, text: str) -> None:
    with pytest.raises(SqlError, match="take"):
        spark_dialect.sql(f"SELECT {text}")


def test_a_row_is_sought_among_rows_of_other_types(spark_dialect: Session) -> None:
    query = "SELECT id FROM (VALUES (1, '2'), (3, '4')) AS v(id, s) WHERE (id, s) IN (SELECT 1.0BD, 2L)"
    assert spark_dialect.sql(query).to_arrow().column("id").to_pylist() == [1]
    with pytest.raises(SqlError, match="a subquery gives 2 columns where 3 are needed"):
        spark_dialect.sql("SELECT (1, 2, 3) IN (SELECT 1, 2)")


def test_having_names_what_group_by_all_groups_by(spark_dialect: Session) -> None:
    query = "SELECT s AS x, count(*) AS n FROM (VALUES ('a', 1), ('a', 2), ('b', 3)) AS v(s, k) GROUP BY ALL HAVING "
    for having, expected in (("s = 'a'", ["a"]), ("x = 'b' AND max(k) = 3", ["b"]), ("n > 1", ["a"])):
        assert spark_dialect.sql(query + having).to_arrow().column("x").to_pylist() == expected
    with pytest.raises(SqlError, match="column 'k' is neither grouped nor aggregated"):
        spark_dialect.sql(f"{query} k > 1")
