"""Lists and maps as older writers of parquet lay them out: without a level in between, or with parts of other names."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.format.parquet.reader import PARQUET
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.java.process import JavaProcess

CASES: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "elements without a group": (
        "optional group c (LIST) { repeated int32 array; }",
        "ARRAY<INT>",
        [[("array", 1), ("array", 2)], []],
        [[1, 2], []],
    ),
    "groups that are elements": (
        "optional group c (LIST) { repeated group array { optional int32 x; } }",
        "ARRAY<ROW<x INT>>",
        [[("array", [("x", 1)]), ("array", [])], []],
        [[{"x": 1}, {"x": None}], []],
    ),
    "tuples": (
        "optional group c (LIST) { repeated group c_tuple { optional int32 x; } }",
        "ARRAY<ROW<x INT>>",
        [[("c_tuple", [("x", 1)])], []],
        [[{"x": 1}], []],
    ),
    "groups of two fields": (
        "optional group c (LIST) { repeated group e { required int32 x; optional int32 y; } }",
        "ARRAY<ROW<x INT NOT NULL, y INT>>",
        [[("e", [("x", 1)]), ("e", [("x", 2), ("y", 3)])], []],
        [[{"x": 1, "y": None}, {"x": 2, "y": 3}], []],
    ),
    "bags": (
        "optional group c (LIST) { repeated group bag { optional int32 array_element; } }",
        "ARRAY<INT>",
        [[("bag", [("array_element", 1)]), ("bag", [])], []],
        [[1, None], []],
    ),
    "maps whose entries are called map": (
        "optional group c (MAP) { repeated group map (MAP_KEY_VALUE) { required binary k (UTF8); optional int32 i; } }",
        "MAP<STRING, INT>",
        [[("map", [("k", "a"), ("i", 1)]), ("map", [("k", "b")])], []],
        [[("a", 1), ("b", None)], []],
    ),
    "maps marked on the outside": (
        "optional group c (MAP_KEY_VALUE) { repeated group map { required int32 k; optional int32 v; } }",
        "MAP<INT, INT>",
        [[("map", [("k", 1), ("v", 2)])], []],
        [[(1, 2)], []],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_lists_and_maps_in_old_forms_are_read(java: JavaProcess, tmp_path: Path, name: str) -> None:
    schema, text, groups, expected = CASES[name]
    path = tmp_path / "old.parquet"
    java.write_parquet(str(path), f"message m {{ {schema} }}", [[("c", group)] for group in groups] + [[]])
    field = DataField(0, "c", parse_data_type(text))
    with pa.OSFile(str(path)) as source:
        rows = PARQUET.open_reader(source, str(path), {}).read([field])
    assert rows.column("c").to_pylist() == [*expected, None]
