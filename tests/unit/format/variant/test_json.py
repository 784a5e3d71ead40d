"""Variants out of JSON texts and as JSON texts; `tests/java/test_variants.py` asks Java for the same."""

import json
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.variant.extension import VariantType
from maintenance.format.variant.json_parse import parse_json
from maintenance.format.variant.json_text import json_texts
from maintenance.format.variant.shredding import Shredding, shreddings, unshredded
from maintenance.format.variant.stored import checked_variants
from tests.examples import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.sampled_from(["x" * 70, 0.5, -1e300]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\ue000\U0001f600", max_size=2), inner),
    max_leaves=20,
)
SCHEMA = """{"type": "ROW", "fields": [{"name": "v", "type": {"type": "ROW", "fields": [
    {"name": "a", "type": "BIGINT"}, {"name": "b", "type": {"type": "ARRAY", "element": "STRING"}},
    {"name": "", "type": "BOOLEAN"}, {"name": "ab", "type": "VARIANT"},
    {"name": "ba", "type": {"type": "ROW", "fields": [{"name": "a", "type": "DECIMAL(5, 1)"}]}}]}}]}"""
ROW = shreddings({"variant.shreddingSchema": SCHEMA})["v"]


def variants(values: list[Any]) -> pa.Array:
    return parse_json(pa.array([None if value is None else json.dumps(value) for value in values], pa.string()))


@settings(max_examples=examples(50))
@given(st.lists(VALUES, max_size=6))
def test_json_there_and_back(values: list[Any]) -> None:
    column = variants(values)
    texts = json_texts(column).to_pylist()
    assert [None if text is None else json.loads(text) for text in texts] == values
    assert checked_variants(column).equals(column)
    assert pa.ExtensionArray.from_storage(VariantType(), column).to_pylist() == texts


@settings(max_examples=examples(50))
@given(st.lists(VALUES, min_size=1, max_size=6))
def test_shredded_and_put_together(values: list[Any]) -> None:
    column = variants(values)
    stored = ROW.shredded(column)
    assert stored.type == ROW.stored
    assert json_texts(unshredded(stored)).to_pylist() == json_texts(column).to_pylist()


@pytest.mark.parametrize(
    ("schema", "value", "there"),
    [
        ("BIGINT", 2**63 - 1, True),
        ("BIGINT", 2**63, False),
        ("TINYINT", -129, False),
        ("STRING", "", True),
        ("BOOLEAN", False, True),
        ("BOOLEAN", None, False),
        ("DECIMAL(5, 1)", 1234.5, True),
        ("DECIMAL(5, 1)", 1234.55, False),
        ("DOUBLE", 1e300, True),
    ],
)
def test_a_column_takes_values_of_its_type(schema: str, value: Any, there: bool) -> None:
    text = f'{{"type": "ROW", "fields": [{{"name": "v", "type": "{schema}"}}]}}'
    shredding: Shredding = shreddings({"parquet.variant.shreddingSchema": text})["v"]
    stored = shredding.shredded(parse_json(pa.array([json.dumps(value)])))
    assert stored.field("typed_value").is_valid().to_pylist() == [there]
    assert stored.field("value").is_valid().to_pylist() == [not there]
    assert json.loads(json_texts(unshredded(stored))[0].as_py()) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.50", "1.5"),
        ("-0.0", "0"),
        ("1e3", "1000.0"),
        ("1e22", "1.0E22"),
        ("0.0000001", "0.0000001"),
        ("1e400", '"Infinity"'),
        (' {"b" : 1 , "a" : [ ] } ', '{"a":[],"b":1}'),
        (r'"\u00e9\n\u0001/\/"', '"é\\n\\u0001//"'),
    ],
)
def test_texts_are_shown_as_java_does(text: str, shown: str) -> None:
    assert json_texts(parse_json(pa.array([text]))).to_pylist() == [shown]


@pytest.mark.parametrize(
    "text",
    [
        *[
            "",
            "{",
            "}",
            "[1,]",
            "[,1]",
            '{"a"}',
            '{"a":}',
            '{"a":1,}',
            '{"a" 1}',
            "[1 2]",
            "1 2",
            "nul",
            "01",
            ".5",
            "1.",
        ],
        *['"abc', '"a\nb"', '{"a":1,"a":2}', "[}", "{'a':1}", r'"\x"', '{"a":1]', "][", "[1]]", '"a""b"', "{1:2}", "-"],
    ],
)
def test_what_is_not_json_is_refused_and_shown(text: str) -> None:
    with pytest.raises(DataError, match="is not JSON") as error:
        parse_json(pa.array(["[1]", text, '{"a":1}']))
    assert repr(text) in error.value.found


@settings(max_examples=examples(100))
@given(VALUES, st.data())
def test_damaged_bytes_are_named_or_read(value: Any, data: st.DataObject) -> None:
    column = variants([[value]])
    parts = {name: bytearray(column.field(name)[0].as_py()) for name in ("value", "metadata")}
    part = parts[data.draw(st.sampled_from(sorted(parts)))]
    for _ in range(data.draw(st.integers(1, 3))):
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    del part[data.draw(st.integers(1, len(part))) :]
    arrays = [pa.array([bytes(parts[field.name])]) for field in column.type]
    broken = pa.StructArray.from_arrays(arrays, fields=list(column.type))
    with suppress(CorruptFileError):
        assert len(json_texts(checked_variants(broken))) == 1


def test_large_objects_and_arrays() -> None:
    value = {f"k{n:03}": list(range(300)) for n in range(300)}
    assert json.loads(json_texts(variants([value]))[0].as_py()) == value
    assert json.loads(json_texts(variants([[0] * 70_000]))[0].as_py()) == [0] * 70_000
