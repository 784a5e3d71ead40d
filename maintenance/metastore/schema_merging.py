"""How a schema changes to hold rows with more columns, with more fields in ROWs, or with wider types.

Source: Java `SchemaMergingUtils`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.errors import SchemaError
from maintenance.metastore.schema_change import AddColumn, ColumnChange, UpdateColumnType
from maintenance.spelling import meant
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.casts.matrix import may_change
from maintenance.types.data_type import DataField, DataType

Path = tuple[str, ...]
_FIX = "Cast the column in the query, or change the table with ALTER TABLE."


@dataclass(frozen=True, slots=True)
class Merging:
    """What of a schema follows the rows. Columns and fields that it has not are always added.

    Attributes:
        widens: a column gets the type of the rows, if every value of its own type has a place in that.
        loses: it does, too, if values may be lost.
        is_case_sensitive: whether names that differ in case alone are different ones.
    """

    widens: bool = False
    loses: bool = False
    is_case_sensitive: bool = False

    def changes(self, fields: Sequence[DataField], given: Sequence[DataField], where: str) -> list[ColumnChange]:
        """The changes for rows of columns `given`. Raises: SchemaError: types do not go together."""
        return _Changes(self, where).of_fields(fields, given, ())

    def named(self, fields: Sequence[DataField], name: str) -> list[DataField]:
        """The fields that one means by a name."""
        return named_fields(fields, name, is_case_sensitive=self.is_case_sensitive)


def named_fields(fields: Sequence[DataField], name: str, *, is_case_sensitive: bool) -> list[DataField]:
    """The fields that one means by a name. `is_case_sensitive`: names that differ in case alone are different ones."""
    names = [name] if is_case_sensitive else meant((field.name for field in fields), name)
    return [field for field in fields if field.name in names]


@dataclass(frozen=True, slots=True)
class _Changes:
    merging: Merging
    where: str

    def of_fields(self, fields: Sequence[DataField], given: Sequence[DataField], path: Path) -> list[ColumnChange]:
        found: list[ColumnChange] = []
        for own in given:
            for field in self.merging.named(fields, own.name):
                found += self._of_field(field, own, (*path, field.name))
        new = [own for own in given if not self.merging.named(fields, own.name)]
        return [*found, *(AddColumn((*path, own.name), own.type.as_nullable()) for own in new)]

    def _of_field(self, field: DataField, own: DataField, path: Path) -> list[ColumnChange]:
        changes = self._inside(field.type, own.type, path)
        if changes is not None:
            return changes
        if field.type.is_nested:
            problem = f"column '{'.'.join(path)}' is {field.type}, whose elements cannot become those of {own.type}"
            raise SchemaError(problem, self.where, _FIX)
        return [UpdateColumnType(path, self._widened(field.type, own.type, path), keep_nullability=True)]

    def _inside(self, base: DataType, own: DataType, path: Path) -> list[ColumnChange] | None:
        """The changes inside a type; None: it becomes another one itself."""
        if base.as_nullable() == own.as_nullable():
            return []
        if base.root == own.root == "ROW":
            return self.of_fields(base.fields, own.fields, path)
        if base.root == own.root == "ARRAY":
            return self._inside(element_of(base), element_of(own), (*path, "element"))
        if base.root == own.root == "MAP":
            (key, value), (own_key, own_value) = map_parts(base), map_parts(own)
            return None if self._inside(key, own_key, path) else self._inside(value, own_value, (*path, "value"))
        if not self.merging.widens:
            return []
        return None if self._widened(base, own, path) != base.as_nullable() else []

    def _widened(self, base: DataType, own: DataType, path: Path) -> DataType:
        """Raises: SchemaError: `own` does not hold the values of `base`."""
        base, own, loses = base.as_nullable(), own.as_nullable(), self.merging.loses
        if base.root == own.root == "DECIMAL":
            holds = base.scale == own.scale
            own = own if (own.precision or 0) > (base.precision or 0) else base
        else:
            sizes = ((base.length, own.length), (base.precision, own.precision))
            shrinks = any(old is not None and new is not None and old > new for old, new in sizes)
            holds = may_change(base, own, explicit=loses) and (loses or not shrinks)
        if not holds:
            problem = f"column '{'.'.join(path)}' is {base}, and the rows have {own}, which does not hold its values"
            raise SchemaError(problem, self.where, _FIX)
        return own
