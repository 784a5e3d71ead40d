"""Random writes, deletes, updates, merges and compactions, against a dictionary.

The rows of an append table are a multiset; with distinct keys a dictionary is a model of it, and of a table with a
primary key. A second writer works on a handle of its own, opened before.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from maintenance.catalog import CatalogTable
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.examples import examples
from tests.models.reachable import unreachable_files
from tests.tables import create_table, get_table

FIELDS = (("id", "INT NOT NULL"), ("n", "INT"), ("v", "STRING"))
VECTORS = {"deletion-vectors.enabled": "true"}
KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "append, copy on write": ((), {"bucket": "-1"}),
    "append, vectors": ((), {"bucket": "-1", **VECTORS, "deletion-vector.index-file.target-size": "60 b"}),
    "append, vectors of 64 bits": ((), {"bucket": "-1", **VECTORS, "deletion-vectors.bitmap64": "true"}),
    "append, buckets, vectors": ((), {"bucket": "2", "bucket-key": "id", **VECTORS}),
    "append, buckets": ((), {"bucket": "2", "bucket-key": "id"}),
    "key": (("id",), {"bucket": "2"}),
    "key, vectors": (("id",), {"bucket": "2", **VECTORS}),
    "key, vectors, dynamic": (("id",), {"bucket": "-1", "dynamic-bucket.target-row-num": "100", **VECTORS}),
    "key, vectors, orc": (("id",), {"bucket": "2", **VECTORS, "file.format": "orc"}),
    "append, vectors, avro": ((), {"bucket": "-1", **VECTORS, "file.format": "avro"}),
    "append, vectors, row": ((), {"bucket": "-1", **VECTORS, "file.format": "row"}),
    "key, vectors, row": (("id",), {"bucket": "2", **VECTORS, "file.format": "row"}),
    "key, vectors, sequence": (("id",), {"bucket": "2", **VECTORS, "sequence.field": "n"}),
    "key, vectors, changelog": (("id",), {"bucket": "2", **VECTORS, "changelog-producer": "lookup"}),
    "key, vectors, partial": (
        ("id",),
        {
            "bucket": "1",
            **VECTORS,
            "merge-engine": "partial-update",
            "partial-update.remove-record-on-delete": "true",
        },
    ),
    "key, vectors, in files": (("id",), {"bucket": "1", **VECTORS, "merge-engine": "partial-update"}),
    "key, in files": (("id",), {"bucket": "2", "merge-engine": "partial-update"}),
    "key, in files, dynamic": (
        ("id",),
        {"bucket": "-1", "dynamic-bucket.target-row-num": "100", "merge-engine": "partial-update"},
    ),
    "key, in files, ignore-delete": (("id",), {"bucket": "2", "ignore-delete": "true"}),
    "key, postpone": (("id",), {"bucket": "-2"}),
    "key, vectors, merge on read": (("id",), {"bucket": "1", **VECTORS, "deletion-vectors.merge-on-read": "true"}),
}
IDS = st.sets(st.integers(0, 30), min_size=1, max_size=8)


class RowChanges(RuleBasedStateMachine):
    @initialize(kind=st.sampled_from(sorted(KINDS)), many=st.booleans(), lazy=st.booleans())
    def create(self, kind: str, many: bool, lazy: bool) -> None:
        keys, options = KINDS[kind]
        self.folder = Path(tempfile.mkdtemp())
        self.keyed, self.unseen = bool(keys), kind.startswith("key, vectors") and "merge" not in kind
        self.in_files = "in files" in kind
        # Whether level 0 stays until some compaction comes: then only reads that merge it show all.
        self.lazy = lazy and self.unseen
        options = {**options, "target-file-size": "60 kb", "compaction.min.file-num": "3"}
        self.table: CatalogTable = create_table(self.folder, FIELDS, keys, options)
        self.other = get_table(self.folder)
        self.rows: dict[int, tuple[int, str | None]] = {}
        self.count = 0
        if many:
            # So much that small changes mark rows in it and do not rewrite it.
            self.rows = {i: (0, hashlib.sha256(b"%d" % i).hexdigest()) for i in range(5, 605)}
            ids, numbers = list(self.rows), [0] * len(self.rows)
            texts = [text for _, text in self.rows.values()]
            self.table.write_arrow(
                pa.table({"id": pa.array(ids, pa.int32()), "n": pa.array(numbers, pa.int32()), "v": texts})
            )
            assert not compact(None, self.table, full=True).failed

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            try:
                report = fsck(self.table.file_io, self.table.location, deep=True)
                assert report.healthy, report.faults
                assert unreachable_files(self.table) == set()
            finally:
                shutil.rmtree(self.folder)

    def writer(self, second: bool) -> CatalogTable:
        return self.other if second else self.table

    def settle(self) -> None:
        """Make what was written visible: reads of merge-on-write tables leave out level 0."""
        if self.unseen and not self.lazy:
            assert not compact(None, self.table).failed

    @rule(ids=IDS, second=st.booleans())
    def write(self, ids: set[int], second: bool) -> None:
        new = sorted(ids if self.keyed else ids - set(self.rows))
        if not new:
            return
        self.count += 1
        values = dict.fromkeys(new, (self.count, f"v{self.count}"))
        data = pa.table(
            {
                "id": pa.array(new, pa.int32()),
                "n": pa.array([values[i][0] for i in new], pa.int32()),
                "v": pa.array([values[i][1] for i in new]),
            }
        )
        self.writer(second).write_arrow(data)
        self.rows |= values
        self.settle()

    @rule(ids=IDS, second=st.booleans())
    def delete(self, ids: set[int], second: bool) -> None:
        where = f"id IN ({', '.join(map(str, ids))})"
        if self.in_files:
            # What has several versions is not deleted in files, see `keyed_files`.
            assert not compact(None, self.table, full=True).failed
        report = self.writer(second).delete(where)
        gone = ids & set(self.rows)
        assert report.deleted_rows == len(gone)
        assert bool(report.snapshot_ids) == bool(gone)
        self.rows = {i: row for i, row in self.rows.items() if i not in gone}
        self.settle()

    @rule(low=st.integers(0, 30), second=st.booleans())
    def update(self, low: int, second: bool) -> None:
        self.count += 1
        report = self.writer(second).update({"v": f"'u{self.count}'", "n": self.count}, f"id >= {low} AND id < 99")
        new = {i: (self.count, f"u{self.count}") for i in self.rows if low <= i < 99}
        assert report.updated_rows == len(new)
        self.rows |= new
        self.settle()

    @precondition(lambda self: self.rows)
    @rule(full=st.booleans(), second=st.booleans())
    def compact(self, full: bool, second: bool) -> None:
        assert not compact(None, self.writer(second), full=full).failed

    @rule()
    def expire(self) -> None:
        expire_snapshots(self.table, retain_max=1, retain_min=1)

    @invariant()
    def same_rows(self) -> None:
        if not hasattr(self, "table"):
            return
        options = {"deletion-vectors.merge-on-read": "true"} if self.lazy else {}
        actual = self.table.to_arrow(options=options).to_pylist()
        rows = {row["id"]: (row["n"], row["v"]) for row in actual}
        assert len(rows) == len(actual)
        assert rows == self.rows


RowChanges.TestCase.settings = settings(
    max_examples=examples(15), stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestRowChanges = pytest.mark.filterwarnings("ignore")(RowChanges.TestCase)
