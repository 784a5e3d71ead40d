"""Checksums, digests and SOUNDEX, which DuckDB has not; it calls these with whole columns. Each value is computed once.

Source: Spark's `UTF8String.soundex`.
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.types.data_type import DataType

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


def digest_call(name: str, value: exp.Expr, types: Mapping[str, DataType]) -> exp.Expr:
    """The call of one over a text or bytes. `name`: crc32, sha224, sha384 or sha512."""
    plain = value.unnest()
    kind = types.get(plain.name) if isinstance(plain, exp.Column) else None
    is_bytes = isinstance(plain, exp.HexString | exp.ByteString) or (kind is not None and kind.is_bytes)
    is_bytes = is_bytes or (isinstance(plain, exp.Cast) and plain.to.this in (exp.DType.BINARY, exp.DType.VARBINARY))
    argument = value.copy() if is_bytes else exp.cast(value.copy(), "TEXT")
    return exp.Anonymous(this=f"{_PREFIX}{name}_{'bytes' if is_bytes else 'text'}", expressions=[argument])


def sha2(node: exp.SHA2, types: Mapping[str, DataType]) -> exp.Expr | None:
    """A digest of another length than 256 bits, which DuckDB has. Raises: SqlError: the length is none."""
    bits = node.args.get("length")
    if bits is None or bits.name in ("0", "256"):
        return None if bits is None or bits.name == "256" else exp.SHA2(this=node.this.copy())
    if bits.name not in map(str, _BITS):
        raise SqlError(f"SHA2 with {bits.sql()} bits", "query", "Use 224, 256, 384 or 512.")
    return digest_call(f"sha{bits.name}", node.this, types)


def soundex_call(value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=f"{_PREFIX}soundex", expressions=[exp.cast(value.copy(), "TEXT")])


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
