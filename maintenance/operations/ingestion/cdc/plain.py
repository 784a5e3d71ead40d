"""Plain JSON: each line is a row, an object with the columns; one more key may hold its kind."""

from collections.abc import Mapping
from dataclasses import dataclass

from maintenance.format.plain.json_lines import pointer
from maintenance.operations.ingestion.cdc.form import ZonedForm

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


@dataclass(frozen=True)
class Plain(ZonedForm):
    """`kind_key`: the key of the row's kind, None: all are +I."""

    name, query = "json", _QUERY

    kind_key: str | None = None

    @property
    def arguments(self) -> Mapping[str, str | None]:
        return {"kind": None if self.kind_key is None else pointer(self.kind_key)}
