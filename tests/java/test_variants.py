"""VARIANT columns, shredded and whole, that either side writes and the other one reads and compacts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import Schema, open_catalog
from maintenance.format.rows.binary_value import row_bytes, row_values
from maintenance.format.variant.dictionary import bytes_of
from maintenance.format.variant.json_parse import parse_json
from maintenance.format.variant.json_text import json_texts
from maintenance.operations.compaction.compact import compact
from maintenance.types.data_type import DataType, parse_type
from tests.examples import examples
from tests.java.process import JavaProcess
from tests.java.samples import table_of

COLUMNS = [("id", "INT NOT NULL"), ("v", "VARIANT"), ("w", "ARRAY<VARIANT>")]
TEXTS = [
    '{"b":1,"a":"x"}',
    '[1,2.50,"s",null]',
    "12",
    '{"a":{"z":1,"y":[true]},"c":1e3}',
    None,
    '{"a":"zz","b":70000,"d":[{"q":1},{"q":"t","r":0.10},5]}',
    '{"c":-0.001,"b":99999999999999999999,"a":null}',
    "{}",
]
SHREDDING = json.dumps(
    {
        "type": "ROW",
        "fields": [
            {
                "id": 0,
                "name": "v",
                "type": {
                    "type": "ROW",
                    "fields": [
                        {"id": 1, "name": "a", "type": "STRING"},
                        {"id": 2, "name": "b", "type": "BIGINT"},
                        {"id": 3, "name": "c", "type": "DOUBLE"},
                        {
                            "id": 4,
                            "name": "d",
                            "type": {
                                "type": "ARRAY",
                                "element": {"type": "ROW", "fields": [{"id": 5, "name": "q", "type": "INT"}]},
                            },
                        },
                    ],
                },
            }
        ],
    }
)
WHOLE: dict[str, str] = {}
SHREDDED = {"parquet.variant.shreddingSchema": SHREDDING}


def rows(first: int = 0) -> list[tuple[Any, ...]]:
    return [(first + n, text, None if text is None else [text, None]) for n, text in enumerate(TEXTS)]


def arrow_of(written: list[tuple[Any, ...]]) -> pa.Table:
    ids, texts, lists = zip(*written, strict=True)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(texts), "w": pa.array(lists)})


def normal(found: list[tuple[Any, ...]]) -> list[Any]:
    """Rows with what JSON texts mean, in order."""

    def meant(text: str | None) -> Any:
        return None if text is None else [json.loads(text)]

    return sorted(([i, meant(v), w and [meant(item) for item in w]] for i, v, w in found), key=lambda row: row[0])


def ours(warehouse: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table_of(warehouse).to_arrow().to_pylist()]


@pytest.mark.parametrize("keys", [["id"], []])
@pytest.mark.parametrize("options", [WHOLE, SHREDDED])
def test_either_side_reads_what_the_other_writes_and_compacts(
    java: JavaProcess, tmp_path: Path, keys: list[str], options: Mapping[str, str]
) -> None:
    warehouse = str(tmp_path)
    options = {"bucket": "1" if keys else "-1", **options}
    catalog = open_catalog({"warehouse": warehouse})
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(COLUMNS, keys, options=options))
    table_of(warehouse).write_arrow(arrow_of(rows()))
    assert normal(java.rows(warehouse, "db.t")) == normal(rows())
    java.write(warehouse, "db.t", rows(4 if keys else len(TEXTS)))
    wanted = rows()[:4] + rows(4) if keys else rows() + rows(len(TEXTS))
    assert normal(ours(warehouse)) == normal(java.rows(warehouse, "db.t")) == normal(wanted)
    compact(None, table_of(warehouse), full=True)
    assert normal(ours(warehouse)) == normal(java.rows(warehouse, "db.t")) == normal(wanted)


def typed(value: Any) -> Any:
    """What is in typed columns; of the bytes beside them only whether there are any."""
    if isinstance(value, dict):
        return {name: typed(part) for name, part in value.items()}
    if isinstance(value, list):
        return [typed(part) for part in value]
    return "bytes" if isinstance(value, bytes) else value


def test_our_shredded_files_have_the_columns_of_javas(java: JavaProcess, tmp_path: Path) -> None:
    found = []
    for side in ("ours", "theirs"):
        warehouse = str(tmp_path / side)
        catalog = open_catalog({"warehouse": warehouse})
        catalog.create_database("db")
        catalog.create_table("db.t", Schema(COLUMNS, options={"bucket": "-1", **SHREDDED}))
        if side == "ours":
            table_of(warehouse).write_arrow(arrow_of(rows()))
        else:
            java.write(warehouse, "db.t", rows())
        file = pq.ParquetFile(next(Path(warehouse).rglob("*.parquet")))
        _, _, columns = str(file.schema).split("\n", 2)
        found.append((columns, [typed(v) for v in file.read(["v"]).column("v").to_pylist()]))
    assert found[0] == found[1]


@settings(max_examples=examples(20))
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=12,
    )
)
def test_json_texts_and_serialized_rows_are_those_of_java(java: JavaProcess, value: Any) -> None:
    text = json.dumps(value)
    variant = parse_json(pa.array([text]))
    theirs, their_text, their_row = java.variant(text)
    assert json_texts(variant).to_pylist() == [their_text]
    own = bytes_of(variant.field("value"))[0], bytes_of(variant.field("metadata"))[0]
    assert java.variant_text(*own) == their_text
    types = [parse_type("INT"), DataType("VARIANT")]
    assert row_bytes([7, theirs], types) == their_row
    assert row_values(their_row, types) == (7, theirs)
