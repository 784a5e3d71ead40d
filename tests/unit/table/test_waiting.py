"""Reads with `postpone.merge-on-read` show what a compaction would make of rows that wait for a bucket."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import UnsupportedError
from maintenance.operations import compact
from maintenance.read import split_read
from maintenance.read.waiting import sorted_runs
from maintenance.table.table import Table
from tests.tables import create_table, get_table, open_warehouse

FIELDS = [("p", "INT NOT NULL"), ("k", "INT NOT NULL"), ("v", "INT"), ("s", "STRING")]
MERGES = {"postpone.merge-on-read": "true"}
WAITS = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}


def rows(*values: tuple[int, int, int | None, str | None]) -> pa.Table:
    schema = pa.schema([("p", pa.int32()), ("k", pa.int32()), ("v", pa.int32()), ("s", pa.string())])
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema=schema)


def table_of(tmp_path: Path, **options: str) -> CatalogTable:
    stored = {**WAITS, **{key.replace("_", "."): value for key, value in options.items()}}
    table = create_table(tmp_path, FIELDS, ("p", "k"), stored, partition_keys=("p",))
    assert isinstance(table, CatalogTable)
    return table


def found(table: Table, where: str | None = None, **options: str) -> list[tuple[Any, ...]]:
    merged = table.to_arrow(where=where, options={**MERGES, **options})
    return sorted(tuple(row.values()) for row in merged.to_pylist())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"merge-engine": "partial-update"},
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        {"merge-engine": "first-row"},
        {"sequence.field": "v"},
        {"deletion-vectors.enabled": "true"},
        {"changelog-producer": "lookup"},
    ],
)
def test_as_after_a_compaction(tmp_path: Path, options: dict[str, str]) -> None:
    table = table_of(tmp_path, **options)
    dice = random.Random(7)
    for commit in range(4):
        batch = [(dice.randrange(3), dice.randrange(20), dice.randrange(9), f"{commit}.{n}") for n in range(30)]
        table.write_arrow(rows(*batch))
        if commit == 1:
            compact(None, table)
    table.write_arrow(rows((9, 1, 1, "new partition")))
    merged = found(table)
    plain = table.to_arrow().num_rows
    compact(None, table)
    assert merged == sorted(tuple(row.values()) for row in get_table(tmp_path).to_arrow().to_pylist())
    assert plain < len(merged) or options.get("merge-engine") != "deduplicate"
    assert found(table) == merged, "nothing waits any more"


def test_waiting_deletions_take_effect_only_in_merged_reads(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.write_arrow(rows((1, 1, 1, "a"), (1, 2, 2, "b")))
    compact(None, table)
    table.write_arrow(rows((1, 1, 1, "a"), (1, 3, 3, "c")), row_kinds=["-D", "+I"])
    assert found(table) == [(1, 2, 2, "b"), (1, 3, 3, "c")]
    assert [row[1] for row in sorted(tuple(r.values()) for r in table.to_arrow().to_pylist())] == [1, 2]


def test_filters_see_the_merged_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.write_arrow(rows((1, 1, 1, "old"), (2, 1, 1, "other")))
    compact(None, table)
    table.write_arrow(rows((1, 1, 50, "new"), (1, 2, 60, "more")))
    assert found(table, "v = 1") == [(2, 1, 1, "other")]
    assert found(table, "s = 'old'") == []
    assert found(table, "p = 1 AND k = 1") == [(1, 1, 50, "new")]
    assert found(table, "v > 55") == [(1, 2, 60, "more")]
    assert sorted(table.to_arrow(["s"], options=MERGES)["s"].to_pylist()) == ["more", "new", "other"]


def test_waiting_rows_are_merged_in_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path)
    keys = list(range(3000))
    random.Random(1).shuffle(keys)
    table.write_arrow(rows(*((1, key, 0, "old") for key in keys[:2000])))
    compact(None, table)
    for part in range(3):
        table.write_arrow(rows(*((1, key, part, f"new {part}") for key in keys[part * 500 : part * 500 + 2000])))
    monkeypatch.setattr("maintenance.table.table.WHOLE_TABLE_MEMORY", 1 << 14)
    monkeypatch.setattr("maintenance.read.waiting._STEP_ROWS", 256)
    spilled: list[Any] = []

    def counted(*given: Any) -> Any:
        spilled.append(sorted_runs(*given))
        return spilled[-1]

    monkeypatch.setattr(split_read, "sorted_runs", counted)
    merged = found(table)
    assert len(spilled[0]) > 3
    newest = {key: part for part in range(3) for key in keys[part * 500 : part * 500 + 2000]}
    assert merged == sorted((1, key, part, f"new {part}") for key, part in newest.items())


def test_of_an_earlier_state_and_of_changes(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.write_arrow(rows((1, 1, 1, "a")))
    table.write_arrow(rows((1, 1, 2, "b")))
    assert found(table, None, **{"scan.snapshot-id": "1"}) == [(1, 1, 1, "a")]
    with pytest.raises(UnsupportedError, match="not of a whole state"):
        found(table, None, **{"incremental-between": "1,2"})


def test_partitions_that_only_have_waiting_rows_are_not_listed(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.write_arrow(rows((1, 1, 1, "a")))
    assert open_warehouse(tmp_path).list_partitions("db.t") == []
    compact(None, table)
    table.write_arrow(rows((1, 2, 2, "b"), (2, 2, 2, "b")))
    listed = open_warehouse(tmp_path).list_partitions("db.t")
    assert [(partition.spec, partition.record_count) for partition in listed] == [({"p": "1"}, 1)]
