"""The Hive catalog on a real metastore."""

import copy
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from maintenance.catalog import AddColumn, Catalog, RemoveOption, Schema, SetOption, View, open_catalog
from maintenance.cli.main import run
from maintenance.commit.lock import LockTimeoutError
from maintenance.errors import (
    AlreadyExistsError,
    CommitError,
    ConflictError,
    DataError,
    InfrastructureError,
    NotFoundError,
    OptionError,
    PaimonError,
    SchemaError,
    SqlError,
    UnsupportedError,
)
from maintenance.metastore.hive.catalog import HiveCatalog
from maintenance.metastore.hive.client import HiveMetastore, thrift
from maintenance.metastore.hive.lock import HeldHiveLock
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.schema import FieldSpec
from maintenance.operations import clone, mark_partition_done
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.sql import Session
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from tests.format_table_statements import DIALECTS, KINDS, exercise
from tests.servers.hive import Hive
from tests.small_tables import put, small_table
from tests.small_tables import rows as small_rows
from tests.tables import table_of

COLUMNS: list[FieldSpec] = [("k", "BIGINT NOT NULL"), ("v", "STRING", "the value"), ("pt", "STRING NOT NULL")]


@pytest.fixture
def options(hive: Hive, tmp_path: Path) -> dict[str, str]:
    return hive.options(tmp_path / "warehouse")


@pytest.fixture
def db(hive: Hive, options: dict[str, str]) -> Iterator[str]:
    """The name of an empty database."""
    name = f"db{uuid4().hex[:8]}"
    catalog = open_catalog(options)
    catalog.create_database(name, properties={"comment": "of a test", "team": "blue", "owner": "alice"})
    yield name
    catalog.drop_database(name, cascade=True, ignore_if_not_exists=True)
    catalog.close()


@pytest.fixture
def catalog(options: dict[str, str], db: str) -> Catalog:
    return open_catalog(options)


def stored(hive: Hive, db: str, table: str) -> Any:
    return _metastore(hive).read("get_table", db, table)


def partitions(hive: Hive, db: str, table: str) -> list[str]:
    actual = _metastore(hive).read("get_partitions", db, table, -1)
    return sorted("/".join(part.values) for part in actual)


def _metastore(hive: Hive) -> HiveMetastore:
    return HiveMetastore((("127.0.0.1", int(hive.uri.rpartition(":")[2])),))


def rows(*triples: tuple[int, str, str]) -> pa.Table:
    return pa.table({name: [row[i] for row in triples] for i, name in enumerate(("k", "v", "pt"))})


@pytest.mark.slow
def test_databases_are_altered_listed_and_not_created_twice(catalog: Catalog, db: str) -> None:
    database = catalog.get_database(db)
    assert database.comment == "of a test"
    assert database.properties["owner"] == "alice"
    catalog.alter_database(db, set={"team": "red"}, remove=["nothing"])
    assert catalog.get_database(db).properties["team"] == "red"
    assert "owner" not in catalog.get_database(db).properties
    assert db in catalog.list_databases()
    with pytest.raises(AlreadyExistsError):
        catalog.create_database(db)
    with pytest.raises(NotFoundError, match="'nope'"):
        catalog.get_database("nope")


def test_the_object_of_a_table(hive: Hive, catalog: Catalog, db: str) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "2"}, "orders")
    catalog.create_table(f"{db}.t", schema)
    actual = stored(hive, db, "t")
    assert actual.tableType == "MANAGED_TABLE"
    assert actual.sd.inputFormat == "org.apache.paimon.hive.mapred.PaimonInputFormat"
    assert [(c.name, c.type, c.comment) for c in actual.sd.cols][1] == ("v", "string", "the value")
    assert actual.partitionKeys == []
    kept = {"bucket": "2", "primary-key": "k,pt", "partition": "pt", "bucket-key": "k", "comment": "orders"}
    assert kept.items() <= actual.parameters.items()
    assert (actual.parameters["table_type"], actual.retention) == ("PAIMON", 2**31 - 1)


