"""Faults of tables, one by one."""

import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, PaimonError
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations.checks.faults import FaultKind, Faults
from maintenance.operations.checks.fsck import FsckReport, fsck
from maintenance.operations.refs.create_tag import create_tag
from tests.deletion_vectors import delete_rows
from tests.tables import create_table, files_on_disk, keyed, live, live_files


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Three snapshots, and a tag of the second."""
    table = create_table(tmp_path)
    for number in range(3):
        table.write_arrow(keyed({number: "a", 9: "b"}))
    create_tag(table, "kept", snapshot_id=2)
    return table


def examined(table: CatalogTable, *, deep: bool = False) -> FsckReport:
    return fsck(table.file_io, table.location, deep=deep)


def only(report: FsckReport) -> tuple[FaultKind, str, str]:
    """The one fault: kind, name of the file, detail."""
    (fault,) = report.faults
    return fault.kind, fault.object.rsplit("/", 1)[1], fault.detail


def noted(report: FsckReport) -> tuple[FaultKind, str, str]:
    """The one harmless finding of a healthy table, as `only`."""
    assert report.healthy
    (note,) = report.notes
    assert note.harmless
    return note.kind, note.object.rsplit("/", 1)[1], note.detail


def folder(table: CatalogTable, name: str) -> Path:
    return Path(table.location) / name


def test_a_whole_table_is_healthy_and_left_as_it_is(table: CatalogTable) -> None:
    before = files_on_disk(table)
    reported: list[str] = []
    report = fsck(table.file_io, table.location + "/", deep=True, progress=reported.append)
    assert report.healthy
    assert (report.states, report.data_files, report.read_files) == (4, 3, 3)
    assert report.manifests == 3
    assert report.to_arrow().num_rows == 0
    assert reported[0].startswith("snapshot 3")
    assert reported[-1] == "reading 3 data files"
    assert files_on_disk(table) == before


def test_a_folder_without_a_table_is_reported_as_missing(tmp_path: Path, table: CatalogTable) -> None:
    report = fsck(table.file_io, str(tmp_path / "nowhere"))
    assert [fault.kind for fault in report.faults] == [FaultKind.MISSING]
    assert report.states == 0


@pytest.mark.parametrize("name", ["schema", "snapshot", "manifest", "tag", "bucket-0"])
def test_a_file_where_a_folder_should_be(table: CatalogTable, name: str) -> None:
    shutil.rmtree(folder(table, name))
    folder(table, name).write_text("?")
    report = examined(table, deep=True)
    assert any(name in fault.object for fault in report.faults)


def test_the_report_as_a_table(table: CatalogTable) -> None:
    folder(table, "snapshot/snapshot-2").unlink()
    report = examined(table)
    rows = report.to_arrow()
    assert rows.schema.names == ["kind", "object", "detail", "fix"]
    assert rows.column("kind").to_pylist() == ["missing"]
    assert all(pa.types.is_string(field.type) for field in rows.schema)
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_gap_between_snapshots(table: CatalogTable) -> None:
    folder(table, "snapshot/snapshot-2").unlink()
    assert only(examined(table)) == (
        FaultKind.MISSING,
        "snapshot-2",
        "there are snapshots 1 to 3, and this file is not one of them",
    )


@pytest.mark.parametrize(
    ("hint", "text", "detail"),
    [
        ("LATEST", "2", "it says 2, correct is 3"),
        ("LATEST", "", "it does not contain a number"),
        ("EARLIEST", "x", "it does not contain a number"),
        ("EARLIEST", "99", "it says 99, correct is 1"),
    ],
)
def test_a_hint_that_is_wrong_is_noted(table: CatalogTable, hint: str, text: str, detail: str) -> None:
    folder(table, f"snapshot/{hint}").write_text(text)
    report = examined(table)
    assert noted(report) == (FaultKind.HINT, hint, detail)
    assert report.to_arrow().column("detail").to_pylist() == [detail]


def test_a_hint_that_misleads_java(table: CatalogTable) -> None:
    """Java believes that snapshot 17 is the latest, and fails."""
    folder(table, "snapshot/LATEST").write_text("17")
    assert only(examined(table)) == (FaultKind.HINT, "LATEST", "it says 17, correct is 3")
    assert not examined(table).healthy


def test_snapshots_that_an_expiry_gave_up(table: CatalogTable) -> None:
    folder(table, "snapshot/EARLIEST").write_text("2")
    kind, name, detail = noted(examined(table))
    assert (kind, name) == (FaultKind.STRAY, "snapshot-1")
    assert "interrupted" in detail


def test_a_removal_of_tags_that_did_not_end(table: CatalogTable) -> None:
    table.tags.retire("kept")
    kind, name, detail = noted(examined(table))
    assert kind == FaultKind.STRAY
    assert name.startswith("retired-")
    assert "interrupted" in detail


def test_names_that_are_no_snapshots(table: CatalogTable) -> None:
    folder(table, "snapshot/snapshot-x").write_text("")
    assert only(examined(table))[:2] == (FaultKind.STRAY, "snapshot-x")


def test_a_snapshot_under_another_number(table: CatalogTable) -> None:
    folder(table, "snapshot/snapshot-4").write_bytes(folder(table, "snapshot/snapshot-3").read_bytes())
    folder(table, "snapshot/LATEST").write_text("4")
    assert only(examined(table)) == (FaultKind.MISMATCH, "snapshot-4", "the file contains number 3")


def changed(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_wrong_number_of_rows_is_a_mismatch(table: CatalogTable) -> None:
    changed(folder(table, "snapshot/snapshot-3"), totalRecordCount=7)
    assert only(examined(table)) == (FaultKind.MISMATCH, "snapshot-3", "its files have 6 rows, it says 7")


def test_a_snapshot_of_a_newer_version_is_unsupported(table: CatalogTable) -> None:
    changed(folder(table, "snapshot/snapshot-1"), version=99)
    assert only(examined(table))[:2] == (FaultKind.UNSUPPORTED, "snapshot-1")


def test_a_schema_that_a_tag_needs_is_reported_missing(table: CatalogTable) -> None:
    changed(folder(table, "tag/tag-kept"), schemaId=5)
    assert only(examined(table)) == (FaultKind.MISSING, "schema-5", "needed by tag 'kept'")


def test_a_consumer_beyond_the_next_snapshot_is_a_mismatch(table: CatalogTable) -> None:
    folder(table, "consumer").mkdir()
    folder(table, "consumer/consumer-a").write_text('{"nextSnapshot": 4}')
    assert examined(table).healthy
    folder(table, "consumer/consumer-a").write_text('{"nextSnapshot": 5}')
    assert only(examined(table))[:2] == (FaultKind.MISMATCH, "consumer-a")


def test_a_missing_data_file(table: CatalogTable) -> None:
    entry = live(table)[0]
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    path.unlink()
    kind, name, detail = only(examined(table))
    assert (kind, name, detail) == (FaultKind.MISSING, path.name, "needed by snapshot 3")


def test_a_data_file_of_another_size(table: CatalogTable) -> None:
    entry = live(table)[0]
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    content = path.read_bytes()
    path.write_bytes(content + b"?")
    assert only(examined(table))[:2] == (FaultKind.MISMATCH, path.name)
    # The same size with other bytes: only reading it shows that.
    path.write_bytes(bytes(len(content)))
    assert examined(table).healthy
    assert only(examined(table, deep=True))[:2] == (FaultKind.DAMAGED, path.name)


def test_files_of_a_level_that_overlap(table: CatalogTable) -> None:
    lifted = [replace(entry, file=replace(entry.file, level=4)) for entry in live(table)]
    writer = ManifestWriter(table.file_io, table.paths, [])
    base, size = writer.write_list(writer.write(lifted, 0))
    delta, _ = writer.write_list([])
    sizes = {"baseManifestListSize": size, "deltaManifestListSize": None}
    changed(folder(table, "snapshot/snapshot-3"), baseManifestList=base, deltaManifestList=delta, **sizes)
    report = examined(table)
    assert {fault.kind for fault in report.faults} == {FaultKind.MISMATCH}
    assert len(report.faults) == 2
    assert "holds keys that" in report.faults[0].detail


def test_damaged_and_missing_deletion_vectors_are_reported(table: CatalogTable) -> None:
    first = live_files(table)[0].file_name
    (path,) = delete_rows(table, {first: [0]})
    assert examined(table).healthy
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[:-1] + b"?")
    assert only(examined(table))[:2] == (FaultKind.DAMAGED, Path(path).name)
    Path(path).unlink()
    assert only(examined(table))[:2] == (FaultKind.MISSING, Path(path).name)


def test_a_deletion_vector_of_too_many_rows(table: CatalogTable) -> None:
    first = live_files(table)[0]
    (path,) = delete_rows(table, {first.file_name: range(first.row_count + 1)})
    kind, name, detail = only(examined(table))
    assert (kind, name) == (FaultKind.MISMATCH, Path(path).name)
    assert detail == f"3 deleted rows of {first.file_name}, which has 2"


def test_a_table_without_any_schema(table: CatalogTable) -> None:
    folder(table, "schema/schema-0").write_text("{")
    report = examined(table, deep=True)
    assert FaultKind.DAMAGED in {fault.kind for fault in report.faults}
    assert any(fault.object.endswith("schema-0") for fault in report.faults)


def raising(error: Exception) -> Callable[[], None]:
    def read() -> None:
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FileNotFoundError("x"), FaultKind.MISSING),
        (CorruptFileError("x", "y", "z"), FaultKind.DAMAGED),
        (PaimonError("x", "y", "z"), FaultKind.MISMATCH),
        (ZeroDivisionError("x"), FaultKind.DAMAGED),
        (PermissionError("x"), FaultKind.DAMAGED),
    ],
)
def test_any_error_becomes_a_fault(error: Exception, kind: FaultKind) -> None:
    faults = Faults()
    assert faults.attempt("p", "q", raising(error)) is None
    assert faults.attempt("p", "q", raising(error)) is None
    (fault,) = faults.recorded
    assert (fault.kind, fault.object) == (kind, "p")
    assert "q" in fault.detail
    assert faults.attempt("p", "q", lambda: 7) == 7
