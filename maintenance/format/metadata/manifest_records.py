"""Entries of manifests as the bytes of their Avro records, made of columns: what merges write of millions of files.

Records stand one after the other, so that a manifest is any number of them behind a header, and which entries go into
which manifest is arithmetic on their lengths. Source: as of `manifest`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from maintenance.format.avro.codec import AVRO_CODECS
from maintenance.format.avro.columns import Pieces, encode_rows
from maintenance.format.avro.container import container_block, container_header, schema_of_container
from maintenance.format.metadata.manifest import (
    COLUMN_TYPES,
    MANIFEST_VERSION,
    ManifestColumns,
    encoded_entries,
    serialize_manifest,
)
from maintenance.types.data_type import DataField, DataType, parse_type

# A block ends with the record that makes it so long.
_BLOCK_BYTES = 16_000
# Bounds the index arrays of the encoder, which take 16 bytes for each byte of a column.
_AT_ONCE = 1 << 14
# So few are encoded faster one by one than as columns.
_FEW_ENTRIES = 200
# What manifest lists say of manifests is made of these.
DESCRIBED = ("_KIND", "_PARTITION", "_BUCKET", "_LEVEL", "_SCHEMA_ID", "_ROW_COUNT", "_FIRST_ROW_ID")
# These may be missing; others are written as `NOT NULL`.
_OPTIONAL = frozenset({
    "_KEY_STATS._NULL_COUNTS", "_VALUE_STATS._NULL_COUNTS", "_CREATION_TIME", "_DELETE_ROW_COUNT",
    "_EMBEDDED_FILE_INDEX", "_FILE_SOURCE", "_VALUE_STATS_COLS", "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS",
})  # fmt: skip
_VERSION = DataField(0, "_VERSION", parse_type("INT NOT NULL"))


def _type_of(arrow: pa.DataType, name: str) -> DataType:
    if pa.types.is_list(arrow):
        # Of the lists only null counts have elements that are null.
        element = _type_of(arrow.value_type, "").as_nullable(pa.types.is_integer(arrow.value_type))
        return DataType("ARRAY", nullable=name in _OPTIONAL, element=element)
    root = {pa.binary(): "BYTES", pa.string(): "STRING", pa.int32(): "INT", pa.int64(): "BIGINT"}[arrow]
    return parse_type(root).as_nullable(name in _OPTIONAL)


_FIELDS = tuple(DataField(at, name, _type_of(arrow, name)) for at, (name, arrow) in enumerate(COLUMN_TYPES.items(), 1))


@dataclass(frozen=True, slots=True)
class ManifestRecords:
    """Entries, encoded. `described`: their columns of `DESCRIBED`."""

    data: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    lengths: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    described: pa.Table = field(default_factory=lambda: ManifestColumns.of(()).table(*DESCRIBED))

    @classmethod
    def of(cls, columns: ManifestColumns) -> "ManifestRecords":
        """The entries of columns, in their order."""
        if columns.entries is not None and len(columns) <= _FEW_ENTRIES:
            records = encoded_entries(columns.entries)
            data = np.frombuffer(b"".join(records), np.uint8)
            return cls(data, np.array([*map(len, records)], np.int64), columns.table(*DESCRIBED))
        table = columns.table(*COLUMN_TYPES)
        parts = [_encoded(table.slice(start, _AT_ONCE)) for start in range(0, table.num_rows, _AT_ONCE)]
        return cls._joined(parts, table.select(list(DESCRIBED)))

    @classmethod
    def _joined(cls, parts: Sequence[Pieces], described: pa.Table) -> "ManifestRecords":
        if not parts:
            return cls()
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate([part.data for part in parts]), lengths, described)

    @classmethod
    def joined(cls, parts: Sequence["ManifestRecords"]) -> "ManifestRecords":
        """All entries of the parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        pieces = [Pieces(part.data, part.lengths) for part in parts]
        return cls._joined(pieces, pa.concat_tables([part.described for part in parts]))

    def __len__(self) -> int:
        return len(self.lengths)

    def slice(self, start: int, count: int) -> "ManifestRecords":
        """Some of the entries: `count` from `start` on, or fewer at the end."""
        before, size = int(self.lengths[:start].sum()), int(self.lengths[start : start + count].sum())
        described = self.described.slice(start, count)
        return ManifestRecords(self.data[before : before + size], self.lengths[start : start + count], described)

    def serialize(self, codec: str = "zstandard", level: int = 1) -> bytes:
        """The bytes of a manifest with these entries, those of `serialize_manifest`."""
        compress: Callable[[bytes, int], bytes] = AVRO_CODECS[codec].compress
        parts = [container_header(_SCHEMA, codec)]
        ends = np.cumsum(self.lengths)
        for first, last in _blocks(ends):
            content = self.data[int(ends[first] - self.lengths[first]) : int(ends[last - 1])]
            parts.append(container_block(last - first, compress(content.tobytes(), level)))
        return b"".join(parts)


def _blocks(ends: np.ndarray) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        end = min(int(np.searchsorted(ends, before + _BLOCK_BYTES)) + 1, len(ends))
        yield start, end
        start = end


def _encoded(rows: pa.Table) -> Pieces:
    version = pa.array(np.full(rows.num_rows, MANIFEST_VERSION, np.int32))
    columns = [version, *(column.combine_chunks() for column in rows.columns)]
    return encode_rows(columns, (_VERSION, *_FIELDS))


_SCHEMA = schema_of_container(serialize_manifest(()))
