"""System tables: every one has its columns, and says what the metadata says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.catalog import Catalog, Schema, SetOption, open_catalog
from maintenance.errors import CorruptFileError, NotFoundError, OptionError, PredicateError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.sql import Session
from maintenance.table.system.hash_order import hash_order
from maintenance.table.system.manifests import TABLE_INDEXES
from maintenance.table.system.registry import SYSTEM_TABLES
from maintenance.table.system.tags import iso_duration
from maintenance.table.system.view import NAMES, SystemTableView
from tests.tables import create_table, keyed, live, live_files, open_warehouse, table_of, without_statistics

MOMENT = datetime(2026, 8, 1, 12, 30, 15, 123_900, tzinfo=UTC)
# All system tables of Paimon 2.0 that belong to one table; `ro` is a table of its own kind here.
PAIMON = {
    "manifests", "snapshots", "options", "schemas", "partitions", "buckets", "audit_log", "files", "tags", "branches",
    "consumers", "ro", "aggregation_fields", "statistics", "binlog", "table_indexes", "row_tracking",
    "file_key_ranges", "file_indexes",
}  # fmt: skip


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """`db.t`, partitioned, two commits, a compaction of one partition, a tag and a consumer."""
    catalog = open_warehouse(tmp_path)
    fields = [("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING")]
    catalog.create_table("db.t", Schema(fields, ["p", "id"], ["p"], {"bucket": "2"}))
    table = table_of(catalog)
    for v in "ab":
        rows = keyed(dict.fromkeys(range(6), v)).append_column("p", [["x", "x", "x", "y", "y", "y"]])
        table.write_arrow(rows, commit_user="me", commit_identifier=ord(v))
    compact(None, table, full=True, partitions=[{"p": "x"}])
    create_tag(table, "one", snapshot_id=1, time_retained=timedelta(hours=36))
    create_tag(table, "two", snapshot_id=2)
    table.file_io.write_bytes(f"{table.paths.consumer_folder()}/consumer-job", b'{"nextSnapshot" : 3}')
    return catalog


def rows(catalog: Catalog, name: str, **how: Any) -> list[dict[str, Any]]:
    return catalog.get_table(f"db.t${name}").to_arrow(**how).to_pylist()


def test_every_system_table_of_paimon_is_known() -> None:
    assert set(NAMES) == PAIMON


@pytest.mark.parametrize("name", sorted(SYSTEM_TABLES))
def test_columns_also_of_an_empty_table(tmp_path: Path, name: str) -> None:
    create_table(tmp_path)
    view = open_warehouse(tmp_path).get_table(f"db.t${name}")
    assert isinstance(view, SystemTableView)
    assert view.identifier == f"db.t${name}"
    assert view.to_arrow().schema.names == SYSTEM_TABLES[name].schema.names
    rows = {"options": 2, "schemas": 1, "aggregation_fields": 2}
    assert view.to_arrow().num_rows == rows.get(name, 0)


def test_unknown_ones_do_not_exist(tmp_path: Path) -> None:
    create_table(tmp_path)
    with pytest.raises(NotFoundError, match=r"There are: aggregation_fields, audit_log, binlog"):
        open_warehouse(tmp_path).get_table("db.t$nothing")


def test_snapshots_shows_kinds_counts_and_who_committed(catalog: Catalog) -> None:
    actual = rows(catalog, "snapshots")
    assert [(r["snapshot_id"], r["commit_kind"], r["total_record_count"], r["delta_record_count"]) for r in actual] == [
        (1, "APPEND", 6, 6),
        (2, "APPEND", 12, 6),
        (3, "COMPACT", 9, -3),
    ]
    assert [(r["commit_user"], r["commit_identifier"]) for r in actual[:2]] == [("me", 97), ("me", 98)]
    assert actual[0]["commit_time"] <= actual[1]["commit_time"]
    assert [r["snapshot_id"] for r in rows(catalog, "snapshots", where="commit_kind = 'COMPACT'")] == [3]
    assert rows(catalog, "snapshots", columns=["schema_id", "snapshot_id"])[0] == {"schema_id": 0, "snapshot_id": 1}


def test_files_shows_paths_sizes_levels_and_statistics(catalog: Catalog) -> None:
    table = table_of(catalog)
    actual = rows(catalog, "files")
    entries = live(table)
    assert {r["file_path"] for r in actual} == {table.paths.data_file(e.partition, e.bucket, e.file) for e in entries}
    for row in actual:
        assert Path(str(row["file_path"])).stat().st_size == row["file_size_in_bytes"]
        assert row["file_format"] == "parquet"
        assert (row["partition"], row["level"]) in (("{x}", 5), ("{y}", 0))
    assert sum(r["record_count"] for r in actual) == 9
    lowest = min(actual, key=lambda r: str(r["min_key"]))
    assert lowest["min_value_stats"] == "{id=0, p=x, v=b}"
    assert lowest["null_value_counts"] == "{id=0, p=0, v=0}"
    travelled = rows(catalog, "files", options={"scan.snapshot-id": "1"})
    assert {r["level"] for r in travelled} == {0}


def test_partitions_and_buckets_add_up_to_the_live_files(catalog: Catalog) -> None:
    partitions = rows(catalog, "partitions")
    assert sorted((r["partition"], r["record_count"]) for r in partitions) == [("p=x", 3), ("p=y", 6)]
    buckets = rows(catalog, "buckets")
    assert sum(r["record_count"] for r in buckets) == 9
    size = sum(file.file_size for file in live_files(table_of(catalog)))
    for actual in (partitions, buckets):
        assert sum(r["file_size_in_bytes"] for r in actual) == size


def test_tags_options_and_consumers(catalog: Catalog) -> None:
    tags = rows(catalog, "tags")
    assert [(r["tag_name"], r["snapshot_id"], r["record_count"], r["time_retained"]) for r in tags] == [
        ("one", 1, 6, "PT36H"),
        ("two", 2, 12, None),
    ]
    assert (tags[0]["create_time"] is None, tags[1]["create_time"] is None) == (False, True)
    assert rows(catalog, "options") == [{"key": "bucket", "value": "2"}]
    assert rows(catalog, "consumers") == [{"consumer_id": "job", "next_snapshot_id": 3}]
    catalog.alter_table("db.t", [SetOption("file.compression", "lz4")])
    assert {"key": "file.compression", "value": "lz4"} in rows(catalog, "options")


def test_tags_name_the_branches_that_are_made_from_them(catalog: Catalog) -> None:
    assert [row["branches"] for row in rows(catalog, "tags", columns=["branches"])] == ["[]", "[]"]
    for branch in ("b", "a"):
        create_branch(table_of(catalog), branch, tag="one")
    assert [row["branches"] for row in rows(catalog, "tags", columns=["branches"])] == ["[a, b]", "[]"]
    create_tag(table_of(catalog).on_branch("a"), "two", snapshot_id=1)
    assert [row["branches"] for row in rows(catalog, "tags", columns=["branches"])] == ["[a, b]", "[]"], (
        "another tag of that name"
    )


def test_snapshots_name_the_program_that_wrote_them(catalog: Catalog) -> None:
    path = Path(table_of(catalog).paths.snapshot(1))
    path.write_text(path.read_text().replace('"schemaId"', '"writerVersion" : "java-2.1", "schemaId"', 1))
    assert [row["writer_version"] for row in rows(catalog, "snapshots", columns=["writer_version"])][:2] == [
        "java-2.1",
        None,
    ]


def test_columns_of_other_releases_are_read_by_name_alone(catalog: Catalog) -> None:
    for name, hidden in (("snapshots", "writer_version"), ("tags", "branches")):
        assert hidden not in catalog.get_table(f"db.t${name}").to_arrow().column_names
        assert hidden not in Session(catalog).sql(f"SELECT * FROM db.`t${name}`").to_arrow().column_names
        assert rows(catalog, name, columns=[hidden], where=f"{hidden} = 'x'") == []


@pytest.mark.parametrize("dialect", ["spark", "flink"])
def test_sql_reads_columns_of_other_releases_by_name(catalog: Catalog, dialect: Literal["spark", "flink"]) -> None:
    path = Path(table_of(catalog).paths.snapshot(1))
    path.write_text(path.read_text().replace('"schemaId"', '"writerVersion" : "java-2.1", "schemaId"', 1))
    create_tag(table_of(catalog), "here", snapshot_id=1)
    create_branch(table_of(catalog), "b", tag="here")
    session = Session(catalog, dialect=dialect)

    def found(text: str) -> list[list[Any]]:
        return [list(row.values()) for row in session.sql(text).to_arrow().to_pylist()]

    assert found("SELECT writer_version FROM db.`t$snapshots` WHERE snapshot_id = 1") == [["java-2.1"]]
    assert found("SELECT s.snapshot_id FROM db.`t$snapshots` AS s WHERE s.writer_version = 'java-2.1'") == [[1]]
    assert found("SELECT tag_name, branches FROM db.`t$tags` WHERE tag_name = 'here'") == [["here", "[b]"]]
    whole = session.sql("SELECT t.*, t.branches AS x FROM db.`t$tags` AS t").to_arrow().column_names
    assert "branches" not in whole
    assert whole[-1] == "x"
    both = "SELECT COUNT(*) FROM db.`t$snapshots` s JOIN db.`t$tags` t USING (snapshot_id) WHERE branches = '[b]'"
    assert found(both) == [[1]]


def test_ranges_of_vectors_are_complete() -> None:
    ranges = TABLE_INDEXES.schema.field("dv_ranges").type.value_type
    assert [(field.name, field.nullable) for field in ranges] == [
        ("f0", False), ("f1", False), ("f2", False), ("_CARDINALITY", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "PT0S"),
        (timedelta(days=2), "PT48H"),
        (timedelta(hours=1, minutes=2, seconds=3), "PT1H2M3S"),
        (timedelta(milliseconds=500), "PT0.5S"),
        (timedelta(minutes=1, microseconds=10), "PT1M0.00001S"),
    ],
)
def test_durations_as_java_writes_them(duration: timedelta, text: str) -> None:
    assert iso_duration(duration) == text


def test_schemas_and_aggregation_fields(catalog: Catalog) -> None:
    catalog.alter_table("db.t", [SetOption("fields.v.aggregate-function", "max"), SetOption("fields.v.x", "1")])
    first, second = rows(catalog, "schemas")
    assert first["fields"] == (
        '[{"id":0,"name":"p","type":"STRING NOT NULL"},{"id":1,"name":"id","type":"INT NOT NULL"},'
        '{"id":2,"name":"v","type":"STRING"}]'
    )
    assert (first["partition_keys"], first["primary_keys"], first["comment"]) == ('["p"]', '["p","id"]', None)
    assert (first["options"], second["schema_id"]) == ('{"bucket":"2"}', 1)
    (of_v,) = rows(catalog, "aggregation_fields", where="field_name = 'v'")
    assert of_v["field_type"] == "STRING"
    pairs = zip(str(of_v["function"])[1:-1].split(", "), str(of_v["function_options"])[1:-1].split(", "), strict=True)
    assert set(pairs) == {("max", "fields.v.aggregate-function"), ("1", "fields.v.x")}


def test_conditions_on_ids_of_schemas_that_are_not_there(catalog: Catalog) -> None:
    """Paimon's reads fail where the range that a condition asks for lies outside."""
    catalog.alter_table("db.t", [SetOption("fields.v.x", "1")])
    for where in ("schema_id = 2", "schema_id > 1", "schema_id < 0 AND comment = 'x'", "schema_id IN (1, 9)"):
        with pytest.raises(NotFoundError, match=r"schema -?\d does not exist.* The ids are 0 to 1"):
            rows(catalog, "schemas", where=where)
    for where, count in (("schema_id >= 1", 1), ("schema_id <= 9", 2), ("schema_id = 5 OR comment = 'x'", 0)):
        assert len(rows(catalog, "schemas", where=where)) == count
    with pytest.raises(NotFoundError, match="schema 2 does not exist"):
        Session(catalog=catalog).sql("SELECT * FROM db.`t$schemas` WHERE schema_id = 2").to_arrow()


