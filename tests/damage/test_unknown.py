"""Files of a Paimon that is newer than this program: refused by name, never guessed at."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, NotFoundError, PaimonError, UnsupportedError
from tests.tables import create_table, get_table, keyed

Change = Callable[[dict[str, Any]], object]


def changed(path: Path, change: Change) -> None:
    form = json.loads(path.read_text())
    change(form)
    path.write_text(json.dumps(form))


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    return table


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda form: form.update(version=99), UnsupportedError, "snapshot version 99"),
        (lambda form: form.update(commitKind="MERGE"), UnsupportedError, "commit kind MERGE"),
        (lambda form: form.update(id="1"), CorruptFileError, "id is '1'"),
        (lambda form: form.update(baseManifestList=7), CorruptFileError, "baseManifestList"),
        (lambda form: form.pop("schemaId"), CorruptFileError, "schemaId is missing"),
        (lambda form: form.update(deltaManifestListSize=3), CorruptFileError, "expected 3 bytes, found"),
        (lambda form: form.update(timeMillis=True), CorruptFileError, "timeMillis"),
        (lambda form: form.update(timeMillis=2**60), CorruptFileError, "timeMillis"),
        (lambda form: form.update(totalRecordCount=2**70), CorruptFileError, "totalRecordCount"),
    ],
)
def test_snapshots_that_are_not_understood_are_refused(
    table: CatalogTable, change: Change, error: type[PaimonError], text: str
) -> None:
    path = Path(table.paths.snapshot(1))
    changed(path, change)
    with pytest.raises(error, match=text):
        table.to_arrow(options={"scan.snapshot-id": "1"})
    with pytest.raises(PaimonError):
        get_table(path.parents[3]).write_arrow(keyed({2: "b"}))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda form: form.update(version=99), UnsupportedError, "schema version 99"),
        (lambda form: form["fields"][1].update(type="GEOMETRY"), PaimonError, "GEOMETRY"),
        (lambda form: form["fields"][1].update(type={"type": "GRAPH"}), PaimonError, "GRAPH"),
        (lambda form: form["fields"][1].update(type=None), PaimonError, "schema-0"),
        (lambda form: form.update(fields={}), PaimonError, "schema-0|column|field"),
        (lambda form: form.update(fields=7), CorruptFileError, "schema-0"),
        (lambda form: form["fields"][1].update(name=None), CorruptFileError, "schema-0"),
        (lambda form: form["fields"][1].update(name="id"), CorruptFileError, "same name or id"),
        (lambda form: form["fields"][1].update(id=0), CorruptFileError, "same name or id"),
        (lambda form: form.update(timeMillis=None), CorruptFileError, "schema-0"),
        (lambda form: form.update(id=2**70), CorruptFileError, "schema-0"),
        (lambda form: form.update(primaryKeys="id"), CorruptFileError, "schema-0"),
        (lambda form: form.update(options=[]), CorruptFileError, "schema-0"),
        (lambda form: form.update(options={"bucket": [1]}), CorruptFileError, "option 'bucket'"),
        (lambda form: form.update(primaryKeys=["nowhere"]), PaimonError, "nowhere"),
        (lambda form: form.update(version="new"), CorruptFileError, "schema-0"),
        (lambda form: form.pop("highestFieldId"), CorruptFileError, "highestFieldId"),
        (lambda form: form["options"].update({"merge-engine": "newest"}), PaimonError, "merge-engine"),
        (lambda form: form["options"].update({"bucket": "many"}), PaimonError, "bucket"),
        (lambda form: form["options"].update({"deletion-vectors.enabled": "maybe"}), PaimonError, "deletion-vectors"),
        (lambda form: form["options"].update({"type": "lance-table"}), UnsupportedError, "lance-table"),
    ],
)
def test_schemas_that_are_not_understood_are_refused(
    table: CatalogTable, change: Change, error: type[PaimonError], text: str
) -> None:
    path = Path(table.paths.schema(0))
    changed(path, change)
    with pytest.raises(error, match=text):
        get_table(path.parents[3]).to_arrow()


def test_a_schema_that_is_not_there(table: CatalogTable) -> None:
    changed(Path(table.paths.snapshot(1)), lambda form: form.update(schemaId=9))
    with pytest.raises(NotFoundError, match="schema 9 does not exist"):
        table.to_arrow(options={"scan.snapshot-id": "1"})


def test_options_that_are_numbers(table: CatalogTable) -> None:
    path = Path(table.paths.schema(0))
    changed(path, lambda form: form["options"].update({"bucket": 1, "write-only": True}))
    actual = get_table(path.parents[3])
    assert actual.options["bucket"] == "1"
    assert actual.options["write-only"] == "true"
    assert actual.to_arrow().num_rows == 1


def test_a_column_type_of_the_future_spares_the_other_columns(table: CatalogTable) -> None:
    """Only an unknown type makes a schema unreadable; a known one without support refuses by name."""
    path = Path(table.paths.schema(0))
    nested = {"type": "MAP", "key": "INT NOT NULL", "value": {"type": "ARRAY", "element": "BLOB"}}
    changed(path, lambda form: form["fields"][1].update(type=nested))
    actual = get_table(path.parents[3])
    with pytest.raises(UnsupportedError, match="v"):
        actual.to_arrow()
    assert actual.to_arrow(columns=["id"]).column("id").to_pylist() == [1]


@pytest.mark.parametrize("text", ["{}", "[]", "null", "7", '{"nextSnapshot": "x"}', '{"nextSnapshot": null}', "{"])
def test_consumers_that_are_not_understood_are_refused(table: CatalogTable, text: str) -> None:
    folder = Path(table.paths.consumer_folder())
    folder.mkdir()
    (folder / "consumer-a").write_text(text)
    with pytest.raises(CorruptFileError, match="consumer-a"):
        table.consumers.next_snapshots()


def test_names_that_are_no_snapshots(table: CatalogTable) -> None:
    folder = Path(table.paths.snapshot_folder())
    for name in ("snapshot-x", "snapshot-", "snapshot-1.bak", ".snapshot-2.tmp", "notes"):
        (folder / name).write_text("?")
    (folder / "LATEST").unlink()
    assert table.snapshots.list_ids() == [1]
    assert table.to_arrow().num_rows == 1
    assert table.write_arrow(keyed({2: "b"})) == (2,)
