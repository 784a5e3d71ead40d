"""Which columns of bytes are BLOBs, and which arrays VECTORs, that SQL engines have no types for.

An option of the table names them, or the comment of a new column: ``__BLOB_FIELD; a photo``, ``__VECTOR_FIELD;128``.
Then the option names the column too, and the comment is what follows. Source: Java `ColumnDirectiveUtils`,
`FlinkCatalog`, `SparkCatalog`.
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


def named_by_options(field: DataField, options: Mapping[str, str], where: str) -> DataField:
    """A column of a statement that creates a table, as the options of the table say that it is stored.

    Raises: SchemaError: it has another type; a vector's length is not said.
    """
    word = next((word for word, option in _OPTIONS.items() if field.name in option.of(options)), None)
    if word is None or field.type.is_blobs or field.type.root == "VECTOR":
        return field
    where, key = f"{where}, column {field.name}", _OPTIONS[word].key
    if word != "__VECTOR_FIELD":
        return replace(field, type=_blob(field.type, key, where, is_nested=word == "__BLOB_FIELD"))
    length = f"field.{field.name}.vector-dim"
    fix = f"Set '{length}' to the number of its elements."
    return replace(field, type=_vector(field.type, options.get(length, "").strip(), key, where, fix))


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
        data_type = _vector(field.type, length.strip(), word, where, "Write '__VECTOR_FIELD;128'.")
    else:
        data_type = _blob(field.type, word, where, is_nested=word == "__BLOB_FIELD")
    option = _OPTIONS[word]
    named = (*(name for name in option.of(options) if name != field.name), field.name)
    changed = {key: text for key, text in options.items() if key not in option.fallbacks}
    made = replace(field, type=data_type, description=comment.strip() or None)
    return made, {**changed, option.key: ",".join(named)}


def _vector(data_type: DataType, length: str, what: str, where: str, fix: str) -> DataType:
    """`what`: says that it is one; `fix`: where its length is to be said."""
    if data_type.root != "ARRAY":
        declared = "Declare the column as ARRAY<FLOAT>, or of another type of numbers."
        raise SchemaError(f"a column of '{what}' of type {data_type}", where, declared)
    if not length.isdecimal():
        raise SchemaError(f"'{length}' is not the length of a vector", where, fix)
    return vector(element_of(data_type), int(length), data_type.nullable)


def _blob(data_type: DataType, what: str, where: str, *, is_nested: bool) -> DataType:
    """`is_nested`: lists and maps of bytes can be such, too."""
    held = {"ARRAY": data_type.element, "MAP": data_type.value}.get(data_type.root, data_type)
    if held is None or held.root not in _BYTES or (held is not data_type and not is_nested):
        also = ", ARRAY<BYTES> or MAP<…, BYTES>" if is_nested else ""
        raise SchemaError(f"a column of '{what}' of type {data_type}", where, f"Declare it BYTES{also}.")
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
