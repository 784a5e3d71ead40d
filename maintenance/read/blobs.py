"""Which BLOB columns can be read: those whose values are in files of blobs, not elsewhere."""

from collections.abc import Mapping, Sequence

from maintenance.errors import UnsupportedError
from maintenance.types.data_type import DataField

# Columns of which the files hold descriptors: where a blob is, not the blob. Source: Java `CoreOptions`.
_DESCRIBED = (
    "blob-descriptor-field",
    "blob.stored-descriptor-fields",
    "blob-view-field",
    "blob-external-storage-field",
)


def check_blobs(columns: Sequence[DataField], options: Mapping[str, str], table: str) -> None:
    """Refuse to read descriptors in the place of blobs. Raises: UnsupportedError."""
    blobs = [column.name for column in columns if column.type.root == "BLOB"]
    for name in blobs:
        for key in _DESCRIBED:
            if name in [part.strip() for part in options.get(key, "").split(",")]:
                raise UnsupportedError(
                    f"column '{name}' of '{key}' holds where its blobs are", table, "Leave the column out of the read."
                )
    if blobs and options.get("blob-as-descriptor", "false").strip().lower() == "true":
        raise UnsupportedError("'blob-as-descriptor' = 'true'", table, "Unset it: blobs are read as bytes.")
