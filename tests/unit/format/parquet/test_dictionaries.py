"""Which columns of a parquet file get a dictionary."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.format.data_format import FileSettings
from maintenance.format.parquet.writer import prepare_writer
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type

ROWS = 200_000


def has_dictionary(values: pa.Array, type_text: str, options: dict[str, str] | None = None) -> bool:
    """Whether a file has a dictionary for such a column. It holds the values in any case."""
    sink = pa.BufferOutputStream()
    writer = prepare_writer(
        [DataField(0, "v", parse_type(type_text))], FileSettings(options=TableModel(options or {}))
    )(sink)
    writer.write(pa.table({"v": values}))
    writer.close()
    file = pq.ParquetFile(io.BytesIO(sink.getvalue()))
    assert file.read()["v"].combine_chunks().equals(values)
    return "RLE_DICTIONARY" in file.metadata.row_group(0).column(0).encodings


def spread(different: int) -> pa.Array:
    """That many values, all over the rows."""
    return pa.array(np.random.default_rng(7).integers(0, different, ROWS), pa.int64())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(spread(7), True, id="few"),
        pytest.param(spread(20_000), True, id="ten times each, seldom among neighbours"),
        pytest.param(spread(100_000), False, id="twice each"),
        pytest.param(pa.array(range(ROWS), pa.int64()), False, id="unique"),
        pytest.param(pa.array(np.arange(ROWS) // 2, pa.int64()), False, id="twice each, side by side"),
        pytest.param(pa.array(np.arange(ROWS) // 10, pa.int64()), True, id="ten times each, side by side"),
        pytest.param(pa.array(range(5000), pa.int64()), False, id="unique, short"),
        pytest.param(pa.array([*range(500)] * 10, pa.int64()), True, id="few, short"),
        pytest.param(pa.array([], pa.int64()), False, id="none"),
        pytest.param(pa.nulls(ROWS, pa.int64()), True, id="nulls"),
    ],
)
def test_numbers_have_a_dictionary_where_they_repeat_enough(values: pa.Array, expected: bool) -> None:
    assert has_dictionary(values, "BIGINT") is expected


def test_texts_too_long_for_a_dictionary() -> None:
    texts = [f"{number:06}" for number in range(20_000)]
    places = spread(20_000)
    assert has_dictionary(pa.array(texts).take(places), "STRING")
    longer = pa.array([text * 40 for text in texts]).take(places)
    assert not has_dictionary(longer, "STRING")
    assert has_dictionary(longer, "STRING", {"parquet.dictionary.page.size": str(16 << 20)})


def test_none_where_the_option_says_so() -> None:
    assert not has_dictionary(spread(7), "BIGINT", {"parquet.enable.dictionary": "false"})
