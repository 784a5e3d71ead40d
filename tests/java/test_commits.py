"""Commits of both engines that race: who comes second finds out, and nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaError, JavaProcess
from tests.java.samples import KEYED, Row, arrow_of, comparable, rows_in, rows_of, table_of

SAMPLE = KEYED["keyed"]


@pytest.fixture
def warehouse(java: JavaProcess, tmp_path: Path) -> str:
    """A table with two overlapping commits, one of each side."""
    SAMPLE.create(str(tmp_path)).write_arrow(arrow_of(rows_of(range(10), 0)))
    java.write(str(tmp_path), "db.t", rows_of(range(4, 12), 1))
    return str(tmp_path)


WRITTEN = [*rows_of(range(4), 0), *rows_of(range(4, 12), 1)]


def test_our_compaction_makes_java_lose(java: JavaProcess, warehouse: str) -> None:
    prepared = java.prepare_compaction(warehouse, "db.t")
    assert compact(None, table_of(warehouse), full=True).snapshot_ids == (3,)
    with pytest.raises(JavaError, match=r"conflict"):
        java.commit_prepared(prepared)
    assert table_of(warehouse).snapshots.latest_id() == 3
    assert_rows(java, warehouse, WRITTEN)


def test_a_compaction_of_java_makes_ours_plan_anew(java: JavaProcess, warehouse: str) -> None:
    raced = During(lambda: java.compact(warehouse, "db.t"))
    report = compact(None, table_of(warehouse), full=True, progress=raced)
    assert raced.count == 1
    assert [group.outcome for group in report.groups] == ["nothing_to_do", "nothing_to_do"]
    assert report.snapshot_ids == ()
    assert table_of(warehouse).snapshots.latest_id() == 3
    assert_rows(java, warehouse, WRITTEN)


def test_a_write_of_java_does_not_disturb_our_compaction(java: JavaProcess, warehouse: str) -> None:
    late = rows_of(range(11, 20), 2)
    raced = During(lambda: java.write(warehouse, "db.t", late))
    report = compact(None, table_of(warehouse), full=True, progress=raced)
    assert raced.count == 1
    assert report.snapshot_ids == (4,)
    assert_rows(java, warehouse, [*WRITTEN[:11], *late])


def test_our_write_does_not_disturb_a_compaction_of_java(java: JavaProcess, warehouse: str) -> None:
    late = rows_of(range(11, 20), 2)
    prepared = java.prepare_compaction(warehouse, "db.t")
    table_of(warehouse).write_arrow(arrow_of(late))
    java.commit_prepared(prepared)
    assert table_of(warehouse).snapshots.latest_id() == 4
    assert_rows(java, warehouse, [*WRITTEN[:11], *late])


class During:
    """A progress callback that lets another writer commit once our files are written, before they are committed."""

    def __init__(self, race: Callable[[], None]) -> None:
        self._race = race
        self.count = 0

    def __call__(self, line: str) -> None:
        if "rewritten" in line and not self.count:
            self.count += 1
            self._race()


def assert_rows(java: JavaProcess, warehouse: str, rows: list[Row]) -> None:
    assert comparable(rows_in(table_of(warehouse).to_arrow())) == comparable(rows)
    assert comparable(java.rows(warehouse, "db.t")) == comparable(rows)
