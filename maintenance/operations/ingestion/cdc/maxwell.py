"""Maxwell's JSON: ``{"type": "update", "data": {…}, "old": {…}, …}``.

`old` has the columns that changed, with their values before; decimals are numbers. Source: Maxwell's data format.
"""

from maintenance.operations.ingestion.cdc.form import ZonedForm

_QUERY = """
WITH messages AS (
    SELECT line, message->>'type' AS type, message->'data' AS data,
        CASE WHEN json_type(message, '$.old') = 'OBJECT' THEN message->'old' END AS old
    FROM lines
)
SELECT line, 1 AS position, CASE type WHEN 'delete' THEN '-D' WHEN 'update' THEN '+U' ELSE '+I' END AS kind,
    data AS row, CAST(NULL AS JSON) AS old, CAST(NULL AS VARCHAR) AS schema, CAST(NULL AS VARCHAR) AS passed,
    CASE WHEN type = 'update' AND old IS NULL THEN 'an update needs ''old''' END AS problem
FROM messages WHERE type IN ('insert', 'bootstrap-insert', 'update', 'delete')
UNION ALL
SELECT line, 0, '-U', data, old, NULL, NULL, NULL FROM messages WHERE type = 'update' AND old IS NOT NULL
UNION ALL
SELECT line, 0, NULL, NULL, NULL, NULL,
    CASE WHEN type IN ('bootstrap-start', 'bootstrap-complete') THEN 'marks of a bootstrap'
        WHEN type IN ('table-create', 'table-alter', 'database-create', 'database-alter') THEN
            'changes of the source''s definition' END,
    CASE WHEN type IN ('table-drop', 'database-drop') THEN
            'the source table was dropped: do the same here, then take the line away'
        WHEN type IS NULL THEN 'no message of Maxwell''s: it has no ''type'''
        ELSE 'type ''' || type || ''' is not known' END
FROM messages WHERE type IS NULL OR type NOT IN ('insert', 'bootstrap-insert', 'update', 'delete')
"""


class Maxwell(ZonedForm):
    """`zone`: in which the source shows times of its TIMESTAMP columns."""

    name, query = "maxwell-json", _QUERY
