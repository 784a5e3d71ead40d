"""What a release promised is still there."""

import json
from pathlib import Path

import pytest

from tests.releases.surface import Surface, missing, surface

RELEASES = sorted((Path(__file__).parents[1] / "releases").glob("*/surface.json"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.parent.name)
def test_nothing_that_a_release_promised_is_gone(release: Path) -> None:
    promised: Surface = json.loads(release.read_text())
    assert len(promised["paimonctl"]) > 30
    assert missing(promised, surface()) == []


def test_what_counts_as_a_break() -> None:
    released: Surface = {"python": {"compact": ["full", "table!"], "gone": []}}
    now: Surface = {"python": {"compact": ["other!", "table"], "new": ["x!"]}}
    assert missing(released, now) == ["python: compact: full", "python: compact: other must be given", "python: gone"]
