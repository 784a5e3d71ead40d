"""What queries give as a whole in either dialect: names, groups and order, as seen in Spark and Flink themselves."""

from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest

from maintenance.sql import Session, SqlError
from tests.answers import rows

Dialect = Literal["flink", "spark"]


@pytest.fixture
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect=request.param)
    session.sql("CREATE TABLE t (id INT, g STRING, n INT, a ARRAY<INT>)")
    made = "ARRAY[1, 2]" if request.param == "flink" else "array(1, 2)"
    session.sql(f"INSERT INTO t VALUES (1, 'x', 5, {made}), (2, 'x', 7, NULL), (3, 'y', 5, NULL)")
    return session


@pytest.mark.parametrize(
    ("session", "query", "expected"),
    [
        ("spark", "SELECT g, n, count(*) FROM t GROUP BY g, n GROUPING SETS ((g), (n))",
         [(None, 5, 2), (None, 7, 1), ("x", None, 2), ("y", None, 1)]),
        ("spark", "SELECT g, count(*) FROM t GROUP BY g WITH ROLLUP", [(None, 3), ("x", 2), ("y", 1)]),
        ("spark", "SELECT g, n, count(*) FROM t WHERE id < 2 GROUP BY g, n WITH CUBE",
         [(None, None, 1), (None, 5, 1), ("x", None, 1), ("x", 5, 1)]),
        ("spark", "SELECT g, grouping_id() FROM t WHERE id = 1 GROUP BY g, GROUPING SETS ((n), ())",
         [("x", 0), ("x", 1)]),
        ("spark", "SELECT g, count(*) FROM t WHERE false GROUP BY ROLLUP (g)", []),
        ("flink", "SELECT g, COUNT(*) FROM t WHERE FALSE GROUP BY CUBE (g)", []),
        ("spark", "SELECT n, id FROM t ORDER BY ALL DESC LIMIT ALL", [(7, 2), (5, 3), (5, 1)]),
        *((dialect, "SELECT id, m FROM t NATURAL JOIN (SELECT id, n + 1 AS m FROM t WHERE n > 5) AS x", [(2, 8)])
          for dialect in ("spark", "flink")),
        ("spark", "SELECT id FROM t DISTRIBUTE BY g SORT BY n DESC, id DESC LIMIT 2", [(2,), (3,)]),
        ("spark", "SELECT id FROM (SELECT id, -id AS k FROM t) CLUSTER BY k", [(3,), (2,), (1,)]),
        ("flink", "SELECT id, v FROM t CROSS JOIN UNNEST(a) AS v", [(1, 1), (1, 2)]),
        ("flink", "SELECT x.id0 FROM (SELECT p.id, q.id FROM t p JOIN t q ON p.id < q.id) AS x", [(2,), (3,), (3,)]),
        ("flink", "SELECT id, c FROM t LEFT JOIN LATERAL (SELECT COUNT(*) AS c FROM t q WHERE q.n = t.n) AS x ON TRUE",
         [(1, 2), (2, 1), (3, 2)]),
    ],
    indirect=["session"],
)  # fmt: skip
def test_rows_and_their_order_are_those_of_the_engine(
    session: Session, query: str, expected: list[tuple[Any, ...]]
) -> None:
    found = rows(session, query)
    is_ordered = any(f"{word} BY" in query for word in ("ORDER", "SORT", "CLUSTER"))
    assert (found if is_ordered else sorted(found, key=repr)) == (
        expected if is_ordered else sorted(expected, key=repr)
    )


