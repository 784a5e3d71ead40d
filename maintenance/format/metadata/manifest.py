"""Manifests: data files that were added or deleted. Source: metadata sections 4.2 and 8.1, Java `ManifestEntry`.

A manifest may hold a hundred thousand entries of which a read needs a few. So they are decoded as columns
(`ManifestColumns`), and only the needed ones become entries.

The library for the columns starts threads when it is imported, so it is imported when it is first needed: a process
that forks others can import this module.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache, lru_cache
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import RESTORE, CorruptFileError, UnsupportedError
from maintenance.format.avro.container import AvroColumns, encoded_records, read_records, record_schema, write_records
from maintenance.format.metadata.data_file import (
    DATA_FILE_FIELDS,
    FLAT_FILE_FIELDS,
    DataFileMeta,
    file_of_record,
    file_of_values,
    record_of_file,
)

if TYPE_CHECKING:
    import polars as pl

MANIFEST_VERSION = 2


class FileKind(IntEnum):
    """Whether an entry adds a file to the table or deletes it."""

    ADD = 0
    DELETE = 1


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A change of one data file.

    Attributes:
        partition: serialized row of the partition columns.
        bucket: -2 is the postpone bucket.
        total_buckets: the bucket count the file was written under; -1 without fixed buckets, -2 for postpone.
    """

    kind: FileKind
    partition: bytes
    bucket: int
    total_buckets: int
    file: DataFileMeta

    @property
    def identity(self) -> Hashable:
        """What makes an ADD and a DELETE meet. The level is part of it: raising a level deletes and adds a file."""
        file = self.file
        return (
            self.partition,
            self.bucket,
            file.level,
            file.file_name,
            file.extra_files,
            file.embedded_index,
            file.external_path,
        )


_SCHEMA = record_schema(
    "record",
    [
        {"name": "_VERSION", "type": "int"},
        {"name": "_KIND", "type": "int"},
        {"name": "_PARTITION", "type": "bytes"},
        {"name": "_BUCKET", "type": "int"},
        {"name": "_TOTAL_BUCKETS", "type": "int"},
        {"name": "_FILE", "type": {"type": "record", "name": "record__FILE", "fields": DATA_FILE_FIELDS}},
    ],
)
_KINDS = {0: FileKind.ADD, 1: FileKind.DELETE}


@dataclass(frozen=True, slots=True)
class EntrySelection:
    """Which entries are wanted. Unless `kind` is asked for, an ADD and its DELETE are both wanted, or neither is.

    Attributes:
        partition: whether a serialized partition row is wanted; asked once for each.
        buckets: the buckets wanted under a number of total buckets, None = all; asked once for each number.
        level: whether a level is wanted; asked once for each.
        test: asked for each entry that the others leave.
        names: which of some names of data files are wanted; asked once for all.
        kind: only additions, or only deletions.
    """

    partition: Callable[[bytes], bool] | None = None
    buckets: Callable[[int], Collection[int] | None] | None = None
    level: Callable[[int], bool] | None = None
    test: Callable[[ManifestEntry], bool] | None = None
    names: Callable[[pa.Array], npt.NDArray[np.bool_]] | None = None
    kind: FileKind | None = None

    @property
    def names_heads(self) -> bool:
        """Whether partitions or buckets are asked for, which stand at the head of an entry."""
        return self.partition is not None or self.buckets is not None

    def keeps(self, entry: ManifestEntry) -> bool:
        """Whether one entry is wanted."""
        if self.kind is not None and entry.kind != self.kind:
            return False
        if self.names is not None and not self.names(pa.array([entry.file.file_name]))[0]:
            return False
        if self.partition is not None and not self.partition(entry.partition):
            return False
        if self.buckets is not None:
            buckets = self.buckets(entry.total_buckets)
            if buckets is not None and entry.bucket not in buckets:
                return False
        if self.level is not None and not self.level(entry.file.level):
            return False
        return self.test is None or self.test(entry)


