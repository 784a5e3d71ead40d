"""What tests of change messages share."""

import json
from collections.abc import Sequence
from typing import Any

from maintenance.operations.ingestion.cdc.forms import form_of
from maintenance.operations.ingestion.cdc.read import KIND, ChangeRows, read_changes
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type


def fields(**types: str) -> list[DataField]:
    return [DataField(n, name, parse_data_type(text)) for n, (name, text) in enumerate(types.items())]


def read(
    name: str, lines: Sequence[Any], columns: Sequence[DataField], kind: str | None = None, **options: str
) -> ChangeRows:
    """Messages, or lines as they are, read in a form. `options`: with _ in place of . and -."""
    data = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    given = {key.replace("_", "-" if key.startswith("time_z") else "."): value for key, value in options.items()}
    return read_changes(data, columns, form_of(name, given, kind), "00001-batch-00001.json", kind)


def rows(found: ChangeRows) -> list[tuple[Any, ...]]:
    """Kinds and columns."""
    assert not found.bad
    return [(row.pop(KIND), *row.values()) for row in found.rows.to_pylist()]
