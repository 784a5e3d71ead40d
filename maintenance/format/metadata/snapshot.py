"""Snapshot files: the state of a table after a commit. Source: metadata section 3, Java `Snapshot`."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from maintenance.errors import RESTORE, CorruptFileError, UnsupportedError
from maintenance.format.json_object import MAX_MILLIS, in_range, missing_key, parse_object, read_back, serialize_object

SNAPSHOT_VERSION = 3
# The identifier of commits that their users do not number.
BATCH_IDENTIFIER = 2**63 - 1


class CommitKind(StrEnum):
    """What kind of change a snapshot is."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A snapshot. Names are file names in ``manifest/``, sizes bytes, counts physical rows (retractions included).

    Attributes:
        schema_id: the latest schema at commit time, not the largest of the files.
        base_manifest_list: state before this commit; it does not contain this commit's own changes.
        delta_manifest_list: changes of this commit.
        changelog_manifest_list: changelog files of this commit, None without any.
        index_manifest: the complete state of indexes and deletion vectors, None without any.
        commit_identifier: the streaming checkpoint, `2**63 - 1` for batch writes.
        time_millis: milliseconds since 1970-01-01 UTC.
        delta_record_count: rows added minus rows deleted, may be negative.
        watermark: milliseconds, None when the writer has none.
        statistics: name in ``statistics/``.
        next_row_id: first row id that is free; Java 2.0 writes 0 without row tracking, older versions nothing.
        operation: the SQL statement's kind, such as WRITE; None for plain batch writes.
        writer_version: the writing program, where it says so.
    """

    version: int = SNAPSHOT_VERSION
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int
    delta_record_count: int
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = None
    next_row_id: int | None = None
    uuid: str | None = None
    operation: str | None = None
    writer_version: str | None = None

    @property
    def committed_at(self) -> datetime:
        """The moment of the commit, in UTC."""
        return datetime.fromtimestamp(self.time_millis / 1000, UTC)

    @property
    def is_numbered(self) -> bool:
        """Whether its user gave the commit a number, by which a repetition is recognized."""
        return self.commit_identifier != BATCH_IDENTIFIER


# Attribute, JSON key and JSON type, in the order Java writes them.
_KEYS: tuple[tuple[str, str, type], ...] = (
    ("version", "version", int),
    ("uuid", "uuid", str),
    ("id", "id", int),
    ("schema_id", "schemaId", int),
    ("base_manifest_list", "baseManifestList", str),
    ("base_manifest_list_size", "baseManifestListSize", int),
    ("delta_manifest_list", "deltaManifestList", str),
    ("delta_manifest_list_size", "deltaManifestListSize", int),
    ("changelog_manifest_list", "changelogManifestList", str),
    ("changelog_manifest_list_size", "changelogManifestListSize", int),
    ("index_manifest", "indexManifest", str),
    ("commit_user", "commitUser", str),
    ("writer_version", "writerVersion", str),
    ("commit_identifier", "commitIdentifier", int),
    ("commit_kind", "commitKind", str),
    ("time_millis", "timeMillis", int),
    ("total_record_count", "totalRecordCount", int),
    ("delta_record_count", "deltaRecordCount", int),
    ("changelog_record_count", "changelogRecordCount", int),
    ("watermark", "watermark", int),
    ("statistics", "statistics", str),
    ("properties", "properties", dict),
    ("next_row_id", "nextRowId", int),
    ("operation", "operation", str),
)
_LIMITS = {"timeMillis": (MAX_MILLIS,)}
_REQUIRED = {part.name for part in fields(Snapshot) if part.default is MISSING}
# What the first versions could leave out; Java reads the same.
_EARLIER = {"version": 1, "total_record_count": 0, "delta_record_count": 0}


def parse_snapshot(data: bytes, where: str) -> Snapshot:
    """The snapshot of a file; unknown keys are ignored.

    Raises: CorruptFileError: not JSON, a required key is missing or has the wrong type; UnsupportedError: a newer
        version, or an unknown commit kind.
    """
    return snapshot_of_json(parse_object(data, where), where)


def snapshot_of_json(form: Mapping[str, Any], where: str) -> Snapshot:
    """The snapshot of a JSON object. Raises: as `parse_snapshot`."""
    values: dict[str, Any] = dict(_EARLIER)
    for name, key, json_type in _KEYS:
        value = form.get(key)
        if value is None:
            continue
        if not isinstance(value, json_type) or isinstance(value, bool):
            raise CorruptFileError(f"{key} is {value!r}, not {json_type.__name__}", where, RESTORE)
        if json_type is int:
            try:
                in_range(value, *_LIMITS.get(key, ()))
            except ValueError as error:
                raise CorruptFileError(f"{key}: {error}", where, RESTORE) from error
        values[name] = value
    missing = [key for name, key, _ in _KEYS if name in _REQUIRED and name not in values]
    if missing:
        raise missing_key(", ".join(missing), where)
    if values["version"] > SNAPSHOT_VERSION:
        raise UnsupportedError(f"snapshot version {values['version']}", where, "Use a newer release of this program.")
    if values["commit_kind"] not in CommitKind.__members__:
        raise UnsupportedError(f"commit kind {values['commit_kind']}", where, "Use a newer release of this program.")
    values["commit_kind"] = CommitKind(values["commit_kind"])
    return Snapshot(**values)


def json_of_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """The JSON object of a snapshot; parts that are not set are left out."""
    values = ((key, getattr(snapshot, name)) for name, key, _ in _KEYS)
    return {key: value for key, value in values if value is not None}


def serialize_snapshot(snapshot: Snapshot) -> bytes:
    """The bytes of a snapshot file. Raises: DataError: reading them would not give the snapshot."""
    return read_back(snapshot, serialize_object(json_of_snapshot(snapshot)), parse_snapshot, "the snapshot")
