"""Branches in SQL, by catalog."""

from pathlib import Path

import pytest

from maintenance.catalog import Catalog, open_catalog
from maintenance.errors import NotFoundError, PaimonError, UnsupportedError
from maintenance.sql import Session


@pytest.fixture(params=["filesystem", "jdbc"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    jdbc = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"} if request.param == "jdbc" else {}
    return open_catalog({"warehouse": str(tmp_path / "warehouse"), **jdbc})


def test_a_branch_that_was_made_can_be_used(catalog: Catalog) -> None:
    session = Session(catalog)
    session.sql("CREATE TABLE t (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    session.sql("INSERT INTO t VALUES (1, 'main')")
    session.sql("CALL sys.create_tag('t', 'g')")
    session.sql("CALL sys.create_branch('t', 'b', 'g')")
    session.sql("INSERT INTO `t$branch_b` VALUES (2, 'branch')")
    session.sql("UPDATE `t$branch_b` SET v = 'changed' WHERE k = 1")
    session.sql("ALTER TABLE `t$branch_b` ADD COLUMN w INT")
    rows = session.sql("SELECT * FROM `t$branch_b` ORDER BY k").to_arrow().to_pylist()
    assert rows == [{"k": 1, "v": "changed", "w": None}, {"k": 2, "v": "branch", "w": None}]
    assert session.sql("SELECT * FROM `t$branch_b$snapshots`").to_arrow().num_rows >= 2
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"k": 1, "v": "main"}]
    with pytest.raises(PaimonError, match="does not exist"):
        session.sql("SELECT * FROM `t$branch_nope`")
    assert catalog.open_table("default.t$branch_b").identifier == "default.t$branch_b"
    session.sql("CALL sys.delete_branch('t', 'b')")
    with pytest.raises(NotFoundError):
        catalog.open_table("default.t$branch_b")


def test_a_jdbc_catalog_names_the_way_to_a_branch(tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    catalog = open_catalog(options)
    Session(catalog).sql("CREATE TABLE t (k INT)")
    Session(catalog).sql("CALL sys.create_branch('t', 'b')")
    with pytest.raises(UnsupportedError, match="open_table"):
        catalog.get_table("default.t$branch_b")


@pytest.fixture
def on_the_branch(catalog: Catalog) -> Session:
    """A session whose setting puts the branch `b` in the place of every table; main has one row, too."""
    session = Session(catalog)
    session.sql("CREATE TABLE t (k INT, v STRING, p INT) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'k,p')")
    session.sql("INSERT INTO t VALUES (1, 'main', 1)")
    session.sql("CALL sys.create_branch('t', 'b')")
    session.sql("SET spark.paimon.branch = b")
    session.sql("INSERT INTO t VALUES (1, 'one', 1), (2, 'two', 2)")
    return session


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM t WHERE k = 1", {2: "two"}),
        ("DELETE FROM t WHERE k = (SELECT 1)", {2: "two"}),
        ("UPDATE t SET v = 'new' WHERE k = 1", {1: "new", 2: "two"}),
        ("MERGE INTO t USING (SELECT 3 AS k) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (3, 'three', 3)",
         {1: "one", 2: "two", 3: "three"}),
        ("TRUNCATE TABLE t", {}),
        ("TRUNCATE TABLE t PARTITION (p = 1)", {2: "two"}),
        ("ALTER TABLE t DROP PARTITION (p = 2)", {1: "one"}),
    ],
)  # fmt: skip
def test_changes_of_rows_go_to_the_branch_that_is_set(
    on_the_branch: Session, statement: str, expected: dict[int, str]
) -> None:
    on_the_branch.sql(statement)
    rows = on_the_branch.sql("SELECT k, v FROM `t$branch_b`").to_arrow().to_pylist()
    assert {row["k"]: row["v"] for row in rows} == expected
    on_the_branch.sql("RESET spark.paimon.branch")
    assert on_the_branch.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"k": 1, "v": "main", "p": 1}]


