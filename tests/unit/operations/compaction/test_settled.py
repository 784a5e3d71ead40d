"""A plan of a table of many files is that of a look at each of them, and makes entries of few."""

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.compaction.append import pack_sizes
from maintenance.format.metadata import manifest
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations.compaction import settled
from maintenance.operations.compaction.plan import CompactionScope, plan_compaction
from maintenance.types.data_type import parse_type
from tests.examples import examples
from tests.tables import create_table
from tests.unit.commit.entries import add, delete

FIELDS = [("p", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "STRING")]
STRING = [parse_type("STRING")]


def publish(table: CatalogTable, manifests: Sequence[Sequence[ManifestEntry]]) -> None:
    types = [field.type for field in table.schema.partition_fields]
    writer = ManifestWriter(table.file_io, table.paths, types)
    base = writer.write_list([meta for entries in manifests for meta in writer.write(entries, 0)])
    delta = writer.write_list([])
    snapshot = Snapshot(
        id=1, schema_id=0, base_manifest_list=base[0], base_manifest_list_size=base[1], delta_manifest_list=delta[0],
        delta_manifest_list_size=delta[1], commit_user="me", commit_identifier=1, commit_kind=CommitKind.APPEND,
        time_millis=0, total_record_count=0, delta_record_count=0,
    )  # fmt: skip
    assert table.snapshots.publish(snapshot)


@st.composite
def manifests(draw: st.DrawFn, partitioned: bool) -> list[list[ManifestEntry]]:
    """Files of a few buckets, on levels above 0 with keys apart, some of them deleted by a later manifest."""
    made: list[list[ManifestEntry]] = []
    alive: list[ManifestEntry] = []
    for number in range(draw(st.integers(1, 5))):
        gone = draw(st.lists(st.sampled_from(alive), unique_by=id, max_size=2)) if alive else []
        alive = [entry for entry in alive if entry not in gone]
        entries = [delete(e.file.file_name, partition=e.partition, bucket=e.bucket, level=e.file.level) for e in gone]
        for place in range(draw(st.integers(0, 5))):
            key = number * 100 + place * 10
            entry = add(
                f"data-{number}-{place}",
                level=draw(st.sampled_from([0, 1, 5, 5, 5, 6])),
                keys=(key, key + 5),
                bucket=draw(st.integers(0, 1)),
                partition=serialize_row([draw(st.sampled_from("ab"))], STRING) if partitioned else EMPTY_ROW,
            )
            size = draw(st.sampled_from([1 << 10, 1 << 20, 1 << 30]))
            alive.append(replace(entry, file=replace(entry.file, file_size=size)))
            entries.append(alive[-1])
        made.append(entries)
    return made


@settings(max_examples=examples(40))
@given(st.data(), st.booleans(), st.sampled_from([{}, {"num-levels": "3"}, {"num-sorted-run.compaction-trigger": "2"}]))
def test_a_plan_of_keyed_buckets(data: st.DataObject, full: bool, options: dict[str, str]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_FEW_ENTRIES", data.draw(st.sampled_from([0, 12])))
        table = create_table(
            Path(folder), FIELDS, ("p", "id"), {"bucket": "2", "write-only": "true", **options}, partition_keys=["p"]
        )
        publish(table, data.draw(manifests(partitioned=True)))
        where = data.draw(st.sampled_from([None, "p = 'a'"]))
        scope = CompactionScope(full, predicate=table.predicate(where))
        expected = plan_compaction(table, scope, now_millis=0)
        patch.setattr(settled, "_MANY_FILES", 0)
        assert plan_compaction(table, scope, now_millis=0) == expected


@settings(max_examples=examples(40))
@given(st.data(), st.booleans())
def test_a_plan_of_small_files(data: st.DataObject, full: bool) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_FEW_ENTRIES", data.draw(st.sampled_from([0, 12])))
        table = create_table(Path(folder), [("id", "INT"), ("v", "STRING")], (), {"bucket": "-1"})
        every = data.draw(manifests(partitioned=False))
        publish(table, [[replace(entry, bucket=0, total_buckets=-1) for entry in entries] for entries in every])
        scope = CompactionScope(full)
        expected = plan_compaction(table, scope, now_millis=0)
        patch.setattr(settled, "_MANY_FILES", 0)
        assert plan_compaction(table, scope, now_millis=0) == expected


def test_of_compacted_buckets_no_entry_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path, FIELDS, ("p", "id"), {"bucket": "2", "write-only": "true"}, partition_keys=["p"])
    days = [serialize_row([f"day-{number}"], STRING) for number in range(50)]
    compacted = [
        add(f"data-{number}-{place}", level=5, keys=(place * 10, place * 10 + 9), partition=day)
        for number, day in enumerate(days)
        for place in range(20)
    ]
    publish(table, [compacted, [add("new", partition=days[7])]])
    monkeypatch.setattr(settled, "_MANY_FILES", 0)
    found = settled.unsettled(table, table.snapshots.get(1), CompactionScope().selection(table))
    assert found is not None
    assert {entry.partition for entry in found.entries} == {days[7]}
    assert len(found.entries) == 21
    plan = plan_compaction(table, CompactionScope(full=True), now_millis=0)
    assert [unit.partition for unit in plan.units] == [days[7]]
    assert sum(plan.idle.values()) == 49 * 20


def test_files_of_groups_are_made_when_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = manifest._entry_of_values

    def counted(*values: Any) -> ManifestEntry:
        made.append(1)
        return make(*values)

    monkeypatch.setattr(manifest, "_entry_of_values", counted)
    monkeypatch.setattr(manifest, "_FEW_ENTRIES", 0)
    monkeypatch.setattr(settled, "_MANY_FILES", 0)
    table = create_table(tmp_path, [("id", "INT")], (), {"bucket": "-1"})
    there = [add(f"data-{number}", bucket=0, total_buckets=-1) for number in range(300)]
    publish(table, [there[:100], there[100:]])
    plan = plan_compaction(table, CompactionScope(full=True), now_millis=0)
    assert (sum(len(unit.input_files) for unit in plan.units), made) == (300, [])
    (first, *_) = plan.units
    files = tuple(first.input_files)
    assert len(made) == len(files)
    assert first.input_files[0] == files[0]
    assert tuple(first.input_files[2:5]) == files[2:5]
    assert hash(first.input_files) == hash(files)
    assert first.input_files != files[1:]
    assert pickle.loads(pickle.dumps(first.input_files)) == files
    assert {file.file_name for unit in plan.units for file in unit.input_files} == {e.file.file_name for e in there}


@given(st.lists(st.integers(0, 40), max_size=60), st.integers(1, 12), st.integers(20, 60))
def test_groups_of_sizes_are_those_of_a_loop(sizes: list[int], least: int, target: int) -> None:
    sizes, target = sorted(size << 20 for size in sizes), target << 20
    expected: list[list[int]] = []
    current: list[int] = []
    for place in range(len(sizes)):
        current.append(place)
        if len(current) >= 2 and sum(sizes[each] + (4 << 20) for each in current) >= 2 * target:
            expected, current = [*expected, current], []
    if len(current) >= max(2, least):
        expected.append(current)
    spans = pack_sizes(np.array(sizes, np.int64), target_size=target, min_files=least)
    assert [list(range(start, stop)) for start, stop in spans] == expected
