"""Statements of Paimon's documents, as they are printed there, and what they are to return.

A pattern stands for any text that matches it as a whole, `{"any": true}` for any value but null.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from maintenance.sql import Session, SqlError

SCRIPTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("documents.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("script", [pytest.param(script, id=script["about"]) for script in SCRIPTS])
def test_a_script_of_the_documents(tmp_path: Path, script: dict[str, Any]) -> None:
    run_script(tmp_path, script, None)


def run_script(folder: Path, script: dict[str, Any], spark: Any) -> None:
    """Run the statements and hold what they return to what is expected. `spark`: None = this process."""
    places = {"warehouse": folder / "warehouse", "files": folder / "files"}
    for folder in places.values():
        folder.mkdir()
    for name, text in script.get("files", {}).items():
        path = places["files"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    session = Session({"warehouse": str(places["warehouse"])}, spark, script["dialect"])
    for sql in script.get("setup", ()):
        session.sql(filled(sql, places))
    for statement in script["statements"]:
        expect, sql = statement["expect"], filled(statement["sql"], places)
        if "error" in expect:
            with pytest.raises(SqlError, match=expect["match"]):
                session.sql(sql)
        else:
            check(expect, session.sql(sql).to_arrow().to_pylist(), sql)


def filled(text: str, places: dict[str, Path]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda found: str(places[found[1]]), text)


def check(expect: dict[str, Any], rows: list[dict[str, Any]], sql: str) -> None:
    if "rows" not in expect:
        return
    columns = expect.get("columns")
    shown = [[plain(row[name]) for name in columns or row] for row in rows]
    if columns and rows and "more_columns" not in expect:
        assert list(rows[0]) == columns
    wanted = expect["rows"]
    if "ORDER BY" in sql:
        assert len(shown) == len(wanted)
        assert all(fits(one, other) for one, other in zip(wanted, shown, strict=True))
        return
    missing = [row for row in wanted if not any(fits(row, other) for other in shown)]
    further = [row for row in shown if not any(fits(other, row) for other in wanted)]
    assert missing == []
    assert expect.get("contains") or (further == [] and len(shown) == len(wanted))


def fits(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, dict):
        return value is not None and ("any" in wanted or re.fullmatch(wanted["like"], value) is not None)
    if isinstance(wanted, list):
        return len(wanted) == len(value) and all(fits(one, other) for one, other in zip(wanted, value, strict=True))
    return bool(wanted == value)


def plain(value: Any) -> Any:
    return str(value) if hasattr(value, "isoformat") else value
