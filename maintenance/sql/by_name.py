"""Rows that meet the columns of a table by name, and so do the fields of the ROWs in them, at any depth.

Queries and what converts their rows assign by position, and the writer puts ROWs in order by the names of their fields.
So a query gives its columns the table's types in the order that they have in the query, under the names of the table.
Source: Java `PaimonOutputResolver` of Spark's connector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import SqlError
from maintenance.metastore.schema_merging import Merging, named_fields
from maintenance.types.arrow import element_of, map_parts
from maintenance.types.data_type import DataField, DataType

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ByName:
    """How names meet.

    Attributes:
        where: of the table, for errors.
        merging: what of its schema follows the rows; None: nothing does, and a ROW has all fields that it has in the
            table.
    """

    where: str
    merging: Merging | None = None
    is_case_sensitive: bool = False

    def named(self, fields: Sequence[DataField], name: str) -> list[DataField]:
        """The fields of a table that one means by a name."""
        return named_fields(fields, name, is_case_sensitive=self.is_case_sensitive)

    def columns(self, given: Sequence[DataField], fields: Sequence[DataField]) -> list[DataField]:
        """The columns of a query as those of a table. Columns that it does not give are null, or have their default.

        Raises: SqlError: one is not the table's, or is there twice; as `like`.
        """
        return self._fields(given, fields, ())

    def like(self, given: DataType, target: DataType, path: Path) -> DataType:
        """The type that values of a type get before their fields are put in order. `path`: of the column.

        Raises: SqlError: a ROW has a field too many, or too few, or two of one name.
        """
        if given.root != target.root:
            return target
        if target.root == "ROW":
            return replace(target, fields=tuple(self._fields(given.fields, target.fields, path)))
        if target.root == "ARRAY":
            return replace(target, element=self.like(element_of(given), element_of(target), path))
        if target.root == "MAP":
            parts = zip(map_parts(given), map_parts(target), strict=True)
            key, value = (self.like(own, part, path) for own, part in parts)
            return replace(target, key=key, value=value)
        return target

    def _fields(self, given: Sequence[DataField], fields: Sequence[DataField], path: Path) -> list[DataField]:
        pairs: list[tuple[DataField, DataField]] = []
        for own in given:
            targets = self.named(fields, own.name)
            if not targets:
                listed = ", ".join(field.name for field in fields)
                raise self._error(
                    f"the query gives '{_text(path, own)}', which the table has not",
                    f"Leave it out, or SET spark.paimon.write.merge-schema = true, which adds it; there are {listed}.",
                )
            if len(targets) > 1 or targets[0] in [target for _, target in pairs]:
                problem = f"'{_text(path, own)}' is ambiguous among what the query gives and the table has"
                raise self._error(problem, "Name each column once.")
            pairs.append((own, targets[0]))
        if path and self.merging is None:
            for field in fields:
                if field not in [target for _, target in pairs]:
                    raise self._error(
                        f"the query does not give '{_text(path, field)}'",
                        "Give it, or SET spark.paimon.write.merge-schema = true, which makes it null.",
                    )
        return [replace(field, type=self.like(own.type, field.type, (*path, field.name))) for own, field in pairs]

    def _error(self, problem: str, fix: str) -> SqlError:
        return SqlError(problem, self.where, fix)


def _text(path: Path, field: DataField) -> str:
    return ".".join((*path, field.name))


def lacks_fields(given: DataType, target: DataType) -> bool:
    """Whether a ROW, or a ROW in a field of it, has fewer fields than that of a table. `given`: see `ByName.like`."""
    if not given.root == target.root == "ROW":
        return False
    own = {field.name: field.type for field in given.fields}
    return any(field.name not in own or lacks_fields(own[field.name], field.type) for field in target.fields)


def with_kept_fields(new: pa.ChunkedArray, old: pa.ChunkedArray, given: DataType, target: DataType) -> pa.ChunkedArray:
    """New values of a column of ROWs, where fields that are not given are the old ones.

    Args: `given`: the type of what was given, see `ByName.like`; `target`: that of the column.
    """
    kind = new.type
    made = _with_kept(pa.concat_arrays(new.chunks or [pa.nulls(0, kind)]), old.combine_chunks(), given, target)
    return pa.chunked_array([made], kind)


def _with_kept(new: pa.StructArray, old: pa.StructArray, given: DataType, target: DataType) -> pa.StructArray:
    own = {field.name: field.type for field in given.fields}
    parts = []
    for field, now, before in zip(target.fields, new.flatten(), old.flatten(), strict=True):
        if field.name not in own:
            parts.append(before)
        elif lacks_fields(own[field.name], field.type):
            parts.append(_with_kept(now, before, own[field.name], field.type))
        else:
            parts.append(now)
    # What is kept keeps the ROW around it.
    nulls = pc.and_(new.is_null(), old.is_null())
    return pa.StructArray.from_arrays(parts, fields=list(new.type), mask=nulls)
