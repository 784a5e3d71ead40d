"""Which parts of variants get columns, inferred from rows."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.format.variant.inference import InferenceOptions, inferred
from maintenance.format.variant.json_parse import parse_json
from maintenance.operations import compact
from tests.tables import create_table

FIELDS = (("id", "INT NOT NULL"), ("v", "VARIANT"))
INFER = {"variant.inferShreddingSchema": "true"}


def type_of(*values: Any, **how: Any) -> str | None:
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    column = pa.chunked_array([parse_json(pa.array(texts, pa.string()))])
    actual = inferred({"v": column}, InferenceOptions(**how))
    return None if not actual else str(actual["v"].type)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, 2, None), "BIGINT"),
        ((1, 2.5), "DECIMAL(18, 1)"),
        ((2**62, 1), "BIGINT"),
        ((2**62, 0.25), "DECIMAL(38, 2)"),
        (("100.0", 3), "BIGINT"),
        ((1e300, 2e300), "DOUBLE"),
        ((True, False), "BOOLEAN"),
        ((1, True), None),
        ((None, None), None),
        ((), None),
        (([1], []), "ARRAY<VARIANT>"),
        (("12345678901234567890123456789012345678", "0.1"), None),
    ],
)
def test_one_type_for_all_values(values: tuple[Any, ...], expected: str | None) -> None:
    assert type_of(*values) == expected


def test_fields_that_are_seldom_stay_together() -> None:
    rows = [{"a": 1, "b": {"c": "x"}, **({"rare": 1} if n == 0 else {})} for n in range(20)]
    assert type_of(*rows) == "ROW<`a` BIGINT, `b` ROW<`c` STRING>>"
    assert "rare" in str(type_of(*rows, ratio=0.0))
    assert "rare" not in str(type_of(*rows[1:]))
    assert type_of(*rows, depth=1) == "ROW<`a` BIGINT, `b` VARIANT>"
    assert type_of(*rows, width=4) == "ROW<`a` BIGINT, `b` VARIANT>"


def test_each_file_decides_for_itself(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), INFER)
    for values in ([{"a": 1}, {"a": 2}], [{"b": "x"}]):
        texts = [json.dumps(value) for value in values]
        table.write_arrow(pa.table({"id": pa.array(range(len(texts)), pa.int32()), "v": texts}))

    def fields() -> set[str]:
        parts = [pq.read_schema(path).field("v").type.field("typed_value").type for path in tmp_path.rglob("*.parquet")]
        return {",".join(part.field(number).name for number in range(part.num_fields)) for part in parts}

    assert fields() == {"a", "b"}
    compact(None, table, full=True)
    assert fields() == {"a", "b", "a,b"}
    assert sorted(table.to_arrow().column("v").to_pylist()) == ['{"a":1}', '{"a":2}', '{"b":"x"}']
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": pa.array([None], pa.string())}))
    assert table.to_arrow().column("v").null_count == 1


def test_each_file_is_looked_at_by_itself(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), {**INFER, "variant.shredding.inferenceMode": "ADAPTIVE"})
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32()), "v": ['{"a":1}']}))
    (path,) = tmp_path.rglob("*.parquet")
    assert pq.read_schema(path).field("v").type.field("typed_value").type.field(0).name == "a"
    assert table.to_arrow().column("v").to_pylist() == ['{"a":1}']
