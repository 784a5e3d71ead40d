"""Links between pages lead somewhere."""

import re

from tests.unit.docs.blocks import DOCS


def test_links_lead_to_files_that_exist() -> None:
    for page in [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"
