"""What a write must know of a table of many files: of the partitions that its rows are of."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.table import write_state
from tests.tables import create_table, get_table, live

FIELDS = [("p", "INT"), ("id", "INT NOT NULL"), ("v", "STRING")]


def rows(part: int, *ids: int) -> pa.Table:
    values = [str(number) for number in ids]
    return pa.table({"p": pa.array([part] * len(ids), pa.int32()), "id": pa.array(ids, pa.int32()), "v": values})


def written(folder: Path) -> CatalogTable:
    """Three partitions, written to in turns, each with the same key twice."""
    options = {"bucket": "2", "write-only": "true"}
    table = create_table(folder, FIELDS, ("p", "id"), options, partition_keys=["p"])
    for turn in range(3):
        for part in range(3):
            table.write_arrow(rows(part, 1, 10 + turn))
    return table


@pytest.mark.parametrize("many", [0, 1 << 40])
def test_the_state_of_some_partitions_is_that_part_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    table = written(tmp_path)
    monkeypatch.setattr(write_state, "_MANY_FILES", many)
    snapshot = table.latest_snapshot()
    partitions = {entry.partition for entry in live(table)}
    whole = write_state.state_of(table, snapshot, "me")
    assert len(whole.sequences) == 6
    for partition in partitions:
        found = write_state.state_of(table, snapshot, "me", lambda partition=partition: {partition})  # type: ignore[misc]
        if many:
            assert found == whole
            continue
        sequences = {key: number for key, number in whole.sequences.items() if key[0] == partition}
        runs = {key: number for key, number in whole.runs.items() if key[0] == partition}
        numbers = {partition: whole.bucket_numbers[partition]}
        assert found == replace(whole, sequences=sequences, runs=runs, bucket_numbers=numbers)


def test_a_write_numbers_its_rows_behind_those_of_its_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written(tmp_path)
    monkeypatch.setattr(write_state, "_MANY_FILES", 0)
    last = {(entry.partition, entry.bucket): 0 for entry in live(table)}
    for entry in live(table):
        place = entry.partition, entry.bucket
        last[place] = max(last[place], entry.file.max_sequence_number)
    names = {entry.file.file_name for entry in live(table)}
    table.write_arrow(pa.concat_tables([rows(1, 1), rows(7, 1), rows(2, 1, 10)]))
    new = [entry for entry in live(table) if entry.file.file_name not in names]
    assert len({entry.partition for entry in new}) == 3
    for entry in new:
        assert entry.file.min_sequence_number == last.get((entry.partition, entry.bucket), -1) + 1
    assert table.to_arrow().num_rows == 3 * 4 + 1


def test_manifests_of_other_partitions_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = written(tmp_path)
    monkeypatch.setattr(write_state, "_MANY_FILES", 0)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    first = min(entry.partition for entry in live(table))
    for meta in table.manifests.data_manifests(snapshot):
        if meta.partition_stats.min_values != first:
            Path(table.paths.manifest(meta.file_name)).unlink()
    fresh = get_table(tmp_path)
    state = write_state.state_of(fresh, snapshot, "me", lambda: {first})
    assert {partition for partition, _ in state.sequences} == {first}
