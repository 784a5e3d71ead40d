"""Records of metadata files in ORC or parquet, option `manifest.format`. `manifest_format` writes them."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

_EPOCH = dt.datetime(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)


def is_columnar(data: bytes) -> bool:
    """Whether a file is ORC or parquet, by its first bytes."""
    return data[:3] == b"ORC" or data[:4] == b"PAR1"


def columnar_records(data: bytes) -> list[dict[str, Any]]:
    """The records of a file, times as milliseconds since 1970-01-01, as Avro holds them. Damaged ones may raise."""
    source = pa.BufferReader(data)
    table = pq.ParquetFile(source).read() if data[:4] == b"PAR1" else orc.ORCFile(source).read()
    return [_plain(record) for record in table.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return (value - _EPOCH) // _MILLISECOND if isinstance(value, dt.datetime) else value
