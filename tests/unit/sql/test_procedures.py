"""Every procedure of Paimon is one here, or is refused with the reason."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from maintenance.errors import OptionError, OutdatedPlanError, SqlError, UnsupportedError
from maintenance.operations import fsck, merge_tables
from maintenance.sql import Session
from maintenance.sql.procedures.refused import REFUSED
from maintenance.sql.procedures.registry import PROCEDURES
from maintenance.sql.procedures.signatures import FLINK, SPARK, Signature
from tests.answers import rows

# Names, parameters and columns of Paimon's procedure classes, by engine.
REFERENCE = json.loads((Path(__file__).parent / "procedures_of_paimon.json").read_text())
# Of releases before 2.1.
OLDER = frozenset(
    [
        "migrate_file",
        "init_file_based_privilege",
        "create_privileged_user",
        "drop_privileged_user",
        "grant_privilege_to_user",
        "revoke_privilege_from_user",
    ]
)
TYPES = {"STRING": pa.string(), "BOOLEAN": pa.bool_(), "INT": pa.int32(), "BIGINT": pa.int64()}
Dialect = Literal["flink", "spark"]


def test_every_procedure_of_paimon_is_known_or_refused() -> None:
    assert not set(REFERENCE) - set(PROCEDURES) - set(REFUSED)
    assert not set(PROCEDURES) & set(REFUSED)
    assert set(REFUSED) <= set(REFERENCE) | OLDER


@pytest.mark.parametrize(("dialect", "signatures"), [("flink", FLINK), ("spark", SPARK)])
def test_parameters_and_columns_are_those_of_the_engine(dialect: Dialect, signatures: Mapping[str, Signature]) -> None:
    expected = {
        name: (engines[dialect]["parameters"], {key: TYPES[kind] for key, kind in engines[dialect]["columns"].items()})
        for name, engines in REFERENCE.items()
        if dialect in engines and name not in REFUSED
    }
    assert {name: (each.parameters, dict(each.columns)) for name, each in signatures.items()} == expected
    for name, signature in signatures.items():
        assert {each.lower() for each in signature.parameters} <= set(PROCEDURES[name].by_name), name


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_refused_ones_say_why(tmp_path: Path, dialect: Dialect) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    for name, (reason, instead) in REFUSED.items():
        with pytest.raises(SqlError) as caught:
            session.sql(f"CALL sys.{name}('default.t', 'x')")
        assert isinstance(caught.value, UnsupportedError)
        assert (caught.value.line, caught.value.column) == (1, 10)
        assert reason in str(caught.value)
        assert instead in str(caught.value)


def test_a_column_gets_a_default(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("CALL sys.alter_column_default_value('default.t', 'b', 'x')")
    session.sql("INSERT INTO t (a) VALUES (1)")
    assert session.sql("SELECT * FROM t").to_arrow().to_pylist() == [{"a": 1, "b": "x"}]


# What is called, then what it returns in Flink and in Spark; None: that engine does not have it.
CALLS: list[tuple[str, list[dict[str, Any]] | None, list[dict[str, Any]] | None]] = [
    ("create_tag('default.t', 'a')", [{"result": "Success"}], [{"result": True}]),
    ("create_tag('default.t', 'b', 1)", [{"result": "Success"}], [{"result": True}]),
    ("rename_tag('default.t', 'a', 'c')", [{"result": "Rename [a] to [c] successfully."}], [{"result": True}]),
    ("expire_tags('default.t')", [{"expired_tags": "No expired tags."}], [{"expired_tags": "No expired tags."}]),
    (
        "expire_partitions('default.p', '10000000 d', 'yyyy-MM-dd')",
        [{"expired_partitions": "No expired partitions."}],
        [{"expired_partitions": "No expired partitions."}],
    ),
    (
        "expire_partitions('default.p', '1 d', 'yyyy-MM-dd', '$day')",
        [{"expired_partitions": "day=2020-01-01"}],
        [{"expired_partitions": "day=2020-01-01"}],
    ),
    (
        "rewrite_file_index('default.t')",
        [{"result": "Success"}],
        [{"written_partitions": 0, "written_indexes": 0}],
    ),
    (
        "rewrite_file_index('default.i')",
        [{"result": "Success"}],
        [{"written_partitions": 2, "written_indexes": 3}],
    ),
    ("compact('default.t')", [{"result": "Success"}], [{"result": True}]),
    ("compact_manifest('default.t')", [{"result": "success"}], [{"result": True}]),
    (
        "compact_database('default', including_tables => 'default[.]t')",
        [{"result": "Success"}],
        [{"result": "Compact database finished. Success: 1, Failed: 0"}],
    ),
    (
        "expire_snapshots(`table` => 'default.t', retain_max => 1, retain_min => 1)",
        [{"result": "3"}],
        [{"deleted_snapshots_count": 3}],
    ),
    ("purge_files('default.q')", [{"result": "Success"}], [{"result": "Success"}]),
    (
        "remove_orphan_files('default.t')",
        [{"result": "0"}, {"result": "0"}],
        [{"deletedFileCount": 0, "deletedFileTotalLenInBytes": 0}],
    ),
    ("remove_unexisting_files('default.t')", [], []),
    ("expire_changelogs('default.t')", [{"result": "0"}], None),
    (
        "expire_changelogs(`table` => 'default.t', delete_all => true)",
        [{"result": "Delete all separated changelogs success."}],
        None,
    ),
    ("rollback_to('default.i', 'kept')", [{"previous_snapshot_id": 3, "current_snapshot_id": 2}], None),
    ("trigger_tag_automatic_creation('default.t')", [{"result": "Success"}], [{"result": True}]),
    ("alter_column_default_value('default.t', 'b', 'x')", [{"result": "Success"}], None),
    ("copy('default.t', 'default.u')", None, [{"result": True}]),
    ("delete_tag('default.t', 'b,c')", [{"result": "Success"}], [{"result": True}]),
    ("delete_tag('default.t', 'c,none')", [{"result": "Success"}], [{"result": True}]),
]


@pytest.mark.parametrize("dialect", ["flink", "spark"])
def test_rows_are_those_that_the_engine_returns(tmp_path: Path, dialect: Dialect) -> None:
    spark = Session({"warehouse": str(tmp_path)}, dialect="spark")
    for text in (
        "CREATE TABLE t (a INT, b STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')",
        "CREATE TABLE q (a INT)",
        "CREATE TABLE p (a INT, day STRING) PARTITIONED BY (day)",
        "CREATE TABLE i (a INT, day STRING) PARTITIONED BY (day)",
        "INSERT INTO t VALUES (1, 'a')",
        "INSERT INTO t VALUES (2, 'b')",
        "INSERT INTO p VALUES (1, '2020-01-01')",
        "INSERT INTO i VALUES (1, '1'), (2, '2')",
        "INSERT INTO i VALUES (3, '1')",
        "CALL sys.create_tag('default.i', 'kept')",
        "ALTER TABLE i SET TBLPROPERTIES ('file-index.bloom-filter.columns' = 'a')",
    ):
        spark.sql(text)
    session = Session({"warehouse": str(tmp_path)}, dialect=dialect)
    for text, flink_rows, spark_rows in CALLS:
        expected = flink_rows if dialect == "flink" else spark_rows
        if expected is not None:
            assert session.sql(f"CALL sys.{text}").to_arrow().to_pylist() == expected, text


def test_a_call_with_an_argument_of_our_own_tells_what_was_done(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    call = "CALL sys.expire_snapshots(`table` => 't', dry_run => true)"
    assert session.sql(call).to_arrow().to_pylist() == [{"deleted_snapshots_count": 0}]


def test_a_position_behind_a_name_is_refused(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (a INT)")
    with pytest.raises(SqlError, match="stands behind one by name") as caught:
        session.sql("CALL sys.create_tag(table => 't',\n 'x')")
    assert (caught.value.line, caught.value.column) == (2, 2)
    with pytest.raises(SqlError, match="takes 4 arguments by position") as caught:
        session.sql("CALL sys.create_tag('t', 'x', 1, '1 d', true)")
    assert (caught.value.line, caught.value.column) == (1, 41)
    with pytest.raises(SqlError, match=r"'\)' found where an expression is expected"):
        session.sql("CALL sys.create_tag('t', 'x',)")


def test_only_the_named_buckets_are_compacted(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED) WITH ('bucket' = '3', 'write-only' = 'true')")
    for start in (0, 100):
        session.sql(f"INSERT INTO t VALUES {', '.join(f'({n})' for n in range(start, start + 50))}")
    session.sql("CALL sys.compact(`table` => 't', buckets => '0,2-2')")
    files = session.sql("SELECT bucket, COUNT(*) FROM t$files GROUP BY bucket ORDER BY bucket").to_arrow()
    assert files.column(1).to_pylist() == [1, 2, 1]
    for buckets, problem in (("3", "no bucket 3"), ("2-1", "written as 0-3,7"), ("x", "written as 0-3,7")):
        with pytest.raises(SqlError, match=problem):
            session.sql(f"CALL sys.compact(`table` => 't', buckets => '{buckets}')")


def test_copy_replaces_the_partitions_that_it_copies(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    for name in ("a", "b"):
        session.sql(f"CREATE TABLE {name} (k INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO a VALUES (1, 'x'), (2, 'y')")
    session.sql("INSERT INTO b VALUES (8, 'x'), (9, 'z')")
    session.sql("CALL sys.copy(source_table => 'a', target_table => 'b', where => \"p = 'x'\")")
    assert rows(session, "SELECT k, p FROM b ORDER BY k") == [(1, "x"), (9, "z")]
    session.sql("CALL sys.copy('a', 'b')")
    assert rows(session, "SELECT k, p FROM b ORDER BY k") == [(1, "x"), (2, "y"), (9, "z")]


def test_a_copy_gets_the_new_columns_of_its_source(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE a (k INT, p STRING) PARTITIONED BY (p)")
    session.sql("CREATE TABLE b (k INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO a VALUES (1, 'x'), (2, 'y')")
    session.sql("INSERT INTO b VALUES (8, 'x')")
    session.sql("CALL sys.copy('a', 'paimon.other.`new one`')")
    session.sql("ALTER TABLE a ADD COLUMN more INT")
    session.sql("INSERT INTO a VALUES (3, 'z', 30)")
    session.sql("CALL sys.copy('a', 'other.`new one`')")
    actual = rows(session, "SELECT k, p, more FROM other.`new one` ORDER BY k")
    assert actual == [(1, "x", None), (2, "y", None), (3, "z", 30)]
    with pytest.raises(SqlError, match="lacks columns of the source"):
        session.sql("CALL sys.copy('a', 'b', \"p = 'z'\")")


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
@pytest.mark.parametrize("key", ["'primary-key' = 'k', 'bucket' = '1'", "'metadata.stats-dense-store' = 'false'"])
def test_a_copy_goes_into_a_table_with_more_columns(tmp_path: Path, form: str, key: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    options = f"'file.format' = '{form}', {key}"
    session.sql(f"CREATE TABLE a (k INT, p STRING) TBLPROPERTIES ({options})")
    session.sql(f"CREATE TABLE b (k INT, p STRING, more INT, at DATE) TBLPROPERTIES ({options})")
    session.sql(f"CREATE TABLE c (k INT, p STRING, more INT NOT NULL) TBLPROPERTIES ({options})")
    session.sql("INSERT INTO a VALUES (1, 'x'), (2, 'y')")
    session.sql("CALL sys.copy('a', 'b')")
    assert rows(session, "SELECT * FROM b ORDER BY k") == [(1, "x", None, None), (2, "y", None, None)]
    assert rows(session, "SELECT k FROM b WHERE more IS NULL AND k > 1 AND p = 'y'") == [(2,)]
    assert rows(session, "SELECT k FROM b WHERE more = 1") == []
    table = session.table(("b",))
    assert fsck(table.file_io, table.location, deep=True).healthy
    session.sql("INSERT INTO b VALUES (3, 'z', 1, NULL)")
    session.sql("CALL sys.compact(table => 'b', compact_strategy => 'full')")
    assert rows(session, "SELECT k FROM b WHERE more = 1") == [(3,)]
    with pytest.raises(SqlError, match="lacks columns of the source, or has other ids or keys"):
        session.sql("CALL sys.copy('a', 'c')")


@pytest.mark.parametrize("form", ["parquet", "avro"])
@pytest.mark.parametrize("dense", ["true", "false"])
def test_a_copy_goes_into_a_table_with_the_columns_in_another_order(tmp_path: Path, form: str, dense: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    options = f"'file.format' = '{form}', 'metadata.stats-dense-store' = '{dense}'"
    session.sql(f"CREATE TABLE a (k INT, v INT) TBLPROPERTIES ({options})")
    session.sql(f"CREATE TABLE b (k INT, v INT) TBLPROPERTIES ({options})")
    session.sql("ALTER TABLE b ALTER COLUMN v FIRST")
    session.sql("INSERT INTO a VALUES (1, 100), (2, 200)")
    session.sql("CALL sys.copy('a', 'b')")
    assert rows(session, "SELECT * FROM b ORDER BY k") == [(100, 1), (200, 2)]
    assert rows(session, "SELECT k FROM b WHERE v = 200") == [(2,)]
    assert rows(session, "SELECT v FROM b WHERE k = 1") == [(100,)]
    table = session.table(("b",))
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_a_rollback_takes_no_two_snapshots(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (k INT)")
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number})")
    with pytest.raises(SqlError, match="'version' and 'snapshot_id' say the same"):
        session.sql("CALL sys.rollback(table => 't', version => '2', snapshot => 1)")
    assert len(rows(session, "SELECT k FROM t")) == 3


def test_merge_into_is_a_procedure(tmp_path: Path) -> None:
    """The example of Paimon's documents, and the clauses about rows that the source has not got."""
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE T (id INT PRIMARY KEY NOT ENFORCED, price INT, note STRING)")
    session.sql("CREATE TABLE S (order_id INT, cost INT, remark STRING)")
    session.sql("INSERT INTO T VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd')")
    session.sql("INSERT INTO S VALUES (1, 100, 'x,y'), (5, 500, 'z')")
    arguments = {
        "target_table": "default.T",
        "source_table": "default.S",
        "merge_condition": "T.id=S.order_id",
        "matched_upsert_setting": "price=T.price+20, note = CONCAT('p', ',')",
        "not_matched_insert_values": "*",
        "not_matched_by_source_upsert_condition": "T.id = 2",
        "not_matched_by_source_upsert_setting": "note = 'left'",
        "not_matched_by_source_delete_condition": "T.id > 3",
    }
    quoted = ", ".join(f"{name} => '{value.replace(chr(39), chr(39) * 2)}'" for name, value in arguments.items())
    assert rows(session, f"CALL sys.merge_into({quoted})") == [("Success",)]
    expected = [(1, 30, "p,"), (2, 20, "left"), (3, 30, "c"), (5, 500, "z")]
    assert rows(session, "SELECT * FROM T ORDER BY id") == expected
    session.sql(
        "CALL sys.merge_into('default.T', 'TT', 'CREATE TEMPORARY VIEW V AS SELECT * FROM S WHERE cost = 100',"
        " 'V', 'TT.id = V.order_id', '', '*', '', '', '')"
    )
    assert rows(session, "SELECT * FROM T WHERE id = 1") == [(1, 100, "x,y")]
    assert session.views == {}
    session.sql("CALL sys.merge_into('default.T', '', '', 'S', 'T.id = S.order_id', '', '', '', '', 'S.cost > 100')")
    assert rows(session, "SELECT id FROM T ORDER BY id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("'default.T', '', '', '', 'T.id = S.id', '', '*'", "'source_table' is missing"),
        ("'default.T', '', '', 'S', '', '', '*'", "'merge_condition' is missing"),
        ("'default.T', '', '', 'S', 'T.id = S.id'", "no change is given"),
        ("'default.T', '', '', 'S', 'TRUE) WHEN MATCHED THEN DELETE', '', '*'", "merge_condition"),
        ("'default.T', '', '', 'S', 'T.id = S.id', 'S.id > 1', ''", "without a setting"),
        ("'default.T', '', '', 'S', 'T.id = S.id', '', '*', '', '', 'S.id > 1'", "does not say which"),
        ("'default.T', '', '', 'S', 'T.id = S.id', '', 'pric = 1'", "'pric' does not exist"),
        ("'default.T', '', '', 'S', 'T.id = S.id', '', '*'", r"the source has 1 columns where '\*' needs 2"),
    ],
)
def test_a_merge_that_does_not_fit_is_refused(tmp_path: Path, arguments: str, problem: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE T (id INT PRIMARY KEY NOT ENFORCED, price INT)")
    session.sql("CREATE TABLE S (id INT)")
    with pytest.raises(SqlError, match=problem):
        session.sql(f"CALL sys.merge_into({arguments})")


def test_single_columns_are_merged_by_a_procedure(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    options = "('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true')"
    session.sql(f"CREATE TABLE T (id INT, name STRING) WITH {options}")
    session.sql("CREATE TABLE S (id INT, name STRING)")
    session.sql("INSERT INTO T VALUES (1, 'a'), (2, 'b')")
    session.sql("INSERT INTO S VALUES (2, 'x')")
    call = "CALL sys.data_evolution_merge_into('default.T', '', '', 'S', 'T.id=S.id', 'name=S.name', 2)"
    assert rows(session, call) == [("Success",)]
    assert rows(session, "SELECT * FROM T ORDER BY id") == [(1, "a"), (2, "x")]


def test_a_merge_by_a_call_has_dry_runs_and_plans(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE T (id INT PRIMARY KEY NOT ENFORCED, price INT)")
    session.sql("CREATE TABLE S (id INT, price INT)")
    session.sql("INSERT INTO T VALUES (1, 10), (2, 20)")
    session.sql("INSERT INTO S VALUES (2, 21), (3, 30)")
    call = "CALL sys.merge_into('default.T', '', '', 'S', 'T.id = S.id', '', '*', '', '*'"
    counted = {"deleted_rows": 0, "updated_rows": 1, "inserted_rows": 1}
    (dry,) = session.sql(f"{call}, dry_run => true)").to_arrow().to_pylist()
    assert {name: dry[name] for name in counted} == counted
    plan = session.plan(f"{call})")
    assert rows(session, "SELECT * FROM T ORDER BY id") == [(1, 10), (2, 20)], "nothing was changed"
    session.apply(plan)
    assert rows(session, "SELECT * FROM T ORDER BY id") == [(1, 10), (2, 21), (3, 30)]
    session.sql("INSERT INTO S VALUES (4, 40)")
    with pytest.raises(OutdatedPlanError):
        session.apply(plan)
    done = merge_tables(session.current(), "default.T", "default.S", "T.id = S.id", not_matched_insert_values="*")
    assert (done.inserted_rows, done.updated_rows) == (1, 0)
    with pytest.raises(OptionError, match="a dry run runs nothing"):
        session.sql(call.replace("'', '', 'S'", "'', 'CREATE DATABASE d', 'S'") + ", dry_run => true)")
    assert "d" not in session.current().list_databases()


CALL = """
import sys
from maintenance.operation_names import operation_modules
from maintenance.sql import Session

session = Session({"warehouse": sys.argv[1]})
list(session.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)"))
session.sql("CALL sys.compact('default.t')")
print(*(name for name, each in operation_modules().items() if each.module in sys.modules))
"""


def test_a_call_imports_the_operations_that_it_needs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CALL, str(tmp_path)], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "compact" in imported
    assert not imported & {"clone", "create_branch", "fsck", "health", "plan_fleet", "rescale", "rollback_to"}
