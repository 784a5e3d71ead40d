"""Every call of a recorded catalog of Apache Paimon has the same outcome here."""

from pathlib import Path

from tests.catalog_replay import Replay, steps_of


def test_the_filesystem_catalog(tmp_path: Path) -> None:
    _, steps = steps_of("filesystem_refusals", tmp_path / "warehouse")
    Replay({"warehouse": str(tmp_path / "warehouse")}).replay(steps)
