"""Snapshots, long-lived changelogs and their files as Java leaves them, and Java's readers on what we leave."""

from pathlib import Path

import pytest

from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_changelogs import expire_changelogs
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.java.process import JavaProcess
from tests.java.samples import Row, arrow_of, comparable, rows_in, table_of
from tests.models.reachable import unreachable_files

COLUMNS = (("id", "BIGINT NOT NULL"), ("v", "STRING"))
OPTIONS = {
    "bucket": "1",
    "snapshot.num-retained.min": "2",
    "snapshot.num-retained.max": "3",
    "changelog.num-retained.min": "4",
    "changelog.num-retained.max": "6",
}


def batch(number: int) -> tuple[list[Row], list[str]]:
    rows: list[Row] = [(number % 3, f"{number}"), (number, "x"), (9, f"{number}")]
    return rows, ["+I", "+I", "-D" if number % 4 == 3 else "+U"]


def files(warehouse: str) -> dict[str, list[str]]:
    """What lies there, files named by chance by their number."""
    root = Path(table_of(warehouse).location)
    collected = {}
    for folder in ("snapshot", "changelog"):
        for name in ("EARLIEST", "LATEST"):
            hint = root / folder / name
            collected[f"{folder}/{name}"] = [hint.read_text()] if hint.exists() else []
        collected[folder] = sorted(path.name for path in (root / folder).glob(f"{folder}-*"))
    # Data files depend on what each engine's compactions happen to lift and to rewrite.
    collected["changelog files"] = ["" for _ in root.glob("bucket-*/changelog-*")]
    return collected


@pytest.mark.parametrize("producer", ["input", "lookup"])
def test_what_java_leaves_after_each_commit(java: JavaProcess, tmp_path: Path, producer: str) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    # With input Java's writer is not to compact now and then.
    options = {**OPTIONS, "changelog-producer": producer, "num-sorted-run.compaction-trigger": "100"}
    for warehouse in (ours, theirs):
        java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
    for number in range(9):
        java.write(theirs, "db.t", *batch(number))
        table = table_of(ours)
        table.write_arrow(arrow_of(batch(number)[0], COLUMNS), batch(number)[1])
        if producer == "lookup":
            # Java's writer expires once for both of its snapshots.
            produce_changelog(None, table)
        expire_snapshots(table)
    assert unreachable_files(table_of(ours)) == set()
    assert comparable(rows_in(table_of(ours).to_arrow())) == comparable(java.rows(theirs, "db.t"))
    assert java.orphans(ours, "db.t") == []
    assert files(ours) == files(theirs)
    assert len(files(ours)["changelog"]) == 3


@pytest.mark.parametrize("producer", ["none", "input"])
def test_java_finishes_what_we_began(java: JavaProcess, tmp_path: Path, producer: str) -> None:
    """Java's expiry of changelogs, after its next commit, leaves no file behind that we had kept."""
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), {**OPTIONS, "changelog-producer": producer})
    for number in range(8):
        table_of(warehouse).write_arrow(arrow_of(batch(number)[0], COLUMNS), batch(number)[1])
        if number in (3, 6):
            java.compact(warehouse, "db.t")
        expire_snapshots(table_of(warehouse))
    assert table_of(warehouse).changelogs.list_ids()
    for number in range(8, 12):
        java.write(warehouse, "db.t", *batch(number))
        assert java.orphans(warehouse, "db.t") == []
    wanted = comparable(java.rows(warehouse, "db.t"))
    expire_snapshots(table_of(warehouse))
    assert java.orphans(warehouse, "db.t") == []
    assert comparable(rows_in(table_of(warehouse).to_arrow())) == wanted


def test_java_streams_what_an_overwrite_replaced(java: JavaProcess, tmp_path: Path) -> None:
    """The changelog that had brought the replaced rows has expired, that of the overwrite has not."""
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), {**OPTIONS, "write-only": "true"})
    java.write(warehouse, "db.t", [(1, "a")])
    java.write(warehouse, "db.t", [(2, "b")], overwrite={})
    java.write(warehouse, "db.t", [(3, "c")])
    expire_snapshots(table_of(warehouse), retain_min=1, retain_max=1)
    assert expire_changelogs(table_of(warehouse), retain_min=1, retain_max=2).expired == (1,)
    options = {"scan.mode": "from-snapshot", "scan.snapshot-id": "2", "streaming-read-overwrite": "true"}
    assert java.stream(warehouse, "db.t", options) == ([(1, "a"), (2, "b"), (3, "c")], 4)
    expire_changelogs(table_of(warehouse), delete_all=True)
    assert unreachable_files(table_of(warehouse)) == set()
