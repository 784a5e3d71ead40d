"""Files that real Paimon wrote, decoded together and one by one: the same columns, or none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.format.parquet.reader import read_stored
from maintenance.format.parquet.together import read_together
from tests.golden.case import case_names, extract

BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column; of floats their bits, since NaN is like no other NaN."""
    return pa.chunked_array([column.combine_chunks().view(BITS.get(column.type, column.type))])


@pytest.mark.parametrize("case", case_names())
def test_columns_are_those_of_the_files_one_by_one(tmp_path: Path, case: str) -> None:
    files = sorted(path for path in extract(case, tmp_path).rglob("*.parquet") if path.read_bytes()[:4] == b"PAR1")
    decoded = set()
    for path in files:
        data = path.read_bytes()
        for name in pq.read_schema(path).names:
            together = read_together([data, data, data], [name])
            if together is not None:
                decoded.add(name)
                alone = read_stored(pa.BufferReader(data), [name], str(path))
                assert together.schema.types == alone.schema.types
                expected = pa.concat_tables([alone] * 3).column(0)
                assert plain(together.column(0)).equals(plain(expected)), f"{path}, column {name}"
    assert bool(decoded) == bool(files)
