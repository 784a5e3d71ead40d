"""The REST catalog beside the server and the client of Paimon itself."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import AddColumn, Catalog, Schema, View, open_catalog
from maintenance.errors import (
    AlreadyExistsError,
    ConflictError,
    InfrastructureError,
    NotFoundError,
    OptionError,
    OutdatedPlanError,
    UnsupportedError,
)
from maintenance.operations import clone, compact
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.sql import Session
from maintenance.table.format_table import FormatTable
from tests.catalog_replay import Replay, steps_of
from tests.format_table_statements import exercise
from tests.java.process import JavaProcess
from tests.java.rest_server import TOKEN, WAREHOUSE, running
from tests.small_tables import put, small_table
from tests.tables import table_of

COLUMNS = [("k", "BIGINT NOT NULL"), ("v", "STRING")]


@pytest.fixture(scope="module")
def java_rest() -> Iterator[JavaProcess]:
    with running() as process:
        yield process


@pytest.fixture
def options(java_rest: JavaProcess, tmp_path: Path) -> dict[str, str]:
    java_rest.lose_next_answer(False)
    address = java_rest.start(str(tmp_path / "warehouse"))
    given = {"metastore": "rest", "uri": address, "token.provider": "bear", "token": TOKEN, "warehouse": WAREHOUSE}
    return {**given, "cache-enabled": "false"}


@pytest.fixture
def catalog(options: dict[str, str]) -> Catalog:
    actual = open_catalog(options)
    actual.create_database("db")
    actual.create_table("db.t", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    return actual


def rows(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"k": [key for key, _ in pairs], "v": [value for _, value in pairs]})


@pytest.mark.slow
def test_recorded_calls_have_the_same_outcome(options: dict[str, str], tmp_path: Path) -> None:
    _, steps = steps_of("rest_kinds", tmp_path / "warehouse")
    # Servers before Paimon 2.0 keep no partitions of format tables.
    steps = [step for step in steps if (step["op"], step["args"].get("table")) != ("list_partitions", "rdb.f_part")]
    replay = Replay(options)

    def by_spark(_number: int, step: Any) -> None:
        if step["op"] == "spark_sql" and step["args"]["sql"].startswith("create view"):
            query = step["args"]["sql"].partition(" as ")[2]
            replay.catalog.create_view("rdb.v3", View([("k", "BIGINT NOT NULL")], query, {"spark": query}))

    replay.replay(steps, by_spark)


@pytest.mark.parametrize(("kind", "dialect"), [("csv", "spark"), ("parquet", "flink"), ("text", "spark")])
def test_statements_on_format_tables(catalog: Catalog, kind: str, dialect: str) -> None:
    exercise(catalog, "db", kind, dialect)


def test_java_and_python_write_one_table(java_rest: JavaProcess, options: dict[str, str], catalog: Catalog) -> None:
    table = table_of(catalog)
    assert table.write_arrow(rows((1, "ours"), (2, "ours"))) == (1,)
    java_rest.commit(options, "db.t", [(2, "theirs"), (3, "theirs")])
    assert table.write_arrow(rows((4, "ours"))) == (3,)
    expected = [(1, "ours"), (2, "theirs"), (3, "theirs"), (4, "ours")]
    assert java_rest.rows(options, "db.t") == expected
    assert sorted(map(tuple, (row.values() for row in table.to_arrow().to_pylist()))) == expected


def test_changes_of_a_table_reach_java(java_rest: JavaProcess, options: dict[str, str], catalog: Catalog) -> None:
    catalog.alter_table("db.t", [AddColumn("n", "INT", "a number")])
    assert java_rest.columns(options, "db.t") == ["k", "v", "n"]
    with pytest.raises(NotFoundError, match=r"db\.nope"):
        catalog.alter_table("db.nope", [AddColumn("n", "INT")])
    catalog.rename_table("db.t", "db.u")
    assert catalog.list_tables("db") == ["u"]
    with pytest.raises(NotFoundError, match=r"db\.t"):
        catalog.get_table("db.t")


def test_two_writers_lose_no_commit(options: dict[str, str], catalog: Catalog) -> None:
    def write(start: int) -> None:
        table = table_of(open_catalog(options))
        for number in range(5):
            table.write_arrow(rows((start + number, "x")))

    threads = [Thread(target=write, args=(start,)) for start in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(table_of(catalog).to_arrow()["k"].to_pylist()) == [*range(5), *range(100, 105)]


def test_a_commit_answered_by_an_error_is_not_repeated(java_rest: JavaProcess, catalog: Catalog) -> None:
    table = table_of(catalog)
    java_rest.lose_next_answer(True)
    assert table.write_arrow(rows((1, "a"))) == (1,)
    assert table_of(catalog).snapshots.list_ids() == [1]
    assert table.to_arrow()["k"].to_pylist() == [1]


def test_refused_tokens_and_missing_servers(options: dict[str, str], catalog: Catalog) -> None:
    with pytest.raises(OptionError, match="refused the token") as refused:
        open_catalog({**options, "token": "wrong-token"})
    assert "wrong-token" not in str(refused.value)
    with pytest.raises(UnsupportedError, match=r"'token\.provider' = 'dlf'"):
        open_catalog({**options, "token.provider": "dlf"})
    with pytest.raises(OptionError, match="'token' is not set"):
        open_catalog({key: value for key, value in options.items() if key != "token"})
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        open_catalog({**options, "uri": "http://127.0.0.1:9"})


def test_what_exists_is_refused_unless_it_may(catalog: Catalog) -> None:
    with pytest.raises(AlreadyExistsError, match="database 'db' exists"):
        catalog.create_database("db")
    catalog.create_database("db", ignore_if_exists=True)
    with pytest.raises(AlreadyExistsError, match=r"table 'db\.t' exists"):
        catalog.create_table("db.t", Schema(COLUMNS, ["k"]))
    catalog.create_table("db.t", Schema(COLUMNS, ["k"]), ignore_if_exists=True)
    catalog.drop_table("db.nope", ignore_if_not_exists=True)


def test_global_tables_show_what_the_server_knows(catalog: Catalog) -> None:
    actual = catalog.get_table("sys.tables").to_arrow().to_pylist()
    assert [(row["table_name"], row["owner"], row["created_by"]) for row in actual] == [("t", "owner", "created")]


def test_snapshots_are_not_set_back_behind_the_server(catalog: Catalog) -> None:
    table = table_of(catalog)
    table.write_arrow(rows((1, "a")))
    table.write_arrow(rows((2, "b")))
    with pytest.raises(UnsupportedError, match="rest catalog"):
        rollback_to(table, snapshot_id=1)
    assert table.snapshots.list_ids() == [1, 2]


def test_format_tables_are_created_written_and_read(catalog: Catalog) -> None:
    catalog.create_table("db.f", Schema(COLUMNS, options={"type": "format-table", "file.format": "json"}))
    table = catalog.get_table("db.f")
    assert isinstance(table, FormatTable)
    table.write_arrow(rows((1, "a")))
    assert table.to_arrow().to_pylist() == [{"k": 1, "v": "a"}]


def test_a_clone_is_read_by_java(java_rest: JavaProcess, options: dict[str, str], tmp_path: Path) -> None:
    source = small_table(tmp_path / "here")
    put(source, {1: "a", 2: "b"})
    catalog = open_catalog(options)
    assert clone(source, catalog, "db.copy", dry_run=True).new_files == 1
    assert clone(source, catalog, "db.copy").copied_files == 1
    put(source, {3: "c"}, deleted=[1])
    assert clone(source, catalog, "db.copy").rows == 4
    assert java_rest.rows(options, "db.copy") == [(2, "b"), (3, "c")]
    open_catalog({"warehouse": str(tmp_path / "here")}).alter_table("db.t", [AddColumn("n", "INT")])
    grown = open_catalog({"warehouse": str(tmp_path / "here")}).get_table("db.t")
    with pytest.raises(UnsupportedError, match="the target has the newest one, 1, alone"):
        clone(grown, catalog, "db.grown")
    compact(None, grown.copy({"compaction.force-rewrite-all-files": "true"}), full=True)
    assert clone(grown, catalog, "db.grown2").rows == 2
    assert java_rest.rows(options, "db.grown2") == [(2, "b"), (3, "c")]
    with pytest.raises(ConflictError, match="the target lacks columns of the source"):
        clone(grown, catalog, "db.copy")


def test_a_plan_of_dropping_needs_the_snapshot_that_it_saw(options: dict[str, str]) -> None:
    session = Session(options)
    session.sql("CREATE TABLE d (k BIGINT)")
    session.sql("INSERT INTO d VALUES (1)")
    plan = session.plan("DROP TABLE d")
    session.sql("INSERT INTO d VALUES (2)")
    with pytest.raises(OutdatedPlanError):
        session.apply(plan)
    session.apply(session.plan("DROP TABLE d"))
    assert session.current().list_tables("default") == []
    session.sql("CREATE TABLE f (k BIGINT) USING csv")
    with pytest.raises(UnsupportedError, match="it holds no snapshots"):
        session.plan("DROP TABLE f")
