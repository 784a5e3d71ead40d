"""Beside another engine's compaction ours warns, refuses where deletions are at stake, and backs off where it loses."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import ErrorClass, OptionError
from maintenance.operations.compaction.back_off import rival, seconds_to_wait
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.databases.compact_database import compact_database
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.options.own import BESIDE_OTHER_COMPACTORS
from tests.deletion_vectors import ENABLED
from tests.foreign_commits import foreign_compaction, foreign_write
from tests.kept_plans import apply_compact, plan_compact, plan_compact_database
from tests.tables import create_table, get_table, keyed, open_warehouse, state

INLINE = {"write-only": "false"}
ENDANGERED = {**ENABLED, **INLINE, "changelog-producer": "lookup"}
RISK = "a matter of correctness, not of speed"


def endangered(folder: Path, *, compacted: bool = True, **options: str) -> CatalogTable:
    """A table that a Flink job writes and compacts."""
    table = create_table(folder, options={**ENDANGERED, **options})
    foreign_write(table, keyed(dict.fromkeys(range(10), "a")))
    if compacted:
        foreign_compaction(table)
        foreign_write(table, keyed({1: "b"}))
    return table


WAYS: dict[str, Callable[..., Any]] = {
    "compact": lambda table, **given: compact(None, table, full=True, **given),
    "changelog": lambda table, **given: produce_changelog(None, table, **given),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_refuses_beside_another_engines_compaction(tmp_path: Path, way: str) -> None:
    table = endangered(tmp_path)
    with pytest.raises(OptionError) as caught:
        WAYS[way](table)
    assert caught.value.error_class == ErrorClass.USER
    assert "snapshot 2 by commit user 'flink' is a compaction of its own" in caught.value.found
    assert "'write-only' = 'true'" in caught.value.fix
    assert BESIDE_OTHER_COMPACTORS.key in caught.value.fix
    assert table.snapshots.latest_id() == 3
    assert WAYS[way](table, beside_other_compactors=True).snapshot_ids == (4,)
    assert state(table)[1] == "b"


def test_the_tables_settings_may_allow_it(tmp_path: Path) -> None:
    table = endangered(tmp_path)
    catalog = open_warehouse(tmp_path)
    catalog.alter_table("db.t", [SetOption(BESIDE_OTHER_COMPACTORS.key, "true")])
    with pytest.raises(OptionError, match="another engine"):
        compact(None, get_table(tmp_path), beside_other_compactors=False)
    assert compact(None, get_table(tmp_path)).snapshot_ids == (4,)
    other = endangered(tmp_path / "other")
    open_warehouse(tmp_path / "other").alter_table("db.t", [SetOption("write-only", "true")])
    table = get_table(tmp_path / "other")
    assert compact(None, table).snapshot_ids == (4,), "the writers leave it to us from now on"
    assert other.options["write-only"] == "false"


def test_plans_warn_and_are_not_carried_out(tmp_path: Path) -> None:
    table = endangered(tmp_path)
    plan = plan_compact(table, CompactRequest(full=True))
    assert len(plan.groups) == 1
    assert RISK in plan.warnings[0]
    assert "snapshot 2 by commit user 'flink'" in plan.warnings[1]
    dry = compact(None, table, full=True, dry_run=True)
    assert dry.warnings == plan.warnings
    assert dry.count("planned") == 1
    with pytest.raises(OptionError, match="another engine"):
        apply_compact(None, table, plan)
    allowed = table.copy({BESIDE_OTHER_COMPACTORS.key: "true"})
    assert apply_compact(None, allowed, plan).snapshot_ids == (4,)
    catalog = open_warehouse(tmp_path)
    foreign_write(table, keyed({3: "c"}))
    assert RISK in plan_compact_database(catalog, request=CompactRequest(full=True)).warnings[0]
    assert "another engine" in str(compact_database(None, catalog, full=True).failed["db.t"])


@pytest.mark.parametrize(
    ("options", "warned"),
    [({}, True), ({"write-only": "true"}, False), ({"deletion-vectors.enabled": "false"}, False)],
)
def test_a_risk_alone_is_warned_of(tmp_path: Path, options: dict[str, str], warned: bool) -> None:
    table = endangered(tmp_path, compacted=False, **options)
    said: list[str] = []
    report = compact(None, table, full=True, progress=said.append)
    assert report.snapshot_ids == (2,)
    assert any(RISK in warning for warning in report.warnings) == warned
    assert any(RISK in line for line in said) == warned


@pytest.mark.parametrize("options", [{"write-only": "true"}, {"deletion-vectors.enabled": "false"}])
def test_what_endangers_nothing_is_not_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    table = endangered(tmp_path, **options)
    assert compact(None, table, full=True).snapshot_ids == (4,)


def test_what_we_compacted_beside_writing_is_no_strangers_work(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**ENDANGERED, "num-sorted-run.compaction-trigger": "2"})
    for version in "ab":
        table.write_arrow(keyed({1: version}))
    assert [str(table.snapshots.get(i).commit_kind) for i in table.snapshots.list_ids()].count("COMPACT") > 0
    compact(None, table, full=True)
    assert state(table) == {1: "b"}


def test_compaction_beside_writing_refuses_where_a_stream_compacts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = endangered(tmp_path)
    table.write_arrow(keyed({2: "ours"}))
    assert table.snapshots.latest_id() == 5, "a batch job is over with its commit, so writers may alternate"
    foreign_write(table, keyed({3: "c"}), "flink-job")
    assert foreign_compaction(table, "flink-job", identifier=7) == (7,)
    before = table.snapshots.latest_id()
    table.write_arrow(keyed({2: "ours again"}))
    assert "is compacted by another engine as well" in caplog.text
    assert "by commit user 'flink-job'" in caplog.text
    assert table.snapshots.latest_id() == (before or 0) + 1, "the rows are there, nothing was compacted"


def test_indexes_may_be_built_all_the_same(tmp_path: Path) -> None:
    """Files keep their names, so vectors stay where they are."""
    table = endangered(tmp_path).copy({"file-index.bloom-filter.columns": "v"})
    assert rewrite_file_index(None, table).written_files > 0


class Race:
    """A progress callback that lets others act before a commit, so many times, and keeps what is said of waiting."""

    def __init__(self, act: Callable[[], object], times: int) -> None:
        self._act, self._left = act, times
        self.losses: list[str] = []

    def __call__(self, line: str) -> None:
        if "changed by" in line:
            self.losses.append(line)
        if self._left and "groups rewritten" in line:
            self._left -= 1
            self._act()

    @property
    def waits(self) -> list[float]:
        """Seconds before what was lost is planned again."""
        actual = (re.search(r"planned again in ([0-9.]+) s", line) for line in self.losses)
        return [float(match[1]) for match in actual if match]


def three_runs(folder: Path) -> CatalogTable:
    table = create_table(folder)
    for version in "abc":
        table.write_arrow(keyed({1: version}))
    return table


def test_it_gives_way_to_another_engine(tmp_path: Path) -> None:
    table = three_runs(tmp_path)

    def flink() -> None:
        foreign_compaction(table, "flink-job")
        foreign_write(table, keyed({1: "again"}), "flink-job")

    race = Race(flink, 2)
    assert compact(None, table, full=True, progress=race).count("conflict_retried") == 1
    first, second = race.waits
    assert 0.5 <= first <= 1 <= second <= 2
    assert all("by 'flink-job', a writer of another engine" in line for line in race.losses)


def ours(table: CatalogTable) -> Callable[[], object]:
    def act() -> None:
        compact(None, table, full=True)
        table.write_arrow(keyed({1: "again"}))

    return act


def test_among_our_own_it_does_not_wait_long(tmp_path: Path) -> None:
    table = three_runs(tmp_path)
    race = Race(ours(table), 2)
    assert compact(None, table, full=True, progress=race).count("conflict_retried") == 1
    first, second = race.waits
    assert 0.1 <= first <= 0.2 <= second <= 0.4


def test_after_the_last_attempt_nobody_waits(tmp_path: Path) -> None:
    table = three_runs(tmp_path)
    race = Race(ours(table), 9)
    assert compact(None, table, full=True, max_retries=1, progress=race).count("failed") == 1
    assert len(race.waits) == 1
    assert race.losses[-1].endswith(": given up")


def test_the_rival_is_who_wrote_to_the_bucket_since(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    first = table.latest_snapshot()
    foreign_write(table, keyed({2: "a"}), "flink")
    table.write_arrow(keyed({3: "a"}))
    place = (table.manifests.live_entries(table.snapshots.get(2))[0].partition, 0)
    assert rival(table, first, {place}) == "flink"
    assert rival(table, table.snapshots.get(2), {place}) is None, "since then only we have written"
    assert rival(table, first, {(place[0], 1)}) is None, "another bucket"


def test_pauses_grow_up_to_a_limit() -> None:
    assert 30 <= seconds_to_wait(20, lost_to_others=True) <= 60
    assert 5 <= seconds_to_wait(20, lost_to_others=False) <= 10
