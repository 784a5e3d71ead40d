"""Options of file indexes. Which kinds and column types exist is known to `format/file_index`, not here.

Source: data.md section 9.1, Java `FileIndexOptions`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maintenance.errors import OptionError
from maintenance.options.option import Option, boolean, memory_size

FILE_INDEX_IN_MANIFEST_THRESHOLD = Option("file-index.in-manifest-threshold", memory_size, default=500)
FILE_INDEX_READ_ENABLED = Option("file-index.read.enabled", boolean, default=True)

_PREFIX = "file-index."
_COLUMNS = ".columns"


@dataclass(frozen=True, slots=True)
class DeclaredIndex:
    """One index of one column, as the options declare it.

    Attributes:
        kind: `bloom-filter`, `bitmap`…
        column: as written; `m[k]` for the values of one key of a map.
        options: those of this index, by their last part: `items` for `file-index.bloom-filter.<column>.items`.
    """

    kind: str
    column: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The option that declares it."""
        return f"{_PREFIX}{self.kind}{_COLUMNS}"


def declared_indexes(options: Mapping[str, str]) -> tuple[DeclaredIndex, ...]:
    """The indexes that a table's options declare, in the order they are written, each once.

    Raises: OptionError: a list of columns has an empty name, or an option is for a column that is in no list.
    """
    settings_of_index: dict[tuple[str, str], dict[str, str]] = {}
    for key, text in options.items():
        if key.startswith(_PREFIX) and key.endswith(_COLUMNS):
            for column in _columns(key, text):
                settings_of_index.setdefault((key[len(_PREFIX) : -len(_COLUMNS)], column), {})
    for key, text in options.items():
        parts = key[len(_PREFIX) :].split(".")
        if not key.startswith(_PREFIX) or key.endswith(_COLUMNS) or len(parts) != 3:
            continue
        kind, column, name = parts
        for index in _indexes_of(settings_of_index, kind, column, key):
            # An option of the map itself is a default for its keys.
            if index[1] == column or f"{_PREFIX}{kind}.{index[1]}.{name}" not in options:
                settings_of_index[index][name] = text
    return tuple(DeclaredIndex(kind, column, settings) for (kind, column), settings in settings_of_index.items())


def _columns(key: str, text: str) -> list[str]:
    columns = [name.strip() for name in text.split(",")]
    if not all(columns):
        raise OptionError(f"'{key}' = '{text}' has an empty column name", "options", "Write names between the commas.")
    return columns


def _indexes_of(declared: Mapping[tuple[str, str], object], kind: str, column: str, key: str) -> list[tuple[str, str]]:
    indexes = [index for index in declared if index[0] == kind and column in (index[1], index[1].partition("[")[0])]
    if not indexes:
        fix = f"Add '{column}' to '{_PREFIX}{kind}{_COLUMNS}', or drop the option."
        raise OptionError(f"'{key}' is for column '{column}', which has no such index", "options", fix)
    return indexes
