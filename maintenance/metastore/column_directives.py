"""Comments of new columns that say how they are stored: ``__BLOB_FIELD; a photo``, ``__VECTOR_FIELD;128``.

SQL engines have no BLOB and no VECTOR, so a column of bytes or an array whose comment begins so becomes one. An option
names the column too, and the comment is what follows. Source: Java `ColumnDirectiveUtils`.
"""

from collections.abc import Mapping
from dataclasses import replace

from maintenance.errors import SchemaError
from maintenance.options import table as table_options
from maintenance.options.blob import BLOB_DESCRIPTOR_FIELD, BLOB_FIELD, BLOB_VIEW_FIELD
from maintenance.options.option import Option, names
from maintenance.types.arrow import element_of
from maintenance.types.data_type import DataField, DataType, vector

_OPTIONS: Mapping[str, Option[tuple[str, ...]]] = {
    "__BLOB_FIELD": BLOB_FIELD,
    "__BLOB_DESCRIPTOR_FIELD": BLOB_DESCRIPTOR_FIELD,
    "__BLOB_VIEW_FIELD": BLOB_VIEW_FIELD,
    "__VECTOR_FIELD": table_options.VECTOR_FIELD,
}
_BYTES = ("BINARY", "VARBINARY", "BLOB")


def directed(field: DataField, options: Mapping[str, str], where: str) -> tuple[DataField, dict[str, str]]:
    """The column and the table's options after what its comment says.

    Raises: SchemaError: the comment begins like a directive and is none, or the column has another type.
    """
    where = f"{where}, column {field.name}"
    word, *rest = [part.strip() for part in (field.description or "").strip().split(";", 1)]
    if not word.startswith(("__BLOB", "__VECTOR")):
        return field, dict(options)
    if word not in _OPTIONS:
        raise SchemaError(f"the comment begins with '{word}'", where, f"There are {', '.join(_OPTIONS)}.")
    comment = rest[0] if rest else ""
    if word == "__VECTOR_FIELD":
        length, _, comment = comment.partition(";")
        data_type = _vector(field.type, length.strip(), where)
    else:
        data_type = _blob(field.type, word, where)
    option = _OPTIONS[word]
    named = (*(name for name in option.of(options) if name != field.name), field.name)
    changed = {key: text for key, text in options.items() if key not in option.fallbacks}
    made = replace(field, type=data_type, description=comment.strip() or None)
    return made, {**changed, option.key: ",".join(named)}


def _vector(data_type: DataType, length: str, where: str) -> DataType:
    if data_type.root != "ARRAY":
        fix = "Declare the column as ARRAY<FLOAT>, or of another type of numbers."
        raise SchemaError(f"a __VECTOR_FIELD of type {data_type}", where, fix)
    if not length.isdecimal():
        raise SchemaError(f"'{length}' is not the length of a vector", where, "Write '__VECTOR_FIELD;128'.")
    return vector(element_of(data_type), int(length), data_type.nullable)


def _blob(data_type: DataType, word: str, where: str) -> DataType:
    held = {"ARRAY": data_type.element, "MAP": data_type.value}.get(data_type.root, data_type)
    if held is None or held.root not in _BYTES or (held is not data_type and word != "__BLOB_FIELD"):
        also = ", ARRAY<BYTES> or MAP<…, BYTES>" if word == "__BLOB_FIELD" else ""
        raise SchemaError(f"a column of '{word}' of type {data_type}", where, f"Declare it BYTES{also}.")
    blob = DataType("BLOB", held.nullable)
    if data_type.root == "ARRAY":
        return replace(data_type, element=blob)
    return replace(data_type, value=blob) if data_type.root == "MAP" else blob


def without_column(options: Mapping[str, str], name: str) -> dict[str, str]:
    """The options without a column that is dropped."""
    left = dict(options)
    for key in (key for option in _OPTIONS.values() for key in (option.key, *option.fallbacks) if key in options):
        others = [each for each in names(options[key]) if each != name]
        left[key] = ",".join(others)
        if not others:
            del left[key]
    return left