def test_procedures_of_spark_are_called_on_the_branch_that_is_set(on_the_branch: Session) -> None:
    on_the_branch.sql("CALL sys.create_tag('t', 'g')")
    on_the_branch.sql("INSERT INTO t VALUES (3, 'three', 3)")
    on_the_branch.sql("CALL sys.compact('t', order_strategy => 'none')")
    on_the_branch.sql("CALL sys.rollback('t', 'g')")
    rows = on_the_branch.sql("SELECT k FROM `t$branch_b` ORDER BY k").to_arrow().to_pylist()
    assert rows == [{"k": 1}, {"k": 2}]
    on_the_branch.sql("RESET spark.paimon.branch")
    assert on_the_branch.sql("SELECT * FROM `t$tags`").to_arrow().num_rows == 0
    assert on_the_branch.sql("SELECT * FROM `t$snapshots`").to_arrow().num_rows == 1


def test_a_plan_of_a_delete_is_of_the_branch_that_is_set(on_the_branch: Session) -> None:
    plan = on_the_branch.plan("DELETE FROM t WHERE k = 1")
    on_the_branch.sql("RESET spark.paimon.branch")
    on_the_branch.apply(plan)
    assert on_the_branch.sql("SELECT k FROM `t$branch_b`").to_arrow().to_pylist() == [{"k": 2}]
    assert on_the_branch.sql("SELECT k FROM t").to_arrow().to_pylist() == [{"k": 1}]


def test_new_columns_of_written_rows_go_to_the_branch_that_is_set(on_the_branch: Session) -> None:
    on_the_branch.sql("SET spark.paimon.write.merge-schema = true")
    on_the_branch.sql("INSERT INTO t BY NAME SELECT 3 AS k, 'three' AS v, 3 AS p, 30 AS w")
    on_the_branch.sql(
        "MERGE INTO t USING (SELECT 4 AS k, 'four' AS v, 3 AS p, 40 AS x) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *"
    )
    rows = on_the_branch.sql("SELECT k, w, x FROM `t$branch_b` WHERE k > 2 ORDER BY k").to_arrow().to_pylist()
    assert rows == [{"k": 3, "w": 30, "x": None}, {"k": 4, "w": None, "x": 40}]
    on_the_branch.sql("RESET spark.paimon.branch")
    assert on_the_branch.sql("SELECT * FROM t").to_arrow().column_names == ["k", "v", "p"]


def test_tags_statistics_and_loaded_files_go_to_the_branch_that_is_set(on_the_branch: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text("3,three,3\n")
    on_the_branch.sql("ALTER TABLE t CREATE TAG g")
    on_the_branch.sql("ANALYZE TABLE t COMPUTE STATISTICS")
    on_the_branch.sql(f"COPY INTO t FROM '{tmp_path / 'in'}' FILE_FORMAT = (TYPE = CSV)")
    assert on_the_branch.sql("SHOW TAGS t").to_arrow().to_pylist() == [{"tag": "g"}]
    assert on_the_branch.sql("SELECT * FROM t").to_arrow().num_rows == 3
    assert on_the_branch.sql("SELECT * FROM `t$branch_b$statistics`").to_arrow().num_rows == 1
    on_the_branch.sql("RESET spark.paimon.branch")
    assert on_the_branch.sql("SHOW TAGS t").to_arrow().num_rows == 0
    assert on_the_branch.sql("SELECT * FROM `t$snapshots`").to_arrow().num_rows == 1


def test_deletes_are_written_with_the_options_that_are_set(catalog: Catalog) -> None:
    session = Session(catalog)
    session.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '-2')")
    session.sql("INSERT INTO t VALUES (1), (2)")
    session.sql("SET spark.paimon.postpone.batch-write-fixed-bucket = false")
    session.sql("SET spark.paimon.scan.snapshot-id = 1")
    session.sql("DELETE FROM t WHERE k = 2")
    session.sql("RESET spark.paimon.scan.snapshot-id")
    assert session.sql("SELECT * FROM t").to_arrow().num_rows == 2
    session.sql("CALL sys.compact('t')")
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"k": 1}]
