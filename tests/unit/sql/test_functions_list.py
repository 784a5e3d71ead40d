"""docs/sql.md lists the functions that queries know without Spark, as the table has them now."""

import subprocess
import sys

from maintenance.sql.expressions.table import function_names
from tests.unit.test_layers import ROOT


def test_the_list_is_made_from_the_present_table() -> None:
    made = subprocess.run(
        [sys.executable, "scripts/functions-list"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    page = (ROOT / "docs" / "sql.md").read_text()
    begin = page.index("<!-- Made by scripts/functions-list")
    listed = page[page.index("\n\n", begin) + 2 : page.index("<!-- The end of the list. -->")]
    assert listed == made, "put the output of scripts/functions-list into docs/sql.md"
    assert {name for name in function_names("spark") if f"`{name}`" not in made} == set()
    assert {name for name in function_names("flink") if f"`{name}`" not in made} == set()
