"""The numbers of a table: its file indexes, embedded and beside data files."""

from pathlib import Path

from maintenance.table.shape import table_shape
from tests.tables import create_table, keyed


def test_file_indexes(tmp_path: Path) -> None:
    options = {"bucket": "-1", "file-index.bitmap.columns": "v"}
    table = create_table(tmp_path, primary_keys=(), options=options)
    table.write_arrow(keyed({1: "a"}))
    small = table_shape(table)
    assert (small.index_files, small.index_side_files) == (1, 0)
    assert small.index_bytes > 50
    table.copy({"file-index.in-manifest-threshold": "1 b"}).write_arrow(keyed({2: "b"}))
    (beside,) = Path(table.location).rglob("*.index")
    both = table_shape(table)
    assert (both.index_files, both.index_side_files) == (2, 1)
    assert both.index_bytes == small.index_bytes + beside.stat().st_size
