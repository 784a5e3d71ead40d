"""Deletions, updates, merges and appends beside a compaction that never rests: nothing is lost, nothing comes back."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, UnsupportedError
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from tests.models.reachable import unreachable_files
from tests.tables import create_table, get_table, keyed, state

VECTORS = {"deletion-vectors.enabled": "true"}
KINDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "append, vectors": ((), {"bucket": "-1", "compaction.min.file-num": "2", **VECTORS}),
    "append, copy on write": ((), {"bucket": "-1", "compaction.min.file-num": "2"}),
    "append, buckets, vectors": ((), {"bucket": "2", "bucket-key": "id", "compaction.min.file-num": "2", **VECTORS}),
    "key": (("id",), {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}),
    "key, vectors": (("id",), {"bucket": "2", "num-sorted-run.compaction-trigger": "2", **VECTORS}),
    "key, dynamic": (("id",), {"bucket": "-1", "dynamic-bucket.target-row-num": "50"}),
    "key, in files": (("id",), {"bucket": "2", "merge-engine": "partial-update"}),
    "key, in files, vectors": (("id",), {"bucket": "2", "merge-engine": "partial-update", **VECTORS}),
}
ROWS, STEPS = 120, 4


def until_done(work: Callable[[], Any]) -> Any:
    """A change that loses too often, or finds what is not merged yet, is refused whole: then it is asked for again."""
    while True:
        try:
            return work()
        except ConflictError:
            continue
        except UnsupportedError as error:
            if "not merged yet" not in str(error):
                raise


def _delete(mine: CatalogTable, step: int) -> int:
    # Ids of its own, so that what must come of it does not depend on who is quicker.
    return mine.delete(f"id IN ({step * 4}, {step * 4 + 1}, {step * 4 + 80})").deleted_rows


def _update(mine: CatalogTable, step: int) -> int:
    return mine.update({"v": f"'u{step}'"}, f"id >= {20 + step * 3} AND id < {23 + step * 3}").updated_rows


def _merge(mine: CatalogTable, step: int) -> int:
    source = keyed({50 + step: f"m{step}", 200 + step: "new"})
    report = mine.merge(source, "t.id = s.id", [Clause("matched", "update"), Clause("not_matched", "insert")])
    return report.updated_rows + report.inserted_rows


def _append(mine: CatalogTable, step: int) -> int:
    return len(mine.write_arrow(keyed({300 + step: "appended"})))


def _expected(*, in_files: bool) -> tuple[set[int], dict[int, str | None]]:
    """What is deleted, and what there is in the end."""
    gone = {step * 4 + offset for step in range(STEPS) for offset in (0, 1, 80)}
    rows: dict[int, str | None] = {n: "old" for n in range(ROWS) if n not in gone}
    for step in range(STEPS):
        rows[300 + step] = "appended"
        if not in_files:
            rows |= {20 + step * 3 + n: f"u{step}" for n in range(3)} | {50 + step: f"m{step}", 200 + step: "new"}
    return gone, rows


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_beside_compactions(tmp_path: Path, kind: str) -> None:
    keys, options = KINDS[kind]
    table = create_table(tmp_path, primary_keys=keys, options=options)
    for start in range(0, ROWS, 40):
        table.write_arrow(keyed(dict.fromkeys(range(start, start + 40), "old")))
    assert not compact(None, table, full=True).failed
    in_files, done = "in files" in kind, threading.Event()
    counts: dict[str, int] = {}

    def steps(name: str, change: Callable[[CatalogTable, int], int]) -> None:
        mine = get_table(tmp_path)
        for step in range(STEPS):
            changed = until_done(partial(change, mine, step))
            counts[name] = counts.get(name, 0) + changed

    def keep_compacting() -> int:
        mine, rounds = get_table(tmp_path), 0
        while not done.is_set() or not rounds:
            assert not [
                group for group in compact(None, mine, full=rounds % 2 == 0).groups if group.outcome == "failed"
            ]
            rounds += 1
        return rounds

    writers = {"delete": _delete, "append": _append} | ({} if in_files else {"update": _update, "merge": _merge})
    with ThreadPoolExecutor(len(writers) + 1) as pool:
        compactions = pool.submit(keep_compacting)
        try:
            for future in [pool.submit(steps, *writer) for writer in writers.items()]:
                future.result()
        finally:
            done.set()
        assert compactions.result() >= 1
    assert not compact(None, table, full=True).failed
    gone, expected = _expected(in_files=in_files)
    assert state(table) == expected
    assert counts["delete"] == len(gone)
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    assert unreachable_files(table) == set()
