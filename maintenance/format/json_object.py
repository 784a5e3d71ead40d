"""JSON metadata files: one object each, laid out as Java's writer does it."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from maintenance.errors import RESTORE, CorruptFileError, DataError, PaimonError

T = TypeVar("T")

# The last millisecond of the year 9999, beyond which Python has no dates.
MAX_MILLIS = 253_402_300_799_999

_MAX_LONG = 2**63 - 1
_SHOWN = 20


def parse_object(data: bytes, where: str) -> dict[str, Any]:
    """The object of a JSON file. Raises: CorruptFileError: not UTF-8, not JSON, or not an object."""
    try:
        form = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise CorruptFileError(f"not valid JSON: {error}", where, "Read it again, or restore the file.") from error
    if not isinstance(form, dict):
        raise CorruptFileError("the JSON is not an object", where, RESTORE)
    return form


def serialize_object(form: Mapping[str, Any]) -> bytes:
    """UTF-8 JSON of an object, indented by two; keys keep their order. Raises: DataError: a text is not Unicode."""
    text = json.dumps(form, indent=2, separators=(",", " : "), ensure_ascii=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = text[max(0, error.start - _SHOWN) : error.start + 1]
        raise DataError(
            f"a text is not valid Unicode: …{shown!r}", "metadata file", "Correct the name, option or comment."
        ) from error


def read_back(value: T, data: bytes, parse: Callable[[bytes, str], T], name: str) -> bytes:
    """The bytes of a value, once it is certain that reading them gives the value. Raises: DataError: it does not."""
    try:
        parsed = parse(data, "not written yet")
    except PaimonError as error:
        reason = error.found
    else:
        if parsed == value:
            return data
        reason = "it would read back as a different one"
    raise DataError(f"{name} could not be read back: {reason}", "metadata file", "Correct its values.")


def in_range(value: Any, limit: int = _MAX_LONG) -> int:
    """A number of a JSON file. Raises: ValueError: no integer, or none that Java's long, or the limit, can hold."""
    if not isinstance(value, int) or isinstance(value, bool) or not -limit - 1 <= value <= limit:
        raise ValueError(f"{value!r} is not a number up to {limit}")
    return value


def missing_key(key: object, where: str) -> CorruptFileError:
    """The error for a required key that a file does not have."""
    return CorruptFileError(f"key {key} is missing", where, "Restore the file, or write it with a supported version.")
