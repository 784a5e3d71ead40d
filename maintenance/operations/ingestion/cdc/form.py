"""What the messages of a tool have in common, and what each form has to say of its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.operations.ingestion.cdc.values import plain_values
from maintenance.options.option import Option, time_zone
from maintenance.types.data_type import DataType

Leaf = Callable[[pa.Array, DataType], pa.Array]
"""Texts of JSON, as `json_transform` gives them, to the values of a type without nested ones. Raises: DataError."""


class Form(ABC):
    """How one tool words changes.

    Attributes:
        query: over the table `lines` (line: its number, message: JSON), in DuckDB's SQL: the rows of each line, with
            `line`; `position`, of the row in the line; `kind`, +I, -U, +U or -D; `row`, an object with the columns;
            `old`, an object with those columns that had other values before, which `row` is to have; `schema`, what the
            line says of types. A line without rows has one row with a `problem`, or with what is `passed` over.
        raw_decimals: whether leaves of decimals get JSON, since a number there means something else than a text.
        pairs: whether maps whose keys are no texts may be lists of pairs.
    """

    query: ClassVar[str]
    raw_decimals: ClassVar[bool] = False
    pairs: ClassVar[bool] = False

    @property
    def arguments(self) -> Mapping[str, str | None]:
        """The named parameters of the query."""
        return {}

    @abstractmethod
    def leaf(self, column: str, schema: str | None) -> Leaf:
        """How values of a column are written. `schema`: as in `query`."""

    def leaf_inside(self, leaf: Leaf, part: str) -> Leaf:
        """How values of a part of a nested type are written. `part`: as in `with_leaves`."""
        del part
        return leaf

    def list_in_text(self, column: str, schema: str | None) -> Leaf | None:
        """How the texts of a column say lists of texts; None: lists are JSON's. `schema`: as in `query`."""
        del column, schema
        return None


def chosen(options: Mapping[str, str], known: Mapping[str, tuple[str, ...] | None], form: str) -> dict[str, str]:
    """The options of a form. `known`: each with its values, the first being the default, or None for any text.

    Raises: OptionError: there is no such option, or no such value.
    """
    for key in options:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise OptionError(f"'{key}' is no option of format '{form}'", "landing", f"Options are: {listed}.")
    result = {}
    for key, values in known.items():
        value = options.get(key, values[0] if values else "")
        if values is not None and value not in values:
            raise OptionError(f"'{key}' = '{value}'", "landing", f"Use one of {', '.join(values)}.")
        result[key] = value
    return result


_ZONE = "time-zone"


@dataclass(frozen=True)
class ZonedForm(Form):
    """A form whose only setting is the zone of times that name none."""

    name: ClassVar[str]

    zone: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Raises: OptionError."""
        return cls(zone_of(options, cls.name))

    def leaf(self, column: str, schema: str | None) -> Leaf:
        del column, schema
        return partial(plain_values, zone=self.zone)


def zone_of(options: Mapping[str, str], form: str) -> str:
    """The zone of times that name none: option `time-zone`, by default UTC. Raises: OptionError."""
    text = chosen(options, {_ZONE: None}, form)[_ZONE] or "UTC"
    Option(_ZONE, time_zone, None).of({_ZONE: text})
    return text
