"""Random lives of a table against a plain model: what is kept reads as it was, and nothing else is left on disk."""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_tag import create_tag
from tests.examples import examples
from tests.models.reachable import files_on_disk, unreachable_files
from tests.models.snapshot_expiry import expired_until
from tests.small_tables import put, rows, rows_at, rows_of_tag, set_commit_time, small_table

T = TypeVar("T")
Rows = list[tuple[int, str]]
HOUR = timedelta(hours=1)
START = datetime(2024, 5, 14, 10, tzinfo=UTC)

KEYS = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(
        st.just("write"), st.dictionaries(KEYS, st.text("ab", max_size=2), max_size=4), st.sets(KEYS, max_size=2)
    ),
    st.tuples(st.just("write"), st.dictionaries(KEYS, st.text("ab", max_size=2), min_size=1), st.just(set())),
    st.tuples(st.just("compact"), st.booleans()),
    st.tuples(st.just("tag"), st.integers(0, 30), st.none() | st.integers(1, 5)),
    st.tuples(st.just("wait"), st.integers(1, 5)),
    st.tuples(st.just("consumer"), st.none() | st.integers(1, 12)),
    st.tuples(
        st.just("expire"), st.integers(1, 4), st.integers(0, 3), st.integers(1, 4), st.none() | st.integers(1, 3)
    ),
    st.tuples(st.just("expire_tags"), st.booleans()),
)


class Life:
    """A table and what it must hold: rows by snapshot, and by tag with its end."""

    def __init__(self, folder: Path, *, primary_key: bool) -> None:
        options = {"changelog-producer": "full-compaction", "manifest.merge-min-count": "3"} if primary_key else {}
        options |= {"snapshot.expire.limit": "2", "snapshot.time-retained": "3 h"}
        self.table = small_table(folder, options, primary_key=primary_key)
        self.primary_key = primary_key
        self.now = START
        self.now_rows: Rows = []
        self.snapshots: dict[int, Rows] = {}
        self.times: dict[int, int] = {}
        self.tags: dict[str, tuple[Rows, datetime | None]] = {}
        self.consumer: int | None = None

    def _committed(self, *ids: int) -> None:
        for snapshot_id in ids:
            self.times[snapshot_id] = int(self.now.timestamp() * 1000)
            set_commit_time(self.table, snapshot_id, self.times[snapshot_id])
            self.snapshots[snapshot_id] = self.now_rows

    def write(self, values: dict[int, str], deleted: set[int]) -> None:
        deleted = deleted - set(values) if self.primary_key else set()
        if not values and not deleted:
            return
        if self.primary_key:
            after = {k: v for k, v in {**dict(self.now_rows), **values}.items() if k not in deleted}
            self.now_rows = sorted(after.items())
        else:
            self.now_rows = sorted([*self.now_rows, *values.items()])
        self._committed(put(self.table, values, deleted))

    def compact(self, full: bool) -> None:
        self._committed(*compact(None, self.table, full=full).snapshot_ids)

    def tag(self, choice: int, hours: int | None) -> None:
        if self.snapshots:
            snapshot_id = sorted(self.snapshots)[choice % len(self.snapshots)]
            name, life = f"t{len(self.tags)}-{snapshot_id}", None if hours is None else hours * HOUR
            create_tag(
                self.table, name, snapshot_id=snapshot_id, time_retained=life, ignore_if_exists=True, now=self.now
            )
            ends = None if life is None else self.now + life
            self.tags.setdefault(name, (self.snapshots[snapshot_id], ends))

    def wait(self, hours: int) -> None:
        self.now += hours * HOUR

    def consumer_at(self, following: int | None) -> None:
        self.consumer = following
        folder = Path(self.table.paths.consumer_folder())
        folder.mkdir(exist_ok=True)
        if following is None:
            (folder / "consumer-c").unlink(missing_ok=True)
        else:
            (folder / "consumer-c").write_text(json.dumps({"nextSnapshot": following}))

    def expire(self, least: int, more: int, hours: int, at_most: int | None) -> None:
        older_than = self.now - hours * HOUR

        def run(dry_run: bool) -> tuple[tuple[int, ...], tuple[str, ...]]:
            report = expire_snapshots(
                self.table,
                retain_min=least,
                retain_max=least + more,
                older_than=older_than,
                max_deletes=at_most,
                dry_run=dry_run,
                now=self.now,
            )
            return report.expired, report.deleted_files

        expired = self._as_planned(run)
        if not self.times:
            assert expired == ()
            return
        until = expired_until(
            self.times,
            retain_min=least,
            retain_max=least + more,
            older_than=int(older_than.timestamp() * 1000),
            next_of_consumers=[] if self.consumer is None else [self.consumer],
        )
        should = [snapshot_id for snapshot_id in self.times if snapshot_id < until][:at_most]
        assert list(expired) == should
        for snapshot_id in should:
            del self.times[snapshot_id], self.snapshots[snapshot_id]

    def expire_tags(self, old_ones: bool) -> None:
        older_than = self.now - 4 * HOUR if old_ones else None

        def run(dry_run: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
            report = expire_tags(self.table, now=self.now, older_than=older_than, dry_run=dry_run)
            return report.expired, report.deleted_files

        expired = self._as_planned(run)
        over = {name for name, (_, ends) in self.tags.items() if ends is not None and ends < self.now}
        assert over <= set(expired)
        assert old_ones or over == set(expired)
        for name in expired:
            del self.tags[name]

    def _as_planned(self, run: Callable[[bool], tuple[tuple[T, ...], tuple[str, ...]]]) -> tuple[T, ...]:
        before = files_on_disk(self.table)
        planned = run(True)
        assert files_on_disk(self.table) == before
        assert run(False) == planned
        assert sorted(planned[1]) == sorted(before - files_on_disk(self.table))
        return planned[0]

    def check(self) -> None:
        assert self.table.snapshots.list_ids() == sorted(self.snapshots)
        assert {i: rows_at(self.table, i) for i in self.snapshots} == self.snapshots
        assert {name: rows_of_tag(self.table, name) for name in self.table.tags.names()} == {
            name: held for name, (held, _) in self.tags.items()
        }
        assert rows(self.table) == self.now_rows
        assert unreachable_files(self.table) == set()


@settings(max_examples=examples(40))
@given(st.booleans(), st.lists(STEPS, min_size=3, max_size=25))
def test_what_is_kept_in_any_life_reads_as_it_was(primary_key: bool, steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder), primary_key=primary_key)
        actions: dict[object, Callable[..., None]] = {
            "write": life.write,
            "compact": life.compact,
            "tag": life.tag,
            "wait": life.wait,
            "consumer": life.consumer_at,
            "expire": life.expire,
            "expire_tags": life.expire_tags,
        }
        for name, *arguments in steps:
            actions[name](*arguments)
            if name in ("expire", "expire_tags"):
                life.check()
        life.expire(1, 0, 1, None)
        life.expire_tags(False)
        life.check()