_FRAME = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@pytest.mark.parametrize(
    ("session", "query", "names"),
    [
        ("spark", "VALUES (1, 'a')", ["col1", "col2"]),
        ("flink", "VALUES (1, 'a')", ["EXPR$0", "EXPR$1"]),
        ("flink", "SELECT id, id, t.* FROM t", ["id", "id0", "id1", "g", "n", "a"]),
        ("flink", "SELECT * FROM UNNEST(ARRAY[1])", ["EXPR$0"]),
        ("spark", "SELECT 'x', 1.5, 2.5D, true, NULL, DATE'2024-01-01'",
         ["x", "1.5", "2.5", "true", "NULL", "DATE '2024-01-01'"]),
        ("spark", "SELECT -n, n DIV 2, g || 'x', a[0], n <> 1, NOT n > 1, CAST(n AS INT), n IN (1), g IS NULL FROM t",
         ["(- n)", "(n div 2)", "concat(g, x)", "a[0]", "(NOT (n = 1))", "(NOT (n > 1))", "n", "(n IN (1))",
          "(g IS NULL)"]),
        ("spark", "SELECT CASE n WHEN 5 THEN 'a' ELSE g END, IF(n > 5, 1, 2), g LIKE 'x%', n BETWEEN 1 AND 2 FROM t",
         ["CASE WHEN (n = 5) THEN a ELSE g END", "(IF((n > 5), 1, 2))", "g LIKE x%", "between(n, 1, 2)"]),
        ("spark", "SELECT count(*), count(DISTINCT g), sum(n) FILTER (WHERE n > 5), (SELECT max(n) FROM t) FROM t",
         ["count(1)", "count(DISTINCT g)", "sum(n) FILTER (WHERE (n > 5))", "scalarsubquery()"]),
        ("spark", "SELECT array('b', 'c'), trim(' b '), X'6a', datepart('year', DATE '2024-01-01'), rlike('a', 'b')",
         ["array(b, c)", "trim( b )", "X'6A'", "datepart(year FROM DATE '2024-01-01')", "RLIKE(a, b)"]),
        ("spark", "SELECT TIMESTAMP_NTZ '2024-01-01 00:00:01.1234567', 'a' ILIKE 'b' ESCAPE '/', curdate()",
         ["TIMESTAMP_NTZ '2024-01-01 00:00:01.123456'", "ilike(a, b)", "current_date()"]),
        ("spark", "SELECT row_number() OVER (PARTITION BY g ORDER BY id), lag(n) OVER (ORDER BY id DESC) FROM t",
         [f"row_number() OVER (PARTITION BY g ORDER BY id ASC NULLS FIRST {_FRAME})",
          "lag(n, 1, NULL) OVER (ORDER BY id DESC NULLS LAST ROWS BETWEEN -1 FOLLOWING AND -1 FOLLOWING)"]),
    ],
    indirect=["session"],
)  # fmt: skip
def test_names_of_columns_are_those_of_the_engine(session: Session, query: str, names: list[str]) -> None:
    assert session.sql(query).to_arrow().column_names == names


@pytest.mark.parametrize("query", [
    "SELECT sum(x) AS g FROM v GROUP BY x HAVING g > 3",
    "SELECT sum(x) AS x FROM v GROUP BY g HAVING x > 3 AND max(x) < 5",
    "SELECT x + 1 AS g, count(*) AS n FROM v GROUP BY x HAVING g > 4 AND x > 3",
])  # fmt: skip
@pytest.mark.parametrize("session", ["spark"], indirect=True)
def test_a_name_in_having_means_an_output_before_a_column(session: Session, query: str) -> None:
    rows = "WITH v AS (SELECT * FROM VALUES ('a', 1), ('a', 1), ('b', 4) AS t(g, x))"
    assert session.sql(f"{rows} {query}").to_arrow().num_rows == 1


