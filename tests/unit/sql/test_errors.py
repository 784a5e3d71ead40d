"""Errors of statements name the place in the text and what may have been meant."""

from pathlib import Path

import pytest
from sqlglot import parser

from maintenance.errors import ErrorClass, UnsupportedError
from maintenance.sql import Session, SqlError


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE trips (id INT PRIMARY KEY NOT ENFORCED, city STRING)")
    return session


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("SELEC 1", (1, 1), "Did you mean 'SELECT'"),
        ("CREATE TABEL t (a INT)", (1, 8), "Did you mean 'CREATE TABLE'"),
        ("SELECT *\nFROM trip", (2, 6), "Did you mean 'trips'"),
        ("SELECT\n  id,\n  citi\nFROM trips", (3, 3), "Did you mean 'city'"),
        ("INSERT INTO trips (id, town) SELECT 1, 'a'", (1, 24), "column 'town' does not exist"),
        ("CREATE TABLE t (a INT, b NUMBR)", (1, 26), "NUMBR"),
        ("CREATE TABLE t (a INT", (1, 22), "the statement ends where"),
        ("CREATE TABLE t (a INT, b AS c + 1)", (1, 29), "column 'c' does not exist"),
        ("CREATE TABLE t (a TIMESTAMP, WATERMARK FOR b AS a)", (1, 44), "column 'b' does not exist"),
        ("SELECT id FROM trips WHERE city = 'Oslo", (1, 35), "not closed"),
        ("CALL sys.compat('trips')", (1, 10), "Did you mean 'sys.compact'"),
        ("CALL sys.compact(tabel => 'trips')", (1, 18), "Did you mean 'table'"),
        ("DROP TABLE trps", (1, 12), "Did you mean 'trips'"),
        ("SELECT 1; SELECT 2", (1, 11), "second statement"),
    ],
)
def test_the_place_of_an_error(session: Session, text: str, place: tuple[int, int], said: str) -> None:
    with pytest.raises(SqlError) as caught:
        session.sql(text)
    error = caught.value
    assert (error.line, error.column) == place
    assert said in str(error)
    caret = str(error).splitlines()[-1]
    assert caret.index("^") == place[1] - 1


def test_the_place_in_a_script_is_that_of_the_whole_text(session: Session) -> None:
    results = session.execute("INSERT INTO trips VALUES (1, 'Oslo');\n\nSELECT x FROM trips;")
    next(results)
    with pytest.raises(SqlError) as caught:
        next(results)
    assert (caught.value.line, caught.value.column) == (3, 8)


def test_an_error_of_the_engine_keeps_its_class(session: Session) -> None:
    with pytest.raises(SqlError, match="snapshot 7") as caught:
        session.sql("SELECT * FROM trips /*+ OPTIONS('scan.snapshot-id' = '7') */")
    assert caught.value.error_class is ErrorClass.USER


def test_a_compiled_parser_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "__file__", "/lib/sqlglot/parser.cpython-311-x86_64-linux-gnu.so")
    with pytest.raises(UnsupportedError, match="Uninstall the package sqlglotc"):
        Session({"warehouse": str(tmp_path)})