EVERY_ENTRY = EntrySelection()


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """How many files a manifest adds and deletes."""

    added: int
    deleted: int

    def check(self, actual: "EntryCounts", where: str) -> None:
        """Check the counts of a manifest against these, of its list. Raises: CorruptFileError."""
        if actual != self:
            raise CorruptFileError(f"expected {self}, found {actual}", where, RESTORE)

    def __str__(self) -> str:
        return f"{self.added} added and {self.deleted} deleted files"


@dataclass(frozen=True, slots=True)
class StatsShape:
    """Entries whose statistics have the same columns. `rows`: their numbers; the others are as of their files."""

    rows: npt.NDArray[np.integer]
    schema_id: int
    stats_cols: tuple[str, ...] | None
    write_cols: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ManifestColumns:
    """The entries of one manifest, decoded and not yet made.

    Attributes:
        frame: one row for each entry; columns `_KIND` to `_TOTAL_BUCKETS`, then those of `FLAT_FILE_FIELDS`.
        entries: instead of the frame, for a manifest of an uncommon shape.
        file_size: bytes of the manifest.
    """

    frame: "pl.DataFrame"
    entries: tuple[ManifestEntry, ...] | None = None
    file_size: int = 0

    @classmethod
    def of(cls, entries: Iterable[ManifestEntry]) -> "ManifestColumns":
        """Entries that are made already."""
        import polars as pl

        return cls(pl.DataFrame(), tuple(entries))

    def __len__(self) -> int:
        return len(self.frame) if self.entries is None else len(self.entries)

    @property
    def size(self) -> int:
        """Bytes in memory, about."""
        return int(self.frame.estimated_size()) if self.entries is None else 1024 * len(self.entries)

    @property
    def counts(self) -> "EntryCounts":
        """How many files it adds and deletes."""
        if self.entries is None:
            return _counts(self.frame)
        deleted = sum(entry.kind == FileKind.DELETE for entry in self.entries)
        return EntryCounts(len(self.entries) - deleted, deleted)

    def select(self, selection: EntrySelection = EVERY_ENTRY) -> list[ManifestEntry]:
        """The entries wanted, in file order."""
        if self.entries is not None:
            return [entry for entry in self.entries if selection.keeps(entry)]
        entries = [_entry_of_values(*row) for row in _selected(self.frame, selection).iter_rows()]
        return entries if selection.test is None else list(filter(selection.test, entries))

    def narrowed(self, selection: EntrySelection) -> "ManifestColumns":
        """The columns of the entries wanted."""
        if self.entries is not None or selection.test is not None:
            return replace(self, entries=tuple(self.select(selection)))
        return replace(self, frame=_selected(self.frame, selection))

    def filtered(self, kept: npt.NDArray[np.bool_]) -> "ManifestColumns":
        """The columns of some of the entries. `kept`: bool, shape (n,)."""
        if self.entries is not None:
            return replace(self, entries=tuple(compress(self.entries, kept)))
        return replace(self, frame=self.frame.filter(kept))

    def at(self, rows: npt.NDArray[np.int64]) -> "ManifestColumns":
        """The columns of the entries at these places, in their order."""
        if self.entries is not None:
            return replace(self, entries=tuple(self.entries[row] for row in rows))
        return replace(self, frame=self.frame[rows])

    @classmethod
    def joined(cls, parts: "Iterable[ManifestColumns]") -> "ManifestColumns":
        """All of their entries."""
        import polars as pl

        filled = [part for part in parts if len(part)]
        framed = (part.frame if part.entries is None else _framed(part.entries) for part in filled)
        frames = [frame for frame in framed if frame is not None]
        if not filled or len(frames) < len(filled):
            return cls.of(entry for part in filled for entry in part.select())
        # Types differ where all values of a column are null in a manifest. In one piece, rows are found in no time.
        return cls(pl.concat(frames, how="vertical_relaxed", rechunk=True))

    def without(self, identities: Collection[Hashable], names: pa.Array) -> "ManifestColumns":
        """The columns of entries of other identities. `names`: of the files that these are of."""
        if self.entries is not None:
            return replace(self, entries=tuple(e for e in self.entries if e.identity not in identities))
        suspects = pc.is_in(self.table("_FILE_NAME").column(0), value_set=names).to_numpy()
        places = np.flatnonzero(suspects)
        if not len(places):
            return self
        kept = np.ones(len(self.frame), np.bool_)
        kept[places] = [_entry_of_values(*row).identity not in identities for row in self.frame[places].iter_rows()]
        return self.filtered(kept)

    def table(self, *names: str) -> pa.Table:
        """Some of the columns that `COLUMN_TYPES` names, a row for each entry in file order."""
        if self.entries is None:
            arrays = [_stored(self.frame.get_column(name), name) for name in names]
        else:
            arrays = [pa.array(list(map(_OF_ENTRY[name], self.entries)), COLUMN_TYPES[name]) for name in names]
        return pa.Table.from_arrays(arrays, names=list(names))

    def stats_shapes(self, most: int) -> list[StatsShape]:
        """Entries by the columns of their statistics; nothing where there are more kinds, or for made entries."""
        if self.entries is not None or not len(self.frame):
            return []
        keys = ["_SCHEMA_ID", "_VALUE_STATS_COLS", "_WRITE_COLS"]
        grouped = self.frame.select(keys).with_row_index("row").group_by(keys, maintain_order=True).agg("row")
        if len(grouped) > most:
            return []
        rows, names = grouped.get_column("row"), grouped.select(keys).iter_rows()
        return [
            StatsShape(rows[at].to_numpy(), schema_id, *(None if each is None else tuple(each) for each in lists))
            for at, (schema_id, *lists) in enumerate(names)
        ]

    @property
    def file_names(self) -> pa.Array:
        """Names of all files that it adds or deletes and of those beside them, in no order."""
        if self.entries is not None:
            files = [entry.file for entry in self.entries]
            return pa.array([name for file in files for name in (file.file_name, *file.extra_files)], pa.string())
        names = _texts(self.frame.get_column("_FILE_NAME").to_arrow())
        extras = self.frame.get_column("_EXTRA_FILES").to_arrow()
        if pa.types.is_null(extras.type):
            return names
        return pa.concat_arrays([names, _texts(extras.flatten().drop_null())])


