"""Spark's metadata columns, and rows named by their ids."""

from pathlib import Path

import pytest

from maintenance.errors import SqlError, UnsupportedError
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session({"warehouse": str(tmp_path)})


def test_rows_of_an_append_table_name_their_file_place_and_bucket(session: Session, tmp_path: Path) -> None:
    session.sql("CREATE TABLE t (id INT, v STRING)")
    session.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    [first, second] = rows(session, "SELECT *, __paimon_file_path, __paimon_row_index, __paimon_bucket FROM t")
    assert Path(str(first[2])).parent == tmp_path / "default.db/t/bucket-0"
    assert Path(str(first[2])).is_file()
    assert [first[3:], second[3:]] == [(0, 0), (1, 0)]
    # A star stands for the table's own columns, in a subquery as well.
    assert rows(session, "SELECT x.* FROM (SELECT *, __paimon_row_index AS i FROM t) x WHERE i = 1") == [(2, "b", 1)]
    assert rows(session, "SELECT a.*, b.__paimon_bucket FROM t a JOIN t b USING (id) WHERE id = 1") == [(1, "a", 0)]
    assert rows(session, "SELECT __paimon_partition FROM t LIMIT 1") == [("{}",)]


def test_the_name_of_the_input_file_is_that_of_a_row(session: Session, tmp_path: Path) -> None:
    session.sql("CREATE TABLE t (id INT, v STRING)")
    for number in (1, 2):
        session.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    found = session.sql("SELECT input_file_name(), * FROM t AS x ORDER BY id").to_arrow()
    assert found.column_names == ["input_file_name()", "id", "v"]
    paths = found.column(0).to_pylist()
    assert paths == [path for (path,) in rows(session, "SELECT __paimon_file_path FROM t ORDER BY id")]
    where = f"WHERE endswith(input_file_name(), '{Path(paths[1]).name}')"
    assert rows(session, f"SELECT COUNT(*), max(id) FROM t {where}") == [(1, 2)]
    assert rows(session, "SELECT COUNT(DISTINCT input_file_name()) FROM t") == [(2,)]
    assert rows(session, "SELECT input_file_name() AS f, COUNT(*) AS n FROM t GROUP BY input_file_name()")[0][1] == 1
    with pytest.raises(UnsupportedError, match="INPUT_FILE_NAME is not supported"):
        session.sql("SELECT input_file_name() FROM t JOIN t AS u ON t.id = u.id")


def test_merged_rows_have_no_file(session: Session) -> None:
    session.sql(
        "CREATE TABLE p (id INT, v STRING, dt STRING) PARTITIONED BY (dt)"
        " TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')"
    )
    session.sql("INSERT INTO p VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    session.sql("INSERT INTO p VALUES (1, 'c', 'x')")
    assert rows(session, "SELECT v, __paimon_partition.dt, __paimon_bucket FROM p WHERE dt = 'x'") == [("c", "x", 0)]
    assert rows(session, "SELECT v, __paimon_row_index FROM p WHERE dt = 'y'") == [("b", 0)]
    with pytest.raises(UnsupportedError, match="merged from several files"):
        session.sql("SELECT __paimon_file_path FROM p")
    session.sql("CALL sys.compact('default.p')")
    assert len(rows(session, "SELECT __paimon_file_path FROM p")) == 2


def test_rows_by_their_ids(session: Session) -> None:
    session.sql("CREATE TABLE r (id INT, v STRING) TBLPROPERTIES ('row-tracking.enabled' = 'true')")
    session.sql("INSERT INTO r VALUES (11, 'a'), (22, 'b')")
    session.sql("UPDATE r SET v = 'c' WHERE _ROW_ID = 0")
    assert rows(session, "SELECT id, v, _ROW_ID, _SEQUENCE_NUMBER FROM r ORDER BY id") == [
        (11, "c", 0, 2),
        (22, "b", 1, 1),
    ]
    session.sql("DELETE FROM r WHERE _ROW_ID = 1")
    assert rows(session, "SELECT * FROM r") == [(11, "c")]


def test_a_table_that_does_not_track_its_rows(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT)")
    with pytest.raises(SqlError, match="column '_ROW_ID' does not exist"):
        session.sql("SELECT _ROW_ID FROM t")
