"""Figures of benchmarks on their way into docs/benchmarks.md."""

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.results import Figures, Moment, Result, tell, told


def _result(others: float) -> Result:
    """A run of ten seconds on two processors, of which other processes had so many processor seconds."""
    start, end = Moment(0.5, 100.0, 1.0, 1000.0), Moment(1.5, 108.0 + others, 9.0, 1020.0)
    return Result.of("sorting", "python -m benchmarks.sorting", [Figures("c", "ours", [2.0, 1.0, 4.0])], start, end)


def test_what_a_benchmark_tells_is_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setenv(results.TOLD, str(tmp_path / "told"))
    tell("4 buckets", "ours", [2.0, 1.0, 4.0], peak_MiB=812)
    tell("4 buckets", "limit")
    figures = told(tmp_path / "told")
    assert figures == [
        Figures("4 buckets", "ours", [2.0, 1.0, 4.0], {"peak MiB": 812}),
        Figures("4 buckets", "limit", []),
    ]
    assert (figures[0].minimum, figures[0].median) == (1.0, 2.0)
    kept = Result("ingestion", "python", "2026-01-02", "2 cores", (0.1, 1.2), 0.02, figures)
    assert Result.read(kept.store()) == kept


def test_nothing_is_told_where_nothing_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(results.TOLD, raising=False)
    monkeypatch.chdir(tmp_path)
    tell("4 buckets", "ours", [1.0])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("others", "is_loaded"), [(0.0, False), (1.0, False), (5.0, True)])
def test_a_run_beside_other_work_is_marked(others: float, is_loaded: bool) -> None:
    result = _result(others)
    assert result.others == others / 20
    assert result.is_loaded == is_loaded
    assert ("loaded machine" in result.machine_text) == is_loaded
