"""Which rows may match a filter, by the global indexes and the row ids of a table with data evolution.

Rows that no index covers may always match. An index is left aside where it may be wrong: where updates of indexed
columns leave it as it is (`global-index.column-update-action` = `ignore`), where the column had another type once, and
where its file is damaged, which the log says. Unlike Paimon's default, rows that were added behind an index are found.
Source: Java `DataEvolutionGlobalIndexScanner`, `GlobalIndexEvaluator`.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_, or_

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from maintenance.errors import CorruptFileError, MissingFileError, NotFoundError, UnsupportedError
from maintenance.format.global_index import bitmap, btree
from maintenance.format.global_index.bitmap import BitmapIndex
from maintenance.format.global_index.btree import BTreeIndex
from maintenance.format.global_index.keys import has_keys
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import GlobalIndexMeta, IndexManifestEntry
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.metadata.manifests import Manifests
from maintenance.options.global_index import GLOBAL_INDEX_ENABLED, IGNORE
from maintenance.options.model import TableModel
from maintenance.predicate.arrow import mask
from maintenance.predicate.statistics import ColumnStats, may_match
from maintenance.predicate.tree import And, Constant, Or, Predicate, columns_of, push_down_not
from maintenance.scan.data_evolution import row_groups, row_id_range
from maintenance.scan.row_ids import all_rows, rows_with_ids
from maintenance.scan.split import Split, by_bucket
from maintenance.types.data_type import DataField
from maintenance.types.values import values_of_arrow

_LOG = logging.getLogger(__name__)
TYPES = (btree.NAME, bitmap.NAME)
LoadSchemas = Callable[[Sequence[int]], Mapping[int, TableSchema]]


def covered_rows(metas: Iterable[GlobalIndexMeta | None]) -> BitMap64:
    """The row ids that index files cover."""
    rows = BitMap64()
    for meta in metas:
        assert meta is not None
        rows.add_range(meta.row_range_start, meta.row_range_end + 1)
    return rows


def wanted_rows(
    manifests: Manifests,
    snapshot: Snapshot,
    schema: TableSchema,
    options: TableModel,
    load_schemas: LoadSchemas,
    predicate: Predicate | None,
    entries: Sequence[ManifestEntry],
) -> BitMap64 | None:
    """The row ids, among those of `entries`, of rows that may match; None = nothing says so.

    Both global indexes and conditions on `_ROW_ID` do.
    """
    if predicate is None:
        return None
    fields, usable = _usable(manifests, snapshot, schema, options, load_schemas, predicate, entries)
    if not usable and ROW_ID.name not in columns_of(predicate):
        return None
    ranges = {row_id_range(entry.file) for entry in entries}
    return _Evaluation(manifests, fields, usable, ranges, all_rows(ranges)).rows(push_down_not(predicate))


def _usable(
    manifests: Manifests,
    snapshot: Snapshot,
    schema: TableSchema,
    options: TableModel,
    load_schemas: LoadSchemas,
    predicate: Predicate,
    entries: Sequence[ManifestEntry],
) -> tuple[dict[str, DataField], dict[str, list[IndexManifestEntry]]]:
    """The indexed columns of a filter, and their index files, by name."""
    action = options.global_index_column_update_action
    if snapshot.index_manifest is None or action == IGNORE or not GLOBAL_INDEX_ENABLED.of(options):
        return {}, {}
    partitions = {entry.partition for entry in entries}
    by_field: dict[int, list[IndexManifestEntry]] = {}
    for part in manifests.read_index(snapshot):
        meta = part.global_index
        if part.partition not in partitions or part.index_type not in TYPES or meta is None:
            continue
        if not meta.extra_field_ids and meta.source_meta is None:
            by_field.setdefault(meta.index_field_id, []).append(part)
    fields = {field.name: field for field in schema.fields if field.id in by_field and has_keys(field.type)}
    asked = [fields[name] for name in columns_of(predicate) if name in fields]
    return fields, {f.name: by_field[f.id] for f in asked if _kept_its_type(f, schema, load_schemas)}


def _kept_its_type(field: DataField, schema: TableSchema, load_schemas: LoadSchemas) -> bool:
    """Whether a column always had its type: keys of another one would mean other values."""
    try:
        earlier = load_schemas(range(schema.id)).values()
    except NotFoundError:
        return False
    types = [own.type.as_nullable() for old in earlier for own in old.fields if own.id == field.id]
    return all(data_type == field.type.as_nullable() for data_type in types)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Attributes: `fields`: the indexed columns, `indexes`: their files, by name; `ranges`, `universe`: all row ids."""

    manifests: Manifests
    fields: Mapping[str, DataField]
    indexes: Mapping[str, Sequence[IndexManifestEntry]]
    ranges: Collection[range]
    universe: BitMap64

    def rows(self, pushed: Predicate) -> BitMap64 | None:
        """Rows that may match; None = unknown. `pushed`: with `Not` before leaves alone."""
        match pushed:
            case Constant():
                return None
            case And(children):
                known = [rows for rows in map(self.rows, children) if rows is not None]
                return reduce(and_, known) if known else None
            case Or(children):
                parts = [self.rows(child) for child in children]
                known = [rows for rows in parts if rows is not None]
                return reduce(or_, known) if known and len(known) == len(parts) else None
        (column,) = columns_of(pushed)
        if column == ROW_ID.name:
            return rows_with_ids(pushed, self.ranges)
        if column not in self.indexes:
            return None
        found_rows, covered = BitMap64(), BitMap64()
        for entry in self.indexes[column]:
            assert entry.global_index is not None
            own = self._of_file(entry, entry.global_index, self.fields[column], pushed)
            found_rows |= covered_rows([entry.global_index]) if own is None else own
            covered |= covered_rows([entry.global_index])
        return (found_rows & self.universe) | (self.universe - covered)

    def _of_file(
        self, entry: IndexManifestEntry, meta: GlobalIndexMeta, field: DataField, leaf: Predicate
    ) -> BitMap64 | None:
        """Rows of one index file; None = it cannot be read."""
        path = self.manifests.paths.index_file(entry)
        matches = partial(_matches, leaf, field.name)
        try:
            with self.manifests.file_io.open_input(path, entry.file_size) as source:
                if entry.index_type == btree.NAME:
                    may = partial(_blocks_may_match, leaf, field.name)
                    local = BTreeIndex(source, path, field.type).rows(matches, may)
                else:
                    local = BitmapIndex(source, path, field.type).rows(matches)
        except (CorruptFileError, UnsupportedError, MissingFileError, NotFoundError) as error:
            _LOG.warning("the global index on column %s is not used for some rows: %s", field.name, error)
            return None
        return _moved(local, meta.row_range_start)


