"""Who commits: what a snapshot could not hold, or nobody could read back, is refused before anything is written."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maintenance.commit.identity import CommitIdentity
from maintenance.errors import DataError, OptionError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER
from maintenance.operations.ingestion.ingest import ingest
from tests.tables import create_table, files_on_disk, keyed, state

LARGEST = 2**63 - 1


@pytest.mark.parametrize("identifier", [2**63, -(2**63) - 1, 1.5, True, "7", BATCH_IDENTIFIER])
def test_numbers_that_no_commit_can_have(tmp_path: Path, identifier: Any) -> None:
    table = create_table(tmp_path)
    with pytest.raises(OptionError, match="commit identifier"):
        table.write_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=identifier)
    with pytest.raises(OptionError, match="commit identifier"):
        table.overwrite_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=identifier)
    with pytest.raises(OptionError, match="commit identifier"):
        ingest(None, table, keyed({1: "a"}), commit_user="me", commit_identifier=identifier)
    assert files_on_disk(table) == set()
    assert table.snapshots.list_ids() == []


@pytest.mark.parametrize("identifier", [LARGEST - 1, 0, -(2**63), np.int64(5), np.uint8(5)])
def test_numbers_that_commits_can_have(tmp_path: Path, identifier: int) -> None:
    table = create_table(tmp_path)
    assert table.write_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=identifier) == (1,)
    assert table.snapshots.get(1).commit_identifier == int(identifier)
    assert table.write_arrow(keyed({1: "b"}), commit_user="me", commit_identifier=identifier) == ()
    assert state(table) == {1: "a"}


@pytest.mark.parametrize("user", ["", "  ", "\ud800", 7])
def test_users_that_nobody_can_be(tmp_path: Path, user: Any) -> None:
    table = create_table(tmp_path)
    with pytest.raises(OptionError, match="commit user"):
        table.write_arrow(keyed({1: "a"}), commit_user=user, commit_identifier=1)
    with pytest.raises(OptionError, match="commit user"):
        ingest(None, table, keyed({1: "a"}), commit_user=user)
    with pytest.raises(OptionError, match="commit user"):
        table.truncate(commit_user=user)
    assert files_on_disk(table) == set()


@pytest.mark.parametrize("user", ["größe", "a/b", "../x", "with \x00 and \n", "x" * 10_000, "😀"])
def test_users_are_read_back_as_they_are(tmp_path: Path, user: str) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}), commit_user=user, commit_identifier=1)
    assert table.snapshots.get(1).commit_user == user
    assert table.write_arrow(keyed({1: "a"}), commit_user=user, commit_identifier=1) == ()


@pytest.mark.parametrize("watermark", [2**63, -(2**63) - 1, 1.5, "1"])
def test_watermarks_that_no_snapshot_can_hold(tmp_path: Path, watermark: Any) -> None:
    table = create_table(tmp_path)
    with pytest.raises(OptionError, match="watermark"):
        ingest(None, table, keyed({1: "a"}), commit_user="me", watermark=watermark)
    assert files_on_disk(table) == set()
    ingest(None, table, keyed({1: "a"}), commit_user="me", watermark=LARGEST)
    assert table.snapshots.get(1).watermark == LARGEST


@pytest.mark.parametrize("properties", [{"a": 1}, {1: "a"}, {"a": None}, {"\udcff": "a"}, {"a": "\udcff"}])
def test_properties_that_are_no_texts_are_refused(properties: Mapping[str, str]) -> None:
    with pytest.raises(OptionError, match="propert"):
        CommitIdentity("me", properties=properties)


def test_a_run_that_no_snapshot_can_hold_publishes_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    with pytest.raises(OptionError, match="propert"):
        table.of_run("\udcff")
    with pytest.raises(DataError):
        replace(table, run="\udcff").write_arrow(keyed({1: "a"}))
    assert list(Path(table.location, "manifest").iterdir()) == []
    assert files_on_disk(table) == set()
    assert table.snapshots.list_ids() == []