class ColumnFiles(Sequence[DataFileMeta]):
    """The files of some entries, each made when it is asked for: there may be millions. Equal to a tuple of them."""

    __slots__ = ("_columns", "_rows")

    def __init__(self, columns: ManifestColumns, rows: npt.NDArray[np.int64]) -> None:
        self._columns, self._rows = columns, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[DataFileMeta]:
        return (entry.file for entry in self._columns.at(self._rows).select())

    @overload
    def __getitem__(self, place: int) -> DataFileMeta: ...

    @overload
    def __getitem__(self, place: slice) -> "ColumnFiles": ...

    def __getitem__(self, place: int | slice) -> "DataFileMeta | ColumnFiles":
        if isinstance(place, slice):
            return ColumnFiles(self._columns, self._rows[place])
        (entry,) = self._columns.at(self._rows[[place]]).select()
        return entry.file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | ColumnFiles) and len(self) == len(other) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """It travels as a tuple of its own files."""
        return tuple, (list(self),)


def _framed(entries: Sequence[ManifestEntry]) -> "pl.DataFrame | None":
    """Entries as a frame; None where they are of an uncommon shape."""
    columns = AvroColumns.open(serialize_manifest(entries, "null"))
    frame = None if columns is None else columns.read()
    return None if frame is None else _flat(frame)


