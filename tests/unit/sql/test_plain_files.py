"""Files that DuckDB reads by itself give the rows that our own reader gives."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.sql import Session
from maintenance.sql.duckdb import embedded
from maintenance.sql.duckdb.plain_files import plain_query
from tests.answers import rows


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether each relation was read plainly."""
    collected: list[bool] = []

    def noted(*arguments: Any) -> str | None:
        query = plain_query(*arguments)
        collected.append(query is not None)
        return query

    with monkeypatch.context() as patched:
        patched.setattr(embedded, "plain_query", noted)
        yield collected


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session({"warehouse": str(tmp_path)})


PLAIN = "CREATE TABLE t (id INT, name STRING, at TIMESTAMP, price DECIMAL(12, 2))"
FIRST = "INSERT INTO t VALUES (1, 'a', TIMESTAMP '2024-01-02 03:04:05', 1.50), (2, NULL, NULL, NULL)"


def test_files_of_an_append_table_are_read_by_duckdb_itself(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql(PLAIN)
    session.sql(FIRST)
    with counted(monkeypatch) as plainly:
        actual = session.sql("SELECT * FROM t ORDER BY id").to_arrow()
        assert rows(session, "SELECT COUNT(*) FROM t WHERE id > 1") == [(1,)]
        assert rows(session, "SELECT b.z FROM t AS b (id, z, y, x) ORDER BY 1") == [(None,), ("a",)]
    assert plainly == [True, True, True]
    assert session.sql("TABLE default.t").to_arrow().num_rows == 2
    direct = session.table(("t",)).to_arrow()
    assert actual.to_pylist() == direct.sort_by("id").to_pylist()


@pytest.mark.parametrize(
    ("statements", "query", "expected"),
    [
        (["ALTER TABLE t ADD COLUMN extra INT"], "SELECT id, extra FROM t ORDER BY id", [(1, None), (2, None)]),
        (["ALTER TABLE t ALTER COLUMN id TYPE BIGINT"], "SELECT id FROM t ORDER BY id", [(1,), (2,)]),
        (["ALTER TABLE t SET TBLPROPERTIES ('fields.name.default-value' = 'x')"], "SELECT name FROM t ORDER BY id",
         [("a",), ("x",)]),
    ],
)  # fmt: skip
def test_rows_that_are_not_as_the_file_has_them(
    session: Session, monkeypatch: pytest.MonkeyPatch, statements: list[str], query: str, expected: list[object]
) -> None:
    session.sql(PLAIN)
    session.sql(FIRST)
    for statement in statements:
        session.sql(statement)
    with counted(monkeypatch) as plainly:
        assert rows(session, query) == expected
    assert plainly == [False]


def test_files_of_a_schema_with_other_options(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql(PLAIN)
    session.sql(FIRST)
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.max' = '20')")
    session.sql("INSERT INTO t (id) VALUES (3)")
    with counted(monkeypatch) as plainly:
        assert rows(session, "SELECT id, name FROM t ORDER BY id") == [(1, "a"), (2, None), (3, None)]
    assert plainly == [True]


def test_deleted_and_merged_rows(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("CREATE TABLE v (id INT, n INT) TBLPROPERTIES ('deletion-vectors.enabled' = 'true')")
    session.sql("INSERT INTO v VALUES (1, 1), (2, 2)")
    session.sql("DELETE FROM v WHERE id = 1")
    session.sql("CREATE TABLE k (id INT, n INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    session.sql("INSERT INTO k VALUES (1, 1), (2, 2)")
    session.sql("INSERT INTO k VALUES (1, 9)")
    with counted(monkeypatch) as plainly:
        assert rows(session, "SELECT * FROM v") == [(2, 2)]
        assert rows(session, "SELECT * FROM k ORDER BY id") == [(1, 9), (2, 2)]
        assert plainly == [False, False]
        session.sql("CALL sys.compact(`table` => 'k', compact_strategy => 'full')")
        plainly.clear()
        assert rows(session, "SELECT * FROM k ORDER BY id") == [(1, 9), (2, 2)]
    assert plainly == [True]


STATISTICS = 'CREATE TABLE s (id BIGINT, n INT, `a"b` DECIMAL(38, 10), day DATE, name STRING, x DOUBLE)'


def known_statistics(session: Session, monkeypatch: pytest.MonkeyPatch, columns: Sequence[str]) -> list[dict[str, Any]]:
    """What DuckDB knows of columns of the table `s` when it plans a query."""
    texts: list[str] = []

    def noted(*arguments: Any) -> str | None:
        query = plain_query(*arguments)
        assert query is not None
        texts.append(query)
        return query

    with monkeypatch.context() as patched:
        patched.setattr(embedded, "plain_query", noted)
        session.sql("SELECT * FROM s").to_arrow()
    names = ", ".join('stats("' + name.replace('"', '""') + '")' for name in columns)
    (actual,) = duckdb.connect().execute(f"SELECT {names} FROM ({texts[0]}) LIMIT 1").fetchall()
    return list(actual)


def test_of_several_files_duckdb_knows_what_the_manifests_do(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql(STATISTICS)
    session.sql("INSERT INTO s VALUES (3, NULL, 0.0000000001, DATE '2024-02-29', 'a', 1.5)")
    session.sql("INSERT INTO s VALUES (-7, NULL, -12.5, DATE '1969-12-31', NULL, 2), (5, NULL, NULL, NULL, 'b', 3)")
    columns = ["id", "n", 'a"b', "day", "name", "x"]
    ids, numbers, decimals, days, names, doubles = known_statistics(session, monkeypatch, columns)
    assert (ids["min"], ids["max"], ids["has_null"]) == (-7, 5, False)
    assert numbers.keys() & {"min", "max"} == set()
    assert numbers["has_null"]
    assert (decimals["min"], decimals["max"]) == (Decimal("-12.5"), Decimal("0.0000000001"))
    assert (days["min"], days["max"], days["has_null"]) == (date(1969, 12, 31), date(2024, 2, 29), True)
    assert names.keys() & {"min", "max"} == doubles.keys() & {"min", "max"} == set()
    assert (names["has_null"], doubles["has_null"]) == (True, False)
    assert rows(session, "SELECT COUNT(*), COUNT(n), COUNT(day), MIN(id), MAX(day) FROM s WHERE id > -100") == [
        (3, 0, 2, -7, date(2024, 2, 29))
    ]


def test_a_file_of_nulls_takes_no_bounds_away(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql(STATISTICS)
    session.sql("INSERT INTO s (id, n) VALUES (1, 10), (2, 20)")
    session.sql("INSERT INTO s (id) VALUES (3)")
    (numbers,) = known_statistics(session, monkeypatch, ["n"])
    assert (numbers["min"], numbers["max"], numbers["has_null"]) == (10, 20, True)
    assert rows(session, "SELECT id FROM s WHERE n IS NULL OR n > 15 ORDER BY id") == [(2,), (3,)]


@pytest.mark.parametrize("mode", ["none", "counts"])
def test_nothing_is_known_that_one_of_the_files_does_not_say(
    session: Session, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    session.sql(STATISTICS)
    session.sql("INSERT INTO s (id, day) VALUES (1, DATE '2024-01-01')")
    session.sql(f"ALTER TABLE s SET TBLPROPERTIES ('metadata.stats-mode' = '{mode}')")
    session.sql("INSERT INTO s (id, day) VALUES (100, DATE '1999-01-01')")
    ids, days = known_statistics(session, monkeypatch, ["id", "day"])
    assert (ids.keys() | days.keys()) & {"min", "max"} == set()
    assert ids["has_null"] is (mode == "none")
    assert rows(session, "SELECT id FROM s WHERE id > 50") == [(100,)]


def test_days_beyond_pythons_years_have_no_bounds(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql(STATISTICS)
    table = session.table(("s",))
    assert isinstance(table, CatalogTable)
    nothing = pa.nulls(1)
    for days in (-1_000_000, 0, 4_000_000):
        day = pa.array([days], pa.int32()).cast(pa.date32())
        given = dict.fromkeys(["n", 'a"b', "name", "x"], nothing)
        table.write_arrow(pa.table({"id": pa.array([days], pa.int64()), "day": day} | given))
    (actual,) = known_statistics(session, monkeypatch, ["day"])
    assert actual.keys() & {"min", "max"} == set()
    assert rows(session, "SELECT id FROM s WHERE day > DATE '9999-12-31'") == [(4_000_000,)]


def test_partitions_are_what_the_manifest_says(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    session.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    with counted(monkeypatch) as plainly:
        assert rows(session, "SELECT id FROM p ORDER BY id") == [(1,), (2,)]
        assert rows(session, "SELECT dt FROM p WHERE id = 2") == [("y",)]
    assert plainly == [True, False]


def test_a_damaged_file_is_our_readers_error(session: Session, tmp_path: Path) -> None:
    session.sql(PLAIN)
    session.sql(FIRST)
    (file,) = tmp_path.glob("default.db/t/bucket-*/*.parquet")
    size = file.stat().st_size
    file.write_bytes(b"x" * size)
    with pytest.raises(CorruptFileError, match=file.name):
        session.sql("SELECT * FROM t")


@pytest.mark.parametrize("data_type", ["STRING", "BINARY"])
@pytest.mark.parametrize("files", [1, 2])
def test_nulls_beside_equal_texts_are_told_from_them(
    session: Session, monkeypatch: pytest.MonkeyPatch, data_type: str, files: int
) -> None:
    session.sql(f"CREATE TABLE t (id INT, v {data_type})")
    for _ in range(files):
        session.sql(f"INSERT INTO t VALUES (1, CAST('a' AS {data_type})), (2, NULL), (3, CAST('a' AS {data_type}))")
    with counted(monkeypatch) as plainly:
        for condition in ("v IS NULL", "v IS NULL AND id > 0", "NOT (v IS NOT NULL)", "v <=> NULL"):
            assert rows(session, f"SELECT id, v FROM t WHERE {condition}") == [(2, None)] * files
        assert rows(session, "SELECT COUNT(*) FROM t WHERE v IS NOT NULL") == [(2 * files,)]
        assert rows(session, f"SELECT COUNT(*) FROM t WHERE v = CAST('a' AS {data_type})") == [(2 * files,)]
    assert plainly == [True] * 6


def test_nulls_are_found_beside_pages_of_equal_texts(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('parquet.enable.dictionary' = 'false')")
    session.sql("INSERT INTO t SELECT id, IF(id % 2 = 0, IF(id < 50000, 'a', 'b'), NULL) FROM range(100000)")
    assert rows(session, "SELECT COUNT(*) FROM t WHERE v IS NULL") == [(50_000,)]
    assert rows(session, "SELECT COUNT(*) FROM t WHERE v IS NULL OR v = 'b'") == [(75_000,)]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE v IS NULL)",
        "MERGE INTO t USING (SELECT id FROM t WHERE v IS NULL) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ],
)
def test_statements_leave_texts_beside_the_nulls_they_look_for(session: Session, statement: str) -> None:
    session.sql("CREATE TABLE t (id INT, v STRING)")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'a')")
    session.sql(statement)
    assert rows(session, "SELECT id, v FROM t ORDER BY id") == [(1, "a"), (3, "a")]


def test_a_column_called_as_duckdbs_number_of_a_row_is_read(session: Session) -> None:
    session.sql("CREATE TABLE t (File_Row_Number INT, v STRING)")
    session.sql("INSERT INTO t VALUES (NULL, 'a'), (-1, NULL)")
    assert sorted(rows(session, "SELECT File_Row_Number, v FROM t"), key=str) == [(-1, None), (None, "a")]


@pytest.mark.parametrize("dialect", ["spark", "flink"])
def test_decimals_beyond_64_bits(tmp_path: Path, dialect: Literal["flink", "spark"]) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    session.sql("CREATE TABLE d (a DECIMAL(12, 2), b DECIMAL(12, 2))")
    session.sql("INSERT INTO d VALUES (9876543210.99, 1234567890.12)")
    assert [str(v) for v in rows(session, "SELECT a * b AS x, SUM(a * b) + 1 AS y FROM d GROUP BY a, b")[0]] == [
        "12193263113670934296.4188",
        "12193263113670934297.4188",
    ]
