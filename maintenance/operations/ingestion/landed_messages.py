"""Landed files of change messages: their rows, and what becomes of lines that are no changes."""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict

from maintenance.amounts import number_of
from maintenance.errors import DataError
from maintenance.fs.file_io import FileIO
from maintenance.operations.ingestion.cdc.forms import form_of
from maintenance.operations.ingestion.cdc.read import BadLine, ChangeRows, read_changes
from maintenance.operations.ingestion.landing import SET_ASIDE, LandedBatch, LandingFolder
from maintenance.types.data_type import DataField

_FOLDER = "_bad"  # the underscore keeps it from being taken for a batch
_SHOWN_LINES, _SHOWN_TEXT = 5, 80


def message_count(file_io: FileIO, path: str) -> int:
    """How many lines of a file are not blank. Raises: DataError: it cannot be decompressed."""
    return sum(1 for line in _content(file_io, path).splitlines() if line.strip())


def changes_of_batch(
    file_io: FileIO,
    fields: Sequence[DataField],
    landing: LandingFolder,
    batch: LandedBatch,
    progress: Callable[[str], None],
) -> ChangeRows:
    """The rows of a file. Bad lines are set aside, if the folder is kept so, before anything is committed.

    Raises: DataError: there are bad lines, and they are not set aside; as `read_changes`.
    """
    form = form_of(landing.format, landing.format_options, landing.row_kind_column)
    found = read_changes(_content(file_io, batch.path), fields, form, batch.path, landing.row_kind_column)
    for what, count in found.passed.items():
        progress(f"{batch.path}: {number_of(count, 'line')} passed over, {what}")
    if found.bad:
        shown = "; ".join(_shown(bad) for bad in found.bad[:_SHOWN_LINES])
        more = f"; and {len(found.bad) - _SHOWN_LINES} more" if len(found.bad) > _SHOWN_LINES else ""
        problem = f"{len(found.bad)} lines are no changes of the table: {shown}{more}"
        if landing.bad_lines != SET_ASIDE:
            fix = "Correct the file, or let such lines be put aside: bad_lines: set_aside."
            raise DataError(problem, batch.path, fix)
        progress(f"{batch.path}: {problem}; they are in {_set_aside(file_io, batch.path, found.bad)}")
    return found


def _content(file_io: FileIO, path: str) -> bytes:
    data = file_io.read_bytes(path)
    try:
        return gzip.decompress(data) if path.endswith(".gz") else data
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"this is not a gzip file: {error}", path, "Deliver the batch again.") from error


def _shown(bad: BadLine) -> str:
    text = bad.text if len(bad.text) <= _SHOWN_TEXT else f"{bad.text[:_SHOWN_TEXT]}…"
    return f"line {bad.line}, {bad.problem}: {text}"


def _set_aside(file_io: FileIO, path: str, bad: Sequence[BadLine]) -> str:
    """Write lines down beside the files, each with its number and problem. Returns the path."""
    folder, _, name = path.rpartition("/")
    target = f"{folder}/{_FOLDER}/{name.removesuffix('.gz')}"
    lines = [json.dumps(asdict(one), ensure_ascii=False) for one in bad]
    file_io.overwrite(target, "".join(f"{line}\n" for line in lines).encode())
    return target
