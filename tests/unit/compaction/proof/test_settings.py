"""How much is proved, and what reports say of it."""

import pytest

from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings, together
from maintenance.errors import OptionError
from maintenance.types.row_hash import Digest

SOME = Digest(3, 5, 7)


@pytest.mark.parametrize("mode", ["auto", "full", "sampled", "off"])
def test_each_mode_is_taken_by_its_name(mode: str) -> None:
    assert ProofSettings.of(mode).mode == mode


def test_other_modes_are_refused() -> None:
    with pytest.raises(OptionError, match="auto, full, sampled, off"):
        ProofSettings.of("half")


@pytest.mark.parametrize(
    ("mode", "rows", "shift"),
    [
        ("full", 10**12, 0),
        ("off", 10**12, 0),
        ("sampled", 1, 4),
        ("sampled", 10**12, 4),
        ("auto", 0, 0),
        ("auto", 100, 0),
        ("auto", 101, 1),
        ("auto", 200, 1),
        ("auto", 201, 2),
        ("auto", 100 << 15, 15),
        ("auto", 100 << 16, 16),
        ("auto", 10**15, 16),
    ],
)
def test_a_thinner_sample_of_more_rows(mode: str, rows: int, shift: int) -> None:
    """As many hashes as fit, but never fewer than those of one key in 65 536."""
    settings = ProofSettings(ProofMode(mode), hashes=1000)
    assert settings.shift(rows, 10) == shift


@pytest.mark.parametrize(("mode", "rows", "read"), [("full", 999, 999), ("auto", 999, 50), ("sampled", 20, 20)])
def test_rows_that_are_read_again(mode: str, rows: int, read: int) -> None:
    assert ProofSettings(ProofMode(mode), read_back=50).read_back_rows(rows) == read


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ProofResult(), ""),
        (ProofResult(ProofMode.FULL, digest=SOME), f"full: 3 rows {SOME.text}"),
        (ProofResult(ProofMode.SAMPLED, 2, digest=SOME), f"sampled (1 key in 2): 3 rows {SOME.text}"),
        (ProofResult(ProofMode.SAMPLED, 16, digest=SOME), f"sampled (1 key in 16): 3 rows {SOME.text}"),
    ],
)
def test_the_line_of_a_report(result: ProofResult, text: str) -> None:
    assert result.text == text


FULL = ProofResult(ProofMode.FULL, 1, 10, 9, SOME, ("b", "a"), 2, 4, 0.5)
SAMPLED = ProofResult(ProofMode.SAMPLED, 16, 100, 90, Digest(1, 2, 3), ("a", "c"), 20, 40, 0.0625)


def test_a_report_says_what_was_proved_and_how() -> None:
    assert SAMPLED.summary == {
        "mode": "sampled",
        "one key in": 16,
        "rows read": 100,
        "rows written": 90,
        "digest": Digest(1, 2, 3).text,
        "columns proved by key": ["a", "c"],
        "keys only counted": 20,
        "rows read back": 40,
        "seconds": 0.062,
    }


def test_proofs_together_are_as_good_as_the_worst() -> None:
    both = together([FULL, SAMPLED])
    digest = Digest(4, 7, 10)
    assert both == ProofResult(ProofMode.SAMPLED, 16, 110, 99, digest, ("a", "b", "c"), 22, 44, 0.5625)
    assert together([SAMPLED, FULL]) == both
    assert together([FULL, ProofResult()]).mode == ProofMode.OFF
    assert together([FULL]).mode == ProofMode.FULL
    assert together([]) == ProofResult()
