"""Names that differ only in case are different names: of columns, fields in a ROW, tables, and what a query names."""

from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import DataError, PredicateError, SqlError
from maintenance.operations import delete, merge_into, update
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.sql import Session

FIELDS = [
    ("a", "INT NOT NULL"),
    ("A", "STRING"),
    ("r", "ROW<x INT, X ARRAY<ROW<y INT, Y TIMESTAMP(9)>>>"),
    ("b", "INT"),
]


@pytest.fixture(params=["key", "no key"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    keys = ["a"] if request.param == "key" else []
    catalog.create_table("db.t", Schema(FIELDS, keys, options={"bucket": "1", **({} if keys else {"bucket-key": "a"})}))
    actual = catalog.get_table("db.t")
    assert isinstance(actual, CatalogTable)
    rows = [
        {"a": n, "A": text, "r": {"x": n, "X": [{"y": n, "Y": None}]}, "b": n} for n, text in ((1, "one"), (2, "two"))
    ]
    actual.write_arrow(pa.Table.from_pylist(rows, schema=actual.to_arrow().schema))
    return actual


Dialect = Literal["flink", "spark"]
DIALECTS: tuple[Dialect, ...] = ("flink", "spark")


def rows_of(folder: Path, query: str, dialect: Dialect) -> list[list[Any]]:
    rows = Session({"warehouse": str(folder)}, dialect=dialect).sql(query).to_arrow()
    return [list(row) for row in zip(*(column.to_pylist() for column in rows.columns), strict=True)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_errors_name_columns_as_they_are_called(tmp_path: Path, dialect: Dialect) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    session.sql("CREATE TABLE t (NAME INT, name INT, x INT)")
    for statement in ("SELECT Name FROM t", "SELECT * FROM t WHERE t.Name = 1", "DELETE FROM t WHERE Name = 1"):
        with pytest.raises(SqlError) as caught:
            session.sql(statement)
        assert caught.value.found == "column 'Name' does not exist"
        assert caught.value.fix == "The columns are: NAME, name, x. Did you mean 'NAME'?"


QUERIES = {
    "SELECT a, A, b FROM db.t ORDER BY b": [[1, "one", 1], [2, "two", 2]],
    "SELECT A FROM db.t WHERE a = 2": [["two"]],
    "SELECT a FROM db.t WHERE A = 'one' AND a < 2": [[1]],
    "SELECT t.r.x, t.r.X FROM db.t t WHERE t.a = 1": [[1, [{"y": 1, "Y": None}]]],
    "SELECT A, count(*) AS n FROM db.t GROUP BY A ORDER BY A": [["one", 1], ["two", 1]],
    "SELECT a + 1 AS c, A FROM (SELECT a, A FROM db.t) q ORDER BY a": [[2, "one"], [3, "two"]],
    "WITH w AS (SELECT a, A FROM db.t) SELECT w.A, w.a FROM w ORDER BY w.a": [["one", 1], ["two", 2]],
    "SELECT x.a, y.A FROM db.t x JOIN db.t y ON x.A = y.A ORDER BY x.a": [[1, "one"], [2, "two"]],
    "SELECT B FROM db.t ORDER BY b": [[1], [2]],  # a name that no other one is like is found in any case
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_queries_tell_columns_apart_that_differ_only_in_case(
    table: CatalogTable, tmp_path: Path, dialect: Dialect
) -> None:
    for query, expected in QUERIES.items():
        assert rows_of(tmp_path, query, dialect) == expected, query
    whole = Session({"warehouse": str(tmp_path)}, dialect=dialect).sql("SELECT * FROM db.t ORDER BY b").to_arrow()
    assert whole.column_names == ["a", "A", "r", "b"]
    assert whole.to_pylist() == table.to_arrow().sort_by("b").to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_change_the_column_whose_case_is_given(
    table: CatalogTable, tmp_path: Path, dialect: Dialect
) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    session.sql("INSERT INTO db.t (a, A, b) VALUES (3, 'three', 3)")
    session.sql("INSERT INTO db.t SELECT a + 1, upper(A), r, 4 FROM db.t WHERE b = 3")
    session.sql("UPDATE db.t SET A = 'uno' WHERE a = 1")
    session.sql("UPDATE db.t SET A = concat(A, '!'), B = 20 WHERE A = 'two'")
    session.sql(
        "MERGE INTO db.t AS t USING (SELECT 3 AS id, 'm' AS v) s ON t.a = s.id WHEN MATCHED THEN UPDATE SET A = s.v"
    )
    session.sql("DELETE FROM db.t WHERE a > 2 AND lower(A) = 'three'")
    assert rows_of(tmp_path, "SELECT a, A, b FROM db.t ORDER BY a", dialect) == [
        [1, "uno", 1],
        [2, "two!", 20],
        [3, "m", 3],
    ]
    session.sql("CREATE TABLE db.copied AS SELECT a, A, r FROM db.t")
    copied = open_catalog({"warehouse": str(tmp_path)}).get_table("db.copied").to_arrow().sort_by("a")
    assert copied.to_pylist() == table.to_arrow(columns=["a", "A", "r"]).sort_by("a").to_pylist()
    shown = session.sql("SHOW CREATE TABLE db.t").to_arrow().column(0)[0].as_py()
    assert ("`A` VARCHAR(2147483647)" if dialect == "flink" else "A STRING") in shown


def test_the_python_api_tells_columns_apart_by_case(table: CatalogTable) -> None:
    compact(None, table, full=True)
    assert table.to_arrow(columns=["A"], where="a = 2").to_pylist() == [{"A": "two"}]
    assert table.to_arrow(where="A = 'one'")["a"].to_pylist() == [1]
    assert update(None, table, {"A": "'uno'", "B": "7"}, "a = 1").updated_rows == 1
    source = pa.table({"a": pa.array([1, 2], pa.int32()), "A": ["m", "n"]})
    merge_into(None, table, source, "t.a = s.a", [Clause("matched", "update", {"A": "s.A"})])
    assert table.to_arrow(columns=["a", "A", "b"]).sort_by("a").to_pylist() == [
        {"a": 1, "A": "m", "b": 7},
        {"a": 2, "A": "n", "b": 2},
    ]
    assert delete(None, table, "A = 'm'").deleted_rows == 1


def test_a_name_that_may_mean_several_is_not_guessed(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("Ab", "INT"), ("aB", "INT"), ("c", "INT")]))
    table = catalog.get_table("db.t")
    assert isinstance(table, CatalogTable)
    table.write_arrow(pa.table({name: pa.array([n], pa.int32()) for n, name in enumerate(("Ab", "aB", "c"))}))
    for dialect in DIALECTS:
        assert rows_of(tmp_path, "SELECT Ab, aB, c FROM db.t", dialect) == [[0, 1, 2]]
        for statement in ("SELECT ab FROM db.t", "UPDATE db.t SET ab = 1"):
            with pytest.raises(SqlError, match="ab"):
                Session({"warehouse": str(tmp_path)}, dialect=dialect).sql(statement).to_arrow()
    with pytest.raises(PredicateError, match="column 'ab' is ambiguous"):
        table.to_arrow(where="ab = 1")
    with pytest.raises(DataError, match="column 'ab' is ambiguous"):
        update(None, table, {"ab": "1"})


def test_tables_and_what_a_query_names(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE DATABASE db")
    session.sql("CREATE TABLE db.T (x INT)")
    session.sql("CREATE TABLE db.t (x INT)")
    session.sql("INSERT INTO db.T VALUES (1)")
    session.sql("INSERT INTO db.t VALUES (2)")
    for query in (
        "SELECT T.x, t.x FROM db.T, db.t",
        "SELECT A.x, a.x FROM db.T A, db.t a",
        "SELECT db.T.x, db.t.x FROM db.T JOIN db.t ON TRUE",
        "WITH W AS (SELECT x FROM db.T), w AS (SELECT x FROM db.t) SELECT W.x, w.x FROM W, w",
        "SELECT y, Y FROM (SELECT T.x AS y, t.x AS Y FROM db.T, db.t) q",
    ):
        assert rows_of(tmp_path, query, "flink") == [[1, 2]], query
    session.sql("DROP TABLE db.T")
    assert rows_of(tmp_path, "SELECT * FROM db.t", "flink") == [[2]]


def test_partition_columns_and_columns_of_files_are_told_apart_by_case(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE DATABASE db")
    session.sql("CREATE TABLE db.t (x INT, P INT, p STRING) PARTITIONED BY (p, P)")
    session.sql("INSERT INTO db.t VALUES (1, 2, 'z')")
    assert rows_of(tmp_path, "SELECT P, p FROM db.t WHERE p = 'z' AND P = 2", "flink") == [[2, "z"]]
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(
        pa.table({"p": ["w"], "x": pa.array([3], pa.int32()), "P": pa.array([4], pa.int32())}), folder / "f.parquet"
    )
    spark = Session({"warehouse": str(tmp_path)})
    spark.sql(f"COPY INTO db.t FROM '{folder}' FILE_FORMAT = (TYPE = PARQUET)")
    assert rows_of(tmp_path, "SELECT x, P, p FROM db.t ORDER BY x", "spark") == [[1, 2, "z"], [3, 4, "w"]]


def test_views_of_such_columns(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "lake")}
    session = Session(options, dialect="flink")
    session.sql("CREATE DATABASE db")
    session.sql("CREATE TABLE db.t (a INT, A STRING)")
    session.sql("INSERT INTO db.t VALUES (1, 'one')")
    session.sql("CREATE VIEW db.v AS SELECT A, a FROM db.t")
    assert session.sql("SELECT a, A FROM db.v").to_arrow().to_pylist() == [{"a": 1, "A": "one"}]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_inserts_and_partitions_find_names_in_any_case(tmp_path: Path, dialect: Dialect) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("Id", "INT"), ("City", "STRING"), ("Day", "STRING")], partition_keys=["Day"]))
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    session.sql("INSERT INTO db.t (DAY, id) VALUES ('a', 1), ('b', 2), ('c', 3)")
    session.sql("INSERT OVERWRITE db.t PARTITION (day = 'b') SELECT 4, 'Oslo'")
    session.sql("ALTER TABLE db.t DROP PARTITION (DAY = 'c')")
    shown = session.sql("SHOW PARTITIONS db.t PARTITION (day = 'b')").to_arrow()

    assert rows_of(tmp_path, "SELECT * FROM db.t ORDER BY Id", dialect) == [[1, None, "a"], [4, "Oslo", "b"]]
    assert shown.column(0).to_pylist() == ["Day=b"]
    with pytest.raises(SqlError, match="column 'ID' is given twice"):
        session.sql("INSERT INTO db.t (id, ID) VALUES (1, 2)")
    with pytest.raises(SqlError, match="column 'day' is given twice"):
        session.sql("ALTER TABLE db.t DROP PARTITION (day = 'a', day = 'b')")


def test_describing_a_column_finds_it_in_any_case(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema([("Id", "INT")]))

    described = Session({"warehouse": str(tmp_path)}, dialect="spark").sql("DESCRIBE db.t id").to_arrow()

    assert described["info_value"].to_pylist() == ["Id", "int", "NULL"]