# The statement with a mark where the error is, and what is said.
PLACES = [
    ("SELECT id -- citi\n, /* citi */ ‹citi› FROM t", "column 'citi' does not exist"),
    ("SELECT t.‹citi› FROM t", "column 'citi' does not exist"),
    ("SELECT 'äöü😀' AS `ü`, t.‹citi› FROM t", "column 'citi' does not exist"),
    ("SELECT ‹`ci ti`› FROM t", "column 'ci ti' does not exist"),
    ("SELECT id FROM t AS a JOIN u AS b ON a.id = b.‹citi›", "column 'citi' does not exist"),
    ("SELECT x FROM u WHERE y IN (SELECT\n  x FROM t WHERE s = ‹zz›)", "column 'zz' does not exist"),
    ("SELECT id FROM t\nORDER BY ‹citi›", "column 'citi' does not exist"),
    ("WITH q AS (SELECT id AS z FROM t)\nSELECT ‹zz› FROM q", "column 'zz' does not exist"),
    ("SELECT ‹nope›.id FROM t", "'nope' is not in FROM"),
    ("SELECT ‹id› FROM t, t AS b", "column 'id' may be of several tables"),
    ("SELECT ‹id›, COUNT(*) FROM t GROUP BY s", "column 'id' is neither grouped nor aggregated"),
    ("SELECT 'nofun', ‹nofun›(id) FROM t", "function NOFUN is not supported"),
    ("SELECT abs(id),\n  ‹abs›(s) FROM t", "ABS does not take"),
    ("SELECT ‹upper›(id, 2) FROM t", "UPPER gets 2 arguments and takes 1"),
    ("SELECT SUM(‹SUM›(id)) FROM t", "an aggregate stands in another one"),
    ("SELECT 'nope' FROM ‹nope›", "table 'default.nope' does not exist"),
    ("SELECT id FROM ‹nodb.t›", "database 'nodb' does not exist"),
    ("SELECT v1 AS v FROM v JOIN ‹nope› ON TRUE", "table 'default.nope' does not exist"),
    ("INSERT INTO ‹nope› VALUES (1)", "table 'default.nope' does not exist"),
    ("INSERT INTO t (id, ‹town›) VALUES (1, 'town')", "column 'town' does not exist"),
    ("INSERT INTO t (‹t›) VALUES (1)", "column 't' does not exist"),
    ("INSERT INTO t SELECT id, ‹citi› FROM t", "column 'citi' does not exist"),
    ("UPDATE ‹nope› SET a = 1", "table 'default.nope' does not exist"),
    ("UPDATE t SET s = 'a', ‹nope› = 1", "column 'nope' does not exist"),
    ("UPDATE t SET s = 'a' WHERE\n ‹citi› = 1", "column 'citi' does not exist"),
    ("DELETE FROM ‹nope›", "table 'default.nope' does not exist"),
    ("DELETE FROM t WHERE s = 'citi' AND\n ‹citi› = 1", "column 'citi' does not exist"),
    ("MERGE INTO ‹nope› USING t ON TRUE WHEN MATCHED THEN DELETE", "table 'default.nope' does not exist"),
    ("MERGE INTO t USING ‹nope› ON TRUE WHEN MATCHED THEN DELETE", "table 'default.nope' does not exist"),
    ("MERGE INTO t USING u ON t.id = u.‹citi› WHEN MATCHED THEN DELETE", "column 'citi' does not exist"),
    ("MERGE INTO t USING u ON t.id = u.x\nWHEN MATCHED THEN UPDATE SET ‹x› = u.x", "column 'x' does not exist"),
    (
        "MERGE INTO t USING u ON t.id = u.x\nWHEN NOT MATCHED THEN INSERT (id, ‹x›) VALUES (u.x, 'x')",
        "column 'x' does not exist",
    ),
    ("DROP TABLE ‹db9.nope›", "table 'nope' does not exist"),
    ("ALTER TABLE ‹nope› RENAME TO t", "table 'default.nope' does not exist"),
    ("ALTER TABLE t RENAME ‹citi› TO id", "citi"),
    ("DESCRIBE ‹nope›", "table 'default.nope' does not exist"),
    ("SHOW PARTITIONS ‹nope›", "table 'default.nope' does not exist"),
    ("TRUNCATE TABLE ‹nope›", "table 'default.nope' does not exist"),
    ("USE ‹nope›", "nope"),
    ("DROP DATABASE ‹nope›", "database 'nope' does not exist"),
    ("CALL sys.compact(\n  ‹'default.nope'›)", "table 'default.nope' does not exist"),
    ("CALL sys.create_tag('default.t', 'x', ‹99›)", "snapshot 99 does not exist"),
    ("CREATE TABLE n (a INT, ‹a› INT)", "column 'a' is there twice"),
    ("CREATE TABLE n (a INT, PRIMARY KEY (‹zz›) NOT ENFORCED)", "column 'zz' does not exist"),
    ("CREATE TABLE n (a INT) PARTITIONED BY (‹zz›)", "column 'zz' does not exist"),
    (
        "CREATE TABLE n (bukcet INT) WITH (\n  'k.x' = 'bukcet',\n  ‹'bukcet'› = '2')",
        "option 'bukcet' does not exist",
    ),
    ("ALTER TABLE t SET (‹'bukcet'› = '2')", "option 'bukcet' does not exist"),
    ("SELECT * FROM t /*+ OPTIONS(‹'scan.snapsho-id'› = '1') */", "'scan.snapsho-id'"),
    ("SELECT 1\nFROM ‹broken›", "column 'x' does not exist"),
    ("SELECT 1\nFROM ‹paimon.x.default.t›", "'paimon.x.default.t' is not the name of a table"),
]


