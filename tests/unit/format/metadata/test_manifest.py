"""Manifests, manifest lists and index manifests: files of Paimon and pypaimon, round trips, damage."""

import datetime as dt
import io
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.avro.codec import AVRO_CODECS, codec_of
from maintenance.format.avro.container import (
    AvroColumns,
    container_block,
    container_header,
    read_records,
    schema_of_container,
    write_records,
)
from maintenance.format.data_format import FileSettings
from maintenance.format.metadata import manifest, manifest_records
from maintenance.format.metadata.data_file import DATA_FILE_FIELDS, DataFileMeta, FileSource, record_of_file
from maintenance.format.metadata.index_manifest import (
    DeletionVectorRange,
    GlobalIndexMeta,
    IndexManifestEntry,
    parse_index_manifest,
    serialize_index_manifest,
)
from maintenance.format.metadata.manifest import (
    EntryCounts,
    EntrySelection,
    FileKind,
    ManifestColumns,
    ManifestEntry,
    decode_manifest,
    encoded_entries,
    entry_of_record,
    select_columns,
    serialize_manifest,
)
from maintenance.format.metadata.manifest_format import in_format
from maintenance.format.metadata.manifest_list import ManifestFileMeta, parse_manifest_list, serialize_manifest_list
from maintenance.format.metadata.manifest_records import ManifestRecords
from maintenance.format.metadata.simple_stats import EMPTY_STATS, SimpleStats
from maintenance.format.rows.binary_row import EMPTY_ROW, parse_row
from maintenance.types.data_type import parse_type
from tests.examples import examples

DATA = Path(__file__).parent / "data"
STRING = parse_type("STRING")

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
STATS = st.builds(
    SimpleStats, st.binary(max_size=9), st.binary(max_size=9), st.none() | st.lists(st.none() | LONGS).map(tuple)
)
FILES = st.builds(
    DataFileMeta,
    *(TEXTS, LONGS, LONGS, st.binary(max_size=9), st.binary(max_size=9), STATS, STATS, LONGS, LONGS, LONGS, INTS),
    *(NAMES, st.none() | LONGS, st.none() | LONGS, st.none() | st.binary(max_size=9), st.none() | INTS),
    *(st.none() | NAMES, st.none() | TEXTS, st.none() | LONGS, st.none() | NAMES),
)
ENTRIES = st.builds(ManifestEntry, st.sampled_from(FileKind), st.binary(max_size=9), INTS, INTS, FILES)
METAS = st.builds(
    ManifestFileMeta,
    *(TEXTS, LONGS, LONGS, LONGS, STATS, LONGS),
    *([st.none() | INTS] * 4),
    *([st.none() | LONGS] * 2),
)
RANGES = st.builds(DeletionVectorRange, TEXTS, INTS, INTS, st.none() | LONGS)
GLOBAL_INDEXES = st.builds(
    GlobalIndexMeta,
    *(LONGS, LONGS, INTS, st.none() | st.lists(INTS).map(tuple)),
    *([st.none() | st.binary(max_size=9)] * 2),
)
INDEX_ENTRIES = st.builds(
    IndexManifestEntry,
    *(st.sampled_from(FileKind), st.binary(max_size=9), INTS, TEXTS, TEXTS, LONGS, LONGS),
    *(st.none() | st.lists(RANGES, max_size=3).map(tuple), st.none() | TEXTS, st.none() | GLOBAL_INDEXES),
)


def parse_manifest(data: bytes, where: str) -> list[ManifestEntry]:
    return decode_manifest(data, where).select()


def data_file(name: str = "data-0.parquet", **changes: Any) -> DataFileMeta:
    return replace(DataFileMeta(name, 10, 1, EMPTY_ROW, EMPTY_ROW, EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0), **changes)


def read(name: str) -> bytes:
    return (DATA / name).read_bytes()


def entry(name: str = "data-0.parquet", **changes: Any) -> ManifestEntry:
    return ManifestEntry(FileKind.ADD, EMPTY_ROW, 0, 1, data_file(name, **changes))


