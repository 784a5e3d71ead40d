"""Which waiting rows are superseded: later rows of their keys were written straight into the bucket.

Where the last record of a key is all that counts, superseded rows are not moved, and the later files stay as they are.
Otherwise the later files are written again with higher sequence numbers. A writer of another engine that has numbered
its rows on from the old numbers and commits after that would lose them to its own older rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.sort_words import changes, sort_order, sort_words
from maintenance.options.model import TableModel
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import HashOf, row_hashes

_BATCH_ROWS = 1 << 17
_MOST_ROWS = 1 << 22
_KEY = "key"


@dataclass(frozen=True, slots=True)
class DirectFiles:
    """Files of one commit that were written straight into a bucket, after rows that wait.

    `after`: how many of the waiting files are older; one or more.
    """

    bucket: int
    after: int
    files: tuple[DataFileMeta, ...]


def may_pass_over(options: TableModel, direct: Iterable[DirectFiles]) -> bool:
    """Whether rows that waited are left out where a later row has their key.

    The record committed last must be all that matters of a key, whatever the records hold, and the keys of the later
    files must fit in memory.
    """
    return (
        options.merge_engine == "deduplicate"
        and not options.sequence_field
        and not options.ignores_deletes
        and options.changelog_producer != "input"
        and sum(file.row_count for each in direct for file in each.files) <= _MOST_ROWS
    )


@dataclass(frozen=True, slots=True)
class NewerKeys:
    """The keys of files that came after rows that wait. Bucket and partition follow from the key.

    Attributes:
        keys: their key columns, ordered by hash.
        hashes: of these keys, ascending; uint64, shape (n,).
        after: how many of the waiting files are older than each; int64, shape (n,).
    """

    keys: pa.Table
    hashes: np.ndarray
    after: np.ndarray

    def of_rows(self, rows: pa.Table, place: int) -> np.ndarray:
        """Which rows of the waiting file at `place` are superseded. bool, shape (rows,)."""
        superseded = np.zeros(rows.num_rows, bool)
        hashes = key_hashes(rows, self.keys.column_names)
        first = np.searchsorted(self.hashes, hashes, side="left")
        last = np.searchsorted(self.hashes, hashes, side="right")
        likely = np.flatnonzero(last > first)
        if not len(likely):
            return superseded
        # Equal hashes are no proof: the keys themselves are compared.
        counts = last[likely] - first[likely]
        starts = np.cumsum(counts) - counts
        newer = np.repeat(first[likely] - starts, counts) + np.arange(counts.sum())
        asked = rows.select(self.keys.column_names).take(pa.array(likely))
        both = pa.concat_tables([asked, self.keys.take(pa.array(newer))]).combine_chunks()
        words = sort_words([column.chunk(0) for column in both.columns])
        order = sort_order(words)
        group = np.empty(both.num_rows, np.int64)
        group[order] = np.cumsum(changes(words, order)) - 1
        latest = np.zeros(both.num_rows, np.int64)
        np.maximum.at(latest, group[len(likely) :], self.after[newer])
        superseded[likely] = latest[group[: len(likely)]] > place
        return superseded


def key_hashes(rows: pa.Table, key: Sequence[str]) -> np.ndarray:
    """A hash of each row's key. uint64, shape (n,)."""
    return np.asarray(row_hashes(rows, {_KEY: HashOf(tuple(key), tuple(range(len(key))))})[_KEY])


def keys_only(reader: DataFileReader, schema: TableSchema) -> DataFileReader:
    """A reader of the key columns alone."""
    fields = tuple(schema.field(name) for name in schema.trimmed_primary_keys)
    return replace(reader, context=replace(reader.context, fields=fields))


def newer_keys(readers: Iterable[tuple[int, DataFileReader]], schema: TableSchema) -> NewerKeys:
    """The keys of files. `readers`: one or more, each with how many waiting files are older than its file."""
    tables: list[pa.Table] = []
    after: list[np.ndarray] = []
    for older, reader in readers:
        for keys in keys_only(reader, schema).batches(_BATCH_ROWS):
            tables.append(keys)
            after.append(np.full(keys.num_rows, older))
    keys = pa.concat_tables(tables)
    hashes = key_hashes(keys, schema.trimmed_primary_keys)
    order = np.argsort(hashes)
    return NewerKeys(keys.take(pa.array(order)), hashes[order], np.concatenate(after)[order])
