"""The tables.yaml of the pages for stores and catalogs load, with options that their catalogs know."""

import re
from pathlib import Path

import pytest

from maintenance.options.catalog import check_names
from paimon_maintenance.assets.project.config import load_project

DOCS = Path(__file__).parents[3] / "docs"
PAGES = sorted([*(DOCS / "stores").glob("*.md"), *(DOCS / "catalogs").glob("*.md")])
EXAMPLES = [
    pytest.param(text, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL))
]


def test_each_page_has_an_example() -> None:
    assert [page.stem for page in PAGES] == ["hive", "jdbc", "rest", "azure", "gcs", "hdfs", "oss", "s3"]
    assert len(EXAMPLES) == len(PAGES) + 1


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_examples_load(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\$\{(\w+)\}", text):
        monkeypatch.setenv(name, "secret")
    path = tmp_path / "tables.yaml"
    path.write_text(text)
    project = load_project(path, tmp_path)
    check_names(project.catalog)
    assert project.patterns[0].matches("sales.orders")


def test_links_lead_somewhere() -> None:
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
