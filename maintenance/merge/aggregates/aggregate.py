"""What an aggregate function is, and the column it works for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.merge.inputs import Inputs
from maintenance.types.data_type import DataField, DataType

Reduced: TypeAlias = np.ndarray | pa.Array
"""The values of k segments: int64 numbers of the records that hold them, -1 for null; or the values themselves."""


@dataclass(frozen=True, slots=True)
class AggregatedColumn:
    """A column with its options. `options`: the table's."""

    field: DataField
    options: Mapping[str, str]

    @property
    def where(self) -> str:
        return f"column {self.field.name}"

    def key(self, name: str) -> str:
        return f"fields.{self.field.name}.{name}"

    def option(self, name: str) -> str | None:
        """The text of `fields.<column>.<name>`, None if it is not set."""
        return self.options.get(self.key(name))

    def flag(self, name: str) -> bool:
        """A boolean option, false if it is not set. Raises: OptionError."""
        text = (self.option(name) or "false").strip().lower()
        if text not in ("true", "false"):
            raise OptionError(f"'{self.key(name)}' = '{text}'", self.where, f"Set '{self.key(name)}' to true or false.")
        return text == "true"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function.

    Attributes:
        name: as in `fields.<column>.aggregate-function`.
        accepts: whether a column of this type can have it.
        takes: the accepted types in words, for errors.
        reduce: the value of each segment. Gets retractions only if `retracts`; BEHIND and SET always. Never called
            with a lone record, which is its key's row as is.
        retracts: whether -U and -D have a meaning; where they have none they are an error, or left out
            (`ignore-retract`).
        check: raises OptionError or SchemaError where the column's options do not fit.
        stored: what writers store for the values they are given; None = the values themselves.
    """

    name: str
    accepts: Callable[[DataType], bool]
    takes: str
    reduce: Callable[[Inputs, AggregatedColumn], Reduced]
    retracts: bool = False
    check: Callable[[AggregatedColumn], None] | None = None
    stored: Callable[[pa.ChunkedArray], pa.ChunkedArray] | None = None


def any_type(_data_type: DataType) -> bool:
    return True