def test_changes_reach_the_metastore(hive: Hive, catalog: Catalog, db: str) -> None:
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k", "pt"], options={"bucket": "1"}))
    catalog.alter_table(f"{db}.t", [AddColumn("n", "INT"), SetOption("write-only", "true")])
    actual = stored(hive, db, "t")
    assert [c.name for c in actual.sd.cols] == ["k", "v", "pt", "n"]
    assert actual.parameters["write-only"] == "true"
    catalog.alter_table(f"{db}.t", [RemoveOption("write-only")])
    assert "write-only" not in stored(hive, db, "t").parameters
    catalog.rename_table(f"{db}.t", f"{db}.u")
    table = table_of(catalog, f"{db}.u")
    assert table.location.endswith("/u")
    table.write_arrow(rows((1, "a", "p")))
    assert table.to_arrow().num_rows == 1


def test_commits_register_partitions_and_drops_remove_them(hive: Hive, catalog: Catalog, db: str) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    table.write_arrow(rows((1, "a", "x"), (2, "b", "y")))
    table.write_arrow(rows((1, "c", "x")))
    assert partitions(hive, db, "t") == ["x", "y"]
    actual = _metastore(hive).read("get_partitions", db, "t", -1)
    assert {part.sd.location.rpartition("/")[2] for part in actual} == {"pt=x", "pt=y"}
    catalog.create_partitions(f"{db}.t", [{"pt": "empty"}])
    assert partitions(hive, db, "t") == ["empty", "x", "y"]
    assert sorted(part.spec["pt"] for part in catalog.list_partitions(f"{db}.t")) == ["x", "y"]
    catalog.drop_partitions(f"{db}.t", [{"pt": "x"}])
    assert partitions(hive, db, "t") == ["empty", "y"]
    assert table.to_arrow()["k"].to_pylist() == [2]


def test_a_folder_of_several_partitions_stays_registered(hive: Hive, catalog: Catalog, db: str) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    table.write_arrow(rows((1, "a", ""), (2, "b", " "), (3, "c", "x")))
    assert partitions(hive, db, "t") == ["__DEFAULT_PARTITION__", "x"]
    with pytest.raises(DataError, match="may mean several partitions: pt = '' or pt = ' '"):
        catalog.drop_partitions(f"{db}.t", [{"pt": "__DEFAULT_PARTITION__"}])
    catalog.drop_partitions(f"{db}.t", [{"pt": ""}])
    assert partitions(hive, db, "t") == ["__DEFAULT_PARTITION__", "x"]
    assert table.to_arrow()["k"].to_pylist() == [2, 3]
    catalog.drop_partitions(f"{db}.t", [{"pt": "__DEFAULT_PARTITION__"}])
    assert partitions(hive, db, "t") == ["x"]
    assert table.to_arrow()["k"].to_pylist() == [3]


def test_a_partition_of_another_branch_stays_registered(hive: Hive, catalog: Catalog, db: str) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    create_branch(table, "b")
    table_of(catalog, f"{db}.t$branch_b").write_arrow(rows((1, "a", "x")))
    table.write_arrow(rows((1, "a", "x")))
    catalog.drop_partitions(f"{db}.t", [{"pt": "x"}])
    assert partitions(hive, db, "t") == ["x"]
    catalog.drop_partitions(f"{db}.t$branch_b", [{"pt": "x"}])
    assert partitions(hive, db, "t") == []


DROPS = {
    "spark": "ALTER TABLE {t} DROP PARTITION (pt = 'x')",
    "flink": "ALTER TABLE {t} DROP PARTITION (pt = 'x')",
    "procedure": "CALL sys.drop_partition(`table` => '{t}', partitions => 'pt=x')",
    "expiry": "CALL sys.expire_partitions(`table` => '{t}', expiration_time => '1 d', "
    "timestamp_formatter => 'yyyy-MM-dd')",
}


@pytest.mark.parametrize("way", DROPS)
def test_partitions_dropped_by_statements_are_forgotten(
    hive: Hive, catalog: Catalog, options: dict[str, str], db: str, way: str
) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    old = "2001-01-01" if way == "expiry" else "x"
    table.write_arrow(rows((1, "a", old), (2, "b", "y")))
    create_branch(table, "b")
    table_of(catalog, f"{db}.t$branch_b").write_arrow(rows((3, "c", old)))
    mark_partition_done(table.copy({"partition.mark-done-action": "done-partition"}), [{"pt": old}])
    assert partitions(hive, db, "t") == sorted([old, f"{old}.done", "y"])
    session = Session(options, dialect="flink" if way == "flink" else "spark")
    marked = [] if way == "expiry" else [f"{old}.done"]
    session.sql(DROPS[way].format(t=f"{db}.t"))
    assert partitions(hive, db, "t") == sorted([old, *marked, "y"]), "another branch has rows in its folder"
    session.sql(DROPS[way].format(t=f"{db}.t$branch_b" if way in ("procedure", "expiry") else f"{db}.`t$branch_b`"))
    assert partitions(hive, db, "t") == sorted([*marked, "y"])
    assert table.to_arrow()["k"].to_pylist() == [2]


