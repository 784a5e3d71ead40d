"""What other settings would cost: the picks are those of the engine, and the own settings give what really is."""

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations import compact, simulate_settings
from maintenance.operations.tuning.arrivals import past_of
from maintenance.operations.tuning.overlap import overlap_of
from maintenance.operations.tuning.settings_plot import Spot, front_of
from maintenance.operations.tuning.simulate_settings import OPERATION, tries_of
from maintenance.operations.tuning.simulation import FileBytes, Pick, Simulation
from tests.small_tables import batch, small_table

INLINE = {"write-only": "false"}
TRIGGER = "num-sorted-run.compaction-trigger"


def simulated(table: CatalogTable, every: int | None = None) -> Simulation:
    past = past_of(table, 1000)
    return Simulation(table, past, overlap_of(past.merged), FileBytes.of(past), every).run()


def real_picks(table: CatalogTable) -> list[Pick]:
    """What the compactions of the table took, bucket by bucket."""
    picks = []
    for number in table.snapshots.list_ids():
        snapshot = table.snapshots.get(number)
        if snapshot.commit_kind != CommitKind.COMPACT:
            continue
        groups: dict[tuple[bytes, int], list[tuple[FileKind, str, int]]] = {}
        for entry in table.manifests.delta_entries(snapshot):
            change = entry.kind, entry.file.file_name, entry.file.level
            groups.setdefault((entry.partition, entry.bucket), []).append(change)
        for group, changes in groups.items():
            added = {name for kind, name, _ in changes if kind == FileKind.ADD}
            taken = {name for kind, name, _ in changes if kind == FileKind.DELETE}
            level = max(level for kind, _, level in changes if kind == FileKind.ADD)
            picks.append(Pick(group, frozenset(taken - added), frozenset(taken & added), level))
    return picks


def write(table: CatalogTable, commits: int, keys: int, seed: int = 0) -> None:
    dice = random.Random(seed)
    for _ in range(commits):
        rows = {dice.randint(0, keys): str(dice.random()) for _ in range(dice.randint(20, 200))}
        table.write_arrow(batch(rows))


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    trigger=st.integers(2, 5),
    ratio=st.sampled_from([1, 50]),
    others=st.sampled_from(
        [
            {},
            {"deletion-vectors.enabled": "true"},
            {"changelog-producer": "lookup", "lookup-compact": "gentle"},
            {"compaction.force-up-level-0": "true"},
            {"num-levels": "3", "target-file-size": "2 kb"},
            {"merge-engine": "first-row"},
        ]
    ),
    sizes=st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), min_size=3, max_size=14),
)
def test_picks_are_those_of_a_writer_that_got_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    trigger: int,
    ratio: int,
    others: Mapping[str, str],
    sizes: Sequence[tuple[int, int]],
) -> None:
    options = {**INLINE, TRIGGER: str(trigger), "compaction.size-ratio": str(ratio), **others}
    table = small_table(tmp_path_factory.mktemp("picks"), options)
    for number, (first, count) in enumerate(sizes):
        table.write_arrow(batch({first + i: f"{number}/{i}" for i in range(count)}))
    picks = real_picks(table)
    found = simulated(table)
    assert Counter(found.picks) == Counter(picks)
    latest = table.latest_snapshot()
    assert latest is not None
    live = {(e.bucket, e.file.file_name, e.file.level, e.file.row_count) for e in table.manifests.live_entries(latest)}
    assert {(e.bucket, e.file.file_name, e.file.level, e.file.row_count) for e in found.files} == live


@pytest.mark.parametrize(
    ("options", "keyed"),
    [
        ({}, True),
        ({"deletion-vectors.enabled": "true"}, True),
        ({"bucket": "1", TRIGGER: "3"}, True),
        ({"bucket": "-1", "dynamic-bucket.target-row-num": "300"}, True),
        ({"compaction.min.file-num": "4"}, False),
        ({"bucket": "2", "bucket-key": "k", "compaction.min.file-num": "3"}, False),
    ],
)
def test_compactions_beside_the_writers_come_when_they_came(
    tmp_path: Path, options: Mapping[str, str], keyed: bool
) -> None:
    table = small_table(tmp_path, options, primary_key=keyed)
    for number in range(12):
        write(table, 1, 1000, seed=number)
        if number % 3 == 2:
            compact(None, table, full=number == 8)
    found = simulated(table)
    assert real_picks(table)
    assert Counter(found.picks) == Counter(real_picks(table))
    assert len(found.files) == len(past_of(table, 1000).end or ())
    assert OPERATION.shown(simulate_settings(table, {})).rows.num_rows == 1  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("others", [{}, {"deletion-vectors.enabled": "true"}])
