"""What Flink's tables have besides stored columns: computed columns and a watermark, kept in options of the schema.

Paimon stores none of their values. A query in Flink's dialect computes the columns; Spark's does not see them. Source:
Java `FlinkCatalogPropertiesUtil`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_COMPUTED = re.compile(r"schema\.(\d+)\.(name|expr|data-type|comment)")
_WATERMARK = "schema.watermark.0."
ROWTIME, STRATEGY, STRATEGY_TYPE = (_WATERMARK + part for part in ("rowtime", "strategy.expr", "strategy.data-type"))


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """Attributes: `number`: its place among all columns; `text`: the expression; `type`: of its values."""

    number: int
    name: str
    text: str
    type: str
    comment: str | None = None

    @property
    def options(self) -> dict[str, str]:
        """As the schema keeps it."""
        parts = {"name": self.name, "data-type": self.type, "expr": self.text, "comment": self.comment}
        return {f"schema.{self.number}.{part}": value for part, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Watermark:
    """Attributes: `column`: of time; `text`: the expression; `type`: of its values."""

    column: str
    text: str
    type: str

    @property
    def options(self) -> dict[str, str]:
        """As the schema keeps it."""
        return {ROWTIME: self.column, STRATEGY: self.text, STRATEGY_TYPE: self.type}


def computed_columns(options: Mapping[str, str]) -> list[ComputedColumn]:
    """The computed columns of a schema, in their order."""
    parts: dict[int, dict[str, str]] = {}
    for key, value in options.items():
        if match := _COMPUTED.fullmatch(key):
            parts.setdefault(int(match[1]), {})[match[2]] = value
    return [
        ComputedColumn(number, one["name"], one["expr"], one.get("data-type", ""), one.get("comment"))
        for number, one in sorted(parts.items())
        if "name" in one and "expr" in one
    ]


def watermark(options: Mapping[str, str]) -> Watermark | None:
    """The watermark of a schema."""
    if ROWTIME not in options or STRATEGY not in options:
        return None
    return Watermark(options[ROWTIME], options[STRATEGY], options.get(STRATEGY_TYPE, ""))


def without_columns(options: Mapping[str, str]) -> dict[str, str]:
    """The options that are none of these."""
    return {
        key: value for key, value in options.items() if not _COMPUTED.fullmatch(key) and not key.startswith(_WATERMARK)
    }


def placed(names: Sequence[str], computed: Sequence[ComputedColumn]) -> list[str | ComputedColumn]:
    """Stored and computed columns in the order in which Flink shows them."""
    columns: list[str | ComputedColumn] = list(names)
    for column in computed:
        columns.insert(min(column.number, len(columns)), column)
    return columns