def test_a_partition_that_the_metastore_keeps_is_told(
    hive: Hive, catalog: Catalog, db: str, caplog: pytest.LogCaptureFixture
) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    table.write_arrow(rows((1, "a", "x")))
    _metastore(hive).change("drop_table", db, "t", False)
    with caplog.at_level(logging.ERROR):
        assert table.drop_partitions([{"pt": "x"}]) == (2,)
    assert "still lists their partitions" in caplog.text


def test_tags_become_partitions_of_the_metastore(hive: Hive, catalog: Catalog, db: str) -> None:
    options = {"bucket": "1", "metastore.tag-to-partition": "dt", "metastore.tag-to-partition.preview": "process-time"}
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options=options))
    assert [column.name for column in stored(hive, db, "t").partitionKeys] == ["dt"]
    table = table_of(catalog, f"{db}.t")
    before = datetime.now().astimezone()
    table.write_arrow(rows((1, "a", "x")))
    days = {f"{day:%Y-%m-%d}" for day in (before, datetime.now().astimezone())}
    [today] = partitions(hive, db, "t")
    assert today in days
    create_tag(table, "one")
    create_tag(table, "two")
    assert partitions(hive, db, "t") == [today, "one", "two"]
    assert {part.spec["dt"] for part in catalog.list_partitions(f"{db}.t")} == {today, "one", "two"}
    rename_tag(table, "two", "three")
    delete_tag(table, "one")
    assert partitions(hive, db, "t") == [today, "three"]
    with pytest.raises(OptionError, match="tag-to-partition"):
        catalog.create_table(
            f"{db}.bad", Schema(COLUMNS, partition_keys=["pt"], options={"metastore.tag-to-partition": "dt"})
        )
    assert catalog.list_tables(db) == ["t"]


def test_commits_that_the_metastore_cannot_follow_are_kept(
    hive: Hive, catalog: Catalog, db: str, caplog: pytest.LogCaptureFixture
) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.t", schema)
    table = table_of(catalog, f"{db}.t")
    gone = stored(hive, db, "t")
    _metastore(hive).change("drop_table", db, "t", False)
    with caplog.at_level(logging.ERROR):
        assert table.write_arrow(rows((1, "a", "x"))) == (1,)
    assert "does not know their partitions" in caplog.text
    assert table.to_arrow().num_rows == 1
    assert gone.sd.location == table.location
    catalog.repair_table(f"{db}.t")
    assert partitions(hive, db, "t") == ["x"]