def test_other_settings_cost_about_what_they_cost_when_they_are_set(tmp_path: Path, others: Mapping[str, str]) -> None:
    options = {**INLINE, "bucket": "1", **others}
    tried = small_table(tmp_path / "tried", options)
    write(tried, 30, 2000)
    table = small_table(tmp_path / "set", {**options, TRIGGER: "8"})
    write(table, 30, 2000)
    real = simulated(table)
    (_, found) = simulate_settings(tried, {TRIGGER: "8"}).settings
    # A choice near a limit may fall the other way, and then moments differ; the means are alike.
    assert found.write_amplification == pytest.approx(1 + real.rewritten_bytes / real.arrived_bytes, rel=0.15)
    assert found.mean_files == pytest.approx(real.mean_files, rel=0.15)


def test_a_table_that_was_overwritten_and_has_lost_partitions_ends_as_it_is(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "-1"}, primary_key=False, partition_keys=["k"])
    for number in range(6):
        table.write_arrow(batch({1: f"{number}", 2: f"{number}" * 9}))
        if number == 3:
            compact(None, table, full=True)
            table.overwrite_arrow(batch({1: "new"}))
    table.truncate([{"k": "2"}])
    latest = table.latest_snapshot()
    assert latest is not None
    names = {entry.file.file_name for entry in table.manifests.live_entries(latest)}
    assert {entry.file.file_name for entry in simulated(table).files} == names


