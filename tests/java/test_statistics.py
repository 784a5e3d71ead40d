"""Statistics of columns are read by the Java core as they were counted."""

import shutil
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import AddColumn, Schema, open_catalog
from maintenance.operations import compact_manifest
from maintenance.sql import Session
from tests.java.process import JavaProcess
from tests.small_tables import put, small_table, table_in

COLUMNS = [
    ("i", "INT"), ("d", "DECIMAL(10, 2)"), ("f", "DOUBLE"), ("b", "BOOLEAN"), ("s", "STRING"), ("day", "DATE"),
    ("at", "TIMESTAMP(3)"),
]  # fmt: skip
ROWS = pa.table(
    {
        "i": pa.array([3, -7, None, 3], pa.int32()),
        "d": pa.array([Decimal("1.20"), Decimal("-0.05"), None, Decimal("1.20")], pa.decimal128(10, 2)),
        "f": pa.array([0.5, 1e10, -2.25, None], pa.float64()),
        "b": pa.array([True, True, None, True]),
        "s": pa.array(["a", "grün", None, "bbb"]),
        "day": pa.array([date(1970, 1, 11), None, None, date(1969, 12, 31)]),
        "at": pa.array([datetime(2024, 5, 14), None, None, datetime(2024, 5, 15)], pa.timestamp("ms")),
    }
)


def test_java_reads_the_numbers_that_were_counted(java: JavaProcess, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(COLUMNS, options={"bucket": "-1"}))
    catalog.get_table("db.t").write_arrow(ROWS)
    Session({"warehouse": str(tmp_path)}).sql("ANALYZE TABLE db.t COMPUTE STATISTICS FOR ALL COLUMNS")
    actual = java.column_statistics(str(tmp_path), "db.t")
    assert actual == {
        "i": (2, "-7", "3", 1, 4, 4),
        "d": (2, "-0.05", "1.20", 1, 8, 8),
        "f": (3, "-2.25", "1.0E10", 1, 8, 8),
        "b": (1, "true", "true", 1, 1, 1),
        "s": (3, "None", "None", 1, 3, 4),
        "day": (2, "-1", "10", 2, 4, 4),
        "at": (2, "None", "None", 2, 8, 8),
    }


def test_merged_manifests_keep_schema_and_statistics_as_in_java(java: JavaProcess, tmp_path: Path) -> None:
    """The table was altered and not written since: the state that is merged is still one of the schema before."""
    ours = small_table(tmp_path / "ours")
    for number in range(3):
        put(ours, {number: "a"})
    Session({"warehouse": str(tmp_path / "ours")}).sql("ANALYZE TABLE db.t COMPUTE STATISTICS FOR ALL COLUMNS")
    open_catalog({"warehouse": str(tmp_path / "ours")}).alter_table("db.t", [AddColumn("n", "INT")])
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    compact_manifest(table_in(tmp_path / "ours"))
    java.compact_manifests(str(tmp_path / "theirs"), "db.t")
    merged, by_java = (table_in(tmp_path / name).latest_snapshot() for name in ("ours", "theirs"))
    assert merged is not None
    assert by_java is not None
    assert (merged.id, merged.schema_id) == (by_java.id, by_java.schema_id) == (5, 0)
    assert merged.statistics == by_java.statistics
    assert merged.statistics is not None
    assert java.column_statistics(str(tmp_path / "ours"), "db.t")["k"][0] == 3
