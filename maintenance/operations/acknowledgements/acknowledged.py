"""What of a table was acknowledged, read from the history."""

import json
from typing import Any

from maintenance.metastore.catalog import Catalog
from maintenance.operations.history import read_history
from maintenance.table.acknowledged import Acknowledged

ACKNOWLEDGE = "acknowledge"


def acknowledged(catalog: Catalog, history: str, table: str) -> dict[str, Acknowledged]:
    """The newest of each check; nothing where there is no history. Raises: as reading a table."""
    found: dict[str, Acknowledged] = {}
    for row in read_history(catalog, history, table, ACKNOWLEDGE):
        details: dict[str, Any] = json.loads(row["details"] or "{}")
        if "check" in details:
            made = Acknowledged(
                details["check"],
                str(details.get("name") or ""),
                str(details.get("reason") or ""),
                row["finished_at"],
                row["snapshot_id"] or 0,
            )
            found.setdefault(made.check, made)
    return found
