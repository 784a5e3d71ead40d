"""Random histories in every bucket mode, with every merge engine, beside a second writer: the table equals the model.

A second writer acts between the plan of a compaction and its commit, with a handle of the table's first day. Tables
whose reads leave out level 0, or rows that wait for their buckets, are compared once a compaction has caught up.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.examples import examples
from tests.models.keyed_rows import KeyedRows, Row
from tests.tables import create_table, data_files, files_on_disk, get_table, live, open_warehouse

FIELDS = (("part", "INT NOT NULL"), ("id", "INT NOT NULL"), ("u", "INT"), ("v", "STRING"))
ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 9), st.sampled_from([None, 1, 2]), st.sampled_from([None, "a", "b"])),
    min_size=1,
    max_size=8,
)
MODES: dict[str, dict[str, str]] = {
    "fixed": {"bucket": "2"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    "crossing": {"bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    "straight": {"bucket": "-2", "postpone.target-row-num-per-bucket": "3"},
    "waiting": {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "2"},
    "append": {"bucket": "-1", "compaction.min.file-num": "2"},
    "append in buckets": {"bucket": "2", "bucket-key": "id", "compaction.min.file-num": "2"},
}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.u.aggregate-function": "sum",
        "fields.v.aggregate-function": "last_value",
    },
    "first-row": {"merge-engine": "first-row"},
}
MARKS: dict[str, dict[str, str]] = {
    "none": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors merged on read": {"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
}
FILES = st.fixed_dictionaries(
    {
        "file.format": st.sampled_from(["parquet", "orc", "avro", "row"]),
        "num-sorted-run.compaction-trigger": st.sampled_from(["2", "3", "5"]),
        "target-file-size": st.sampled_from(["1 b", "1 mb"]),
        "write-buffer-size": st.sampled_from(["60 b", "1 mb"]),
        "compaction.size-ratio": st.sampled_from(["1", "100"]),
    },
    optional={
        "compaction.optimization-interval": st.sampled_from(["1 ms", "1 h"]),
        "compaction.total-size-threshold": st.just("1 kb"),
        "compaction.incremental-size-threshold": st.just("1 kb"),
        "compaction.force-up-level-0": st.just("true"),
        "compaction.force-rewrite-all-files": st.just("true"),
        "compaction.offpeak-ratio": st.just("200"),
        "manifest.merge-min-count": st.just("3"),
        "data-file.thin-mode": st.just("true"),
    },
)


def arrow(rows: list[Row]) -> pa.Table:
    types = (pa.int32(), pa.int32(), pa.int32(), pa.string())
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, data_type) for column, data_type in zip(columns, types, strict=True)]
    return pa.table(arrays, [name for name, _ in FIELDS])


def made(folder: str, keys: tuple[str, ...], choices: list[dict[str, str]]) -> CatalogTable:
    """A table with these options; the last choices are left out where the others do not go with them."""
    for count in range(len(choices), 0, -1):
        options = {key: value for choice in choices[:count] for key, value in choice.items()}
        try:
            return create_table(folder, FIELDS, keys, options, partition_keys=("part",))
        except (OptionError, UnsupportedError):
            open_warehouse(folder).drop_table("db.t", ignore_if_not_exists=True)
    raise AssertionError("no choice of options is accepted")


class ModesMachine(RuleBasedStateMachine):
    """One table, its model, and a handle that is never opened again."""

    @initialize(
        mode=st.sampled_from([*MODES]),
        engine=st.sampled_from([*ENGINES]),
        marks=st.sampled_from([*MARKS]),
        producer=st.sampled_from(["none", "input", "lookup", "full-compaction"]),
        files=FILES,
    )
    def create(self, mode: str, engine: str, marks: str, producer: str, files: dict[str, str]) -> None:
        self.folder = tempfile.mkdtemp()
        keyed, self.crossing = not mode.startswith("append"), mode == "crossing"
        keys = (("id",) if self.crossing else ("part", "id")) if keyed else ()
        choices = [{"write-only": "true", **MODES[mode]}]
        if keyed:
            choices += [ENGINES[engine], files, MARKS[marks], {"changelog-producer": producer}]
        else:
            choices += [files, MARKS[marks]]
        self.table = self.stale = made(self.folder, keys, choices)
        options = self.table.options
        self.engine = options.get("merge-engine", "deduplicate") if keyed else None
        self.model = KeyedRows(self.engine, self.crossing)
        marked = "deletion-vectors.enabled" in options and "deletion-vectors.merge-on-read" not in options
        self.hides = mode == "waiting" or (keyed and marked) or self.engine == "first-row"
        self.caught_up = True

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            try:
                if hasattr(self, "caught_up"):
                    self.catch_up()
                    assert files_on_disk(self.table) == data_files(self.table), "nothing is left over"
            finally:
                shutil.rmtree(self.folder)

    @rule(rows=ROWS)
    def write(self, rows: list[Row]) -> None:
        self.table.write_arrow(arrow(rows))
        self.model.write(rows)
        self.caught_up = False

    @rule(rows=ROWS)
    def another_writes(self, rows: list[Row]) -> None:
        self.stale.write_arrow(arrow(rows))
        self.model.write(rows)
        self.caught_up = False

    @precondition(lambda self: self.engine in (None, "deduplicate") and not self.hides)
    @rule(key=st.integers(0, 9))
    def delete(self, key: int) -> None:
        self.table.delete(f"id = {key}")
        self.model.remove(lambda row: row[1] == key)

    @precondition(lambda self: not self.hides and not self.crossing)
    @rule(rows=ROWS, part=st.integers(0, 1))
    def overwrite(self, rows: list[Row], part: int) -> None:
        rows = [(part, *row[1:]) for row in rows]
        self.table.overwrite_arrow(arrow(rows), Overwrite([{"part": str(part)}]))
        self.model.remove(lambda row: row[0] == part)
        self.model.write(rows)

    @rule(part=st.integers(0, 1))
    def truncate(self, part: int) -> None:
        self.table.truncate([{"part": str(part)}])
        self.model.remove(lambda row: row[0] == part)

    @rule(full=st.booleans(), per_commit=st.sampled_from([None, 1]))
    def compact(self, full: bool, per_commit: int | None) -> None:
        self.compacted(full=full, groups_per_commit=per_commit)
        # Afterwards there is nothing to do: at once after a full one, after a few turns by the rules.
        for _ in range(0 if full else 8):
            if not self.compacted().snapshot_ids:
                break
        last = self.table.snapshots.latest_id()
        assert self.compacted(full=full).snapshot_ids == (), "a second plan is empty"
        assert self.table.snapshots.latest_id() == last
        self.caught_up = True

    @rule(part=st.integers(0, 1), full=st.booleans())
    def compact_partition(self, part: int, full: bool) -> None:
        others = [
            e.file.file_name for e in live(self.table) if self.table.paths.spec_of(e.partition)["part"] != str(part)
        ]
        if not any(self.table.paths.spec_of(e.partition)["part"] == str(part) for e in live(self.table)):
            return  # a partition that does not exist is an error
        self.compacted(full=full, partitions=[{"part": str(part)}])
        assert set(others) <= {entry.file.file_name for entry in live(self.table)}

    @rule(rows=ROWS, full=st.booleans())
    def compact_beside_a_writer(self, rows: list[Row], full: bool) -> None:
        def write() -> None:
            self.stale.write_arrow(arrow(rows))
            self.model.write(rows)
            self.caught_up = False

        self.compacted(full=full, progress=Once(write))

    @rule(full=st.booleans(), theirs_full=st.booleans())
    def compact_beside_a_compactor(self, full: bool, theirs_full: bool) -> None:
        def race() -> None:
            assert compact(None, self.stale, full=theirs_full).failed == ()

        self.compacted(full=full, progress=Once(race))

    @rule(part=st.integers(0, 1), full=st.booleans())
    def compact_beside_a_truncation(self, part: int, full: bool) -> None:
        def race() -> None:
            self.stale.truncate([{"part": str(part)}])
            self.model.remove(lambda row: row[0] == part)

        self.compacted(full=full, progress=Once(race))

    @rule(keep=st.integers(1, 4))
    def expire(self, keep: int) -> None:
        expire_snapshots(self.table, retain_max=keep, retain_min=1)

    @rule()
    def reopen(self) -> None:
        self.table = get_table(self.folder)

    @invariant()
    def reads_as_the_model(self) -> None:
        if hasattr(self, "caught_up") and (self.caught_up or not self.hides):
            assert rows_of(self.table) == self.model.rows

    def compacted(self, **how: Any) -> CompactReport:
        report = compact(None, self.table, **how)
        assert report.failed == ()
        done = report.count("committed") + report.count("conflict_retried")
        assert bool(done) == bool(report.snapshot_ids), "what was committed is what the report says"
        return report

    def catch_up(self) -> None:
        self.compacted(full=True)
        assert rows_of(self.table) == self.model.rows


class Once:
    """A progress callback that lets somebody else act once, when files are written and not yet committed."""

    def __init__(self, race: Callable[[], None]) -> None:
        self._races: Iterator[Callable[[], None]] = iter([race])

    def __call__(self, line: str) -> None:
        if "rewritten" in line:
            for race in self._races:
                race()
                return


def rows_of(table: CatalogTable) -> list[Row]:
    return sorted((tuple(row.values()) for row in table.to_arrow().to_pylist()), key=repr)


TestModes = pytest.mark.slow(ModesMachine.TestCase)
TestModes.settings = settings(max_examples=examples(40), stateful_step_count=12)
