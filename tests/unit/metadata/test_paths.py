"""Where each file of a table is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from maintenance.errors import CorruptFileError, OptionError
from maintenance.format.metadata.index_manifest import HASH_INDEX
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.branch_root import branch_root
from maintenance.metadata.paths import TablePaths, matches_spec, partition_text_of
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type
from tests.unit.metadata.states import file, vectors_of

DAY = DataField(0, "day", parse_type("DATE"))
MAIN = TablePaths("/w/t")
BY_DAY = TablePaths("/w/t", partition_fields=(DAY,))


def row(day: int | None) -> bytes:
    return serialize_row([day], [DAY.type])


def test_the_json_folders_are_of_the_branch_and_the_rest_is_shared() -> None:
    for paths, root in ((MAIN, "/w/t"), (replace(MAIN, branch="b"), "/w/t/branch/branch-b")):
        assert paths.schema(1) == f"{paths.schema_folder()}/schema-1" == f"{root}/schema/schema-1"
        assert paths.snapshot(1) == f"{paths.snapshot_folder()}/snapshot-1" == f"{root}/snapshot/snapshot-1"
        assert paths.retired_snapshot(1) == f"{root}/snapshot/retired-1"
        assert paths.changelog(1) == f"{paths.changelog_folder()}/changelog-1" == f"{root}/changelog/changelog-1"
        assert paths.tag("x") == f"{root}/tag/tag-x"
        assert paths.consumer("x") == f"{root}/consumer/consumer-x"
        assert paths.commit_record_folder() == f"{root}/commit-records"
        assert paths.manifest("m") == "/w/t/manifest/m"
        assert paths.statistics_file("s") == "/w/t/statistics/s"
        assert paths.bucket_folder(EMPTY_ROW, 0) == "/w/t/bucket-0"


def test_names_that_lead_elsewhere() -> None:
    given: list[Callable[[str], object]] = [MAIN.tag, MAIN.consumer, lambda name: branch_root("/w/t", name)]
    for named in given:
        with pytest.raises(OptionError):
            named("../x")
    stored: list[Callable[[str], object]] = [MAIN.manifest, MAIN.statistics_file]
    stored.append(lambda name: MAIN.data_file(EMPTY_ROW, 0, file(name).file))
    for path_of in stored:
        with pytest.raises(CorruptFileError):
            path_of("../x")


def test_what_the_options_say() -> None:
    schema = TableSchema(0, (DAY,), 0, ("day",))
    options = {
        "partition.default-name": "none",
        "partition.legacy-name": "false",
        "data-file.path-directory": "data",
        "index-file-in-data-file-dir": "true",
    }
    paths = TablePaths.of("/w/t/", schema, TableModel(options))
    assert (paths.root, paths.branch, paths.partition_fields) == ("/w/t", "main", (DAY,))
    assert paths.bucket_folder(row(None), 3) == "/w/t/data/day=none/bucket-3"
    assert paths.bucket_folder(row(0), 3) == "/w/t/data/day=1970-01-01/bucket-3"
    assert paths.index_with_data
    plain = TablePaths.of("/w/t", schema, TableModel(), "b")
    assert (plain.branch, plain.index_with_data, plain.data_directory) == ("b", False, None)
    assert plain.partition_folder(row(None)) == "/w/t/day=__DEFAULT_PARTITION__"


def test_folders_of_partitions_and_buckets() -> None:
    assert BY_DAY.spec_of(row(0)) == {"day": "0"}, "by its legacy name, unless an option says otherwise"
    assert BY_DAY.spec_of(row(None)) == {"day": "__DEFAULT_PARTITION__"}
    assert MAIN.spec_of(EMPTY_ROW) == {}
    assert MAIN.partition_folder(EMPTY_ROW) == MAIN.data_root == "/w/t"
    assert replace(BY_DAY, data_directory="d").partition_folder(row(1)) == "/w/t/d/day=1"
    assert [MAIN.bucket_folder(EMPTY_ROW, bucket) for bucket in (-2, -1, 1)] == [
        "/w/t/bucket-postpone",
        "/w/t/bucket--1",
        "/w/t/bucket-1",
    ]


def test_instants_are_in_the_zone_of_the_paths() -> None:
    field = DataField(0, "at", parse_type("TIMESTAMP(0) WITH LOCAL TIME ZONE"))
    paths = TablePaths("/w/t", partition_fields=(field,), legacy_partition_name=False)
    at = serialize_row([0], [field.type])
    assert paths.spec_of(at) == {"at": "1970-01-01 00:00:00"}
    assert replace(paths, zone="Asia/Tokyo").spec_of(at) == {"at": "1970-01-01 09:00:00"}


def test_index_files_are_in_their_folder_beside_data_or_outside() -> None:
    vectors = vectors_of()
    assert MAIN.index_file(vectors) == "/w/t/index/index-0"
    beside = replace(MAIN, index_with_data=True)
    assert beside.index_file(vectors) == "/w/t/bucket-0/index-0"
    assert beside.index_file(replace(vectors, index_type=HASH_INDEX, bucket=1)) == "/w/t/bucket-1/index-0"
    assert beside.index_file(replace(vectors, index_type="bitmap")) == "/w/t/index/index-0"
    assert replace(beside, has_keys=True).index_file(replace(vectors, index_type="bitmap")) == "/w/t/bucket-0/index-0"
    assert replace(MAIN, has_keys=True).index_file(replace(vectors, index_type="bitmap")) == "/w/t/index/index-0"
    assert MAIN.index_file(replace(vectors, index_type=HASH_INDEX)) == "/w/t/index/index-0"
    assert beside.index_file(replace(vectors, external_path="s3://b/i")) == "s3://b/i"


def test_data_files_and_those_beside_them() -> None:
    plain = file("a.orc", extra_files=("a.index", "a.blob")).file
    assert MAIN.all_files_of(EMPTY_ROW, 0, plain) == [
        f"/w/t/bucket-0/{name}" for name in ("a.orc", "a.index", "a.blob")
    ]
    elsewhere = replace(plain, external_path="s3://b/c/a.orc")
    assert MAIN.all_files_of(EMPTY_ROW, 0, elsewhere) == [f"s3://b/c/{name}" for name in ("a.orc", "a.index", "a.blob")]


def test_a_spec_has_a_text_and_matches_by_its_columns() -> None:
    spec = {"month": "1", "day": "2"}
    assert partition_text_of(spec) == "month=1/day=2"
    assert partition_text_of({}) == "whole table"
    assert matches_spec(spec, [{"day": "1"}, {"day": "2"}])
    assert matches_spec(spec, [spec])
    assert matches_spec(spec, [{}])
    assert not matches_spec(spec, [{"month": "1", "day": "1"}])
    assert not matches_spec(spec, [{"year": "1"}])
    assert not matches_spec(spec, [])
