"""All kinds of file index, and those a table's options ask for. A new kind is a new module and its name in `KINDS`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import OptionError, SchemaError, UnsupportedError
from maintenance.format.file_index.bloom_filter import BLOOM_FILTER_KIND
from maintenance.format.file_index.kind import IndexBuilder, IndexKind
from maintenance.options.file_index import DeclaredIndex, declared_indexes
from maintenance.types.data_type import DataField

KINDS: Mapping[str, IndexKind] = {kind.name: kind for kind in (BLOOM_FILTER_KIND,)}
UNSUPPORTED_KINDS = ("bitmap", "bsi", "range-bitmap")


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """One index that data files of a table get: its kind, its column, its options."""

    kind: IndexKind
    field: DataField
    options: Mapping[str, str]

    def builder(self) -> IndexBuilder:
        """A new builder, for one data file. Raises: OptionError: an option of the index has a wrong value."""
        try:
            return self.kind.builder(self.field.type, self.options)
        except OptionError as error:
            raise error.at(f"file-index.{self.kind.name}.{self.field.name}") from None


def column_indexes(options: Mapping[str, str], fields: Sequence[DataField]) -> tuple[ColumnIndex, ...]:
    """The indexes that a table's options declare, in their order.

    Raises:
        OptionError: a list with an empty name, an option of an undeclared column, an unknown kind or option, a value.
        SchemaError: no such column, or the kind does not take the column's type.
        UnsupportedError: a kind that Paimon knows but not this engine, or the key of a map column.
    """
    by_name = {field.name: field for field in fields}
    return tuple(_column_index(declared, by_name) for declared in declared_indexes(options))


def _column_index(declared: DeclaredIndex, fields: Mapping[str, DataField]) -> ColumnIndex:
    kind = _kind(declared)
    if declared.column.endswith("]") and "[" in declared.column:
        fix = f"Take the column out of '{declared.key}'."
        raise UnsupportedError(f"the index of map values '{declared.column}' is not supported yet", declared.key, fix)
    if declared.column not in fields:
        fix = f"The columns are: {', '.join(fields)}."
        raise SchemaError(f"column '{declared.column}' of '{declared.key}' does not exist", "options", fix)
    field = fields[declared.column]
    if not kind.supports(field.type):
        found = f"column '{field.name}' has type {field.type}, which the index '{kind.name}' does not take"
        raise SchemaError(found, "options", f"Take the column out of '{declared.key}'.")
    for name in declared.options:
        if name not in kind.options:
            known = ", ".join(sorted(kind.options)) or "none"
            option = f"file-index.{kind.name}.{field.name}.{name}"
            raise OptionError(f"'{option}' is no option of '{kind.name}'", "options", f"Its options: {known}.")
    index = ColumnIndex(kind, field, declared.options)
    index.builder()  # a wrong value is an error of the table, not of the first write
    return index


def _kind(declared: DeclaredIndex) -> IndexKind:
    if declared.kind in KINDS:
        return KINDS[declared.kind]
    fix = f"Remove '{declared.key}'; supported are: {', '.join(KINDS)}."
    if declared.kind in UNSUPPORTED_KINDS:
        raise UnsupportedError(f"the file index '{declared.kind}' is not supported yet", declared.key, fix)
    raise OptionError(f"'{declared.key}' names no file index that Paimon knows", "options", fix)
