"""Global indexes of types that nothing here can search: reads do without them, maintenance keeps them or drops them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.commit.columns import commit_global_indexes
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind
from maintenance.operations import compact, create_global_index, drop_partitions, expire_snapshots, remove_orphan_files
from maintenance.operations.checks.fsck import fsck
from maintenance.table.table import Table
from tests.tables import create_table, get_table, live

FIELDS = [("id", "INT"), ("t", "STRING"), ("e", "ARRAY<FLOAT>"), ("p", "STRING")]
OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}


def rows(start: int, p: str) -> pa.Table:
    numbers = range(start, start + 5)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "t": [f"text {number}" for number in numbers],
            "e": pa.array([[float(number), 1.0] for number in numbers], pa.list_(pa.float32())),
            "p": [p] * 5,
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two partitions of ten rows, indexed by text, by vectors, and by two columns together."""
    table = create_table(tmp_path, FIELDS, (), OPTIONS, partition_keys=("p",))
    for start, p in ((0, "a"), (5, "a"), (10, "b"), (15, "b")):
        table.write_arrow(rows(start, p))
    added = []
    for partition in {entry.partition for entry in live(table)}:
        first = min(e.file.first_row_id or 0 for e in live(table) if e.partition == partition)
        kinds = {"es-index": (1, None), "lumina-vector-ann": (2, None), "multivalue": (1, (3,))}
        for kind, (column, further) in kinds.items():
            name = f"{kind}-global-index-{first}.index"
            meta = GlobalIndexMeta(first, first + 9, column, further, b"whatever its library writes")
            entry = IndexManifestEntry(FileKind.ADD, partition, 0, kind, name, 7, 10, global_index=meta)
            table.file_io.write_bytes(table.paths.index_file(entry), b"content")
            added.append(entry)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    commit_global_indexes(table.commit_target(), added, (), CommitIdentity("theirs"), snapshot)
    return get_table(tmp_path)


def indexes(table: Table) -> list[IndexManifestEntry]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return [entry for entry in table.manifests.read_index(snapshot) if entry.global_index is not None]


def names(table: Table) -> set[str]:
    return {entry.file_name for entry in indexes(table)}


def on_disk(table: Table) -> set[str]:
    return {path.name for path in Path(table.location, "index").iterdir() if "global-index" in path.name}


def ids(table: Table, where: str, **options: str) -> list[int]:
    return sorted(table.to_arrow(["id"], where=where, options=options)["id"].to_pylist())


def cleaned(table: Table) -> None:
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC) + timedelta(days=1))
    remove_orphan_files(None, table, minimum_age=timedelta(0))


def test_reads_find_the_same_rows_without_them(table: Table) -> None:
    for where, actual in (
        ("t = 'text 3'", [3]),
        ("t > 'text 8'", [9]),
        ("e IS NULL", []),
        ("id >= 17", [17, 18, 19]),
    ):
        assert ids(table, where) == ids(table, where, **{"global-index.enabled": "false"}) == actual


def test_changes_and_compactions_keep_them_and_their_files(table: Table) -> None:
    before = names(table)
    assert len(before) == 6
    table.update({"id": "103"}, "id = 3")  # type: ignore[attr-defined]
    table.delete("id = 4")  # type: ignore[attr-defined]
    compact(None, table, full=True)
    cleaned(table)
    assert names(table) == on_disk(table) == before
    assert ids(table, "id < 6 OR id = 103") == [0, 1, 2, 5, 103]
    assert fsck(table.file_io, table.location, deep=True).faults == ()


def test_they_go_with_partitions_and_with_new_values(table: Table) -> None:
    with pytest.raises(UnsupportedError, match="column 't' has a global index of type"):
        table.update({"t": "'new'"}, "id = 3")  # type: ignore[attr-defined]
    dropping = table.copy({"global-index.column-update-action": "drop-partition-index"})
    dropping.update({"t": "'new'"}, "id = 3")  # type: ignore[attr-defined]
    left = [entry.index_type for entry in indexes(table)]
    assert sorted(left) == ["es-index", "lumina-vector-ann", "lumina-vector-ann", "multivalue"]
    drop_partitions(table, [{"p": "b"}])
    assert [entry.index_type for entry in indexes(table)] == ["lumina-vector-ann"]
    cleaned(table)
    assert names(table) == on_disk(table)
    assert ids(table, "t = 'new'") == [3]


def test_indexes_of_ours_beside_them(table: Table) -> None:
    create_global_index(None, table, "t", "btree")
    assert len(indexes(table)) == 8
    assert ids(table, "t = 'text 12'") == [12]
    with pytest.raises(UnsupportedError, match="es-index"):
        create_global_index(None, table, "t", "es-index")
