"""Options that name columns, when a column gets another name. Source: Java `SchemaManager.applyRenameColumnsToOptions`.

Rewritten are `bucket-key`, `sequence.field`, `vector-field` and all `fields.<columns>.<option>`, with the columns that
the values of sequence groups and nested keys name. Others stay: if they name a missing column, the new schema is
refused. Options of indexes are rewritten too: Java leaves them, and its next write fails.
"""

from collections.abc import Mapping

_LISTS = ("bucket-key", "sequence.field", "vector-field", "pk-btree.index.columns", "pk-bitmap.index.columns")
_OF_FIELDS = "fields."
_OF_INDEXES = "file-index."
_NAMING_COLUMNS = ("sequence-group", "nested-key")


def renamed(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The options after columns were renamed, all at once. `names`: new names by old ones."""
    result: dict[str, str] = {}
    for key, value in options.items():
        if key in _LISTS:
            result[key] = _renamed_list(value, names)
        elif key.startswith(_OF_FIELDS) and key.count(".") > 1:
            columns, option = key.removeprefix(_OF_FIELDS).rsplit(".", 1)
            new_value = _renamed_list(value, names) if option in _NAMING_COLUMNS else value
            result[f"{_OF_FIELDS}{_renamed_list(columns, names)}.{option}"] = new_value
        elif key.startswith(_OF_INDEXES) and key.count(".") == 2:
            result[key] = _renamed_indexed(value, names) if key.endswith(".columns") else value
        elif key.startswith(_OF_INDEXES) and key.count(".") == 3:
            prefix, kind, column, option = key.split(".")
            result[f"{prefix}.{kind}.{_renamed_indexed(column, names)}.{option}"] = value
        else:
            result[key] = value
    return result


def _renamed_indexed(text: str, names: Mapping[str, str]) -> str:
    """Columns, or keys of map columns: `a,m[k]`."""
    parts = [part.strip() for part in text.split(",")]
    return ",".join(names.get(name, name) + bracket + key for name, bracket, key in (p.partition("[") for p in parts))


def _renamed_list(text: str, names: Mapping[str, str]) -> str:
    return ",".join(names.get(name, names.get(name.strip(), name)) for name in text.split(","))
