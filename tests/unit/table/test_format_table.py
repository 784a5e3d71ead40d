"""Format tables: which files count, and what a write leaves."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.commit.overwrite import Overwrite
from maintenance.errors import CorruptFileError, DataError
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.table.format_table import FormatTable
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type


def table(folder: Path, *keys: str, **options: str) -> FormatTable:
    types = {"a": "INT", "b": "STRING", "pt": "STRING", "h": "INT"}
    fields = tuple(DataField(i, name, parse_data_type(text)) for i, (name, text) in enumerate(types.items()))
    given = {"type": "format-table", "file.format": "csv"} | {k.replace("_", "."): v for k, v in options.items()}
    return FormatTable("db.f", str(folder), FileIO(), TableSchema(0, fields, 3, keys, (), given))


def rows(*tuples: tuple[int, str, str | None, int]) -> pa.Table:
    return pa.table({name: [row[i] for row in tuples] for i, name in enumerate(("a", "b", "pt", "h"))})


def test_hidden_files_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "_temporary").mkdir()
    for name in ("x.csv", "sub/y.txt", "_hidden.csv", ".dot.csv", "_temporary/z.csv"):
        (tmp_path / name).write_text("1,b,p,2\n")
    assert table(tmp_path).to_arrow().num_rows == 2


def test_partitions_are_folders_with_escaped_values(tmp_path: Path) -> None:
    actual = table(tmp_path, "pt", "h")
    actual.write_arrow(rows((1, "x", "p/q", 1), (2, "y", None, 1), (3, "z", "p/q", 2)))
    folders = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.glob("**/*.csv"))
    assert folders == ["pt=__DEFAULT_PARTITION__/h=1", "pt=p%2Fq/h=1", "pt=p%2Fq/h=2"]
    expected = [(1, "x", "p/q", 1), (2, "y", None, 1), (3, "z", "p/q", 2)]
    assert sorted(tuple(row.values()) for row in actual.to_arrow().to_pylist()) == expected
    assert actual.to_arrow(columns=["a"], where="pt = 'p/q' AND h = 2").to_pylist() == [{"a": 3}]
    assert sorted(spec["h"] for spec, _, _ in actual.partitions()) == ["1", "1", "2"]


def test_folders_with_values_alone(tmp_path: Path) -> None:
    actual = table(tmp_path, "pt", "h").copy({"format-table.partition-path-only-value": "true"})
    actual.write_arrow(rows((1, "x", "p", 1), (2, "y", None, 3)))
    assert {str(path.parent.relative_to(tmp_path)) for path in tmp_path.glob("**/*.csv")} == {
        "p/1",
        "__DEFAULT_PARTITION__/3",
    }
    assert sorted(actual.to_arrow()["h"].to_pylist()) == [1, 3]


def test_an_overwrite_replaces_its_partitions(tmp_path: Path) -> None:
    actual = table(tmp_path, "pt", "h")
    actual.write_arrow(rows((1, "x", "p", 1), (2, "y", "p", 2), (3, "z", "q", 1)))
    actual.overwrite_arrow(rows((9, "new", "p", 1)), Overwrite([{"pt": "p", "h": "1"}]))
    assert sorted(actual.to_arrow()["a"].to_pylist()) == [2, 3, 9]
    actual.overwrite_arrow(rows((8, "new", "q", 1)))
    assert sorted(actual.to_arrow()["a"].to_pylist()) == [2, 8, 9]
    with pytest.raises(DataError, match="not overwritten"):
        actual.overwrite_arrow(rows((7, "x", "q", 5)), Overwrite([{"pt": "p"}]))
    actual.overwrite_arrow(rows((6, "x", "r", 5)), Overwrite(dynamic=False))
    assert actual.to_arrow()["a"].to_pylist() == [6]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "orc"])
def test_every_format_gives_back_what_was_written(tmp_path: Path, kind: str) -> None:
    actual = table(tmp_path, file_format=kind)
    data = rows((1, "größe", "with, comma", 5), (2, 'quo"te', None, 6))
    actual.write_arrow(data)
    assert actual.to_arrow().to_pylist() == data.to_pylist()


def test_rows_that_do_not_fit_leave_no_file(tmp_path: Path) -> None:
    actual = table(tmp_path / "t", file_format="text")
    with pytest.raises(DataError, match="one STRING column"):
        actual.write_arrow(rows((1, "a", "b", 2)))
    with pytest.raises(DataError, match="'nope'"):
        actual.write_arrow(pa.table({"nope": [1]}))
    assert not list(tmp_path.glob("**/*.text"))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(CorruptFileError, match=r"x\.parquet"):
        table(tmp_path, file_format="parquet").to_arrow()
    (tmp_path / "p").mkdir()
    (tmp_path / "p/loose.csv").write_text("1,b\n")
    with pytest.raises(CorruptFileError, match="pt, h"):
        table(tmp_path / "p", "pt", "h").to_arrow()


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("VARCHAR(2)", "too long", "length 8 in column 'x'"),
        ("BINARY(2)", b"too long", "length 8 in column 'x'"),
        ("ARRAY<CHAR(2)>", ["too long"], "length 8 in column 'x.element'"),
        ("INT NOT NULL", None, "null in column 'x'"),
    ],
)
def test_values_are_checked_as_in_every_other_table(tmp_path: Path, kind: str, value: object, said: str) -> None:
    fields = (DataField(0, "x", parse_data_type(kind)),)
    options = {"type": "format-table", "file.format": "parquet"}
    actual = FormatTable("db.f", str(tmp_path), FileIO(), TableSchema(0, fields, 0, (), (), options))
    for write in (actual.write_arrow, actual.overwrite_arrow):
        with pytest.raises(DataError, match=said):
            write(pa.table({"x": [value]}))
    assert not list(tmp_path.iterdir())
