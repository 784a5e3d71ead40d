"""Chain tables: both engines put the same partitions together."""

from pathlib import Path

from maintenance.operations import compact
from tests.chain_tables import BY_HOUR, HOURS, chain_table, found, put
from tests.java.process import JavaProcess


def test_partitions_by_day_are_put_together_alike(java: JavaProcess, tmp_path: Path) -> None:
    table = chain_table(tmp_path)
    put(table, "snapshot", ("20250810", 1, 1, "a"), ("20250810", 2, 5, "b"), ("20250813", 9, 1, "c"))
    put(table, "delta", ("20250809", 7, 1, "x"), ("20250811", 2, 4, "older"), ("20250811", 3, 1, "d"))
    java.write(str(tmp_path), "db.t$branch_delta", [("20250812", 1, 9, "java"), ("20250814", 5, 1, "e")])
    java.write(str(tmp_path), "db.t$branch_delta", [("20250812", 3, 9, "gone")], ["-D"])
    assert len(found(table)) == 11
    assert sorted(java.rows(str(tmp_path), "db.t")) == found(table)
    compact(None, table.on_branch("delta"), full=True)
    assert sorted(java.rows(str(tmp_path), "db.t")) == found(table)
    java.compact(str(tmp_path), "db.t$branch_delta")
    assert sorted(java.rows(str(tmp_path), "db.t")) == found(table)


def test_partitions_by_hour_are_put_together_within_each_group(java: JavaProcess, tmp_path: Path) -> None:
    table = chain_table(tmp_path, HOURS, BY_HOUR)
    put(
        table,
        "snapshot",
        ("eu", "20250810", "22", 1, 1, "anchor"),
        ("us", "20250812", "00", 1, 1, "u"),
        columns=BY_HOUR,
    )
    put(table, "delta", ("eu", "20250810", "21", 4, 1, "before"), ("eu", "20250810", "23", 2, 1, "x"), columns=BY_HOUR)
    put(table, "delta", ("eu", "20250811", "01", 3, 1, "y"), ("us", "20250811", "01", 5, 1, "z"), columns=BY_HOUR)
    assert sorted(java.rows(str(tmp_path), "db.t")) == found(table)