def schema_of(data: bytes) -> Any:
    """The schema in a container's header, with short names: the name space is written in more than one way."""

    def short(part: Any) -> Any:
        if isinstance(part, dict):
            named = {key: short(value) for key, value in part.items() if key != "namespace"}
            return named | {"name": part["name"].split(".")[-1]} if "name" in part else named
        return [short(item) for item in part] if isinstance(part, list) else part

    _, _, rest = data.partition(b"avro.schema")
    return short(json.JSONDecoder().raw_decode(rest[rest.index(b"{") :].decode("latin-1"))[0])


@pytest.fixture(autouse=True, scope="module", params=["one by one", "as columns", "in parts"])
def decoder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Manifests of a few entries are decoded otherwise than those of many, and those than large ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_FEW_ENTRIES", 1 << 30 if request.param == "one by one" else -1)
        if request.param == "in parts":
            patch.setattr(manifest, "_LARGE", 0)
            patch.setattr(manifest, "_PART_BYTES", 500)
        yield


def test_a_manifest_of_paimon_gives_its_entries() -> None:
    first, second = parse_manifest(read("manifest"), "manifest")
    assert (first.kind, first.bucket, first.total_buckets) == (FileKind.ADD, 0, -1)
    assert parse_row(first.partition, [STRING]) == ("d1",)
    assert first.file.file_name == "data-554fad17-eb94-4e58-80ad-d0bbae6cd50e-0.parquet"
    assert (first.file.row_count, first.file.file_size, first.file.creation_time) == (30, 1004, 1795270112798)
    assert (first.file.file_source, first.file.value_stats_cols) == (FileSource.APPEND, None)
    types = [parse_type(text) for text in ("INT", "STRING", "INT", "STRING")]
    assert parse_row(second.file.value_stats.max_values, types) == (59, "d1", 85, "d1")
    assert second.file.value_stats.null_counts == (0, 0, 0, 0)


def test_manifest_of_pypaimon_has_other_names_and_more_fields() -> None:
    first, second = parse_manifest(read("manifest-pypaimon"), "manifest")
    assert (first.total_buckets, first.bucket, second.bucket) == (2, 0, 1)
    assert parse_row(second.file.max_key, [parse_type("BIGINT")]) == (39,)
    assert (second.file.value_stats_cols, second.file.write_cols) == ((), None)
    assert [meta.num_added_files for meta in parse_manifest_list(read("manifest-list-pypaimon"), "list")] == [2, 2]


def test_manifest_list_of_paimon() -> None:
    (meta,) = parse_manifest_list(read("manifest-list"), "list")
    assert (meta.file_name, meta.file_size) == ("manifest-a3142a6c-6d11-422b-9896-e186bc44b78e-0", 2157)
    assert (meta.num_added_files, meta.num_deleted_files, meta.min_row_id) == (0, 2, None)
    assert parse_row(meta.partition_stats.min_values, [STRING]) == ("d3",)


def test_index_manifest_of_paimon() -> None:
    entries = parse_index_manifest(read("index-manifest"), "index")
    assert [parse_row(entry.partition, [STRING]) for entry in entries] == [("d1",), ("d2",), ("d3",)]
    assert entries[0].index_type == "DELETION_VECTORS"
    assert entries[0].dv_ranges is not None
    assert entries[0].dv_ranges[1] == DeletionVectorRange(
        "data-554fad17-eb94-4e58-80ad-d0bbae6cd50e-0.parquet", 35, 36, 8
    )


def test_schemas_are_those_of_paimon() -> None:
    assert schema_of(serialize_manifest([])) == schema_of(read("manifest"))
    assert schema_of(serialize_manifest_list([])) == schema_of(read("manifest-list"))
    assert schema_of(serialize_index_manifest([])) == schema_of(read("index-manifest"))


@pytest.mark.slow
@given(st.lists(ENTRIES, max_size=5), st.sampled_from(sorted(AVRO_CODECS)))
def test_any_entries_read_back_with_every_codec(entries: list[ManifestEntry], codec: str) -> None:
    assert parse_manifest(serialize_manifest(entries, codec), "memory") == entries


@given(st.lists(METAS, max_size=5))
def test_manifest_list_round_trip(metas: list[ManifestFileMeta]) -> None:
    assert parse_manifest_list(serialize_manifest_list(metas), "memory") == metas


