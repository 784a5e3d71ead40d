"""The blocks of code of README and docs."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
GUIDES = [DOCS / "tutorial.md", *sorted((DOCS / "guides").glob("*.md"))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
_BLOCK = re.compile(
    r'(?:^<!-- not run: (.+?) -->\n)?^```(\w*)(?: title="(.+?)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE
)


class Block(NamedTuple):
    """A block of code. `why`: it is not run; `title`: the file that it is."""

    why: str
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order: a fence that is none of them is an error."""
    text = page.read_text()
    found = [Block(*parts) for parts in _BLOCK.findall(text)]
    assert len(found) == text.count("```") // 2, f"{page} has fences that are not closed or indented"
    assert not re.search(r"^\n {4}\S", _BLOCK.sub("", text), re.MULTILINE), f"{page} has a block without fences"
    return found


def commands(text: str) -> list[str]:
    """The commands of a block, each behind what the block exports."""
    lines = re.split(r"\n(?=\S)", text.strip())
    exported = [line for line in lines if line.startswith("export ")]
    return ["\n".join([*exported, line]) for line in lines if line not in exported]
