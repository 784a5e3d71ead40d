"""JSON metadata files: one object each, laid out as Java's writer does it."""

import json
from collections.abc import Mapping
from typing import Any

from maintenance.errors import CorruptFileError


def parse_object(data: bytes, where: str) -> dict[str, Any]:
    """The object of a JSON file. Raises: CorruptFileError: not UTF-8, not JSON, or not an object."""
    try:
        form = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise CorruptFileError(f"no valid JSON: {error}", where, "Read it again, or restore the file.") from error
    if not isinstance(form, dict):
        raise CorruptFileError("the JSON is not an object", where, "Restore the file.")
    return form


def serialize_object(form: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON of an object, indented by two; keys keep their order."""
    return json.dumps(form, indent=2, separators=(",", " : "), ensure_ascii=False).encode("utf-8")


def missing_key(key: object, where: str) -> CorruptFileError:
    """The error for a required key that a file does not have."""
    return CorruptFileError(f"key {key} is missing", where, "Restore the file, or write it with a supported version.")