def test_external_tables_keep_their_files(hive: Hive, catalog: Catalog, db: str, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1", "path": str(place)}))
    actual = stored(hive, db, "t")
    assert (actual.tableType, actual.parameters["EXTERNAL"]) == ("EXTERNAL_TABLE", "TRUE")
    table_of(catalog, f"{db}.t").write_arrow(rows((1, "a", "x")))
    catalog.drop_table(f"{db}.t")
    assert (place / "schema/schema-0").exists()
    catalog.create_table(f"{db}.again", Schema(COLUMNS, ["k"], options={"bucket": "1", "path": str(place)}))
    assert table_of(catalog, f"{db}.again").to_arrow().num_rows == 1
    with pytest.raises(SchemaError, match="other columns"):
        catalog.create_table(f"{db}.other", Schema([("a", "INT")], options={"path": str(place)}))


def test_catalog_options_decide_about_tables(hive: Hive, options: dict[str, str], db: str, tmp_path: Path) -> None:
    external = open_catalog({**options, "table.type": "external"})
    external.create_table(f"{db}.e", Schema(COLUMNS))
    assert stored(hive, db, "e").tableType == "EXTERNAL_TABLE"
    plain = open_catalog({**options, "sync-all-properties": "false", "format-table.enabled": "false"})
    plain.create_table(f"{db}.p", Schema(COLUMNS, options={"bucket": "-1", "hive.x": "y"}))
    assert stored(hive, db, "p").parameters["x"] == "y"
    assert "bucket" not in stored(hive, db, "p").parameters
    with pytest.raises(UnsupportedError, match="format-table"):
        plain.create_table(f"{db}.f", Schema(COLUMNS, options={"type": "format-table"}))
    placed = open_catalog({**options, "location-in-properties": "true"})
    placed.create_table(f"{db}.l", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    assert stored(hive, db, "l").parameters["paimon_location"].endswith(f"{db}.db/l")
    table_of(placed, f"{db}.l").write_arrow(rows((1, "a", "x")))
    assert table_of(placed, f"{db}.l").to_arrow().num_rows == 1


def test_views_lose_their_dialects(catalog: Catalog, db: str) -> None:
    view = View([("k", "BIGINT NOT NULL", "a key")], "SELECT 1 AS k", {"spark": "select 1"}, "c", {"o": "x"})
    catalog.create_view(f"{db}.v", view)
    actual = catalog.get_view(f"{db}.v")
    assert (actual.query, dict(actual.dialects), actual.comment) == ("SELECT 1 AS k", {}, "c")
    assert actual.options["o"] == "x"
    assert [(f.name, str(f.type), f.description) for f in actual.columns()] == [("k", "BIGINT", "a key")]
    assert (catalog.list_views(db), catalog.list_tables(db)) == (["v"], [])
    with pytest.raises(AlreadyExistsError):
        catalog.create_view(f"{db}.v", view)
    with pytest.raises(UnsupportedError):
        catalog.alter_view(f"{db}.v", [SetOption("a", "b")])
    catalog.rename_view(f"{db}.v", f"{db}.w")
    catalog.drop_view(f"{db}.w")
    with pytest.raises(NotFoundError):
        catalog.get_view(f"{db}.w")


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "orc"])
def test_format_tables_are_written_and_read_but_not_altered(catalog: Catalog, db: str, kind: str) -> None:
    columns = [("a", "INT"), ("b", "STRING"), ("d", "DECIMAL(10, 2)"), ("pt", "STRING")]
    options = {"type": "format-table", "file.format": kind}
    catalog.create_table(f"{db}.f", Schema(columns, partition_keys=["pt"], options=options))
    table = catalog.get_table(f"{db}.f")
    assert isinstance(table, FormatTable)
    data = pa.table({"a": [1, 2], "b": ['quo"te, x', None], "pt": ["x", None]})
    table.write_arrow(data)
    expected = [{"a": 1, "b": 'quo"te, x', "d": None, "pt": "x"}, {"a": 2, "b": None, "d": None, "pt": None}]
    assert sorted(table.to_arrow().to_pylist(), key=str) == expected
    assert catalog.list_tables(db) == ["f"]
    with pytest.raises(UnsupportedError):
        catalog.alter_table(f"{db}.f", [SetOption("a", "b")])
    with pytest.raises(UnsupportedError, match="avro"):
        catalog.create_table(f"{db}.g", Schema(columns, options={**options, "file.format": "avro"}))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS)
def test_statements_on_format_tables(catalog: Catalog, db: str, kind: str, dialect: str) -> None:
    exercise(catalog, db, kind, dialect)
    name = f"{db}.altered_{kind}"
    catalog.create_table(name, Schema([("a", "STRING")], options={"type": "format-table", "file.format": kind}))
    with pytest.raises(UnsupportedError, match="format table"):
        Session(catalog, dialect=dialect).sql(f"ALTER TABLE {name} SET ('a' = 'b')")  # type: ignore[arg-type]


