"""Maps with a null key: Java writes them where the format has a place for them, and they are refused by name."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.errors import DataError, UnsupportedError
from tests.java.process import JavaError, JavaProcess
from tests.java.samples import table_of

ENTRIES = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))
TYPES = {"MAP<STRING, INT>": "a", "MAP<INT, INT>": 3}


@pytest.mark.parametrize("text", TYPES)
@pytest.mark.parametrize("file_format", ["orc", "avro", "parquet"])
def test_null_keys_that_java_writes(java: JavaProcess, tmp_path: Path, file_format: str, text: str) -> None:
    """Arrow's reader of ORC would end the process."""
    options = {"bucket": "-1", "file.format": file_format}
    columns = [("id", "INT"), ("m", text), ("r", f"ROW<l ARRAY<{text}>>")]
    java.create_table(str(tmp_path), "db.t", columns, ((), ()), options)
    whole, broken = [(TYPES[text], 2)], [(None, 1), (TYPES[text], 2)]
    java.write(str(tmp_path), "db.t", [(1, whole, ([whole, None],)), (2, None, None)])
    read = table_of(str(tmp_path)).to_arrow()
    assert read.num_rows == 2
    for wrong, row in (("m", (3, broken, ([whole],))), ("r", (4, whole, ([whole, broken],)))):
        try:
            java.write(str(tmp_path), "db.t", [row])
        except JavaError:
            assert file_format == "parquet" or (file_format == "avro" and "STRING" in text)
            continue
        others = {"m": ["id", "r"], "r": ["id", "m"]}[wrong]
        if wrong == "m":
            assert table_of(str(tmp_path)).to_arrow(others).num_rows == 3
        with pytest.raises(UnsupportedError, match="null key"):
            table_of(str(tmp_path)).to_arrow([wrong])


def test_entries_with_a_null_key_are_not_written(java: JavaProcess, tmp_path: Path) -> None:
    """Arrow has no map array of them; lists of entries are taken for maps, and null keys in them refused."""
    java.create_table(str(tmp_path), "db.t", [("m", "MAP<STRING, INT>")], ((), ()), {"bucket": "-1"})
    kept = pa.array([[{"key": "a", "value": 1}], None], ENTRIES)
    table_of(str(tmp_path)).write_arrow(pa.table({"m": kept}))
    assert table_of(str(tmp_path)).to_arrow().to_pylist() == [{"m": [("a", 1)]}, {"m": None}]
    entries = pa.array([[{"key": None, "value": 1}]], ENTRIES)
    with pytest.raises(DataError, match=r"null in column 'm\.key'"):
        table_of(str(tmp_path)).write_arrow(pa.table({"m": entries}))