@pytest.mark.parametrize(("marked", "said"), PLACES, ids=[text for text, _ in PLACES])
def test_an_error_points_at_the_name_that_it_is_about(tmp_path: Path, marked: str, said: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    for made in (
        "CREATE TABLE t (id INT, s STRING)",
        "CREATE TABLE u (x INT, y INT)",
        "CREATE TEMPORARY VIEW v AS SELECT id AS v1 FROM t",
        "CREATE TABLE b (id INT, x INT)",
        "CREATE TEMPORARY VIEW broken AS SELECT            x FROM b",
        "ALTER TABLE b DROP x",
    ):
        session.sql(made)
    before, _, behind = marked.partition("‹")
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    with pytest.raises(SqlError) as caught:
        session.sql(before + behind.replace("›", "", 1))
    assert (caught.value.line, caught.value.column) == place
    assert said in str(caught.value)


def test_a_name_again_is_at_fault_where_it_comes_again(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (id INT, s STRING)")
    with pytest.raises(SqlError, match="'s' is assigned twice") as caught:
        session.sql("UPDATE t SET s = 'a', t.s = 'b'")
    assert (caught.value.line, caught.value.column) in ((1, 23), (1, 25))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT CAST(1000 AS TINYINT)", "1000 is out of the range of TINYINT"),
        ("SELECT 9223372036854775807 + 1L", "a result is out of the range of BIGINT"),
    ],
)
def test_numbers_that_are_too_large_are_errors_in_spark(tmp_path: Path, query: str, said: str) -> None:
    with pytest.raises(SqlError, match=said):
        Session({"warehouse": str(tmp_path)}, dialect="spark").sql(query)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT s LIKE 5 FROM t", "'LIKE' does not take STRING and INT"),
        ("SELECT abs(s) FROM t", "ABS does not take (STRING)"),
        ("SELECT CAST('x' AS INT)", "'x' is not INT"),
        ("SELECT (SELECT id, s FROM t)", "a subquery gives 2 columns where one is needed"),
        ("SELECT (SELECT 1 UNION ALL SELECT 2)", "a subquery gives several rows where one is needed"),
        ("SELECT 1 UNION ALL SELECT 1, 2", "the sides have different numbers of columns"),
        ("SELECT id FROM t WHERE SUM(id) > 1", "WHERE cannot contain an aggregate"),
        ("SELECT ROW_NUMBER() FROM t", "a function of windows stands without OVER"),
        ("SELECT id FROM t LIMIT -1", "LIMIT is no number of rows"),
        ("SELECT id FROM t WHERE", "something is missing"),
        ("SELECT (id FROM t", "found where ) is expected"),
        ("SELECT id FROM t GROUP x", "is not expected here"),
    ],
)
def test_an_error_is_in_our_words(session: Session, query: str, said: str) -> None:
    session.sql("CREATE TABLE t (id INT, s STRING)")
    with pytest.raises(SqlError) as caught:
        session.sql(query)
    text = str(caught.value)
    assert said in text
    foreign = ("VARCHAR", "INTEGER", "_LITERAL", "Binder", "explicit", "FROM clause", "sqlglot", "Candidate", "INT32")
    assert not [word for word in foreign if word in text.splitlines()[0]]


RAISED = (
    "SELECT CAST(raise_error('no') AS INT) FROM t",
    "SELECT raise_error('no') + 1 FROM t",
    "SELECT CASE WHEN id = 1 THEN raise_error('no') ELSE 2 END FROM t",
    "SELECT CAST(assert_true(id > 5, 'no') AS STRING) FROM t",
    "SELECT coalesce(raise_error('no'), 1) FROM t",
    "INSERT INTO t SELECT 2, raise_error('no'), NULL",
    "INSERT INTO t SELECT id, v, assert_true(id > 5, 'no') FROM t",
    "UPDATE t SET v = raise_error('no')",
    "UPDATE t SET a = assert_true(id > 5, 'no')",
    "MERGE INTO t USING (SELECT 1 AS k) AS s ON t.id = s.k WHEN MATCHED THEN UPDATE SET a = raise_error('no')",
)


@pytest.fixture
def one_row(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    list(session.execute("CREATE TABLE t (id INT, v STRING, a ARRAY<INT>); INSERT INTO t VALUES (1, 'a', array(1))"))
    return session


@pytest.mark.parametrize("text", RAISED)
def test_an_error_of_the_query_s_own_is_raised_wherever_it_stands(one_row: Session, text: str) -> None:
    with pytest.raises(SqlError, match=r"^no \(query\)"):
        one_row.sql(text)
    assert one_row.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"id": 1, "v": "a", "a": [1]}]


def test_an_error_is_not_raised_where_its_value_is_not_needed(one_row: Session) -> None:
    for text in ("coalesce(1, raise_error('no'))", "if(id > 5, raise_error('no'), 1)"):
        assert one_row.sql(f"SELECT {text} AS r FROM t").to_arrow().to_pylist() == [{"r": 1}]
    one_row.sql("UPDATE t SET v = CASE WHEN id > 5 THEN raise_error('no') ELSE 'b' END, a = NULL")
    assert one_row.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"id": 1, "v": "b", "a": None}]
