"""Files that real Paimon wrote, decoded together and one by one: the same columns, or none."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.format.parquet.reader import read_stored
from maintenance.format.parquet.together import read_together
from tests.golden.case import case_names, contents

BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column; of floats their bits, since NaN is like no other NaN."""
    return pa.chunked_array([column.combine_chunks().view(BITS.get(column.type, column.type))])


@pytest.mark.parametrize("case", case_names())
def test_columns_are_those_of_the_files_one_by_one(case: str) -> None:
    actual = decoded = False
    for path, data in contents(case, ".parquet"):
        if data[:4] != b"PAR1":
            continue
        actual = True
        for name in pq.read_schema(pa.BufferReader(data)).names:
            together = read_together([data, data, data], [name])
            if together is not None:
                decoded = True
                alone = read_stored(pa.BufferReader(data), [name], path)
                assert together.schema.types == alone.schema.types
                expected = pa.concat_tables([alone] * 3).column(0)
                assert plain(together.column(0)).equals(plain(expected)), f"{path}, column {name}"
    assert decoded == actual
