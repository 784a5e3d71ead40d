"""The tables.yaml of docs/dagster.md are ones that load."""

import re
from pathlib import Path

import pytest

from paimon_maintenance.assets.project.config import load_project

PAGE = (Path(__file__).parents[3] / "docs" / "dagster.md").read_text()
# Of tables.yaml; what belongs into Dagster's own file has another test.
BLOCKS = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if not block.startswith("storage:")]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_the_examples_load(number: int, tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(BLOCKS[number])
    assert load_project(path, tmp_path).patterns[0].matches("sales.orders")