def _moved(rows: BitMap64, by: int) -> BitMap64:
    return BitMap64(np.asarray(rows.to_array(), np.uint64) + np.uint64(by))


def _matches(leaf: Predicate, column: str, values: pa.Array) -> np.ndarray:
    matches = mask(leaf, pa.table({column: values}))
    return np.asarray(matches.fill_null(False)).astype(bool)


def _blocks_may_match(leaf: Predicate, column: str, largest: pa.Array) -> np.ndarray:
    """Which blocks of keys in order may have a match. `largest`: key of each block."""
    bounds = [None, *values_of_arrow(largest)]
    blocks = zip(bounds[:-1], bounds[1:], strict=True)
    return np.array([may_match(leaf, {column: ColumnStats(low, high, 0)}, None) for low, high in blocks], bool)


def with_candidates(entries: Sequence[ManifestEntry], candidates: BitMap64) -> list[ManifestEntry]:
    """The entries of groups that have a row that may match."""
    kept = []
    for group in by_bucket(entries).values():
        by_name = {entry.file.file_name: entry for entry in group}
        for files in row_groups([entry.file for entry in group]):
            rows = row_id_range(files[0])
            if candidates.range_cardinality(rows.start, rows.stop):
                kept += [by_name[file.file_name] for file in files]
    return kept


def candidates_of(split: Split, candidates: BitMap64) -> dict[str, BitMap]:
    """The numbers of the rows that may match in each file that stands alone, unless all of them may."""
    return _of_groups([files for files in row_groups(split.files) if len(files) == 1], candidates)


def candidates_together(split: Split, candidates: BitMap64) -> dict[str, BitMap]:
    """The same of files of the same rows, by the name of the newest."""
    return _of_groups([files for files in row_groups(split.files) if len(files) > 1], candidates)


def _of_groups(groups: Iterable[Sequence[DataFileMeta]], candidates: BitMap64) -> dict[str, BitMap]:
    chosen = {files[0].file_name: _candidates_in(files[0], candidates) for files in groups}
    return {name: rows for name, rows in chosen.items() if rows is not None}


def _candidates_in(file: DataFileMeta, candidates: BitMap64) -> BitMap | None:
    rows = row_id_range(file)
    window = BitMap64()
    window.add_range(rows.start, rows.stop)
    inside = candidates & window
    if len(inside) == file.row_count:
        return None
    numbers = np.asarray(inside.to_array(), np.uint64) - np.uint64(rows.start)
    return BitMap(numbers.astype(np.uint32))
