"""A table's bytes by who holds them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.operations import compact, create_branch, create_tag, delete_tag, held_bytes, reset_consumer
from maintenance.operations.retention.held_bytes import holdings
from maintenance.sql import Session
from tests.models.reachable import files_on_disk
from tests.small_tables import put, small_table


def data_bytes(table: CatalogTable) -> int:
    paths = (Path(path) for path in files_on_disk(table))
    return sum(path.stat().st_size for path in paths if path.name.startswith(("data-", "changelog-")) and path.suffix)


def test_each_holder_and_what_it_alone_holds(tmp_path: Path) -> None:
    options = {"bucket": "1", "changelog-producer": "input", "snapshot.num-retained.min": "1"}
    table = small_table(tmp_path, options)
    for number in range(3):
        put(table, {number: "a" * 100})
    compact(None, table, full=True)
    create_tag(table, "t", snapshot_id=2)
    create_branch(table, "b", snapshot_id=3)
    put(table.on_branch("b"), {7: "b"})
    reset_consumer(table, "job", 1)
    actual = {(held.kind, held.name): held for held in held_bytes(table, datetime.now(UTC) + timedelta(days=1))}
    assert {key: held.files for key, held in actual.items()} == {
        ("live", ""): 1,
        ("snapshots", ""): 3,
        ("tag", "t"): 2,
        ("branch", "b"): 4,
        ("changelog", ""): 3,
        ("consumer", "job"): actual["consumer", "job"].files,
    }
    assert (actual["snapshots", ""].only_bytes, actual["tag", "t"].only_bytes) == (0, 0)
    assert 0 < actual["branch", "b"].only_bytes < actual["branch", "b"].bytes
    assert actual["live", ""].only_bytes == actual["live", ""].bytes
    assert actual["consumer", "job"].bytes > actual["changelog", ""].bytes
    held = sum(actual[key].bytes for key in (("live", ""), ("branch", "b"), ("changelog", "")))
    assert held + _changelog_of(table.on_branch("b")) == data_bytes(table)
    kinds = holdings(table).kinds
    assert [kind.kind for kind in kinds] == ["live", "snapshots", "tag", "branch", "changelog"]
    assert [kind.files for kind in kinds] == [1, 3, 0, 1, 3]
    assert sum(kind.bytes for kind in kinds) + _changelog_of(table.on_branch("b")) == data_bytes(table)
    delete_tag(table, "t")
    assert ("tag", "t") not in {(held.kind, held.name) for held in held_bytes(table)}


def _changelog_of(branch: CatalogTable) -> int:
    """Bytes of the changelog that the branch made itself."""
    latest = branch.latest_snapshot()
    assert latest is not None
    return sum(entry.file.file_size for entry in branch.manifests.changelog_entries(latest))


def test_it_is_a_procedure(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    shown = Session({"warehouse": str(tmp_path)}).sql("CALL sys.held_bytes(table => 'db.t')").to_arrow().to_pylist()
    assert [(row["kind"], row["files"]) for row in shown] == [("live", 1), ("snapshots", 0)]