_TEXTS = pa.list_(pa.string())
# All that is written of an entry, in that order.
COLUMN_TYPES = {
    "_KIND": pa.int32(),
    "_PARTITION": pa.binary(),
    "_BUCKET": pa.int32(),
    "_TOTAL_BUCKETS": pa.int32(),
    "_FILE_NAME": pa.string(),
    "_FILE_SIZE": pa.int64(),
    "_ROW_COUNT": pa.int64(),
    "_MIN_KEY": pa.binary(),
    "_MAX_KEY": pa.binary(),
    "_KEY_STATS._MIN_VALUES": pa.binary(),
    "_KEY_STATS._MAX_VALUES": pa.binary(),
    "_KEY_STATS._NULL_COUNTS": pa.list_(pa.int64()),
    "_VALUE_STATS._MIN_VALUES": pa.binary(),
    "_VALUE_STATS._MAX_VALUES": pa.binary(),
    "_VALUE_STATS._NULL_COUNTS": pa.list_(pa.int64()),
    "_MIN_SEQUENCE_NUMBER": pa.int64(),
    "_MAX_SEQUENCE_NUMBER": pa.int64(),
    "_SCHEMA_ID": pa.int64(),
    "_LEVEL": pa.int32(),
    "_EXTRA_FILES": _TEXTS,
    "_CREATION_TIME": pa.int64(),
    "_DELETE_ROW_COUNT": pa.int64(),
    "_EMBEDDED_FILE_INDEX": pa.binary(),
    "_FILE_SOURCE": pa.int32(),
    "_VALUE_STATS_COLS": _TEXTS,
    "_EXTERNAL_PATH": pa.string(),
    "_FIRST_ROW_ID": pa.int64(),
    "_WRITE_COLS": _TEXTS,
}
_ATTRIBUTES = {"_EMBEDDED_FILE_INDEX": "embedded_index"}
_OF_ENTRY = {
    name: attrgetter(path if name in ("_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS") else f"file.{path}")
    for name in COLUMN_TYPES
    for path in [_ATTRIBUTES.get(name, name[1:].lower().replace("._", "."))]
}


def _stored(column: "pl.Series", name: str) -> pa.Array:
    array = column.to_arrow().cast(COLUMN_TYPES[name])
    if name == "_EXTRA_FILES" and array.null_count:
        # Of a manifest that does not say them: there are none.
        return pc.if_else(array.is_valid(), array, pa.scalar([], _TEXTS))
    return array


def _texts(names: pa.Array) -> pa.Array:
    return names.cast(pa.string())


def _counts(frame: "pl.DataFrame") -> EntryCounts:
    deleted = int((frame.get_column("_KIND") == FileKind.DELETE).sum())
    return EntryCounts(len(frame) - deleted, deleted)


# So few are decoded faster one by one than as columns: a commit's own manifest has that many.
_FEW_ENTRIES = 12
# Stored bytes that are looked through at a time, some eight times as many decoded: the whole of a large manifest would
# not fit into any cache.
_PART_BYTES = 512 << 10
# Files of so many bytes are decoded in such parts.
_LARGE = 1 << 20
_HEAD = ("_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS")


def _selected(frame: "pl.DataFrame", selection: EntrySelection) -> "pl.DataFrame":
    import polars as pl

    if selection.kind is not None:
        # A filter starts a query, which most manifests need not: they have additions alone.
        chosen = frame.get_column("_KIND") == int(selection.kind)
        frame = frame if chosen.all() else frame.filter(chosen) if chosen.any() else frame.clear()
    if selection.partition is not None:
        distinct = frame.get_column("_PARTITION").unique()
        kept = distinct.filter(pl.Series([selection.partition(value) for value in distinct], dtype=pl.Boolean))
        if len(kept) < len(distinct):
            frame = frame.filter(pl.col("_PARTITION").is_in(kept.implode()))
    if selection.buckets is not None:
        for total in frame.get_column("_TOTAL_BUCKETS").unique().to_list():
            buckets = selection.buckets(total)
            if buckets is not None:
                other = pl.col("_TOTAL_BUCKETS") != total
                frame = frame.filter(other | pl.col("_BUCKET").is_in(list(buckets)))
    if selection.level is not None:
        levels = list(filter(selection.level, frame.get_column("_LEVEL").unique().to_list()))
        frame = frame.filter(pl.col("_LEVEL").is_in(levels))
    if selection.names is not None:
        frame = frame.filter(pl.Series(selection.names(_texts(frame.get_column("_FILE_NAME").to_arrow()))))
    return frame


