"""VARIANT columns, shredded and whole, that either side writes and the other one reads and compacts."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import RemoveOption, Schema, open_catalog
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
SHORT_TEXTS = {"parquet.variant.shreddingSchema": SHREDDING.replace('"STRING"', '"CHAR(2)"')}
SHORT_BYTES = {"parquet.variant.shreddingSchema": SHREDDING.replace('"DOUBLE"', '"BINARY(3)"')}


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


@pytest.mark.parametrize(
    ("options", "of_java"), [(SHREDDED, SHREDDED), (SHORT_BYTES, SHORT_BYTES), (SHORT_TEXTS, SHREDDED)],
    ids=["of any length", "BINARY(3)", "CHAR(2)"],
)  # fmt: skip
def test_our_shredded_files_have_the_columns_of_javas(
    java: JavaProcess, tmp_path: Path, options: Mapping[str, str], of_java: Mapping[str, str]
) -> None:
    """Core 1.4 takes no CHAR(n) in such a schema; later ones store it as a text of any length."""
    collected = []
    for side, own in (("ours", options), ("theirs", of_java)):
        warehouse = str(tmp_path / side)
        catalog = open_catalog({"warehouse": warehouse})
        catalog.create_database("db")
        catalog.create_table("db.t", Schema(COLUMNS, options={"bucket": "-1", **own}))
        if side == "ours":
            table_of(warehouse).write_arrow(arrow_of(rows()))
        else:
            java.write(warehouse, "db.t", rows())
        file = pq.ParquetFile(next(Path(warehouse).rglob("*.parquet")))
        _, _, columns = str(file.schema).split("\n", 2)
        collected.append((columns, [typed(v) for v in file.read(["v"]).column("v").to_pylist()]))
        assert normal(ours(warehouse)) == normal(rows())
    assert collected[0] == collected[1]
    if options is not SHORT_BYTES:  # what core 1.4 has written with these it cannot read itself
        changed = open_catalog({"warehouse": str(tmp_path / "ours")})
        changed.alter_table("db.t", [RemoveOption("parquet.variant.shreddingSchema")])
        assert normal(java.rows(str(tmp_path / "ours"), "db.t")) == normal(rows())


INFERRED = {"variant.inferShreddingSchema": "true"}
# Rows that are told apart by one thing each; then the options beside the main one.
SAMPLES: list[tuple[list[Any], Mapping[str, str]]] = [
    ([{"a": n, "b": "x", "c": {"d": n / 2, "e": [n, n + 1]}} for n in range(20)], {}),
    ([{"a": n} for n in (1, 2**62, -(2**40))] + [{"a": None}, {}, None], {}),
    ([{"a": "s", "b": 1, "c": n % 7 == 0, "d": None} for n in range(9)] + [{"a": 5, "z": 1}], {}),
    ([[{"q": n}, {"q": "t" * n, "r": 1.5}] for n in range(5)], {}),
    ([[], [1, 2]], {}),
    ([[None], [[1, 2], [3]]], {}),
    ([{f"f{n:03}": n for n in range(12)}] * 3, {"variant.shredding.maxSchemaWidth": "9"}),
    ([{"a": {"b": {"c": {"d": 1}}}}] * 3, {"variant.shredding.maxSchemaDepth": "2"}),
    (
        [{"a": 1, **({"rare": 2} if n == 3 else {})} for n in range(8)],
        {"variant.shredding.minFieldCardinalityRatio": "0.3"},
    ),
    ([{"a": n} for n in range(4)] + [{"b": n} for n in range(40)], {"variant.shredding.maxInferBufferRow": "4"}),
    ([{"m": "1.25"}, {"m": "0.5"}, {"m": "12345678901234567890.5"}], {}),
    ([{"n": "7"}, {"n": "9223372036854775807"}, {"n": "0.25"}], {}),
    ([{"n": "12345678901234567891"}, {"n": "9223372036854775807"}], {}),
    ([1, 2.5, "x"], {}),
    (["x", "y", None], {}),
]


def test_inferred_columns_are_those_of_java(java: JavaProcess, tmp_path: Path) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "VARIANT"), ("w", "VARIANT")]
    for number, (values, options) in enumerate(SAMPLES):
        # Digits of decimals and long integers stand as texts here.
        texts = [re.sub(r'"(-?[0-9]+\.?[0-9]*)"', r"\1", json.dumps(value)) for value in values]
        written = [(n, text, text if n % 2 else None) for n, text in enumerate(texts)]
        collected = []
        for side in ("ours", "theirs"):
            warehouse = str(tmp_path / f"{number}-{side}")
            catalog = open_catalog({"warehouse": warehouse})
            catalog.create_database("db")
            catalog.create_table("db.t", Schema(fields, options={"bucket": "-1", **INFERRED, **options}))
            if side == "ours":
                ids, first, second = zip(*written, strict=True)
                table_of(warehouse).write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "v": first, "w": second}))
            else:
                java.write(warehouse, "db.t", written)
            meant = [[json.loads(text) if text else None for text in row[1:]] for row in written]
            for rows_read in (java.rows(warehouse, "db.t"), ours(warehouse)):
                in_order = sorted(rows_read, key=lambda row: row[0])
                assert [[json.loads(t) if t else None for t in row[1:]] for row in in_order] == meant, number
            file = pq.ParquetFile(next(Path(warehouse).rglob("*.parquet")))
            columns = re.split(r"(?m)^  (?=\S)", str(file.schema).split("\n", 2)[2])
            # One that is left whole has its two parts in another order in Java.
            collected.append([column if "typed_value" in column else "" for column in columns])
        assert collected[0] == collected[1], (number, texts)


def test_inferred_columns_inside_rows(java: JavaProcess, tmp_path: Path) -> None:
    """Variants in ROWs, in ROWs of these, and in a ROW that is null; those in arrays and NOT NULL ones stay whole."""
    row_type = "ROW<n INT, v VARIANT, r ROW<w VARIANT, s STRING>, a ARRAY<VARIANT>>"
    fields = [("id", "INT NOT NULL"), ("x", row_type), ("y", "VARIANT"), ("z", "ROW<q VARIANT NOT NULL>")]
    texts = [json.dumps({"a": n, "b": "t" * n, "c": [n]}) for n in range(6)]
    rows: list[tuple[Any, ...]] = []
    for n, text in enumerate(texts):
        inner = None if n == 2 else (text if n % 2 else None, f"s{n}")
        rows.append((n, None if n == 4 else (n, text, inner, [text, None]), text, None if n == 5 else (text,)))
    wanted = [json.loads(json.dumps(row)) for row in rows]
    collected = []
    for side in ("ours", "theirs"):
        warehouse = str(tmp_path / side)
        catalog = open_catalog({"warehouse": warehouse})
        catalog.create_database("db")
        catalog.create_table("db.t", Schema(fields, options={"bucket": "-1", **INFERRED}))
        if side == "ours":
            table_of(warehouse).write_arrow(pa.table({"id": pa.array(range(6), pa.int32()), **nested_columns(rows)}))
        else:
            java.write(warehouse, "db.t", rows)
        for rows_read in (java.rows(warehouse, "db.t"), ours(warehouse)):
            assert [as_lists(row) for row in sorted(rows_read, key=lambda row: row[0])] == [
                as_lists(row) for row in wanted
            ]
        file = pq.ParquetFile(next(Path(warehouse).rglob("*.parquet")))
        names = [file.schema.column(number).path for number in range(len(file.schema))]
        collected.append({name for name in names if "typed_value" in name and not name.startswith("z.")})
    # Paimon 1.4 infers inside rows, too, and writes what it infers of columns alone; it reads the rest.
    assert {name for name in collected[0] if name.startswith("y.")} == collected[1]
    assert {name.split(".typed_value")[0] for name in collected[0]} == {"x.v", "x.r.w", "y"}
    # What is rewritten is stored in parts, too, and still the same.
    compact(None, table_of(str(tmp_path / "theirs")), full=True)
    assert [as_lists(row) for row in sorted(ours(str(tmp_path / "theirs")), key=lambda row: row[0])] == [
        as_lists(row) for row in wanted
    ]


def nested_columns(rows: list[tuple[Any, ...]]) -> dict[str, pa.Array]:
    inner = pa.struct([("w", pa.string()), ("s", pa.string())])
    outer = pa.struct([("n", pa.int32()), ("v", pa.string()), ("r", inner), ("a", pa.list_(pa.string()))])

    def of(value: Any, arrow: pa.DataType) -> Any:
        if value is None or not pa.types.is_struct(arrow):
            return value
        return {field.name: of(part, field.type) for field, part in zip(arrow, value, strict=True)}

    return {
        "x": pa.array([of(row[1], outer) for row in rows], outer),
        "y": pa.array([row[2] for row in rows]),
        "z": pa.array([of(row[3], pa.struct([("q", pa.string())])) for row in rows], pa.struct([("q", pa.string())])),
    }


def as_lists(value: Any) -> Any:
    """Rows and arrays as lists, variants as what their texts mean."""
    if isinstance(value, dict):
        return [as_lists(part) for part in value.values()]
    if isinstance(value, (list, tuple)):
        return [as_lists(part) for part in value]
    return json.loads(value) if isinstance(value, str) and value.startswith("{") else value


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
