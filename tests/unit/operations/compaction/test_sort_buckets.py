"""Keys of dynamic buckets are given new buckets in an order of their rows."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.compaction import sorted_buckets
from maintenance.errors import ConflictError, UnsupportedError
from maintenance.operations import compact
from maintenance.operations.compaction import sort_buckets as module
from tests.tables import create_table, data_files, files_on_disk, get_table, live

FIELDS = [("p", "INT NOT NULL"), ("k", "INT NOT NULL"), ("x", "INT"), ("y", "INT")]
OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "100"}


def rows(p: int, keys: list[int], seed: int = 0) -> pa.Table:
    dice = random.Random(seed)
    values = [dice.randrange(1000) for _ in keys]
    columns = [[p] * len(keys), keys, values, [value % 7 for value in values]]
    return pa.table([pa.array(column, pa.int32()) for column in columns], names=["p", "k", "x", "y"])


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path, FIELDS, ("p", "k"), OPTIONS, partition_keys=("p",))
    table.write_arrow(rows(1, list(range(500))))
    table.write_arrow(rows(1, list(range(250, 600)), seed=1))
    table.write_arrow(rows(2, list(range(50))))
    return get_table(tmp_path)


def found(table: CatalogTable) -> list[dict[str, int]]:
    return sorted(table.to_arrow().to_pylist(), key=lambda row: (row["p"], row["k"]))


def spans(table: CatalogTable, p: int = 1) -> list[tuple[int, int]]:
    """Smallest and largest x of each bucket of a partition."""
    plan, read = table.plan()
    of_bucket: dict[int, list[int]] = {}
    for split in plan.splits:
        for part in read.tables(split):
            values = [row["x"] for row in part.to_pylist() if row["p"] == p]
            of_bucket.setdefault(split.bucket, []).extend(values)  # type: ignore[union-attr]
    return [(min(values), max(values)) for _, values in sorted(of_bucket.items()) if values]


def test_buckets_follow_the_order(table: CatalogTable) -> None:
    before = found(table)
    report = compact(None, table, order_strategy="order", order_by=["x"])
    assert found(table) == before
    ends = spans(table)
    assert len(ends) == 6
    assert all(left[1] <= right[0] for left, right in zip(ends, ends[1:], strict=False))
    assert report.failed == ()
    assert sum(group.output_rows for group in report.groups) == len(before)
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("strategy", ["zorder", "hilbert"])
def test_keys_are_found_again(table: CatalogTable, strategy: str) -> None:
    compact(None, table, order_strategy=strategy, order_by=["x", "y"])
    table.write_arrow(rows(1, list(range(0, 700, 3)), seed=5))
    keys = [(row["p"], row["k"]) for row in found(table)]
    assert len(keys) == len(set(keys)) == 684
    compact(None, table, full=True)
    assert [(row["p"], row["k"]) for row in found(table)] == keys


def test_keys_of_one_hash_stay_together(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    few = lambda rows, _: (rows.column("k").to_numpy() % 40).astype(np.int32)  # noqa: E731
    monkeypatch.setattr(sorted_buckets, "key_hashes", few)
    compact(None, table, order_strategy="order", order_by=["x"])
    plan, read = table.plan()
    buckets: dict[int, set[int]] = {}
    for split in plan.splits:
        for part in read.tables(split):
            for row in part.filter(pa.compute.equal(part["p"], 1)).to_pylist():
                buckets.setdefault(row["k"] % 40, set()).add(split.bucket)  # type: ignore[union-attr]
    assert all(len(actual) == 1 for actual in buckets.values())


def test_files_of_partitions_that_are_not_chosen_stay(table: CatalogTable) -> None:
    kept = {entry.file.file_name for entry in live(table) if table.paths.spec_of(entry.partition)["p"] == "2"}
    compact(None, table, partitions=[{"p": "1"}], order_strategy="order", order_by=["x"])
    assert kept <= {entry.file.file_name for entry in live(table)}


def test_a_dry_run_changes_nothing(table: CatalogTable) -> None:
    report = compact(None, table, order_strategy="order", order_by=["x"], dry_run=True)
    assert {group.outcome for group in report.groups} == {"planned"}
    assert table.snapshots.latest_id() == 3


def test_another_writer_wins_and_the_sort_leaves_nothing(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    written = module._written

    def slowly(*given: object) -> object:
        messages = written(*given)  # type: ignore[arg-type]
        table.write_arrow(rows(1, [9999]))
        return messages

    monkeypatch.setattr(module, "_written", slowly)
    with pytest.raises(ConflictError, match="another writer changed a partition"):
        compact(None, table, order_strategy="order", order_by=["x"])
    assert files_on_disk(table) == data_files(table)
    assert len(found(table)) == 651


def test_tables_that_cannot_be_sorted(tmp_path: Path) -> None:
    fixed = create_table(tmp_path, FIELDS, ("p", "k"), {"bucket": "2"}, name="db.fixed")
    with pytest.raises(UnsupportedError, match="already has an order"):
        compact(None, fixed, order_strategy="order", order_by=["x"])
    moving = create_table(tmp_path, FIELDS, ("k",), OPTIONS, partition_keys=("p",), name="db.moving")
    with pytest.raises(UnsupportedError, match="already has an order"):
        compact(None, moving, order_strategy="order", order_by=["x"])
    vectors = create_table(tmp_path, FIELDS, ("k",), {**OPTIONS, "deletion-vectors.enabled": "true"}, name="db.v")
    vectors.write_arrow(rows(1, [1]))
    with pytest.raises(UnsupportedError, match="rows wait for a compaction"):
        compact(None, vectors, order_strategy="order", order_by=["x"])
    compact(None, vectors)
    compact(None, vectors, order_strategy="order", order_by=["x"])
    assert vectors.to_arrow().num_rows == 1, "what is written is on the highest level at once"
