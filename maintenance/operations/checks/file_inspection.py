"""What one file of a table says: snapshots, schemas, manifests and their lists, indexes, data files.

The file's name tells its kind, as Paimon names its files.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maintenance.errors import CorruptFileError, MissingFileError, PaimonError, UnsupportedError
from maintenance.format.avro.container import read_records, schema_of_container
from maintenance.format.data_format import decoding
from maintenance.format.file_index.container import parse_container
from maintenance.format.metadata.deletion_vector import INDEX_VERSION, DeletionVector, frames_of
from maintenance.format.metadata.hash_index import parse_hash_index
from maintenance.format.metadata.index_manifest import parse_index_manifest
from maintenance.format.metadata.manifest import decode_manifest
from maintenance.format.metadata.manifest_list import parse_manifest_list
from maintenance.format.row_file.data_format import open_row_file
from maintenance.format.rows.binary_row import parse_row
from maintenance.fs.file_io import FileIO
from maintenance.metadata.schemas import Schemas
from maintenance.types.data_type import DataType

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inspection:
    """A file. `facts`: of it as a whole; `rows`: its entries."""

    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ()


def inspected(file_io: FileIO, path: str, limit: int = 20) -> Inspection:
    """What a file says. `limit`: rows of a data file to show.

    Raises: MissingFileError, CorruptFileError; UnsupportedError: a file of another kind.
    """
    name = path.rstrip("/").rpartition("/")[2]
    data_kind = next((end for end in _DATA if name.endswith(f".{end}")), None)
    try:
        if name.startswith(("manifest-list-", "manifest-", "index-manifest-")):
            return _metadata(file_io, path, name)
        if data_kind is not None:
            return _DATA[data_kind](file_io, path, limit)
        data = file_io.read_bytes(path)
    except FileNotFoundError as error:
        raise MissingFileError("the file does not exist", path, "Check the path.") from error
    if name.endswith(".index"):
        return _file_index(data, path)
    if name.startswith("index-"):
        return _bucket_index(data, path)
    return _json(data, path, name)


def _json(data: bytes, path: str, name: str) -> Inspection:
    """Snapshots, schemas, tags, changelogs, consumers and statistics are JSON; hints are numbers."""
    try:
        content = json.loads(data)
    except ValueError as error:
        raise UnsupportedError(
            "the file is of no kind that is known by its name, and it is not JSON", path, "Name a file of a table."
        ) from error
    kind = next((kind for start, kind in _JSON.items() if name.startswith(start)), "JSON")
    if kind == "schema" and isinstance(content, dict):
        rows = [dict(each) for each in content.pop("fields", [])]
        return Inspection(kind, content, rows)
    return Inspection(kind, content if isinstance(content, dict) else {"value": content})


_JSON = {
    "snapshot-": "snapshot", "schema-": "schema", "tag-": "tag", "changelog-": "changelog",
    "consumer-": "consumer", "stat-": "statistics", "EARLIEST": "hint", "LATEST": "hint",
}  # fmt: skip


def _metadata(file_io: FileIO, path: str, name: str) -> Inspection:
    data = file_io.read_bytes(path)
    if name.startswith("manifest-list-"):
        metas = parse_manifest_list(data, path)
        rows = [
            {
                "file": meta.file_name,
                "bytes": meta.file_size,
                "added": meta.num_added_files,
                "deleted": meta.num_deleted_files,
                "schema": meta.schema_id,
            }
            for meta in metas
        ]
        return Inspection("manifest list", {"bytes": len(data), "manifests": len(rows)}, rows)
    types = _partition_types(file_io, path)
    if name.startswith("index-manifest-"):
        entries = parse_index_manifest(data, path)
        rows = [
            {
                "kind": entry.kind.name,
                "partition": _partition(entry.partition, types),
                "bucket": entry.bucket,
                "index": entry.index_type,
                "file": entry.file_name,
                "bytes": entry.file_size,
                "rows": entry.row_count,
                "data files": ", ".join(part.data_file_name for part in entry.dv_ranges or ()),
            }
            for entry in entries
        ]
        return Inspection("index manifest", {"bytes": len(data), "entries": len(rows)}, rows)
    rows = [
        {
            "kind": entry.kind.name,
            "partition": _partition(entry.partition, types),
            "bucket": entry.bucket,
            "file": entry.file.external_path or entry.file.file_name,
            "level": entry.file.level,
            "rows": entry.file.row_count,
            "deleted rows": entry.file.delete_row_count,
            "bytes": entry.file.file_size,
            "schema": entry.file.schema_id,
            "sequence": f"{entry.file.min_sequence_number}..{entry.file.max_sequence_number}",
        }
        for entry in decode_manifest(data, path).select()
    ]
    return Inspection("manifest", {"bytes": len(data), "entries": len(rows)}, rows)


def _partition_types(file_io: FileIO, path: str) -> list[DataType] | None:
    """The types of the partition columns, from the table's schema; None where that is not beside the manifests."""
    try:
        schema = Schemas(file_io, f"{path.rpartition('/')[0].rpartition('/')[0]}/schema").latest()
    except PaimonError:
        return None
    return None if schema is None else [each.type for each in schema.partition_fields]


