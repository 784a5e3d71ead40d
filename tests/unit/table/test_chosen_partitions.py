"""Reads of some partitions or of one bucket: `scan.partitions`, `scan.bucket`."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, UnsupportedError
from maintenance.sql import Session
from maintenance.table.stream import TableStream
from tests.tables import create_table

DAYS = (("2024-01-01", 3), ("2024-01-02", 1), ("2024-01-02", 10), ("2024-01-02", None), (None, 3))


def days(tmp_path: Path) -> CatalogTable:
    """One row in each partition, of two columns that may be null; `id` is the place in `DAYS`."""
    columns = (("id", "INT"), ("day", "DATE"), ("hour", "INT"))
    table = create_table(tmp_path, columns, primary_keys=(), partition_keys=("day", "hour"), options={"bucket": "-1"})
    rows = pa.table(
        {
            "id": pa.array(range(len(DAYS)), pa.int32()),
            "day": pa.array([day for day, _ in DAYS], pa.string()).cast(pa.date32()),
            "hour": pa.array([hour for _, hour in DAYS], pa.int32()),
        }
    )
    table.write_arrow(rows)
    return table


def ids(table: CatalogTable, text: str, where: str | None = None, **options: str) -> list[int]:
    rows = table.to_arrow(["id"], where, {"scan.partitions": text, **options})
    return sorted(rows.column("id").to_pylist())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day=2024-01-01,hour=3", [0]),
        ("hour=1, day=2024-01-02;day=2024-01-01,hour=3;", [0, 1]),
        ("day=2024-01-02", [3]),
        ("hour=3", [4]),
        ("day=__DEFAULT_PARTITION__,hour=3", [4]),
        ("day=2024-01-05,hour=3", []),
        ("max_pt()", [2]),
        ("MAX_TWO_PT()", [1, 2]),
        ("day=max_pt()", [1, 2, 3]),
        ("day=max_pt(),hour=max_pt()", [2]),
    ],
)
def test_partitions_that_are_read(tmp_path: Path, text: str, expected: list[int]) -> None:
    table = days(tmp_path)
    assert ids(table, text) == expected
    assert ids(table, text, "id <> 2") == [number for number in expected if number != 2]
    assert table.copy({"scan.partitions": text}).plan()[0].live_files == len(expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("month=1", "has 'month=1'"),
        ("day", "has 'day'"),
        ("day=then", "which is not a DATE"),
        ("hour=max_pt()", "does not begin with the first partition columns"),
        ("day=max_pt(),hour=1", "has other values beside max_pt()"),
    ],
)
def test_what_names_no_partitions(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(OptionError, match=problem.replace("(", r"\(").replace(")", r"\)")):
        ids(days(tmp_path), text)


def test_a_table_without_partitions_or_rows(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="has no partitions"):
        ids(create_table(tmp_path, name="db.flat"), "max_pt()")
    columns = (("id", "INT"), ("day", "DATE"))
    empty = create_table(
        tmp_path, columns, primary_keys=(), partition_keys=("day",), options={"bucket": "-1"}, name="db.none"
    )
    assert ids(empty, "max_pt()") == ids(empty, "day=max_pt()") == []


def test_in_a_hint_and_in_time_travel(tmp_path: Path) -> None:
    table = days(tmp_path)
    rows = pa.table({"id": [9], "day": pa.array([20000], pa.date32()), "hour": pa.array([0], pa.int32())})
    table.write_arrow(rows.set_column(0, "id", rows.column("id").cast(pa.int32())))
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    hint = "/*+ OPTIONS('scan.partitions'='day=2024-01-01,hour=3') */"
    assert session.sql(f"SELECT id FROM db.t {hint}").to_arrow().column("id").to_pylist() == [0]
    assert session.sql(f"SELECT COUNT(*) AS n FROM db.t {hint}").to_arrow().column("n").to_pylist() == [1]
    assert ids(table, "max_pt()") == [9]
    # The newest partition is that of the newest state, whichever is read.
    assert ids(table, "max_pt()", **{"scan.snapshot-id": "1"}) == []


def test_stored_with_a_table_it_hides_no_rows(tmp_path: Path) -> None:
    columns = (("id", "INT"), ("day", "DATE"))
    options = {"bucket": "-1", "scan.partitions": "max_pt()", "scan.watermark.idle-timeout": "1 min"}
    table = create_table(tmp_path, columns, primary_keys=(), partition_keys=("day",), options=options)
    table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32()), "day": pa.array([1, 2], pa.date32())}))
    assert table.to_arrow().num_rows == 2
    assert table.delete("id = 1").snapshot_ids
    assert table.to_arrow().column("id").to_pylist() == [2]


def test_one_bucket_gives_its_own_rows_and_changes(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("id", "INT NOT NULL"), ("v", "INT")), options={"bucket": "3"})
    table.write_arrow(pa.table({"id": pa.array(range(30), pa.int32()), "v": pa.array(range(30), pa.int32())}))
    parts = [table.to_arrow(["id"], None, {"scan.bucket": str(n)}).column("id").to_pylist() for n in range(3)]
    assert all(parts)
    assert sorted(number for part in parts for number in part) == list(range(30))
    table.write_arrow(pa.table({"id": pa.array(range(30), pa.int32()), "v": pa.array(range(1, 31), pa.int32())}))
    between = {"incremental-between": "1,2", "incremental-between-scan-mode": "diff"}
    changed = [table.to_arrow(["id"], None, {"scan.bucket": str(n), **between}).column("id") for n in range(3)]
    assert [sorted(each.to_pylist()) for each in changed] == [sorted(part) for part in parts]
    for wrong in ("3", "-1"):
        with pytest.raises(OptionError, match="the table has 3 buckets"):
            table.to_arrow(options={"scan.bucket": wrong})
    with pytest.raises(OptionError, match="no fixed number of buckets"):
        days(tmp_path / "other").to_arrow(options={"scan.bucket": "0"})


@pytest.mark.parametrize("key", ["scan.partitions", "scan.bucket"])
def test_streams_refuse_chosen_partitions_and_buckets(tmp_path: Path, key: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        TableStream(days(tmp_path).copy({key: "1"}))