def test_manifests_and_key_ranges(catalog: Catalog) -> None:
    manifests = rows(catalog, "manifests")
    assert sum(int(str(r["num_added_files"])) - int(str(r["num_deleted_files"])) for r in manifests) == len(
        live(table_of(catalog))
    )
    travelled = rows(catalog, "manifests", options={"scan.snapshot-id": "1"})
    assert [(r["num_added_files"], r["min_partition_stats"], r["max_partition_stats"]) for r in travelled] == [
        (4, "{x}", "{y}")
    ]
    names = ["file_path", "min_key", "max_key"]
    assert rows(catalog, "file_key_ranges", columns=names) == rows(catalog, "files", columns=names)


def test_statistics_that_cannot_be_read(catalog: Catalog) -> None:
    table = table_of(catalog)
    snapshot = replace(table.snapshots.get(3), statistics="stat-1")
    table.file_io.overwrite(table.paths.snapshot(3), serialize_snapshot(snapshot))
    with pytest.raises(CorruptFileError, match="are missing"):
        rows(catalog, "statistics")
    path = table.paths.statistics_file("stat-1")
    table.file_io.overwrite(path, b'{"snapshotId": 3, "schemaId": 0, "colStats": {"v": {"colId": 2, "min": "a"}}}')
    assert rows(catalog, "statistics") == [
        {
            "snapshot_id": 3,
            "schema_id": 0,
            "mergedRecordCount": None,
            "mergedRecordSize": None,
            "colstat": '{\n  "v" : {\n    "colId" : 2,\n    "min" : "a"\n  }\n}',
        }
    ]
    for broken in (b'{"schemaId": 0}', b'{"snapshotId": 3, "schemaId": 0, "colStats": [1]}'):
        table.file_io.overwrite(path, broken)
        with pytest.raises(CorruptFileError):
            rows(catalog, "statistics")