def decode_manifest(data: bytes, where: str) -> ManifestColumns:
    """The entries of a manifest as columns.

    Raises: CorruptFileError: damaged, or a required field is missing; UnsupportedError: another version or kind.
    """
    found = _in_parts(data) if len(data) >= _LARGE else None
    if found is not None:
        return ManifestColumns(found[0], file_size=len(data))
    columns = AvroColumns.open(data)
    frame = None if columns is None or sum(columns.counts) <= _FEW_ENTRIES else columns.read()
    flat = None if frame is None else _flat(frame)
    if flat is not None:
        return ManifestColumns(flat, file_size=len(data))
    return ManifestColumns(_no_frame(), tuple(read_records(data, where, entry_of_record, "_FILE")), len(data))


@cache
def _no_frame() -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame()


def select_columns(
    data: bytes, where: str, selection: EntrySelection, counts: EntryCounts | None = None
) -> ManifestColumns:
    """The wanted entries of a manifest as columns: of blocks without any, no more than the heads are decoded.

    Args: `counts`: of all its entries, where its list says them.
    Raises: as `decode_manifest`; CorruptFileError: it has other counts.
    """
    found = _in_parts(data, selection) if selection.names_heads else None
    if found is None:
        return _checked(decode_manifest(data, where), counts, where).narrowed(selection)
    frame, seen = found
    if counts is not None:
        counts.check(seen, where)
    return ManifestColumns(frame).narrowed(selection)


def _in_parts(data: bytes, selection: EntrySelection | None = None) -> "tuple[pl.DataFrame, EntryCounts] | None":
    """The entries of all blocks, or of those with wanted heads, and how many there are in all.

    None where they are decoded otherwise: a manifest of few entries, or one that is not as usual.
    """
    import polars as pl

    wanted = None
    if selection is not None:
        partition = None if selection.partition is None else cache(selection.partition)
        wanted = EntrySelection(partition, selection.buckets, kind=selection.kind)
    frames: list[pl.DataFrame] = []
    added = deleted = 0
    for part in AvroColumns.parts(data, _PART_BYTES):
        if part is None or (not frames and sum(part.counts) <= _FEW_ENTRIES):
            return None
        heads = part.read(None if wanted is None else ("_VERSION", *_HEAD))
        if heads is None or not _usual(heads):
            return None
        seen = _counts(heads)
        added, deleted = added + seen.added, deleted + seen.deleted
        frame: pl.DataFrame | None = heads
        if wanted is not None:
            rows = _selected(heads.with_row_index("row"), wanted).get_column("row").to_numpy()
            blocks = np.unique(np.searchsorted(np.cumsum(part.counts), rows, side="right"))
            frame = part.read(blocks=blocks.tolist())
        flat = None if frame is None else _flat(frame)
        if flat is None:
            return None
        frames.append(flat)
    return pl.concat(frames, rechunk=True), EntryCounts(added, deleted)


def _checked(columns: ManifestColumns, counts: EntryCounts | None, where: str) -> ManifestColumns:
    if counts is not None:
        counts.check(columns.counts, where)
    return columns


def _flat(frame: "pl.DataFrame") -> "pl.DataFrame | None":
    """The columns with those of the nested records beside them; None where a version, kind or field is not as usual."""
    if not _usual(frame) or "_FILE" not in frame.columns:
        return None
    columns = _flat_columns(frame.get_column("_FILE").dtype)
    return None if columns is None else frame.select(*_HEAD, *columns)


