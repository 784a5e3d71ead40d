"""The soak in short: the same code as `make soak`, for half a minute of writing."""

from pathlib import Path

import pytest

from tests.soak.soak import Limits, Load, soak, summary_text


@pytest.mark.slow
def test_a_short_soak_finds_no_fault_and_no_wrong_row(tmp_path: Path) -> None:
    outcome = soak(tmp_path, Load(30), limits=Limits(), say=print, artifacts=tmp_path / "artifacts")
    assert not outcome.faults, summary_text(outcome)
    assert outcome.numbers["wrong rows"] == 0
    assert "polyline" in (tmp_path / "artifacts/latencies.svg").read_text()