def test_row_tracking_is_asked_of_tables_that_track(catalog: Catalog) -> None:
    with pytest.raises(OptionError, match=r"row-tracking\.enabled"):
        rows(catalog, "row_tracking")


def test_the_system_database_lists_tables_options_and_partitions(tmp_path: Path, catalog: Catalog) -> None:
    create_table(tmp_path, primary_keys=(), options={"owner": "me"}, name="db.a")
    assert catalog.list_tables("sys") == ["all_table_options", "partitions", "tables"]

    def read(name: str, **how: Any) -> list[tuple[object, ...]]:
        actual = catalog.get_table(f"sys.{name}").to_arrow(**how)
        return [tuple(row.values()) for row in actual.to_pylist()]

    assert [row[:6] for row in read("tables")] == [
        ("db", "a", "table", False, False, "me"),
        ("db", "t", "table", True, True, None),
    ]
    options = {(row[1], row[2]): row[3] for row in read("all_table_options", where="database_name = 'db'")}
    assert (options["t", "bucket"], options["a", "owner"]) == ("2", "me")
    assert options["t", "path"] == table_of(catalog).location
    assert sorted(read("partitions", columns=["table_name", "partition_name", "record_count"])) == [
        ("t", "p=x", 3),
        ("t", "p=y", 6),
    ]
    with pytest.raises(NotFoundError, match="There are: all_table_options"):
        catalog.get_table("sys.catalog_options")
    asked = open_catalog({"warehouse": str(tmp_path), "catalog-options-table.enabled": "true"})
    assert {"key": "warehouse", "value": str(tmp_path)} in asked.get_table("sys.catalog_options").to_arrow().to_pylist()