def test_the_command_line_writes_format_tables(
    catalog: Catalog, options: dict[str, str], db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"type": "format-table", "file.format": "csv"}
    catalog.create_table(f"{db}.f", Schema([("a", "INT"), ("b", "STRING")], options=given))
    (tmp_path / "rows.csv").write_text("a,b\n1,x\n2,\n")
    where = [part for key, value in options.items() for part in ("--catalog-option", f"{key}={value}")]
    assert run([*where, "write", f"{db}.f", str(tmp_path / "rows.csv")]) == 0
    assert "2 rows in files of" in capsys.readouterr().out
    assert run([*where, "--json", "read", f"{db}.f"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
    ]
    assert run([*where, "show", f"{db}.f"]) == 0
    assert "USING csv" in capsys.readouterr().out


@pytest.mark.parametrize("external", [False, True])
def test_a_failed_query_leaves_no_table(catalog: Catalog, db: str, tmp_path: Path, external: bool) -> None:
    place = tmp_path / "elsewhere"
    session = Session(catalog, dialect="flink")
    before = sorted(tmp_path.rglob("*"))
    for table in ("'type' = 'format-table', 'file.format' = 'csv'", "'bucket' = '-1'"):
        path = f", 'path' = '{place}'" if external else ""
        with pytest.raises(PaimonError, match="a value of length 8"):
            session.sql(f"CREATE TABLE {db}.bad (a CHAR(1)) WITH ({table}{path}) AS SELECT 'too long'")
        assert catalog.list_tables(db) == []
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("sync", ["true", "false"])
def test_object_tables_write_nothing_into_the_folder_of_users(
    options: dict[str, str], db: str, tmp_path: Path, sync: str
) -> None:
    catalog = open_catalog({**options, "sync-all-properties": sync})
    folder = tmp_path / "images"
    (folder / "schema").mkdir(parents=True)
    (folder / "a.txt").write_text("hello")
    (folder / "schema" / "schema-0").write_text("not one of ours")
    before = sorted(folder.rglob("*"))
    given = Schema([], options={"type": "object-table", "path": str(folder)}, comment="pictures")
    catalog.create_table(f"{db}.o", given)

    def opened() -> ObjectTable:
        table = catalog.get_table(f"{db}.o")
        assert isinstance(table, ObjectTable)
        return table

    assert opened().to_arrow(["path"])["path"].to_pylist() == ["a.txt", "schema/schema-0"]
    assert opened().read_object("a.txt") == b"hello"
    assert (opened().schema.comment, opened().schema.field_names[0]) == ("pictures", "path")
    catalog.alter_table(f"{db}.o", [SetOption("a", "b")])
    assert dict(opened().options) == {"type": "object-table", "path": str(folder), "a": "b"}
    catalog.alter_table(f"{db}.o", [RemoveOption("a")])
    assert "a" not in opened().options
    catalog.repair_table(f"{db}.o")
    catalog.rename_table(f"{db}.o", f"{db}.renamed")
    catalog.drop_table(f"{db}.renamed")
    assert sorted(folder.rglob("*")) == before
    catalog.create_table(f"{db}.own", Schema([], options={"type": "object-table"}))
    own = catalog.get_table(f"{db}.own")
    assert isinstance(own, ObjectTable)
    assert own.to_arrow(["path"])["path"].to_pylist() == ["schema/schema-0"], "as Paimon lists a folder of its own"


def test_a_table_of_plain_files_is_migrated(catalog: Catalog, options: dict[str, str], db: str) -> None:
    columns = [("a", "INT"), ("b", "STRING"), ("pt", "STRING")]
    plain = Schema(columns, partition_keys=["pt"], options={"type": "format-table", "file.format": "parquet"})
    catalog.create_table(f"{db}.f", plain)
    source = catalog.get_table(f"{db}.f")
    assert isinstance(source, FormatTable)
    source.write_arrow(pa.table({"a": [1, 2], "b": ["x", None], "pt": ["x", None]}))
    expected = sorted(source.to_arrow().to_pylist(), key=str)
    session = Session(options, dialect="flink")
    call = f"CALL sys.migrate_table(connector => 'hive', source_table => '{db}.f', target_table => '{db}.t'"
    (row,) = session.sql(f"{call}, `dry_run` => true)").to_arrow().to_pylist()
    assert (row["files"], row["snapshot_id"], catalog.list_tables(db)) == (2, None, ["f"])
    spark = Session(options, dialect="spark")
    positional = f"CALL sys.migrate_table('hive', '{db}.f', 'target-file-size=1 mb', true, '{db}.t')"
    assert spark.sql(positional).to_arrow().to_pylist() == [{"result": True}]
    assert catalog.list_tables(db) == ["t"]
    assert table_of(catalog, f"{db}.t").options["target-file-size"] == "1 mb"
    assert sorted(table_of(catalog, f"{db}.t").to_arrow().to_pylist(), key=str) == expected


def test_a_database_of_plain_files_is_migrated(catalog: Catalog, options: dict[str, str], db: str) -> None:
    for name, kind in (("f", "parquet"), ("g", "orc")):
        plain = Schema([("a", "INT"), ("b", "STRING")], options={"type": "format-table", "file.format": kind})
        catalog.create_table(f"{db}.{name}", plain)
        source = catalog.get_table(f"{db}.{name}")
        assert isinstance(source, FormatTable)
        source.write_arrow(pa.table({"a": [1, 2], "b": ["x", None]}))
    session = Session(options, dialect="flink")
    call = f"CALL sys.migrate_database(connector => 'hive', source_database => '{db}', delete_origin => true"
    rows = session.sql(f"{call}, `dry_run` => true)").to_arrow().to_pylist()
    assert [(row["target"], row["origin_deleted"]) for row in rows] == [(f"{db}.f", False), (f"{db}.g", False)]
    rows = session.sql(f"{call}, into_bin => true)").to_arrow().to_pylist()
    assert [(row["rows"], row["origin_deleted"]) for row in rows] == [(2, True), (2, True)]
    assert catalog.list_tables(db) == ["f", "g"]
    for name in ("f", "g"):
        table = table_of(catalog, f"{db}.{name}")
        assert table.location.endswith(f"/{name}")
        assert table.to_arrow().to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    session.sql(f"CALL sys.restore('{db}.old', '{rows[0]['bin_run']}')")
    old = catalog.get_table(f"{db}.old")
    assert isinstance(old, FormatTable)
    assert old.to_arrow().num_rows == 2


def test_a_table_is_cloned_into_a_metastore(catalog: Catalog, db: str, tmp_path: Path) -> None:
    source = small_table(tmp_path / "here")
    put(source, {1: "a"})
    assert clone(source, catalog, f"{db}.copy").copied_files == 1
    put(source, {2: "b"})
    assert clone(source, catalog, f"{db}.copy").copied_files == 1
    assert catalog.list_tables(db) == ["copy"]
    assert small_rows(table_of(catalog, f"{db}.copy")) == [(1, "a"), (2, "b")]
    options = {"type": "format-table", "file.format": "csv"}
    catalog.create_table(f"{db}.plain", Schema([("a", "INT")], options=options))
    with pytest.raises(ConflictError, match="a table of another kind"):
        clone(source, catalog, f"{db}.plain")


def test_tables_of_other_programs(hive: Hive, catalog: Catalog, db: str, tmp_path: Path) -> None:
    catalog.create_table(f"{db}.f", Schema([("a", "INT")], options={"type": "format-table", "file.format": "csv"}))
    foreign = copy.deepcopy(stored(hive, db, "f"))
    foreign.tableName, foreign.sd.serdeInfo.parameters = "theirs", {}
    foreign.parameters, foreign.sd.location = {}, f"file:{tmp_path}/theirs"
    foreign.sd.cols = [thrift().FieldSchema(name=name, type=kind) for name, kind in (("a", "int"), ("b", "string"))]
    _metastore(hive).change("create_table", foreign)
    (tmp_path / "theirs").mkdir(exist_ok=True)
    (tmp_path / "theirs/f.txt").write_text("1\x01one\n\\N\x01two\n")
    table = catalog.get_table(f"{db}.theirs")
    assert isinstance(table, FormatTable)
    # As in Paimon: the row ends at its first value that is not one.
    assert table.to_arrow().to_pylist() == [{"a": 1, "b": "one"}, {"a": None, "b": None}]
    foreign.tableName, foreign.sd.inputFormat, foreign.sd.serdeInfo.serializationLib = "avro", "x.AvroInput", "x.Avro"
    _metastore(hive).change("create_table", foreign)
    assert catalog.list_tables(db) == ["f", "theirs"]
    with pytest.raises(NotFoundError):
        catalog.get_table(f"{db}.avro")
    with pytest.raises(AlreadyExistsError, match="not a table of Paimon"):
        catalog.create_table(f"{db}.avro", Schema([("a", "INT")]))


def test_locks_exclude_each_other(options: dict[str, str], db: str) -> None:
    locked = {**options, "lock.enabled": "true", "lock-acquire-timeout": "1s", "lock-check-max-sleep": "100ms"}
    catalog = open_catalog(locked)
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1", "commit.max-retries": "0"}))
    table = table_of(catalog, f"{db}.t")
    assert isinstance(catalog, HiveCatalog)
    with catalog._lock(Identifier(db, "t")).held():
        with pytest.raises(LockTimeoutError, match=f"{db}.t"):
            catalog.alter_table(f"{db}.t", [SetOption("write-only", "true")])
        with pytest.raises(LockTimeoutError):
            table.write_arrow(rows((1, "a", "x")))
    assert table.write_arrow(rows((1, "a", "x"))) == (1,)


def test_a_lost_lock_publishes_nothing(hive: Hive, options: dict[str, str], db: str) -> None:
    catalog = open_catalog({**options, "lock.enabled": "true"})
    assert isinstance(catalog, HiveCatalog)
    with catalog._lock(Identifier(db, "t")).held() as held:
        assert isinstance(held, HeldHiveLock)
        held.check()
        _metastore(hive).change("unlock", thrift().UnlockRequest(lockid=held.lock_id))
        with pytest.raises(CommitError, match="was lost"):
            held.check()


def test_repair_registers_what_the_warehouse_has(
    hive: Hive, catalog: Catalog, options: dict[str, str], db: str
) -> None:
    files = open_catalog({"warehouse": options["warehouse"]})
    files.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    assert catalog.list_tables(db) == []
    catalog.repair_database(db)
    assert catalog.list_tables(db) == ["t"]
    assert stored(hive, db, "t").parameters["primary-key"] == "k"
    with pytest.raises(NotFoundError):
        catalog.repair_table(f"{db}.nope")


def test_a_metastore_that_is_not_there(options: dict[str, str]) -> None:
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        open_catalog({**options, "uri": "thrift://127.0.0.1:9"})


def test_a_replaced_table_keeps_its_snapshots(hive: Hive, catalog: Catalog, db: str) -> None:
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    session = Session(catalog)
    session.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 'x')")
    session.sql(f"REPLACE TABLE {db}.t (k BIGINT, w STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')")
    assert session.sql(f"SELECT * FROM {db}.t").to_arrow().num_rows == 0
    assert session.sql(f"SELECT * FROM {db}.t VERSION AS OF 1").to_arrow().column_names == ["k", "v", "pt"]
    shown = [column.name for column in stored(hive, db, "t").sd.cols]
    assert shown == ["k", "w"]


