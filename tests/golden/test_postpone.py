"""Rows that wait in the postpone bucket of a table that Paimon wrote: compaction gives them buckets, and we go on."""

from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.operations.compaction.compact import compact
from tests.golden.case import extract
from tests.tables import live


def opened(folder: Path, name: str) -> CatalogTable:
    table = open_catalog({"warehouse": str(extract("postpone_bucket", folder))}).get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    return table


def rows(table: CatalogTable) -> dict[tuple[str, str], str]:
    actual = table.to_arrow().to_pylist()
    state = {(str(row["k"]), row.get("p", "")): row["v"] for row in actual}
    assert len(state) == len(actual)
    return state


def batch(table: CatalogTable, ids: range, value: str) -> pa.Table:
    columns = {"k": pa.array(ids, pa.int32()), "p": ["x"] * len(ids), "v": [value] * len(ids)}
    return pa.table({name: columns[name] for name in table.schema.field_names})


def test_compaction_distributes_what_paimon_left(tmp_path: Path) -> None:
    table = opened(tmp_path, "t")
    before = rows(table)
    assert before["1", "x"] == "0"
    assert [entry.bucket for entry in live(table)].count(-2) == 1
    merged = rows(table.copy({"postpone.merge-on-read": "true"}))
    report = compact(None, table, full=True)
    assert len(report.snapshot_ids) == 2
    assert rows(table) == {**before, ("1", "x"): "later"}
    assert all(entry.bucket >= 0 and entry.total_buckets == 2 for entry in live(table))
    assert merged == rows(table), "a read that merges saw the same before"


def test_our_rows_wait_as_paimons_do(tmp_path: Path) -> None:
    table = opened(tmp_path, "t")
    before = rows(table)
    theirs = [entry for entry in live(table) if entry.bucket == -2]
    table.write_arrow(batch(table, range(1, 3), "ours"), commit_user="me")
    assert rows(table) == before
    (ours,) = [entry for entry in live(table) if entry.bucket == -2 and entry not in theirs]
    assert ours.file.file_name.startswith("data--u-me-s-")
    assert ours.file.file_name.endswith("-0.avro")
    assert "-w-" in ours.file.file_name
    (example,) = theirs
    for name in ("min_sequence_number", "max_sequence_number", "level", "value_stats", "value_stats_cols", "min_key"):
        assert getattr(ours.file, name) == getattr(example.file, name), name
    assert ours.total_buckets == example.total_buckets == -2
    compact(None, table)
    assert rows(table) == {**before, ("1", "x"): "ours", ("2", "x"): "ours"}


def test_we_write_on_where_paimon_wrote_straight_into_buckets(tmp_path: Path) -> None:
    table = opened(tmp_path, "fixed")
    before = rows(table)
    table.write_arrow(batch(table, range(4, 40), "ours"))
    assert {(entry.bucket, entry.total_buckets) for entry in live(table)} == {(0, 1)}
    assert rows(table) == {**before, **{(str(k), ""): "ours" for k in range(4, 40)}}