@given(st.lists(INDEX_ENTRIES, max_size=5))
def test_index_manifest_round_trip(entries: list[IndexManifestEntry]) -> None:
    assert parse_index_manifest(serialize_index_manifest(entries), "memory") == entries


def test_files_of_several_blocks() -> None:
    entries = [entry(f"data-{number:0200d}.parquet") for number in range(1000)]
    data = serialize_manifest(entries)
    assert parse_manifest(data, "memory") == entries
    last = list(fastavro.reader(io.BytesIO(serialize_manifest(entries, "null"))))[999]
    assert isinstance(last, dict)
    assert last["_FILE"]["_ROW_COUNT"] == 1


def test_equal_entries_make_equal_files() -> None:
    assert serialize_manifest([entry()]) == serialize_manifest([entry()])


def test_identity_is_what_cancels() -> None:
    same = [
        entry(),
        replace(entry(), kind=FileKind.DELETE, total_buckets=7),
        entry(schema_id=9, value_stats=SimpleStats(b"a", b"b", None)),
    ]
    other = [
        entry(level=1),
        entry("other"),
        entry(extra_files=("a.index",)),
        entry(embedded_index=b"x"),
        entry(external_path="s3://b/data-0.parquet"),
        replace(entry(), bucket=1),
        replace(entry(), partition=b"p"),
    ]
    assert len({part.identity for part in same}) == 1
    assert len({part.identity for part in [entry(), *other]}) == len(other) + 1


def test_manifests_without_the_newer_fields_read_as_none() -> None:
    """Paimon 0.4 wrote eleven fields of a file; everything since then is optional."""
    schema = schema_of(read("manifest"))
    schema["fields"][-1]["type"]["fields"] = schema["fields"][-1]["type"]["fields"][:11]
    record = {"_VERSION": 2, "_KIND": 1, "_PARTITION": EMPTY_ROW, "_BUCKET": 0, "_TOTAL_BUCKETS": 1}
    record["_FILE"] = record_of_file(data_file())
    (actual,) = parse_manifest(write_records(fastavro.parse_schema(schema), [record], "null", 1), "memory")
    assert actual == ManifestEntry(FileKind.DELETE, EMPTY_ROW, 0, 1, data_file())


def test_other_versions_and_kinds_are_refused() -> None:
    schema = fastavro.parse_schema(schema_of(read("manifest")))
    record = {"_VERSION": 2, "_KIND": 0, "_PARTITION": EMPTY_ROW, "_BUCKET": 0, "_TOTAL_BUCKETS": 1}
    record["_FILE"] = record_of_file(data_file())
    with pytest.raises(UnsupportedError, match=r"version 1 .*manifest-1"):
        parse_manifest(write_records(schema, [record | {"_VERSION": 1}], "null", 1), "manifest-1")
    with pytest.raises(UnsupportedError, match=r"kind 2 .*manifest-1"):
        parse_manifest(write_records(schema, [record | {"_KIND": 2}], "null", 1), "manifest-1")


@given(st.data())
def test_damage_is_an_error_that_names_the_file(data: st.DataObject) -> None:
    whole = read("manifest")
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    header_end = whole.index(b"zstandard") + 10 + 16
    if len(cut) == header_end:  # a container may end behind any block, and has none then
        assert parse_manifest(cut, "manifest-1") == []
        return
    with pytest.raises(CorruptFileError, match="manifest-1"):
        parse_manifest(cut, "manifest-1")


def test_missing_fields_and_other_formats_are_named() -> None:
    with pytest.raises(CorruptFileError, match="_KIND"):
        parse_manifest(read("manifest-list"), "manifest-1")
    for beginning in (b"ORC...", b"PAR1...", b"CSV..."):
        with pytest.raises(CorruptFileError, match="manifest-1"):
            parse_manifest(beginning, "manifest-1")
    with pytest.raises(UnsupportedError, match="codec 'lzo'"):
        parse_manifest(read("manifest").replace(b"\x12zstandard", b"\x06lzo"), "manifest-1")


