"""docs/api.md lists what is stable, as the code is now."""

import subprocess
import sys

from tests.unit.test_layers import ROOT


def test_the_page_is_made_from_the_present_docstrings() -> None:
    made = subprocess.run(
        [sys.executable, "scripts/api-page"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "docs" / "api.md").read_text() == made, "run scripts/api-page > docs/api.md"
    assert made.count("\n### ") > 50