def _partition(partition: bytes, types: list[DataType] | None) -> str:
    if types is None:
        return partition.hex()
    return ", ".join(str(value) for value in parse_row(partition, types))


def _file_index(data: bytes, path: str) -> Inspection:
    rows = [
        {"column": column, "index": kind, "bytes": 0 if body is None else len(body)}
        for column, kinds in parse_container(data, path).items()
        for kind, body in kinds.items()
    ]
    return Inspection("file index", {"bytes": len(data), "indexes": len(rows)}, rows)


def _bucket_index(data: bytes, path: str) -> Inspection:
    """Deletion vectors, or the hashes of a dynamic bucket; the index manifest knows which, the file only nearly."""
    if data[:1] == bytes([INDEX_VERSION]):
        try:
            vectors = [(offset, DeletionVector.parse(frame, path)) for offset, frame in frames_of(data, path)]
        except CorruptFileError:
            if len(data) % 4:
                raise
        else:
            rows = [
                {"offset": offset, "deleted rows": vector.cardinality, "first": _first(vector)}
                for offset, vector in vectors
            ]
            return Inspection("deletion vectors", {"bytes": len(data), "vectors": len(rows)}, rows)
    hashes = parse_hash_index(data, path)
    return Inspection("hash index", {"bytes": len(data), "hashes": len(hashes)})


def _first(vector: DeletionVector) -> str:
    shown = [str(position) for _, position in zip(range(10), vector.positions, strict=False)]
    return ", ".join(shown) + (", …" if vector.cardinality > len(shown) else "")


def _parquet(file_io: FileIO, path: str, limit: int) -> Inspection:
    import pyarrow.parquet as pq

    with file_io.open_input(path) as source, decoding(path):
        file = pq.ParquetFile(source)
        metadata = file.metadata
        facts: Row = {
            "rows": metadata.num_rows,
            "row groups": metadata.num_row_groups,
            "made by": metadata.created_by,
            "columns": {each.name: str(each.type) for each in file.schema_arrow},
        }
        if metadata.num_row_groups:
            facts["compression"] = metadata.row_group(0).column(0).compression
        rows = next(file.iter_batches(limit), None) if limit else None
        return Inspection("parquet data file", facts, [] if rows is None else rows.to_pylist())


def _orc(file_io: FileIO, path: str, limit: int) -> Inspection:
    from pyarrow import orc

    with file_io.open_input(path) as source, decoding(path):
        file = orc.ORCFile(source)
        facts = {
            "rows": file.nrows,
            "stripes": file.nstripes,
            "made by": file.writer,
            "compression": str(file.compression),
            "columns": {each.name: str(each.type) for each in file.schema},
        }
        rows = file.read_stripe(0).slice(0, limit).to_pylist() if limit and file.nstripes else []
        return Inspection("orc data file", facts, rows)


def _avro(file_io: FileIO, path: str, limit: int) -> Inspection:
    data = file_io.read_bytes(path)
    schema = json.loads(schema_of_container(data))
    records = read_records(data, path, dict)
    columns = {each["name"]: json.dumps(each["type"]) for each in schema.get("fields", [])}
    return Inspection("avro data file", {"rows": len(records), "columns": columns}, records[:limit])


def _row(file_io: FileIO, path: str, limit: int) -> Inspection:
    with file_io.open_input(path) as source:
        index = open_row_file(source, path).index
    facts: Row = {
        "rows": int(index.row_starts[-1]),
        "blocks": len(index.plain_sizes),
        "decompressed bytes": int(index.plain_sizes.sum()),
        "columns": "those of its table's schema: the file does not say them",
    }
    return Inspection("row data file", facts, [])


_DATA: Mapping[str, Callable[[FileIO, str, int], Inspection]] = {
    "parquet": _parquet,
    "orc": _orc,
    "avro": _avro,
    "row": _row,
}
