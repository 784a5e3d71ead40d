"""Tables: created, changed, described, renamed and dropped, in both dialects."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import NotFoundError
from maintenance.sql import Session, SqlError
from maintenance.table.system.audit_log import AuditLogView
from maintenance.table.table import Table


def open_session(tmp_path: Path, dialect: Any = "flink") -> Session:
    return Session({"warehouse": str(tmp_path)}, dialect=dialect)


def columns(session: Session, table: str = "t") -> list[tuple[str, str]]:
    return [(f.name, str(f.type)) for f in session.table((table,)).schema.fields]


def test_flink_adds_changes_renames_and_drops_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT COMMENT 'old', c STRING)")
    session.sql("ALTER TABLE t ADD (d DOUBLE FIRST, e TIMESTAMP(3) COMMENT 'when' AFTER b)")
    session.sql("ALTER TABLE t MODIFY b BIGINT COMMENT 'new'")
    session.sql("ALTER TABLE t RENAME c TO text")
    session.sql("ALTER TABLE t DROP (d)")
    assert columns(session) == [
        ("a", "INT NOT NULL"), ("b", "BIGINT"), ("e", "TIMESTAMP(3)"), ("text", "STRING"),
    ]  # fmt: skip
    assert [f.description for f in session.table(("t",)).schema.fields] == [None, "new", "when", None]


def test_spark_changes_columns_properties_and_comments(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql(
        "CREATE TABLE t (a INT NOT NULL, b INT, ts TIMESTAMP) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '2')"
    )
    session.sql("ALTER TABLE t ADD COLUMNS (c STRING COMMENT 'x', d STRUCT<p: INT, q: BINARY> AFTER b)")
    session.sql("ALTER TABLE t ALTER COLUMN b TYPE BIGINT")
    session.sql("ALTER TABLE t ALTER COLUMN d.p COMMENT 'inside'")
    session.sql("ALTER TABLE t RENAME COLUMN c TO e")
    session.sql("ALTER TABLE t ALTER COLUMN e FIRST")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.min' = '3')")
    session.sql("ALTER TABLE t UNSET TBLPROPERTIES ('snapshot.num-retained.min')")
    assert columns(session) == [
        ("e", "STRING"), ("a", "INT NOT NULL"), ("b", "BIGINT"), ("d", "ROW<`p` INT COMMENT 'inside', `q` BYTES>"),
        ("ts", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
    ]  # fmt: skip
    assert session.table(("t",)).schema.field("d").type.fields[0].description == "inside"
    table = session.table(("t",))
    assert table.schema.primary_keys == ("a",)
    assert own_options(table) == {"bucket": "2"}
    session.sql("COMMENT ON TABLE t IS 'of Spark'")
    assert session.table(("t",)).schema.comment == "of Spark"
    shown = session.sql("SHOW TBLPROPERTIES t").to_arrow()
    assert shown.column("key").to_pylist() == ["bucket", "owner"]
    assert shown.column("value").to_pylist() == ["2", table.schema.options["owner"]]


@pytest.mark.parametrize(
    ("dialect", "row"),
    [
        ("flink", "ROW<`x` INT NOT NULL 'it''s', `y` ARRAY<ROW<`z` STRING 'deep'>>>"),
        ("spark", "STRUCT<x: INT NOT NULL COMMENT 'it\\'s', `y y`: ARRAY<STRUCT<z: STRING COMMENT 'deep'>>>"),
    ],
)
def test_comments_inside_of_a_row_are_shown_and_read(tmp_path: Path, dialect: str, row: str) -> None:
    session = open_session(tmp_path, dialect)
    session.sql(f"CREATE TABLE t (a INT, r {row})")
    shown = next(iter(session.sql("SHOW CREATE TABLE t").to_arrow().to_pylist()[0].values()))
    assert row.replace("STRING", "VARCHAR(2147483647)" if dialect == "flink" else "STRING") in shown
    session.sql(shown.replace("t` (", "u` (", 1).replace("t (", "u (", 1))
    assert session.table(("u",)).schema.fields == session.table(("t",)).schema.fields
    assert session.table(("t",)).schema.field("r").type.fields[0].description == "it's"


def test_a_table_of_flinks_has_an_empty_comment(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE t (a INT, b BYTES NOT NULL)")
    session.sql("CREATE TABLE u COMMENT 'mine' LIKE t")
    session.sql("CREATE TABLE v LIKE u")
    assert [session.table((name,)).schema.comment for name in "tuv"] == ["", "mine", "mine"]
    shown = session.sql("SHOW CREATE TABLE t").to_arrow().column(0)[0].as_py()
    assert "COMMENT" not in shown
    assert "`b` VARBINARY(2147483647) NOT NULL" in shown


def own_options(table: Table) -> dict[str, str]:
    """Those of a statement: the owner comes from the session."""
    return {key: value for key, value in table.schema.options.items() if key != "owner"}


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_show_create_table_makes_the_same_table(tmp_path: Path, dialect: str) -> None:
    session = open_session(tmp_path, "flink")
    session.sql(
        """CREATE TABLE t (
            `a b` BIGINT COMMENT 'it''s', dt STRING, n DECIMAL(12, 3), m MAP<STRING, ARRAY<INT>>,
            r ROW<x INT, y TIMESTAMP(6)>, z TIMESTAMP(6), by BYTES, PRIMARY KEY (`a b`, dt) NOT ENFORCED
        ) COMMENT 'all kinds' PARTITIONED BY (dt) WITH ('bucket' = '3', 'merge-engine' = 'partial-update')"""
    )
    other = open_session(tmp_path, dialect)
    text = other.sql("SHOW CREATE TABLE t").to_arrow().column(0)[0].as_py()
    before = session.table(("t",)).schema
    session.sql("DROP TABLE t")
    other.sql(text)
    after = session.table(("t",)).schema
    assert (after.fields, after.primary_keys, after.partition_keys) == (
        before.fields, before.primary_keys, before.partition_keys,
    )  # fmt: skip
    assert after.comment == before.comment
    assert own_options(session.table(("t",))) == dict(before.options)


def test_tables_are_made_like_a_table_and_of_a_query(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b STRING) WITH ('bucket' = '2')")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    session.sql("CREATE TABLE u WITH ('bucket' = '3') LIKE t")
    assert columns(session, "u") == columns(session)
    assert session.table(("u",)).schema.options["bucket"] == "3"
    session.sql("CREATE TABLE w WITH ('bucket' = '-1') AS SELECT b, a + 1 AS c FROM t")
    assert session.sql("SELECT * FROM w").to_arrow().to_pylist() == [{"b": "x", "c": 2}]


def test_a_table_of_a_query_has_the_types_that_flink_gives(tmp_path: Path) -> None:
    """But for NOT NULL."""
    session = open_session(tmp_path)
    listed = "clock TIME(0), c CHAR(5), v VARCHAR(10), y BINARY(3), n INT NOT NULL, a ARRAY<TIME(0)>"
    session.sql(f"CREATE TABLE t ({listed})")
    session.sql("INSERT INTO t VALUES (TIME '01:02:03', 'ab   ', 'x', x'010203', 1, ARRAY[TIME '01:02:03'])")
    session.sql("CREATE TABLE w AS SELECT * FROM t")
    assert columns(session, "w") == [(name, kind.replace(" NOT NULL", "")) for name, kind in columns(session)]
    made = "clock + INTERVAL '1' HOUR AS h, CAST(n AS CHAR(3)) AS f, UPPER(c) AS u, n + 1 AS m, '' AS e"
    session.sql(f"CREATE TABLE x AS SELECT {made} FROM t WHERE n = 1")
    assert [kind for _, kind in columns(session, "x")][:4] == ["TIME(0)", "CHAR(3)", "CHAR(5)", "INT"]


def test_texts_and_bytes_of_flink_without_a_length_have_any(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql(
        "CREATE TABLE t (v VARCHAR COMMENT 'text', b varbinary NOT NULL, c CHAR, d BINARY, three VARCHAR(3),"
        " parts ROW<varchar VARCHAR 'in it', many ARRAY<VARCHAR NOT NULL>>, `VARCHAR` MAP<VARCHAR, VARBINARY>)"
    )
    assert columns(session) == [
        ("v", "STRING"), ("b", "BYTES NOT NULL"), ("c", "CHAR(1)"), ("d", "BINARY(1)"), ("three", "VARCHAR(3)"),
        ("parts", "ROW<`varchar` STRING COMMENT 'in it', `many` ARRAY<STRING NOT NULL>>"),
        ("VARCHAR", "MAP<STRING, BYTES>"),
    ]  # fmt: skip
    session.sql("INSERT INTO t (v, b) VALUES ('longer', x'0102')")
    assert session.sql("SELECT v, b FROM t").to_arrow().to_pylist() == [{"v": "longer", "b": b"\1\2"}]


def test_spark_partitions_by_new_columns(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("CREATE TABLE t (a INT) USING paimon PARTITIONED BY (dt STRING, hh INT)")
    assert columns(session) == [("a", "INT"), ("dt", "STRING"), ("hh", "INT")]
    session.sql("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)")
    assert session.sql("SHOW PARTITIONS t").to_arrow().column(0).to_pylist() == ["dt=x/hh=1", "dt=y/hh=2"]
    session.sql("ALTER TABLE t DROP PARTITION (dt = 'x', hh = 1)")
    assert session.sql("SELECT a FROM t").to_arrow().to_pylist() == [{"a": 2}]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_partitions_of_a_table_that_has_none(tmp_path: Path, dialect: str) -> None:
    session = open_session(tmp_path, dialect)
    session.sql("CREATE TABLE t (a INT)")
    with pytest.raises(SqlError, match="the table is not partitioned"):
        session.sql("SHOW PARTITIONS t")


def test_rename_truncate_and_drop(tmp_path: Path) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("ALTER TABLE t RENAME TO u")
    assert session.sql("SHOW TABLES").to_arrow().column(0).to_pylist() == ["u"]
    session.sql("TRUNCATE TABLE u")
    assert session.sql("SELECT * FROM u").to_arrow().num_rows == 0
    session.sql("DROP TABLE u")
    session.sql("DROP TABLE IF EXISTS u")
    with pytest.raises(SqlError, match="does not exist"):
        session.sql("DROP TABLE u")


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("flink", {"name": "a", "type": "INT", "null": False, "key": "PRI(a)", "extras": None, "watermark": None}),
        ("spark", {"col_name": "a", "data_type": "int"}),
    ],
)
def test_describe_has_the_columns_of_its_dialect(tmp_path: Path, dialect: str, expected: dict[str, Any]) -> None:
    open_session(tmp_path).sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED COMMENT 'key')")
    row = open_session(tmp_path, dialect).sql("DESCRIBE t").to_arrow().to_pylist()[0]
    assert row == {**expected, "comment": "key"}


def test_a_default_fills_what_is_left_out(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("CREATE TABLE t (a INT, b STRING DEFAULT 'none', c INT DEFAULT -1)")
    session.sql("INSERT INTO t (a) VALUES (1)")
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"a": 1, "b": "none", "c": -1}]


CHANGE_VECTORS = {
    "flink": "ALTER TABLE t SET ('deletion-vectors.enabled' = 'true')",
    "spark": "ALTER TABLE t SET TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}


@pytest.mark.parametrize("dialect", CHANGE_VECTORS)
def test_deletion_vectors_of_a_table_with_rows_need_an_option_that_the_error_names(
    tmp_path: Path, dialect: str
) -> None:
    session = open_session(tmp_path)
    session.sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT)")
    session.sql("INSERT INTO t VALUES (1, 1)")
    session = open_session(tmp_path, dialect)
    with pytest.raises(SqlError, match=r"cannot change from unset to 'true'.*'deletion-vectors\.modifiable' = 'true'"):
        session.sql(CHANGE_VECTORS[dialect])
    session.sql(CHANGE_VECTORS[dialect].replace("enabled", "modifiable"))
    session.sql(CHANGE_VECTORS[dialect])
    assert session.table(("t",)).options["deletion-vectors.enabled"] == "true"


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_inserts_make_the_changelog_of_full_compactions(tmp_path: Path, dialect: str) -> None:
    open_session(tmp_path).sql(
        "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b INT) WITH ('changelog-producer' = 'full-compaction')"
    )
    session = open_session(tmp_path, dialect)
    for statement in ("INSERT INTO t VALUES (1, 1), (2, 2)", "INSERT INTO t VALUES (1, 3)"):
        session.sql(statement)
    session.sql("DELETE FROM t WHERE a = 2")
    table = session.table(("t",)).copy({"incremental-between": f"0,{session.table(('t',)).snapshots.latest_id()}"})
    rows = AuditLogView(table).to_arrow().to_pylist()
    assert sorted((row["a"], row["b"], row["rowkind"]) for row in rows) == [
        (1, 1, "+I"), (1, 1, "-U"), (1, 3, "+U"), (2, 2, "+I"), (2, 2, "-D"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("CREATE TABLE k (a INT PRIMARY KEY)", 23),
        ("CREATE TABLE k (a INT, PRIMARY KEY (a))", 24),
        ("CREATE TABLE k (a INT, CONSTRAINT c PRIMARY KEY (a))", 37),
        ("CREATE TABLE k (a INT, PRIMARY KEY (a) ENFORCED)", 40),
    ],
)
def test_flink_wants_a_key_that_is_not_enforced(tmp_path: Path, text: str, column: int) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    with pytest.raises(SqlError, match="NOT ENFORCED") as caught:
        session.sql(text)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_key_of_fixed_buckets_holds_the_partition(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    made = "CREATE TABLE {} (a INT, p INT, PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '{}')"
    with pytest.raises(SqlError, match="lacks the partition column 'p'"):
        session.sql(made.format("k", 2))
    session.sql(made.format("k", -1))
    with pytest.raises(SqlError, match="lacks the partition column 'p'"):
        session.sql("ALTER TABLE k SET ('bucket' = '2')")
    session.sql(made.format("l", -2))


def test_spark_drops_partitions_by_their_first_columns(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (k INT, a INT, b INT, c INT) PARTITIONED BY (a, b, c)")
    session.sql("INSERT INTO t VALUES (1, 1, 1, 1), (2, 1, 2, 1), (3, 1, 2, 2), (4, 2, 1, 1)")
    for text in ("(b = 1)", "(a = 1, c = 1)"):
        with pytest.raises(SqlError, match="are not the first of the partition columns a, b, c"):
            session.sql(f"ALTER TABLE t DROP PARTITION {text}")
    session.sql("ALTER TABLE t DROP PARTITION (b = 2, a = 1), PARTITION (a = 9)")
    with pytest.raises(NotFoundError, match="a=1/b=2/c=2 does not exist"):
        session.sql("ALTER TABLE t DROP PARTITION (a = 1, b = 2, c = 2), PARTITION (a = 1)")
    session.sql("ALTER TABLE t DROP IF EXISTS PARTITION (a = 1, b = 2, c = 2), PARTITION (a = 1)")
    assert session.plan("ALTER TABLE t DROP PARTITION (a = 1)").groups == ()
    assert session.sql("SELECT k FROM t").to_arrow().column(0).to_pylist() == [4]


def test_spark_names_columns_in_a_list_without_brackets(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("CREATE TABLE t (a INT, b INT, c INT)")
    session.sql("ALTER TABLE t DROP COLUMNS b, c")
    session.sql("ALTER TABLE t ADD COLUMNS d STRING FIRST, e INT COMMENT 'x'")
    assert columns(session) == [("d", "STRING"), ("a", "INT"), ("e", "INT")]


def test_spark_keeps_the_lengths_of_texts_in_a_table_made_of_a_query(tmp_path: Path) -> None:
    session = open_session(tmp_path, "spark")
    session.sql("CREATE TABLE t (v VARCHAR(10), c CHAR(4) NOT NULL, s STRING)")
    session.sql("INSERT INTO t VALUES ('a', 'b', 'c')")
    session.sql("CREATE TABLE u AS SELECT v, c AS d, s, upper(c) AS e, 'x' AS f FROM (SELECT * FROM t)")
    lengths = ["VARCHAR(10)", "CHAR(4)", "STRING", "STRING", "STRING"]
    assert columns(session, "u") == list(zip("vdsef", lengths, strict=True))
