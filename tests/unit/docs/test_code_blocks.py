"""Each block of code of README and docs works, or says why it is not tried."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from maintenance.cli.main import cli
from tests.unit.docs.blocks import DOCS, GUIDES, PAGES, ROOT, blocks, commands
from tests.unit.docs.page_claims import CLAIMS
from tests.unit.docs.page_tables import make_orders
from tests.unit.docs.pages import Reader, parse

# Made by a script: a block is the signature of what it is about.
API = DOCS / "api.md"
FOLLOWED = [page for page in PAGES if page not in (API, *GUIDES) and blocks(page)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("orders") / "lake"
    make_orders(made)
    return made


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_work(
    page: Path, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(lake, tmp_path / "lake")
    reader = Reader(page, tmp_path, monkeypatch, capsys)
    for block in blocks(page):
        if not block.why:
            reader.follow(block)
    if page.name in CLAIMS:
        CLAIMS[page.name](reader.names)


def test_no_block_is_left_out() -> None:
    """What is followed, parsed and marked together is all that there is; a mark gives a reason."""
    tried = sum(not block.why for page in [*FOLLOWED, *GUIDES, API] for block in blocks(page))
    marked = [block.why for page in PAGES for block in blocks(page) if block.why]
    fences = sum(page.read_text().count("```") for page in PAGES)
    assert tried + len(marked) == fences // 2
    assert tried > 300
    assert all(len(why.split()) > 2 for why in marked)


def test_the_signatures_of_the_python_api_are_python() -> None:
    for block in blocks(API):
        name, sign, rest = block.text.partition("(")
        assert ast.parse(f"def {name.rpartition('.')[2]}{sign}{rest}: ...".replace("…", "...").replace("\n", ""))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_the_commands_of_guides_are_commands(page: Path) -> None:
    """The slow tests run them."""
    for block in blocks(page):
        for command in commands(block.text) if block.language == "sh" else []:
            words = shlex.split(re.sub(r"^export .*\n", "", command, flags=re.MULTILINE), comments=True)
            if words[0] == "paimonctl":
                parse(words[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_within_sentences_exist(page: Path) -> None:
    known = cli.list_commands(click.Context(cli))
    for name in re.findall(r"`paimonctl ([a-z][a-z-]+)", page.read_text()):
        assert name in known
