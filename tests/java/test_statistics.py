"""Statistics of columns are read by the Java core as they were counted."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from maintenance.catalog import Schema, open_catalog
from maintenance.sql import Session
from tests.java.process import JavaProcess

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
