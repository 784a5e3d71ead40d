"""Plain JSON: each line is a row, an object with the columns; one more key may hold its kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from maintenance.operations.ingestion.cdc.form import Leaf, pointer, zone_of
from maintenance.operations.ingestion.cdc.values import plain_values

NAME = "json"
_QUERY = """
WITH rows AS (
    SELECT line, message, CASE WHEN $kind IS NULL THEN '+I' ELSE json_extract_string(message, $kind) END AS kind
    FROM lines
)
SELECT line, 0 AS position, kind, message AS row, CAST(NULL AS JSON) AS old,
    CAST(NULL AS VARCHAR) AS schema, CAST(NULL AS VARCHAR) AS passed,
    CASE WHEN kind IS NULL OR kind NOT IN ('+I', '-U', '+U', '-D') THEN
        'the row''s kind is none of +I, -U, +U and -D' END AS problem
FROM rows
"""


@dataclass(frozen=True, slots=True)
class Plain:
    """`zone`: of times that name none; `kind_key`: the key of the row's kind, None: all are +I."""

    zone: str
    kind_key: str | None

    @classmethod
    def of(cls, options: Mapping[str, str], kind_key: str | None = None) -> "Plain":
        """Raises: OptionError."""
        return cls(zone_of(options, NAME), kind_key)

    @property
    def query(self) -> str:
        return _QUERY

    @property
    def arguments(self) -> Mapping[str, str | None]:
        return {"kind": None if self.kind_key is None else pointer(self.kind_key)}

    @property
    def decimals(self) -> tuple[str, ...] | None:
        return ("",)

    def leaf(self, column: str, schema: str | None) -> Leaf:
        del column, schema
        return partial(plain_values, zone=self.zone)