def test_other_settings_forget_what_an_overwrite_took_though_it_was_merged_otherwise(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1"})
    write(table, 6, 1000)
    table.overwrite_arrow(batch({1: "all that is left"}))
    (_, found) = simulate_settings(table, {TRIGGER: "2"}).settings
    assert found.files == 1


def test_the_last_snapshots_begin_with_what_was_there(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1"})
    write(table, 20, 1000)
    report = simulate_settings(table, {}, snapshots=8)
    assert (report.last_id - report.first_id, report.settings[0].files) == (7, report.files)


def test_more_buckets_hold_the_same_rows(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1"})
    write(table, 12, 100_000)
    own, two, four = simulate_settings(table, {"bucket": "2,4"}).settings
    assert own.files < two.files < four.files
    assert own.bytes < two.bytes < four.bytes < 4 * own.bytes
    assert two.to_set == "ALTER TABLE db.t SET ('bucket' = '2'); CALL sys.rescale(table => 'db.t', bucket_num => 2)"


def test_what_is_kept_longer_takes_more_bytes(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1", "snapshot.num-retained.min": "1"})
    write(table, 12, 1000)
    own, least, most = simulate_settings(table, {"snapshot.num-retained.max": "1,1000"}).settings
    assert 0 == least.retained_bytes < most.retained_bytes
    # An hour has not passed, so nothing has gone: that is what the table keeps now.
    assert own.retained_bytes == most.retained_bytes
    assert [each.is_best for each in (own, least, most)] == [False, True, False]


def test_settings_that_change_nothing_are_not_proposed(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    write(table, 2, 50)
    report = simulate_settings(table)
    assert len(report.settings) > 1
    assert [each.text for each in report.best] == [report.settings[0].text]


def test_a_workload_is_tried_before_there_is_a_row(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "2"})
    load = {"rows_per_commit": 1000, "commits_per_hour": 60, "hours": 2, "update_share": 0.5, "existing_rows": 50_000}
    (tmp_path / "load.json").write_text(json.dumps(load))
    (tmp_path / "load.yaml").write_text("\n".join(f"{key}: {value}" for key, value in load.items()))
    of_json, of_yaml = (
        simulate_settings(table, {TRIGGER: "3,9"}, workload=str(tmp_path / name)) for name in ("load.json", "load.yaml")
    )
    assert [each.costs for each in of_json.settings] == [each.costs for each in of_yaml.settings]
    assert (of_json.commits, of_json.rows, of_json.files) == (120, 120_000, None)
    own, often, seldom = of_json.settings
    assert often.read_amplification < own.read_amplification < seldom.read_amplification
    assert often.write_amplification > own.write_amplification > seldom.write_amplification
    # Half of the rows are new ones.
    assert own.bytes / own.bytes_per_row == pytest.approx(50_000 + 60_000, rel=0.1)


def test_keys_that_come_one_after_the_other_are_not_written_again(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1", "target-file-size": "100 kb"})
    written = []
    for keys in ("uniform", "ascending"):
        (tmp_path / keys).write_text(f"rows_per_commit: 1000\nkeys: {keys}\nhours: 10")
        written.append(simulate_settings(table, {}, workload=str(tmp_path / keys)).settings[0].write_amplification)
    uniform, ascending = written
    # Files that overlap nothing only get another level.
    assert 1 == ascending < uniform


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rows: 5", "a workload has no 'rows'"),
        ("hours: 5", "'rows_per_commit' is missing or 0"),
        ("rows_per_commit: many", "'rows_per_commit' is 'many'"),
        ("rows_per_commit: 5\nkeys: odd", "'keys' is 'odd'"),
        ("rows_per_commit: 5\nupdate_share: 2", "more than 1 together"),
        ("- 5", "the workload is not a mapping"),
        ("{5", "this is not JSON"),
        ("a: [", "this is not YAML"),
    ],
)
def test_a_workload_that_says_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "load").write_text(text)
    with pytest.raises(OptionError, match=message):
        simulate_settings(small_table(tmp_path), workload=str(tmp_path / "load"))


def test_settings_that_are_none_are_refused(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    with pytest.raises(OptionError, match="there is nothing to replay"):
        simulate_settings(table)
    table.write_arrow(batch({1: "a"}))
    with pytest.raises(OptionError, match=f"Did you mean '{TRIGGER}'"):
        simulate_settings(table, {"num-sorted-run.compaction-triger": "3"})
    with pytest.raises(OptionError, match=f"'{TRIGGER}' = 'many'"):
        simulate_settings(table, {TRIGGER: "3,many"})
    with pytest.raises(OptionError, match="'bucket' = -1 cannot be simulated"):
        simulate_settings(table, {"bucket": "-1"})
    with pytest.raises(OptionError, match="at most 64 at a time"):
        simulate_settings(table, {TRIGGER: ",".join(map(str, range(2, 100)))})
    with pytest.raises(UnsupportedError, match="rows wait for their bucket"):
        simulate_settings(small_table(tmp_path / "postponed", {"bucket": "-2"}))


def test_what_to_try_is_written_in_one_text_or_several() -> None:
    expected = {TRIGGER: "3,5", "bucket": "2"}
    assert tries_of(f"{TRIGGER}=3,5; bucket=2") == expected
    assert tries_of([f"{TRIGGER}=3,5", "bucket=2"]) == expected
    with pytest.raises(ValueError, match="are written as"):
        tries_of("bucket")


def test_the_keys_are_as_many_as_compactions_left(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1"})
    write(table, 20, 1000)
    assert overlap_of(past_of(table, 1000).merged).keys == pytest.approx(1001, rel=0.1)


def test_the_picture_has_each_setting_and_the_front(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, "bucket": "1"})
    write(table, 12, 200)
    drawn = tmp_path / "settings.svg"
    report = simulate_settings(table, {TRIGGER: "2,3,8"}, plot=str(drawn))
    picture = ElementTree.fromstring(drawn.read_text())
    spots = picture.findall(".//{*}circle")
    assert len(spots) == len(report.settings)
    assert [spot.get("fill") != "none" for spot in spots] == [each.is_best for each in report.settings]
    (line,) = picture.findall("{*}polyline")
    points = [tuple(map(float, point.split(","))) for point in str(line.get("points")).split()]
    # Who writes more on the front reads less; up is less in SVG.
    assert points == sorted(points)
    assert [y for _, y in points] == sorted(y for _, y in points)
    with pytest.raises(OptionError, match="cannot be written"):
        simulate_settings(table, {}, plot=str(tmp_path / "none" / "settings.svg"))


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1))
def test_the_front_are_those_that_no_others_beat(pairs: list[tuple[int, int]]) -> None:
    found = front_of([Spot("", written, runs, is_best=False) for written, runs in pairs])
    slow = {(w, r) for w, r in pairs if not any(a <= w and b <= r and (a, b) != (w, r) for a, b in pairs)}
    assert {pairs[at] for at in found} == slow
    assert len(found) == len(slow)