def test_a_replacement_that_the_metastore_refuses_leaves_the_schema(catalog: Catalog, db: str) -> None:
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1"}))
    session = Session(catalog)
    session.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 'x')")
    with pytest.raises(PaimonError, match="incompatible"):
        session.sql(f"REPLACE TABLE {db}.t (k DATE, w INT)")
    table = table_of(catalog, f"{db}.t")
    assert table.schemas.list_ids() == [0]
    assert session.sql(f"SELECT * FROM {db}.t VERSION AS OF 1").to_arrow().num_rows == 1


def test_a_folder_that_holds_a_table_gives_its_columns(catalog: Catalog, db: str, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    catalog.create_table(f"{db}.t", Schema(COLUMNS, ["k"], options={"bucket": "1", "path": str(place)}))
    table_of(catalog, f"{db}.t").write_arrow(rows((1, "a", "x")))
    session = Session(catalog)
    session.sql(f"CREATE TABLE {db}.again LOCATION '{place}'")
    assert session.sql(f"SELECT * FROM {db}.again").to_arrow().to_pylist() == [{"k": 1, "v": "a", "pt": "x"}]
    assert table_of(catalog, f"{db}.again").schema.primary_keys == ("k",)
    with pytest.raises(SqlError, match="no table lies there"):
        session.sql(f"CREATE TABLE {db}.none LOCATION '{place}/nothing'")


def test_msck_repair_makes_partitions_known(hive: Hive, catalog: Catalog, options: dict[str, str], db: str) -> None:
    schema = Schema(COLUMNS, ["k", "pt"], ["pt"], {"bucket": "1", "metastore.partitioned-table": "true"})
    catalog.create_table(f"{db}.p", schema)
    files = open_catalog({"warehouse": options["warehouse"]})
    Session(files).sql(f"INSERT INTO {db}.p (k, pt) VALUES (1, 'x'), (2, 'y')")
    assert partitions(hive, db, "p") == []
    Session(catalog).sql(f"MSCK REPAIR TABLE {db}.p")
    assert partitions(hive, db, "p") == ["x", "y"]
