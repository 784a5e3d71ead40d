"""What a forecast says can be freed is what the expiry, the removal of orphans and the emptying of the bin free."""

import os
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete,
    empty_bin,
    expire_partitions,
    expire_snapshots,
    expire_tags,
    forecast,
    remove_orphan_files,
    reset_consumer,
)
from maintenance.operations.bin.run import BinRun
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.retention.forecast import (
    BIN,
    LEVELS,
    OLD_SNAPSHOTS,
    ORPHANS,
    PARTITIONS,
    ForecastReport,
)
from maintenance.operations.retention.next_expiry import next_expiry
from maintenance.sql import Session
from tests.examples import some
from tests.small_tables import put, set_commit_time, small_table

NOW = datetime(2024, 5, 14, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def sizes(folder: Path) -> dict[Path, int]:
    """Of all files but hints, which an expiry writes anew."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("EARLIEST", "LATEST")]
    return {path: path.stat().st_size for path in files}


def gone(before: Mapping[Path, int]) -> int:
    """The bytes of the files that are no longer there."""
    return sum(size for path, size in before.items() if not path.exists())


def bytes_of(report: ForecastReport, source: str) -> int:
    (size,) = (part.bytes for part in report.forecast.parts if part.source == source)
    assert size is not None
    return size


def random_table(folder: Path, dice: random.Random) -> CatalogTable:
    """A day of writes, deletions and compactions, with tags, branches, consumers, strays and a bin."""
    keyed = dice.random() < 0.8
    options = {"snapshot.time-retained": dice.choice(["1 h", "5 h", "10 h", "40 h"])}
    options["snapshot.num-retained.min"] = dice.choice(["1", "3"])
    if dice.random() < 0.3:
        options["snapshot.num-retained.max"] = dice.choice(["3", "5"])
    if dice.random() < 0.3:
        options["consumer.expiration-time"] = "1 d"
    if keyed:
        options["bucket"] = dice.choice(["1", "2"])
        options["changelog-producer"] = dice.choice(["none", "input"])
        options["deletion-vectors.enabled"] = dice.choice(["true", "false"])
        if dice.random() < 0.3:
            options["changelog.time-retained"] = dice.choice(["2 d", "20 h"])
    table = small_table(folder, options, primary_key=keyed)
    for hours in range(24, 0, -dice.choice([2, 3])):
        deleted = {dice.randint(20, 29)} if keyed else ()
        put(table, {dice.randint(0, 9): f"{hours}" * 50 for _ in range(4)}, deleted)
        _date_latest(table, hours)
        if dice.random() < 0.3:
            compact(None, table, full=True)
            _date_latest(table, hours - 0.5)
        if dice.random() < 0.1:
            delete(None, table, "k < 3")
            _date_latest(table, hours - 0.7)
    _hold(table, dice)
    return table


def _hold(table: CatalogTable, dice: random.Random) -> None:
    """Tags, a branch and a consumer that hold old states, and files that nothing names."""
    latest = table.snapshots.latest_id() or 0
    for name in dice.sample(["a", "b", "c"], dice.randint(0, 3)):
        retained = dice.choice([None, 2 * HOUR, 9 * HOUR])
        create_tag(table, name, snapshot_id=dice.randint(1, latest), time_retained=retained, now=NOW - 3 * HOUR)
    if dice.random() < 0.4:
        create_branch(table, "other", snapshot_id=dice.randint(1, latest))
    if dice.random() < 0.4:
        reset_consumer(table, "job", dice.randint(1, latest))
    for number in range(dice.randint(0, 3)):
        stray = Path(table.location) / f"bucket-{number}" / f"data-{number}.parquet"
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"x" * dice.randint(1, 5000))
        os.utime(stray, times=(NOW.timestamp() - dice.choice([3600, 4 * 86400]),) * 2)


def _date_latest(table: CatalogTable, hours: float) -> None:
    latest = table.snapshots.latest_id()
    assert latest is not None
    set_commit_time(table, latest, int((NOW - hours * HOUR).timestamp() * 1000))


@pytest.mark.parametrize("seed", some(range(200), 10))
def test_what_can_be_freed_is_what_is_freed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    table, root = random_table(tmp_path, dice), str(tmp_path)
    if dice.random() < 0.5:
        expire_snapshots(table, max_deletes=2, now=NOW, into=BinRun.begin(table, root, "expire_snapshots"))
    window = dice.choice([timedelta(0), 7 * 24 * HOUR])
    # The bin's clock is the machine's, that of the snapshots is not.
    in_bin = bytes_of(forecast(table, window=window, warehouse=root), BIN)
    told = forecast(table, warehouse=root, now=NOW)
    before = sizes(tmp_path)

    tags, snapshots = expire_tags(table, now=NOW), expire_snapshots(table, now=NOW)
    assert (snapshots.expired, set(tags.expired)) == (told.snapshots, set(told.tags))
    freed = bytes_of(told, OLD_SNAPSHOTS)
    assert gone(before) == freed
    # Of changelogs that are due at once, the report also counts the records that the expiry itself has written.
    if "changelog.time-retained" not in table.options:
        assert freed == tags.deleted_bytes + snapshots.deleted_bytes
    assert bytes_of(forecast(table, now=NOW), OLD_SNAPSHOTS) == 0, "nothing is left for a second expiry"

    removed = remove_orphan_files(None, table, older_than=NOW - 24 * HOUR, now=NOW)
    assert removed.deleted_bytes == bytes_of(told, ORPHANS)
    assert gone(before) == freed + removed.deleted_bytes

    emptied = empty_bin(table.file_io, root, window=window)
    assert emptied.bytes == in_bin
    assert gone(before) == freed + removed.deleted_bytes + in_bin


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_a_level_rewrite_frees_at_most_what_was_said(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    table = small_table(tmp_path, {"bucket": "1", "deletion-vectors.enabled": dice.choice(["true", "false"])})
    for _ in range(dice.randint(2, 6)):
        put(table, {dice.randint(0, 400): f"{dice.random()}" * 5 for _ in range(dice.randint(1, 300))})
        if dice.random() < 0.3:
            compact(None, table, full=True)
    told, before = bytes_of(forecast(table), LEVELS), sum(entry.file.file_size for entry in live(table))
    compact(None, table, full=True)
    after = sum(entry.file.file_size for entry in live(table))
    assert before - after <= told
    assert bytes_of(forecast(table), LEVELS) == 0, "one run is left"


def live(table: CatalogTable) -> list[ManifestEntry]:
    snapshot = table.latest_snapshot()
    return [] if snapshot is None else list(table.manifests.live_entries(snapshot))


@pytest.mark.parametrize("tagged", [False, True])
def test_partitions_past_their_retention_free_at_most_what_was_said(tmp_path: Path, tagged: bool) -> None:
    days = ["2024-04-01", "2024-04-02", "2024-05-13"]
    table = small_table(tmp_path, {"partition.expiration-time": "7 d"}, primary_key=False, partition_keys=["v"])
    for number in range(2):
        put(table, {3 * number + place: day for place, day in enumerate(days)})
    if tagged:
        create_tag(table, "kept", snapshot_id=1)
    told = bytes_of(forecast(table, now=NOW), PARTITIONS)
    assert told == sum(e.file.file_size for e in live(table) if table.paths.spec_of(e.partition)["v"] != days[2])
    before = {path: size for path, size in sizes(tmp_path).items() if path.name.startswith("data-")}
    expire_partitions(table, now=NOW)
    assert gone(before) == 0
    expire_snapshots(table, retain_min=1, retain_max=1, now=NOW)
    assert gone(before) == told // 2 if tagged else gone(before) == told
    assert bytes_of(forecast(table, now=NOW), PARTITIONS) == 0


def test_settings_in_place_of_the_options_are_followed(tmp_path: Path) -> None:
    table = random_table(tmp_path, random.Random(1))
    choice = RetentionChoice(1, 1, NOW)
    told = forecast(table, retain_max=1, retain_min=1, older_than=NOW, now=NOW)
    assert bytes_of(told, OLD_SNAPSHOTS) == next_expiry(table, NOW, choice).bytes
    assert len(told.snapshots) >= len(forecast(table, now=NOW).snapshots)


def test_it_is_a_procedure_that_names_what_frees_each_part(tmp_path: Path) -> None:
    put(small_table(tmp_path), {1: "a"})
    rows = Session({"warehouse": str(tmp_path)}).sql("CALL sys.forecast('db.t')").to_arrow().to_pylist()
    assert [row["source"] for row in rows] == [OLD_SNAPSHOTS, PARTITIONS, ORPHANS, BIN, LEVELS]
    assert rows[3] == {
        "source": BIN,
        "files": 0,
        "bytes": 0,
        "at_most": False,
        "freed_by": "the next emptying of the bin",
    }