@given(st.sets(st.text(alphabet=st.characters(codec="utf-8"), max_size=12), max_size=30))
def test_the_order_of_javas_hash_map(texts: set[str]) -> None:
    """Against a table of chains that is filled and doubled as Java does it."""
    buckets: list[list[str]] = [[] for _ in range(16)]
    for number, text in enumerate(texts, 1):
        buckets[java_hash(text) & (len(buckets) - 1)].append(text)
        if number > len(buckets) * 3 // 4:
            listed = [text for bucket in buckets for text in bucket]
            buckets = [[] for _ in range(2 * len(buckets))]
            for text in listed:
                buckets[java_hash(text) & (len(buckets) - 1)].append(text)
    assert hash_order(texts) == [text for bucket in buckets for text in bucket]


def java_hash(text: str) -> int:
    value = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        value = (31 * value + unit) % 2**32
    return value ^ (value >> 16)


def test_files_without_statistics_show_none(tmp_path: Path) -> None:
    without_statistics(tmp_path)
    catalog = open_warehouse(tmp_path)
    (shown,) = rows(catalog, "files")
    assert (shown["null_value_counts"], shown["min_value_stats"], shown["max_value_stats"]) == ("{}", "{}", "{}")
    assert shown["record_count"] == 2
    (ranges,) = rows(catalog, "file_key_ranges")
    assert (ranges["min_key"], ranges["max_key"]) == ("[1]", "[2]")
    assert catalog.get_table("db.t").to_arrow(where="v = 'b'").num_rows == 1, "such a file is read, not left out"


@pytest.mark.parametrize("name", ["files", "snapshots", "audit_log"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(catalog: Catalog, name: str) -> None:
    view = catalog.get_table(f"db.t${name}")
    with pytest.raises(
        PredicateError, match=r"there is no column 'nope' \(db\.t\$.*The columns are .*\b(v|commit_user|level)\b"
    ):
        view.to_arrow(columns=["nope"])


def test_the_time_of_a_tag_is_cut_to_milliseconds(catalog: Catalog) -> None:
    create_tag(table_of(catalog), "late", snapshot_id=1, time_retained=timedelta(hours=1), now=MOMENT)
    (shown,) = rows(catalog, "tags", where="tag_name = 'late'")
    created = shown["create_time"]
    assert isinstance(created, datetime)
    assert created.microsecond == 123_000, "a rounded time would be a millisecond later"
