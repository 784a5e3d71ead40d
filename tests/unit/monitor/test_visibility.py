"""Rows that no batch read returns make a table due at once, and a check says how many there are since when."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.monitor.backlog import BacklogLimits, judge_backlog
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.triggers import CompactionNeed, judge
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.table.shape import table_shape
from tests.tables import create_table, get_table, keyed, open_warehouse, state

HIDING: dict[str, dict[str, str]] = {
    "deletion vectors": {"deletion-vectors.enabled": "true"},
    "deletion vectors and a changelog": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
    "first-row": {"merge-engine": "first-row"},
    "dynamic buckets": {"deletion-vectors.enabled": "true", "bucket": "-1"},
    "postponed": {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"},
}
SHOWING: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "lookup": {"changelog-producer": "lookup"},
    "merge on read": {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
    "postponed, written through": {"bucket": "-2", "postpone.default-bucket-num": "1"},
}


def written(folder: Path, options: dict[str, str], commits: int) -> CatalogTable:
    table = create_table(folder, options=options)
    for number in range(commits):
        table.write_arrow(keyed({number: "a", 100: str(number)}), commit_user="etl", commit_identifier=number)
    return table


def check(table: CatalogTable, later: timedelta = timedelta()) -> Judgement:
    actual = judge_backlog(table, BacklogLimits(), datetime.now(UTC) + later)
    (judgement,) = (judgement for judgement in actual if judgement.check == "rows_visible")
    return judgement


def need(table: CatalogTable) -> CompactionNeed:
    return judge(table, table_shape(table))


@pytest.mark.parametrize("options", HIDING.values(), ids=HIDING)
@pytest.mark.parametrize("commits", [1, 4])
def test_hidden_rows_are_due_and_told_until_they_are_compacted(
    tmp_path: Path, options: dict[str, str], commits: int
) -> None:
    table = written(tmp_path, options, commits)
    assert state(table) == {}
    files = "1 file" if commits == 1 else f"{commits} files"
    said = f"{2 * commits} committed rows in {files} are invisible to batch reads until a compaction"
    assert (need(table).due, need(table).full, need(table).reason) == (True, False, said)
    report = check(table, timedelta(minutes=3))
    assert not report.passed, "nobody has ever compacted the table"
    assert report.summary.startswith(f"{said}, since snapshot 1 by 'etl', 3 min ")
    assert (report.details["invisible rows"], report.details["since snapshot"]) == (2 * commits, 1)
    compact(None, table)
    assert len(state(table)) == commits + 1
    assert not need(table).due
    assert check(table).passed
    assert check(table).details == {"invisible rows": 0}


@pytest.mark.parametrize("options", SHOWING.values(), ids=SHOWING)
def test_tables_whose_reads_see_everything(tmp_path: Path, options: dict[str, str]) -> None:
    table = written(tmp_path, options, 1)
    assert len(state(table)) == 2
    assert not need(table).due
    assert check(table).passed
    assert check(table).summary == "batch reads see every committed row"


def test_a_table_that_is_compacted_may_hide_rows_for_a_while(tmp_path: Path) -> None:
    table = written(tmp_path, HIDING["deletion vectors"], 2)
    compact(None, table)
    table.write_arrow(keyed({7: "late"}), commit_user="other")
    assert need(table).due
    assert check(table).passed
    assert "1 committed row in 1 file is invisible" in check(table).summary
    late = check(table, timedelta(minutes=16))
    assert not late.passed
    assert "since snapshot 4 by 'other', 16 min " in late.summary


def test_a_commit_that_has_expired_is_not_guessed_at(tmp_path: Path) -> None:
    table = written(tmp_path, HIDING["first-row"], 3)
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC) + timedelta(days=1))
    assert "since snapshot 3 or before, " in check(table).summary


def test_a_change_of_indexes_alone_does_not_make_rows_younger(tmp_path: Path) -> None:
    table = written(tmp_path, HIDING["first-row"], 1)
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("file-index.bloom-filter.columns", "v")])
    table = get_table(tmp_path)
    assert rewrite_file_index(None, table).written_files == 1
    assert "since snapshot 1 by 'etl', " in check(table).summary
    assert not check(table).passed, "nothing has been merged"
