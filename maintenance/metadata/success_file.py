"""Files that tell jobs of others that something is complete: a tag, a partition. Source: Java `SuccessFile`."""

from contextlib import suppress

from maintenance.errors import CorruptFileError
from maintenance.format.json_object import parse_object, serialize_object
from maintenance.fs.file_io import FileIO

_CREATED = "creationTime"
_CHANGED = "modificationTime"


def write_success_file(file_io: FileIO, path: str, millis: int) -> None:
    """Write the file, or set its time if it is there. `millis`: the time now, since 1970 UTC."""
    created = millis
    # A file that nobody can read is written again.
    with suppress(FileNotFoundError, CorruptFileError, TypeError, ValueError):
        created = int(parse_object(file_io.read_bytes(path), path).get(_CREATED, millis))
    file_io.overwrite(path, serialize_object({_CREATED: created, _CHANGED: millis}))
