"""Options that name columns, when a column gets another name. Source: Java `SchemaManager.applyRenameColumnsToOptions`.

Rewritten are `bucket-key`, `sequence.field` and all `fields.<columns>.<option>`, with the columns that the values of
sequence groups and nested keys name. Others stay: where they name a column that is gone, the new schema is refused.
"""

from collections.abc import Mapping

_LISTS = ("bucket-key", "sequence.field")
_OF_FIELDS = "fields."
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
        else:
            result[key] = value
    return result


def _renamed_list(text: str, names: Mapping[str, str]) -> str:
    return ",".join(names.get(name, names.get(name.strip(), name)) for name in text.split(","))
