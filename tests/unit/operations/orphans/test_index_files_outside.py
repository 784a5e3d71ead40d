"""Files of global indexes outside the table's folder that a killed job has left."""

import os
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest

from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from tests.tables import create_table, get_table

OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
EXCLUSIVE = {"paimon-maintenance.external-paths.exclusive": "true"}


@pytest.mark.parametrize("scheme", ["", "file:"])
@pytest.mark.parametrize("exclusive", [True, False])
def test_they_go_where_the_folder_is_the_tables_own(tmp_path: Path, scheme: str, exclusive: bool) -> None:
    folder = tmp_path / "indexes"
    options = {**OPTIONS, **(EXCLUSIVE if exclusive else {}), "global-index.external-path": f"{scheme}{folder}"}
    table = create_table(tmp_path, [("id", "INT"), ("v", "STRING")], (), options)
    table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int32()), "v": ["a", "b"]}))
    create_global_index(None, table, "v")
    (live,) = folder.glob("*.index")
    left, other = folder / f"btree-global-index-{uuid4()}.index", folder / "notes.index"
    deeper = folder / "deeper" / f"btree-global-index-{uuid4()}.index"
    deeper.parent.mkdir()
    for path in (left, other, deeper):
        path.write_bytes(b"x")
        os.utime(path, (1e9, 1e9))
    report = remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    assert left.exists() == (not exclusive)
    assert all(path.exists() for path in (live, other, deeper))
    assert any("not looked at" in note for note in report.notes) == (not exclusive)
    assert get_table(tmp_path).to_arrow(where="v = 'b'").num_rows == 1


def test_they_stay_where_another_table_has_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    options = {**OPTIONS, **EXCLUSIVE, "global-index.external-path": str(folder)}
    for name in ("db.t", "db.u"):
        table = create_table(tmp_path, [("id", "INT"), ("v", "STRING")], (), options, name=name)
        table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": ["a"]}))
        create_global_index(None, table, "v")
    report = remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    assert len(list(folder.glob("*.index"))) == 2
    assert "db.u is there, too" in report.notes[0]
