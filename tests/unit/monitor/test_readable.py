"""What cannot be read is named with its file: metadata, data files, deletion vectors; in many folders, too."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.monitor.readable import ReadFault, lost_files, readable
from tests.tables import create_table, keyed, live

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def paths(table: CatalogTable) -> list[Path]:
    return [Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)) for entry in live(table)]


def lost(table: CatalogTable, now: datetime = NOW) -> list[ReadFault]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return lost_files(table, snapshot, now)


def test_a_file_that_is_cut_off_and_one_that_is_gone(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for number in range(3):
        table.write_arrow(keyed({number: "a"}))
    assert lost(table) == []
    first, second, _ = paths(table)
    whole = first.stat().st_size
    first.write_bytes(first.read_bytes()[:20])
    second.unlink()
    actual = {fault.where: fault.found for fault in lost(table)}
    assert actual == {
        str(first): f"a file has 20 bytes, the metadata says {whole}",
        str(second): "a file of the current snapshot is missing",
    }


def test_deletion_vectors_are_looked_for(tmp_path: Path) -> None:
    table = create_table(tmp_path, primary_keys=(), options={"deletion-vectors.enabled": "true"})
    table.write_arrow(keyed(dict.fromkeys(range(9), "a")))
    table.delete("id < 3")
    assert lost(table) == []
    (vectors,) = (Path(table.location) / "index").iterdir()
    vectors.unlink()
    assert [fault.where for fault in lost(table)] == [str(vectors)]


def test_every_folder_of_many_is_looked_at_in_time(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "150"})
    table.write_arrow(keyed(dict.fromkeys(range(3000), "a")))
    files = paths(table)
    assert len({path.parent for path in files}) == 150
    for path in files:
        path.unlink()
    named: set[str] = set()
    for turn in range(4):
        some = {fault.where for fault in lost(table, NOW + timedelta(minutes=5 * turn))}
        assert len(some) == 64, "a look costs the same however many there are"
        named |= some
    assert named == {str(path) for path in files}


def test_the_judgement_names_the_first_fault_and_all_of_them() -> None:
    assert readable([]).passed
    errors = [CorruptFileError("not JSON", "/t/snapshot/snapshot-1", "Roll back."), PermissionError(13, "denied", "/x")]
    actual = readable([ReadFault.of(error) for error in errors])
    assert not actual.passed
    assert actual.summary == "not JSON (/t/snapshot/snapshot-1); and 1 more"
    assert actual.fix == "Roll back."
    assert [row["where"] for row in actual.details["faults"]] == ["/t/snapshot/snapshot-1", "/x"]
