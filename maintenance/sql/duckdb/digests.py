"""Checksums, digests and SOUNDEX, which DuckDB has not; it calls these with whole columns. Each value is computed once.

Source: Spark's `UTF8String.soundex`.
"""

import hashlib
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import duckdb

_PREFIX = "paimon_"
_BITS = (224, 384, 512)
# By letter; 7: passed over, 0: between others.
_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
_LENGTH = 4


def register_digests(connection: "duckdb.DuckDBPyConnection") -> None:
    """Give DuckDB the functions, for all connections of its process."""
    create: Any = connection.create_function
    for kind, name in (("VARCHAR", "text"), ("BLOB", "bytes")):
        create(f"{_PREFIX}crc32_{name}", _each(_checksum, pa.int64()), [kind], "BIGINT", type="arrow")
        for bits in _BITS:
            create(f"{_PREFIX}sha{bits}_{name}", _each(_digest(bits), pa.string()), [kind], "VARCHAR", type="arrow")
    create(f"{_PREFIX}soundex", _each(_soundex, pa.string()), ["VARCHAR"], "VARCHAR", type="arrow")


def _each(function: Callable[[Any], Any], kind: pa.DataType) -> Callable[[Any], pa.Array]:
    def apply(column: pa.ChunkedArray | pa.Array) -> pa.Array:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        coded = whole.dictionary_encode()
        values = pa.array([function(value) for value in coded.dictionary.to_pylist()], kind)
        return values.take(coded.indices)

    return apply


def _checksum(value: str | bytes) -> int:
    return zlib.crc32(_bytes(value))


def _digest(bits: int) -> Callable[[str | bytes], str]:
    return lambda value: hashlib.new(f"sha{bits}", _bytes(value)).hexdigest()


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _soundex(text: str) -> str:
    letters = text.encode().decode("latin-1").translate({code: code - 32 for code in range(ord("a"), ord("z") + 1)})
    if letters[:1] not in _SOUNDS or not letters:
        return text
    code, last = letters[0], _SOUNDS[letters[0]]
    for letter in letters[1:]:
        sound = _SOUNDS.get(letter, "0")
        if sound == "7":
            continue
        if sound not in ("0", last):
            code += sound
        last = sound
    return code[:_LENGTH].ljust(_LENGTH, "0")
