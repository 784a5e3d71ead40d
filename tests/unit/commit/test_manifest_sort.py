"""Sorted manifests: the same files are live, few manifests hold a partition, and a commit sorts no more than it may."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.commit import manifest_sort
from maintenance.commit.manifest_merge import ManifestMergeOptions, is_merged, merge_manifests
from maintenance.commit.manifest_order import ManifestSorting
from maintenance.errors import OptionError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.operations import compact_manifest
from maintenance.types.data_type import DataType, parse_type
from tests.examples import examples
from tests.tables import create_table
from tests.unit.commit.entries import add, delete
from tests.unit.commit.test_manifest_merge import Change, Merger, model

INT = parse_type("INT")
NEVER = 1 << 40


def day(number: int | None) -> bytes:
    return serialize_row([number], [INT])


def merger(folder: str, sorting: ManifestSorting, target: int = 1, full: int = NEVER, least: int = 30) -> Merger:
    return Merger(folder, ManifestMergeOptions(target, least, full, sorting), [INT])


@st.composite
def histories(draw: st.DrawFn) -> list[Change]:
    """Commits to days, with days that are null, that delete some files of earlier ones."""
    alive: list[ManifestEntry] = []
    history, count = [], 0
    for _ in range(draw(st.integers(1, 12))):
        gone = draw(st.lists(st.sampled_from(alive), unique_by=id)) if alive else []
        days = draw(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=3))
        added = [add(f"file-{count + i}", partition=day(number)) for i, number in enumerate(days)]
        count += len(added)
        alive = [entry for entry in alive if entry not in gone] + added
        history.append([*(replace(entry, kind=FileKind.DELETE) for entry in gone), *added])
    return history


@settings(max_examples=examples(30))
@given(
    histories(),
    st.sampled_from([1, 3500, 1 << 20]),
    st.sampled_from([0, 6000, 1 << 30]),
    st.sampled_from([1, 5000, 1 << 30]),
    st.sampled_from([2, 5, 1000]),
)
def test_sorting_leaves_the_live_files_as_they_are(
    history: list[Change], target: int, full: int, most: int, in_memory: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(manifest_sort, "IN_MEMORY", in_memory)
        table = merger(folder, ManifestSorting(max_rewrite_size=most), target, full, least=3)
        for number, change in enumerate(history, 1):
            table.commit(change)
            assert table.live == model(history[:number])


def spans(manifests: Sequence[ManifestFileMeta], types: Sequence[DataType] = (INT,)) -> list[tuple[object, object]]:
    stats = [manifest.partition_stats for manifest in manifests]
    return [(parse_row(s.min_values, types)[0], parse_row(s.max_values, types)[0]) for s in stats]


def overlapping(manifests: Sequence[ManifestFileMeta]) -> int:
    """The most manifests that one day may be in."""
    return max(sum(low <= number <= high for low, high in spans(manifests)) for number in range(100))  # type: ignore[operator]


def test_a_day_is_in_few_manifests(tmp_path: Path) -> None:
    sizes = {}
    for name, sorting in (("sorted", ManifestSorting()), ("as they come", None)):
        table = Merger(str(tmp_path / name), ManifestMergeOptions(6000, 30, NEVER, sorting), [INT])
        for commit in range(30):
            table.commit([add(f"file-{commit}-{number}", partition=day(number)) for number in range(100)])
        sizes[name] = overlapping(table.list)
        assert len(table.live) == 3000
    assert sizes["sorted"] * 2 < sizes["as they come"]


def test_a_full_merge_sorts_in_steps_as_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = []
    for in_memory in (7, 1000):
        monkeypatch.setattr(manifest_sort, "IN_MEMORY", in_memory)
        table = merger(str(tmp_path / str(in_memory)), ManifestSorting(), target=1 << 20, full=1)
        entries = [add(f"file-{number:03}", partition=day(number * 7 % 13)) for number in range(60)]
        table.commit(entries[:30])
        table.commit([*entries[30:], delete("file-004", partition=day(4 * 7 % 13))])
        table.commit([])
        order = [(entry.partition, entry.file.file_name) for meta in table.list for entry in table.read(meta).select()]
        assert len(order) == 59
        assert order == sorted(order, key=lambda pair: (parse_row(pair[0], [INT]), pair[1]))
        collected.append(order)
    assert collected[0] == collected[1]


def test_a_commit_sorts_no_more_than_it_may(tmp_path: Path) -> None:
    rewritten = {}
    for most in (1, 1 << 30):
        table = merger(str(tmp_path / str(most)), ManifestSorting(max_rewrite_size=most))
        table.writer.target_size = 1 << 20
        for commit in range(6):
            table.list += table.writer.write([add(f"{commit}-{n}", partition=day(n)) for n in (0, 99)], 0)
        before = {meta.file_name for meta in table.list}
        after = merge_manifests(table.list, table.options, table.read, table.writer, 0)
        rewritten[most] = len(before - {meta.file_name for meta in after})
    assert rewritten == {1: 2, 1 << 30: 6}


def test_a_large_manifest_in_order_is_left_alone(tmp_path: Path) -> None:
    table = merger(str(tmp_path), ManifestSorting())
    for number in range(9):
        table.commit([add(f"file-{number}", partition=day(number))])
    names = [meta.file_name for meta in table.list]
    assert is_merged(table.list, table.options, [INT])
    table.commit([])
    assert [meta.file_name for meta in table.list] == names


def test_row_ids_order_a_table_with_data_evolution(tmp_path: Path) -> None:
    def rows(first: int | None, name: str) -> ManifestEntry:
        entry = add(name)
        return replace(entry, file=replace(entry.file, first_row_id=first))

    table = Merger(str(tmp_path), ManifestMergeOptions(1 << 20, 30, 1, ManifestSorting(by_row_ids=True)))
    table.commit([rows(30, "d"), rows(10, "b")])
    table.commit([rows(20, "c"), rows(0, "a")])
    table.commit([])
    assert [entry.file.file_name for meta in table.list for entry in table.read(meta).select()] == ["a", "b", "c", "d"]
    table.commit([rows(None, "e")])
    table.commit([])
    assert table.live == {"a", "b", "c", "d", "e"}, "merged without sorting"


def test_a_table_sorts_its_manifests(tmp_path: Path) -> None:
    options = {
        "manifest-sort.enabled": "true",
        "manifest-sort.partition-field": "hour",
        "manifest.target-file-size": "4 kb",
        "bucket": "1",
    }
    fields = [(name, "INT NOT NULL") for name in ("id", "day", "hour")]
    table = create_table(
        tmp_path, fields=fields, primary_keys=["id", "day", "hour"], partition_keys=["day", "hour"], options=options
    )
    schema = pa.schema([(name, pa.int32()) for name, _ in fields])
    for number in range(8):
        table.write_arrow(pa.table({"id": [number] * 4, "day": [number] * 4, "hour": range(4)}, schema))
    compact_manifest(table)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    entries = [e for m in table.manifests.data_manifests(snapshot) for e in table.manifests.read_manifest(m)]
    hours = [parse_row(entry.partition, [INT, INT])[1] for entry in entries]
    assert hours == sorted(hours)
    assert compact_manifest(table).snapshot_id is None
    wanted = table.to_arrow(where="hour = 2")
    assert sorted(wanted["day"].to_pylist()) == list(range(8))


@pytest.mark.parametrize(
    ("partition_keys", "options", "found"),
    [
        ([], {}, "without partition columns"),
        (["v"], {"manifest-sort.partition-field": "id"}, "names 'id'"),
    ],
)
def test_options_that_name_no_partition(
    tmp_path: Path, partition_keys: list[str], options: dict[str, str], found: str
) -> None:
    with pytest.raises(OptionError, match=found):
        create_table(
            tmp_path,
            primary_keys=(),
            partition_keys=partition_keys,
            options={"manifest-sort.enabled": "true", **options},
        )