@pytest.mark.parametrize(
    ("session", "query", "said"),
    [
        ("spark", "SELECT count(*) FROM t GROUP BY ()", "does not group by"),
        ("spark", "SELECT id FROM t WHERE n > ALL (SELECT 1)", "no ALL of a subquery"),
        ("spark", "SELECT id FROM t LATERAL VIEW explode(a)", "LATERAL VIEW has no name"),
        ("spark", "SELECT count(*) FROM t GROUP BY window(id, '1 day')", "WINDOW is not supported"),
        ("spark", "SELECT DISTINCT g FROM t ORDER BY id", "SELECT DISTINCT does not give"),
        ("spark", "SELECT id FROM t WHERE NULL", "NULL is no condition"),
        ("spark", "SELECT id FROM t WHERE n", "a condition is expected, and INT is no BOOLEAN"),
        ("flink", "SELECT CASE WHEN g THEN 1 END FROM t", "a condition is expected, and STRING is no BOOLEAN"),
        ("spark", "SELECT row_number() OVER (PARTITION BY g) FROM t", "without an order of rows"),
        ("flink", "SELECT id, COUNT(DISTINCT g) OVER (ORDER BY id) FROM t", "DISTINCT over a window"),
        ("spark", "SELECT 1 FROM t a JOIN t b JOIN t c ON a.id = c.id ON a.id = b.id", "Put it in parentheses"),
        ("flink", "SELECT g AS x FROM t GROUP BY x", "column 'x' does not exist"),
        ("flink", "SELECT g, SUM(n) AS s FROM t GROUP BY g HAVING s > 1", "column 's' does not exist"),
        ("flink", "SELECT id + 1 AS x, x + 1 FROM t", "column 'x' does not exist"),
        ("flink", "SELECT g, COUNT(*) FROM t GROUP BY 1", "does not group by 1"),
        ("flink", "SELECT g, COUNT(*) FROM t GROUP BY g WITH ROLLUP", "no WITH ROLLUP behind"),
        ("flink", "SELECT a.id FROM t a JOIN t b", "JOIN has no condition"),
        ("flink", "SELECT COUNT(g, n) FROM t", "COUNT"),
        ("flink", "SELECT id FROM t WHERE g LIKE ANY ('x', 'y')", "no LIKE of several patterns"),
        ("flink", "SELECT id FROM t LIMIT 1 + 1", "LIMIT is no number of rows"),
        ("flink", "SELECT id FROM t ORDER BY id OFFSET 1", "OFFSET without LIMIT is not supported"),
        ("flink", "SELECT RANK() OVER (ORDER BY n), CUME_DIST() OVER (ORDER BY n) FROM t", "CUME_DIST beside another"),
        ("flink", "SELECT t.id, x.c FROM t, LATERAL (SELECT COUNT(*) AS c FROM t q WHERE q.n = t.id) AS x", "LATERAL"),
        ("flink", "SELECT SUM(n) OVER (ORDER BY g RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM t",
         "RANGE with an interval is not supported"),
        ("flink", "SELECT explode(a) FROM t", "function EXPLODE is not supported"),
        *(("flink", f"SELECT {text}", f"Flink has no {said}") for text, said in (
            ("id FROM t WHERE id != 1", "!="), ("id == 1 FROM t", "=="), ("id::STRING FROM t", "::"),
            ("id FROM t WHERE n <=> 1", "<=>"), ("id FROM t MINUS SELECT n FROM t", "MINUS"),
            ("* EXCEPT (a) FROM t", "EXCEPT behind"), ("id FROM t QUALIFY RANK() OVER (ORDER BY id) = 1", "QUALIFY"),
            ("* FROM t LEFT SEMI JOIN t AS q ON t.id = q.n", "SEMI JOIN"), ("id FROM t SORT BY id", "SORT BY"),
            ("x FROM t LATERAL VIEW explode(a) v AS x", "LATERAL VIEW"), ("g FROM t GROUP BY ALL", "GROUP BY ALL"),
            ("id FROM t ORDER BY ALL", "ORDER BY ALL"),
            ("id, NULL AS x FROM t", "SELECT of a NULL"), ("id FROM t WHERE g ILIKE 'X'", "ILIKE"))),
        *((dialect, f"SELECT {text}", f"{dialect.capitalize()} has no {said}")
          for dialect in ("spark", "flink") for text, said in (
            ("id FROM t FOR UPDATE", "FOR UPDATE"), ("id FROM t CONNECT BY PRIOR id = n", "CONNECT BY"),
            ("id FROM t ORDER BY n FETCH FIRST 1 ROWS WITH TIES", "WITH TIES"), ("id FROM t LIMIT 1 BY g", "LIMIT BY"),
            ("COUNT(*) OVER (ORDER BY id ROWS 2 PRECEDING EXCLUDE TIES) FROM t", "EXCLUDE in a window"),
            ("COUNT(*) OVER (ORDER BY id GROUPS 1 PRECEDING) FROM t", "GROUPS in a window"),
            ("* EXCLUDE (id) FROM t", "EXCLUDE behind *"), ("* REPLACE (1 AS id) FROM t", "REPLACE behind *"),
            ("id FROM t UNION ALL BY NAME SELECT id FROM t", "BY NAME"), ("id FROM t@v", "@"),
            ("t.id FROM t ASOF JOIN t AS b ON t.id >= b.id", "ASOF JOIN"),
            ("AS STRUCT id FROM t", "AS STRUCT"), ("id FROM t USING SAMPLE 1", "USING SAMPLE"))),
    ],
    indirect=["session"],
)  # fmt: skip
def test_what_the_engine_refuses(session: Session, query: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql(query).to_arrow()
    assert said in str(caught.value)


@pytest.mark.parametrize("session", ["flink"], indirect=True)
def test_rows_that_a_text_finds_are_those_of_a_query(session: Session) -> None:
    """To Flink a BOOLEAN as a text is TRUE, and it compares no INT with a text."""
    session.sql("CREATE TABLE k (id INT, b BOOLEAN)")
    session.sql("INSERT INTO k VALUES (1, TRUE), (2, FALSE)")
    session.sql("DELETE FROM k WHERE b = 'true'")
    assert rows(session, "SELECT id FROM k WHERE b <> 'true'") == [(1,), (2,)]
    with pytest.raises(SqlError, match="does not take INT and CHAR"):
        session.sql("DELETE FROM k WHERE id = '1'")


@pytest.mark.parametrize("session", ["flink"], indirect=True)
def test_a_float_that_a_decimal_does_not_hold_is_null(session: Session) -> None:
    query = (
        "SELECT CAST(x AS DECIMAL(10, 2)) FROM (VALUES (CAST(-2.147483648E9 AS FLOAT)), (CAST(1.5 AS FLOAT))) AS v(x)"
    )
    assert sorted(rows(session, query), key=str) == [(Decimal("1.50"),), (None,)]