@pytest.mark.parametrize("file_format", ["orc", "parquet"])
@pytest.mark.parametrize(
    ("name", "parse"),
    [("manifest", parse_manifest), ("manifest-list", parse_manifest_list), ("index-manifest", parse_index_manifest)],
)
def test_manifests_in_other_formats(name: str, parse: Callable[[bytes, str], list[object]], file_format: str) -> None:
    """The records of Paimon's own files, in another format."""
    records: list[Any] = read_records(read(name), "memory", dict)
    for file in (record["_FILE"] for record in records if "_FILE" in record):
        file["_CREATION_TIME"] = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=file["_CREATION_TIME"])
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(records)
    if file_format == "orc":
        orc.write_table(_without_null_types(table), sink)
    else:
        pq.write_table(table, sink)
    assert parse(sink.getvalue().to_pybytes(), "memory") == parse(read(name), "memory")


def _without_null_types(table: pa.Table) -> pa.Table:
    """Nulls that have no type as texts, for ORC has none of no type."""

    def typed(arrow: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(arrow):
            return pa.struct([(part.name, typed(part.type)) for part in arrow])
        if pa.types.is_list(arrow):
            return pa.list_(typed(arrow.value_type))
        return pa.string() if pa.types.is_null(arrow) else arrow

    return table.cast(pa.schema([(part.name, typed(part.type)) for part in table.schema]))


def test_codecs_have_the_names_of_avro_or_are_refused() -> None:
    assert [codec_of(name) for name in ("zstd", "ZSTD", "none", "snappy")] == [
        "zstandard",
        "zstandard",
        "null",
        "snappy",
    ]
    with pytest.raises(UnsupportedError, match="'lzo'"):
        codec_of("lzo")


def in_blocks(entries: list[ManifestEntry], count: int) -> bytes:
    """A manifest with so many entries in each block."""
    parts = [entries[start : start + count] for start in range(0, len(entries), count)]
    blocks = [container_block(len(part), b"".join(encoded_entries(part))) for part in parts]
    return b"".join([container_header(schema_of_container(serialize_manifest([])), "null"), *blocks])


@pytest.mark.parametrize("seen", [EntryCounts(8, 2), EntryCounts(9, 1)])
def test_counts_of_a_list_are_compared_with_all_blocks(seen: EntryCounts) -> None:
    kinds = [FileKind.DELETE if number in (4, 9) else FileKind.ADD for number in range(10)]
    entries = [replace(entry(f"data-{number}"), kind=kind, bucket=number) for number, kind in enumerate(kinds)]
    selection = EntrySelection(buckets=lambda _: {0, 9})
    with pytest.raises(CorruptFileError, match="8 added") if seen.added == 9 else nullcontext():
        found = select_columns(in_blocks(entries, 3), "memory", selection, seen)
        assert found.select() == [entries[0], entries[9]]


@pytest.mark.slow
@given(st.lists(ENTRIES, min_size=1, max_size=40), st.data())
def test_a_selection_picks_what_a_look_at_each_entry_does(entries: list[ManifestEntry], data: st.DataObject) -> None:
    partitions = data.draw(st.none() | st.sets(st.sampled_from([e.partition for e in entries])))
    buckets = data.draw(st.none() | st.sets(st.sampled_from([e.bucket for e in entries])))
    levels = data.draw(st.none() | st.sets(st.sampled_from([e.file.level for e in entries])))
    totals = {entry.total_buckets for entry in entries[: len(entries) // 2]}
    selection = EntrySelection(
        None if partitions is None else partitions.__contains__,
        None if buckets is None else lambda total: buckets if total in totals else None,
        None if levels is None else levels.__contains__,
        data.draw(st.sampled_from([None, lambda entry: entry.file.row_count % 2 == 0])),
    )
    stored = in_blocks(entries, 3)
    wanted = [entry for entry in entries if selection.keeps(entry)]
    assert select_columns(stored, "memory", selection).select() == wanted
    assert decode_manifest(stored, "memory").select(selection) == wanted
    assert [e for e in read_records(stored, "memory", entry_of_record) if selection.keeps(e)] == wanted


@pytest.mark.slow
@given(st.lists(st.lists(ENTRIES, max_size=20), max_size=4), st.sampled_from([0, 1 << 30]), st.data())
def test_columns_are_written_as_entries_are(
    manifests: list[list[ManifestEntry]], few: int, data: st.DataObject
) -> None:
    """The same bytes, of manifests that were read and of entries, whole and in part."""
    entries = list(chain.from_iterable(manifests))
    read_again = [decode_manifest(serialize_manifest(each), "memory") for each in manifests]
    start, count = data.draw(st.integers(0, len(entries))), data.draw(st.integers(0, 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_records, "_FEW_ENTRIES", few)
        patch.setattr(manifest_records, "_AT_ONCE", 7)
        made = ManifestRecords.of(ManifestColumns.of(entries))
        joined = ManifestRecords.joined([ManifestRecords(), *map(ManifestRecords.of, read_again)])
    for records in (made, joined):
        assert records.serialize("null") == serialize_manifest(entries, "null")
        assert records.serialize("deflate", 3) == serialize_manifest(entries, "deflate", 3)
        part = records.slice(start, count)
        assert part.serialize("null") == serialize_manifest(entries[start : start + count], "null")
        assert part.described.column("_BUCKET").to_pylist() == [e.bucket for e in entries[start : start + count]]


def test_columns_are_written_in_blocks_as_entries_are() -> None:
    entries = [entry(f"data-{number}", row_count=number) for number in range(1000)]
    data = ManifestRecords.of(ManifestColumns.of(entries)).serialize()
    assert data == serialize_manifest(entries)
    columns = AvroColumns.open(data)
    assert columns is not None
    assert len(columns.counts) > 3


def test_old_manifests_that_say_nothing_of_extra_files_are_written_with_none() -> None:
    names = {"_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"}
    fields = [each for each in DATA_FILE_FIELDS if each["name"] != "_EXTRA_FILES"]
    schema = json.loads(schema_of_container(serialize_manifest([])))
    schema["fields"][-1]["type"]["fields"] = fields
    parsed = fastavro.parse_schema(schema)
    source = read_records(serialize_manifest([entry("a"), entry("b")]), "memory", dict)
    assert set(source[0]) == names
    data = write_records(parsed, source, "null", 1)
    records = ManifestRecords.of(decode_manifest(data, "memory"))
    assert records.serialize() == serialize_manifest([entry("a"), entry("b")])


@settings(max_examples=examples(30))
@given(st.lists(ENTRIES, max_size=4), st.sampled_from(["orc", "parquet"]))
def test_manifests_written_in_other_formats(entries: list[ManifestEntry], file_format: str) -> None:
    # Times of this century, and sources that exist: the others have no place in these formats.
    usual = [replace(entry, file=_usual(entry.file)) for entry in entries]
    data = in_format(serialize_manifest(usual, "null"), FileSettings(file_format))
    assert parse_manifest(data, "memory") == usual


def _usual(file: DataFileMeta) -> DataFileMeta:
    time, source = file.creation_time, file.file_source
    return replace(
        file,
        creation_time=None if time is None else time % 4_000_000_000_000,
        file_source=None if source is None else source % 2,
    )


@settings(max_examples=examples(30))
@given(st.lists(METAS, max_size=4), st.lists(INDEX_ENTRIES, max_size=4), st.sampled_from(["orc", "parquet"]))
def test_lists_and_index_manifests_written_in_other_formats(
    metas: list[ManifestFileMeta], entries: list[IndexManifestEntry], file_format: str
) -> None:
    plain = FileSettings(file_format, "none")
    assert parse_manifest_list(in_format(serialize_manifest_list(metas, "null"), plain), "memory") == metas
    assert parse_index_manifest(in_format(serialize_index_manifest(entries, "null"), plain), "memory") == entries


def test_files_without_records_are_told_apart() -> None:
    """Read as another kind an empty list would be a state without files, or without deletion vectors."""
    empty_list, empty_manifest = serialize_manifest_list([]), serialize_manifest([])
    assert parse_manifest_list(empty_list, "here") == []
    assert parse_manifest(empty_manifest, "here") == []
    for parse, other in (
        (parse_manifest, empty_list),
        (parse_manifest_list, empty_manifest),
        (parse_index_manifest, empty_list),
    ):
        with pytest.raises(CorruptFileError, match="is missing"):
            parse(other, "here")
