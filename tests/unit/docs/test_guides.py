"""The tutorial and the guides: what they show to be typed works, or says why it is not tried."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import Schema, open_catalog
from maintenance.operations import compact
from maintenance.project.config import load_project
from tests.unit.docs.blocks import GUIDES, blocks, commands

TUTORIAL, *WAYS = GUIDES
# Done, and nothing to do: see docs/sql.md.
ENDED_WELL = (0, 3)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_each_block_is_a_file_or_a_command(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        assert block.title or block.language == "sh", block.text
        if block.title == "tables.yaml":
            (tmp_path / block.title).write_text(block.text)
            project = load_project(tmp_path / block.title)
            assert project.tables or project.patterns


@pytest.mark.slow
def test_the_tutorial_leads_to_a_maintained_table(tmp_path: Path) -> None:
    follow(TUTORIAL, tmp_path)
    table = open_catalog({"warehouse": str(tmp_path / "lake")}).get_table("shop.orders")
    assert table.to_arrow().num_rows == 60
    newest = table.latest_snapshot()
    assert newest is not None
    assert newest.commit_kind.value == "COMPACT"


@pytest.mark.slow
@pytest.mark.parametrize("page", WAYS, ids=lambda page: page.stem)
def test_the_commands_of_a_guide_work(page: Path, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    catalog.create_database("shop")
    columns = [("id", "BIGINT NOT NULL"), ("status", "STRING")]
    catalog.create_table("shop.orders", Schema(columns, primary_keys=["id"], options={"bucket": "2"}))
    table = catalog.get_table("shop.orders")
    for number in range(5):
        rows = pa.table({"id": range(number * 10, number * 10 + 20), "status": ["new"] * 20})
        table.write_arrow(rows, commit_user="feed")
    compact(None, table, full=True)
    follow(page, tmp_path)


def follow(page: Path, folder: Path) -> None:
    """Type what a page shows, in a folder of its own."""
    kept_out = ("PAIMON_", "DAGSTER_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(kept_out)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    # Of the catalog of tutorial and guides: what Dagster needs is named by the blocks themselves.
    environment["PAIMON_WAREHOUSE"] = str(folder / "lake")
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text)
        elif not block.why:
            for command in commands(block.text):
                done = subprocess.run(
                    ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode in ENDED_WELL, f"{command}\n{done.stdout}\n{done.stderr}"
