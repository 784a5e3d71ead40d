"""docs/options.md lists every option with what becomes of it, as the code is now."""

import subprocess
import sys

from maintenance.options.known import all_options
from tests.unit.test_layers import ROOT


def test_the_page_is_made_from_the_present_options() -> None:
    made = subprocess.run(
        [sys.executable, "scripts/options-page"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert (ROOT / "docs" / "options.md").read_text() == made, "run scripts/options-page > docs/options.md"
    assert {option.key for option in all_options() if f"`{option.key}`" not in made} == set()
