"""The pictures of README and docs are there, each is shown somewhere, and none is large."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
IMAGES = ROOT / "docs" / "images"


def shown() -> set[Path]:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return {
        (page.parent / name).resolve() for page in pages for name in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text())
    }


def test_pictures_and_pages_fit_together() -> None:
    assert shown() == {path.resolve() for path in IMAGES.iterdir()}


def test_a_picture_is_small() -> None:
    sizes = {path.name: path.stat().st_size for path in IMAGES.iterdir()}
    assert not {name: size for name, size in sizes.items() if size > 300_000}
