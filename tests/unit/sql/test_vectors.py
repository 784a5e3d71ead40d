"""VECTOR, BLOB and global indexes in SQL without Spark."""

from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

from maintenance.errors import SchemaError, SqlError, UnsupportedError
from maintenance.sql import Session

EVOLVING = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE DATABASE db")
    return session


def test_vectors_are_created_written_and_selected(session: Session) -> None:
    session.sql("CREATE TABLE db.t (id INT, v VECTOR<FLOAT, 3>)")
    session.sql("INSERT INTO db.t VALUES (1, [1, 2, 3.5]), (2, NULL)")
    rows = session.sql("SELECT v FROM db.t ORDER BY id").to_arrow()
    assert rows.column("v").to_pylist() == [[1.0, 2.0, 3.5], None]
    assert pa.types.is_fixed_size_list(rows.schema.field("v").type)
    nearest = session.sql(
        "SELECT a.id, array_distance(a.v, b.v) AS d FROM db.t a JOIN db.t b ON a.id = b.id WHERE a.v IS NOT NULL"
    )
    assert nearest.to_arrow().to_pylist() == [{"id": 1, "d": 0.0}]
    assert session.sql("SELECT v[2] AS x FROM db.t WHERE id = 1").to_arrow().column("x").to_pylist() == [3.5]
    assert "VECTOR<FLOAT, 3>" in str(session.sql("SHOW CREATE TABLE db.t").to_arrow().to_pylist())
    session.sql("CREATE TABLE db.u AS SELECT * FROM db.t")
    assert "VECTOR<FLOAT, 3>" in str(session.sql("SHOW CREATE TABLE db.u").to_arrow().to_pylist())
    with pytest.raises(SqlError, match=r"2 elements in column 'v', which is VECTOR<FLOAT, 3>"):
        session.sql("INSERT INTO db.t VALUES (3, [1, 2])")


def test_global_indexes_are_called_by_name(session: Session) -> None:
    session.sql(f"CREATE TABLE db.t (id INT, s STRING) TBLPROPERTIES ({EVOLVING})")
    session.sql("INSERT INTO db.t VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    arguments = "table => 'db.t', index_column => 's', index_type => 'btree'"
    session.sql(f"CALL sys.create_global_index({arguments})")
    shown = session.sql("SELECT index_type, index_field_name, row_range_end FROM db.`t$table_indexes`").to_arrow()
    assert shown.to_pylist() == [{"index_type": "btree", "index_field_name": "s", "row_range_end": 2}]
    assert session.sql("SELECT id FROM db.t WHERE s = 'a' ORDER BY id").to_arrow().column(0).to_pylist() == [1, 3]
    with pytest.raises(UnsupportedError, match="column 's' has a global index"):
        session.sql("UPDATE db.t SET s = 'c' WHERE id = 1")
    dropped = session.sql(f"CALL sys.drop_global_index({arguments})").to_arrow()
    assert dropped.to_pylist() == [{"result": True, "dropped_file_count": 1}]
    session.sql("UPDATE db.t SET s = 'c' WHERE id = 1")
    with pytest.raises(UnsupportedError, match="lumina"):
        session.sql("CALL sys.create_global_index('db.t', 's', 'lumina')")


@pytest.mark.parametrize("dialect", ["spark", "flink"])
def test_options_say_which_columns_are_blobs_and_vectors(session: Session, dialect: Literal["flink", "spark"]) -> None:
    session = Session(session.catalog, dialect=dialect)
    options = f"{EVOLVING}, 'blob-field' = 'b,l', 'blob-descriptor-field' = 'd'"
    options += ", 'vector-field' = 'v', 'field.v.vector-dim' = '2'"
    kind, given = ("BINARY", "TBLPROPERTIES") if dialect == "spark" else ("BYTES", "WITH")
    session.sql(
        f"CREATE TABLE db.t (id INT, b {kind}, l ARRAY<{kind}>, d {kind}, v ARRAY<FLOAT>, o {kind}) {given} ({options})"
    )
    fields = session.current().get_table("db.t").schema.fields
    assert [str(field.type) for field in fields] == ["INT", "BLOB", "ARRAY<BLOB>", "BLOB", "VECTOR<FLOAT, 2>", "BYTES"]
    for wrong, said in (
        ("s STRING) {given} ('blob-field' = 's'", "'blob-field' of type STRING"),
        ("s ARRAY<{kind}>) {given} ('blob-descriptor-field' = 's'", "'blob-descriptor-field' of type ARRAY<BYTES>"),
        ("s INT) {given} ('vector-field' = 's', 'field.s.vector-dim' = '2'", "'vector-field' of type INT"),
        ("s ARRAY<FLOAT>) {given} ('vector-field' = 's'", "'field.s.vector-dim'"),
    ):
        text = wrong.format(given=given, kind=kind)
        with pytest.raises(SchemaError, match=said):
            session.sql(f"CREATE TABLE db.u (id INT, {text}, {EVOLVING})")


def test_blobs_are_created_written_and_changed(session: Session) -> None:
    session.sql(f"CREATE TABLE db.t (id INT, b BLOB) TBLPROPERTIES ({EVOLVING})")
    session.sql("INSERT INTO db.t VALUES (1, X'6162'), (2, NULL), (3, X'63')")
    session.sql(
        "MERGE INTO db.t USING (SELECT 2 AS k, X'7A'::BLOB AS n) s ON t.id = s.k WHEN MATCHED THEN UPDATE SET b = s.n"
    )
    assert session.sql("SELECT b FROM db.t ORDER BY id").to_arrow().column("b").to_pylist() == [b"ab", b"z", b"c"]
