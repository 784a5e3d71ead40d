"""Statements made at random from a grammar, whole and broken: a result or a `SqlError`, never anything else."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import SqlError
from maintenance.sql import Session
from tests.examples import examples

SETUP = (
    "CREATE TABLE t (a INT, b STRING, c DECIMAL(10, 2), d DATE); INSERT INTO t VALUES (1, 'x', 1.5, DATE '2024-02-29')"
)
NAMES = st.sampled_from(["t", "a", "b", "c", "d", "u", "default", "t$snapshots", "`odd name`", "default.t", "sys", "*"])
LITERALS = st.sampled_from(
    [
        "1",
        "-2",
        "0.5",
        "'x'",
        "''",
        "NULL",
        "TRUE",
        "DATE '2024-01-01'",
        "TIMESTAMP '2024-01-01 00:00:00'",
        "'🦆'",
        "1e9",
    ]
)
TYPES = st.sampled_from(
    ["INT", "STRING", "DECIMAL(10, 2)", "ARRAY<INT>", "MAP<STRING, INT>", "TIMESTAMP(3)", "ROW<x INT>", "BYTES", "NOPE"]
)
OPTIONS = st.sampled_from(
    ["'bucket' = '1'", "'bucket' = 'x'", "'primary-key' = 'a'", "'file.format' = 'orc'", "'no-such' = '1'", ""]
)


def words(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map(" ".join)


def listed(of: st.SearchStrategy[str], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(of, min_size=1, max_size=most).map(", ".join)


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operator = st.sampled_from(["+", "-", "*", "/", "%", "=", "<", "AND", "OR", "LIKE", "||", "IS NOT DISTINCT FROM"])
    function = st.sampled_from(
        ["COUNT", "SUM", "MAX", "UPPER", "COALESCE", "nope", "DATE_FORMAT", "SUBSTRING", "ABS", "AVG", "JSON_VALUE"]
    )
    return st.one_of(
        words("(", inner, operator, inner, ")"),
        words(function, "(", listed(inner), ")"),
        words("CAST (", inner, "AS", TYPES, ")"),
        words("CASE WHEN", inner, "THEN", inner, "END"),
        words(inner, "IN (", listed(inner), ")"),
    )


EXPRESSIONS = st.recursive(NAMES | LITERALS, _deeper, max_leaves=5)
QUERIES = st.one_of(
    words("SELECT", listed(EXPRESSIONS), "FROM", NAMES),
    words("SELECT", listed(EXPRESSIONS), "FROM", NAMES, "WHERE", EXPRESSIONS, "GROUP BY", EXPRESSIONS),
    words("SELECT * FROM t AS x JOIN", NAMES, "AS y ON", EXPRESSIONS, "ORDER BY 1 LIMIT", LITERALS),
    words("WITH q AS ( SELECT", EXPRESSIONS, "FROM t ) SELECT", EXPRESSIONS, "FROM q"),
    words("VALUES (", listed(LITERALS), ")"),
    words("SELECT * FROM t /*+ OPTIONS(", OPTIONS, ") */"),
    words("SELECT * FROM t VERSION AS OF", LITERALS),
)
STATEMENTS = st.one_of(
    QUERIES,
    words("EXPLAIN", QUERIES),
    words("INSERT INTO", NAMES, QUERIES),
    words("INSERT OVERWRITE", NAMES, "VALUES (", listed(LITERALS, 4), ")"),
    words("CREATE TABLE", NAMES, "(", listed(words(NAMES, TYPES)), ") PARTITIONED BY (", NAMES, ")"),
    words("CREATE TABLE u (", listed(words(NAMES, TYPES)), ") WITH (", OPTIONS, ")"),
    words("CREATE TABLE u AS", QUERIES),
    words("CREATE VIEW v AS", QUERIES),
    words("ALTER TABLE", NAMES, "ADD COLUMN", NAMES, TYPES),
    words("ALTER TABLE", NAMES, "SET TBLPROPERTIES (", OPTIONS, ")"),
    words("ALTER TABLE", NAMES, "RENAME COLUMN", NAMES, "TO", NAMES),
    words("DELETE FROM", NAMES, "WHERE", EXPRESSIONS),
    words("UPDATE", NAMES, "SET", NAMES, "=", EXPRESSIONS),
    words("MERGE INTO t USING", NAMES, "AS s ON", EXPRESSIONS, "WHEN MATCHED THEN DELETE"),
    words(st.sampled_from(["DESCRIBE", "SHOW CREATE TABLE", "DROP TABLE", "TRUNCATE TABLE", "USE"]), NAMES),
    words("CALL sys.", st.sampled_from(["compact", "create_tag", "rollback", "nope"]), "(", listed(LITERALS), ")"),
    words("SET", LITERALS, "=", LITERALS),
)


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A statement with a piece cut out, doubled, or replaced."""
    text = draw(STATEMENTS)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 8)))
    piece = draw(
        st.sampled_from(["", text[start:end] * 2, "(", ")", "'", "`", ";", ",", "\0", " SELECT ", "/*", "--", "é"])
    )
    return text[:start] + piece + text[end:]


def run(text: str, dialect: Literal["flink", "spark"]) -> None:
    with TemporaryDirectory() as folder:
        session = Session({"warehouse": str(Path(folder))}, dialect=dialect)
        list(session.execute(SETUP))
        refused: SqlError | None = None
        try:
            for result in session.execute(text):
                assert isinstance(result.to_arrow(), pa.Table)
        except SqlError as error:
            refused = error
        if refused is not None:
            # Of what nobody foresaw, the error says that it is to be reported.
            assert "report this" not in str(refused)
            assert (refused.line is None) == (refused.column is None)


@pytest.mark.parametrize("dialect", ["flink", "spark"])
@settings(max_examples=examples(40))
@given(text=STATEMENTS | broken())
def test_a_result_or_an_error_for_people(dialect: Literal["flink", "spark"], text: str) -> None:
    run(text, dialect)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["flink", "spark"])
@settings(max_examples=examples(500))
@given(text=STATEMENTS | broken())
def test_many_more_statements_give_a_result_or_an_error_for_people(
    dialect: Literal["flink", "spark"], text: str
) -> None:
    run(text, dialect)
