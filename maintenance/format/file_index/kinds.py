"""All kinds of file index, and those that a table declares. A new kind is a new module and its name in `KINDS`."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import OptionError, SchemaError
from maintenance.format.file_index.bitmap import BITMAP_KIND
from maintenance.format.file_index.bloom_filter import BLOOM_FILTER_KIND
from maintenance.format.file_index.bsi import BSI_KIND
from maintenance.format.file_index.kind import IndexBuilder, IndexKind
from maintenance.format.file_index.map_values import MapValueBuilder
from maintenance.format.file_index.range_bitmap import RANGE_BITMAP_KIND
from maintenance.options.file_index import DeclaredIndex, declared_indexes
from maintenance.types.data_type import DataField, DataType

_KINDS = (BLOOM_FILTER_KIND, BITMAP_KIND, BSI_KIND, RANGE_BITMAP_KIND)
KINDS: Mapping[str, IndexKind] = {kind.name: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class ColumnIndex:
    """One index that data files of a table get: its kind, its column, its options.

    Attributes:
        key: of a MAP column, for an index of the values of that key; None for an index of the column itself.
    """

    kind: IndexKind
    field: DataField
    options: Mapping[str, str]
    key: str | None = None

    @property
    def name(self) -> str:
        """What the container calls the column."""
        return indexed_name(self.field.name, self.key)

    @property
    def type(self) -> DataType:
        """The type of the values."""
        value = self.field.type.value
        return self.field.type if self.key is None or value is None else value

    def builder(self) -> IndexBuilder:
        """A new builder, for one data file. Raises: OptionError: an option of the index has a wrong value."""
        try:
            inner = self.kind.builder(self.type, self.options)
        except OptionError as error:
            raise error.at(f"file-index.{self.kind.name}.{self.name}") from None
        return inner if self.key is None else MapValueBuilder(inner, self.key)

    def fits(self, body: bytes | None) -> bool:
        """Whether a body is of this index with these options, as far as it tells. None: one that was given no rows."""
        if body is None:
            return False
        try:
            return self.kind.fits(body, self.type, self.options)
        except (struct.error, ValueError, IndexError, OverflowError):
            return False


def indexed_name(column: str, key: str | None) -> str:
    """How options and containers call a column, or the values of one key of a map."""
    return column if key is None else f"{column}[{key}]"


def column_indexes(options: Mapping[str, str], fields: Sequence[DataField]) -> tuple[ColumnIndex, ...]:
    """The indexes that a table's options declare, in their order.

    Raises:
        OptionError: a list with an empty name, an option of an undeclared column, an unknown kind or option, a value.
        SchemaError: no such column, or the kind does not take the column's type.
    """
    by_name = {field.name: field for field in fields}
    return tuple(_column_index(declared, by_name) for declared in declared_indexes(options))


def _column_index(declared: DeclaredIndex, fields: Mapping[str, DataField]) -> ColumnIndex:
    kind = _kind(declared)
    name, key = declared.column, None
    if name not in fields and name.endswith("]") and "[" in name:
        name, _, rest = name.partition("[")
        key = rest[:-1]
    if name not in fields:
        fix = f"The columns are: {', '.join(fields)}."
        raise SchemaError(f"column '{name}' of '{declared.key}' does not exist", "options", fix)
    field = fields[name]
    fix = f"Take the column out of '{declared.key}'."
    if key is not None and (field.type.key is None or not field.type.key.is_string):
        problem = (
            f"column '{name}' has type {field.type}, only maps whose keys are texts have indexes of a key's values"
        )
        raise SchemaError(problem, "options", fix)
    index = ColumnIndex(kind, field, declared.options, key)
    if not kind.supports(index.type):
        problem = f"column '{index.name}' has type {index.type}, which the index '{kind.name}' does not take"
        raise SchemaError(problem, "options", fix)
    for option in declared.options:
        if option not in kind.options:
            option_names = ", ".join(sorted(kind.options)) or "none"
            text = f"file-index.{kind.name}.{index.name}.{option}"
            raise OptionError(f"'{text}' is not an option of '{kind.name}'", "options", f"Its options: {option_names}.")
    index.builder()  # a wrong value is an error of the table, not of the first write
    return index


def _kind(declared: DeclaredIndex) -> IndexKind:
    if declared.kind in KINDS:
        return KINDS[declared.kind]
    fix = f"Remove '{declared.key}'; supported are: {', '.join(KINDS)}."
    raise OptionError(f"'{declared.key}' names no file index that Paimon knows", "options", fix)
