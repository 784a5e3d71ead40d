"""What `$files`, `$buckets` and `$partitions` show of partitions, keys and statistics, for values of many types."""

from decimal import Decimal
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.operations.refs.create_tag import create_tag
from tests.java.process import JavaProcess
from tests.java.samples import Row, Sample, arrow_of, table_of
from tests.tables import without_statistics

COLUMNS = (
    ("p", "DATE"),
    ("q", "TIME(3)"),
    ("r", "TIMESTAMP(6)"),
    ("k", "TIME(3)"),
    ("d", "DECIMAL(20,3)"),
    ("b", "BOOLEAN"),
    ("f", "DOUBLE"),
    ("s", "STRING"),
    ("z", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
)
POSTPONED = (("p", "INT NOT NULL"), ("k", "INT NOT NULL"))
NOON = 1_709_208_000_000_000_000
ROWS: list[Row] = [
    (19_857, 43_200_500, NOON, 5, Decimal("1.500"), True, 1.5, "x", NOON),
    (19_857, 43_200_500, NOON, 86_399_999, None, False, 2.5, "y", NOON + 123_000_000),
]


@pytest.mark.parametrize("name", ["files", "buckets", "partitions"])
def test_texts_are_those_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    Sample(("p", "q", "k"), ("p", "q"), {"bucket": "1"}).create(str(tmp_path), COLUMNS)
    table_of(str(tmp_path)).write_arrow(arrow_of(ROWS, COLUMNS))
    (ours,) = open_catalog({"warehouse": str(tmp_path)}).get_table(f"db.t${name}").to_arrow().to_pylist()
    (theirs,) = java.rows(str(tmp_path), f"db.t${name}")
    actual = {column: value for column, value in ours.items() if isinstance(value, str)}
    assert actual == {column: value for column, value in zip(ours, theirs, strict=False) if column in actual}
    assert "12:00:00.5" in actual["partition"]


@pytest.mark.parametrize("name", ["files", "file_key_ranges"])
def test_files_without_statistics_look_as_in_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """Some writers store rows of no fields in place of statistics, and do not name the columns."""
    without_statistics(tmp_path)
    (ours,) = open_catalog({"warehouse": str(tmp_path)}).get_table(f"db.t${name}").to_arrow().to_pylist()
    (theirs,) = java.rows(str(tmp_path), f"db.t${name}")
    actual = {column: value for column, value in ours.items() if isinstance(value, str)}
    assert actual == {column: value for column, value in zip(ours, theirs, strict=False) if column in actual}


@pytest.mark.parametrize("name", ["files", "file_key_ranges", "partitions", "buckets"])
def test_rows_that_wait_for_their_buckets_are_listed_where_java_lists_them(
    java: JavaProcess, tmp_path: Path, name: str
) -> None:
    Sample(("p", "k"), ("p",), {"bucket": "-2"}).create(str(tmp_path), POSTPONED)
    table_of(str(tmp_path)).write_arrow(arrow_of([(1, 1)], POSTPONED))
    java.write(str(tmp_path), "db.t", [(1, 2), (2, 2)])
    ours = open_catalog({"warehouse": str(tmp_path)}).get_table(f"db.t${name}").to_arrow()
    theirs = java.rows(str(tmp_path), f"db.t${name}")
    assert sorted(ours.column("partition").to_pylist()) == sorted(str(row[0]) for row in theirs)
    assert ours.num_rows == (3 if name == "buckets" else 1)


def test_the_manifests_of_a_changelog_are_listed_until_they_expire(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    Sample(("k",), (), {"bucket": "1", "changelog-producer": "input"}).create(warehouse, POSTPONED)
    table_of(warehouse).write_arrow(arrow_of([(1, 1)], POSTPONED))
    create_tag(table_of(warehouse), "first")

    def names(**how: str) -> list[str]:
        options = {f"scan.{key}": value for key, value in how.items()}
        table = open_catalog({"warehouse": warehouse}).get_table("db.t$manifests")
        return sorted(table.to_arrow(options=options).column("file_name").to_pylist())

    assert names() == sorted(str(row[0]) for row in java.rows(warehouse, "db.t$manifests"))
    assert len(names()) == 2
    table_of(warehouse).write_arrow(arrow_of([(1, 2)], POSTPONED))
    java.expire(warehouse, "db.t", 1)
    assert len(names(**{"tag-name": "first"})) == 1