@lru_cache(maxsize=64)
def _flat_columns(file: "pl.DataType") -> "list[pl.Expr] | None":
    """`FLAT_FILE_FIELDS` of a `_FILE` of this type, null where optional ones are missing; None: a required one is."""
    import polars as pl

    columns, fields = [], _fields(file, pl.col("_FILE"), ())
    for path, required in FLAT_FILE_FIELDS:
        column = fields.get(tuple(path))
        if column is None and required:
            return None
        columns.append((pl.lit(None) if column is None else column).alias(".".join(path)))
    return columns


def _usual(frame: "pl.DataFrame") -> bool:
    """Whether every entry has a head, and of a version and kind that is known."""
    if not {"_VERSION", *_HEAD} <= set(frame.columns):
        return False
    # Compared whole: distinct values would start a query for each of the two columns.
    versions, kinds = frame.get_column("_VERSION"), frame.get_column("_KIND")
    return bool((versions == MANIFEST_VERSION).all() and kinds.is_between(min(_KINDS), max(_KINDS)).all())


def _fields(data_type: Any, expression: "pl.Expr", path: tuple[str, ...]) -> "dict[tuple[str, ...], pl.Expr]":
    """What is below a field, and the field itself, by path."""
    import polars as pl

    found = {path: expression}
    if isinstance(data_type, pl.Struct):
        for field in data_type.fields:
            found |= _fields(field.dtype, expression.struct.field(field.name), (*path, field.name))
    return found


def _entry_of_values(kind: int, partition: bytes, bucket: int, total_buckets: int, *file: Any) -> ManifestEntry:
    return ManifestEntry(_KINDS[kind], partition, bucket, total_buckets, file_of_values(file))


def entry_of_record(record: Mapping[str, Any]) -> ManifestEntry:
    """The entry of a decoded Avro record. Raises: KeyError: a required field is missing; UnsupportedError."""
    check_version(record, MANIFEST_VERSION)
    return ManifestEntry(
        kind_of_record(record),
        record["_PARTITION"],
        record["_BUCKET"],
        record["_TOTAL_BUCKETS"],
        file_of_record(record["_FILE"]),
    )


def serialize_manifest(entries: Iterable[ManifestEntry], codec: str = "zstandard", level: int = 1) -> bytes:
    """The bytes of a manifest. `codec`: Avro's name, `level`: of the compression."""
    return write_records(_SCHEMA, map(_record_of_entry, entries), codec, level)


def encoded_entries(entries: Iterable[ManifestEntry]) -> list[bytes]:
    """The bytes of each entry, as they stand in a manifest without compression."""
    return encoded_records(_SCHEMA, map(_record_of_entry, entries))


def _record_of_entry(entry: ManifestEntry) -> dict[str, Any]:
    return {
        "_VERSION": MANIFEST_VERSION,
        "_KIND": int(entry.kind),
        "_PARTITION": entry.partition,
        "_BUCKET": entry.bucket,
        "_TOTAL_BUCKETS": entry.total_buckets,
        "_FILE": record_of_file(entry.file),
    }


def check_version(record: Mapping[str, Any], supported: int) -> None:
    """Check the version of an entry of a metadata file. Raises: KeyError: it has none; UnsupportedError."""
    if record["_VERSION"] != supported:
        raise UnsupportedError(
            f"entry version {record['_VERSION']}",
            "metadata file",
            f"Only version {supported} can be read; recreate older tables with a current Paimon release.",
        )


def kind_of_record(record: Mapping[str, Any]) -> FileKind:
    """The kind of an entry of a metadata file. Raises: UnsupportedError."""
    kind = _KINDS.get(record["_KIND"])
    if kind is None:
        raise UnsupportedError(f"entry kind {record['_KIND']}", "metadata file", "0 (ADD) and 1 (DELETE) are read.")
    return kind
