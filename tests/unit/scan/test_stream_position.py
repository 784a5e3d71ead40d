"""Positions of a stream and what one batch of it takes."""

import pytest

from maintenance.errors import OptionError
from maintenance.options.model import TableModel
from maintenance.scan.split import Split
from maintenance.scan.stream_position import Admission, Limits, StreamPosition
from tests.unit.compaction.files import data_file


def split(files: int = 1) -> Split:
    """Of files of 100 bytes and 10 rows."""
    return Split(1, b"", 0, tuple(data_file(f"f{i}") for i in range(files)), raw=True)


@pytest.mark.parametrize(
    ("start", "end", "parts"),
    [
        (StreamPosition(3), StreamPosition(3), []),
        (StreamPosition(3, 2), StreamPosition(3, 2), []),
        (StreamPosition(3, 2), StreamPosition(3, 5), [(StreamPosition(3, 2), 5)]),
        (StreamPosition(3), StreamPosition(5), [(StreamPosition(3), None), (StreamPosition(4), None)]),
        (StreamPosition(3, 4), StreamPosition(4, 1), [(StreamPosition(3, 4), None), (StreamPosition(4), 1)]),
        (StreamPosition(3, 1, True), StreamPosition(3, 2, True), [(StreamPosition(3, 1, True), 2)]),
        (StreamPosition(3, 1, True), StreamPosition(4), [(StreamPosition(3, 1, True), None)]),
    ],
)
def test_parts_up_to_an_end(
    start: StreamPosition, end: StreamPosition, parts: list[tuple[StreamPosition, int | None]]
) -> None:
    assert list(start.until(end)) == parts


def test_positions_survive_a_checkpoint() -> None:
    for position in (StreamPosition(3), StreamPosition(4, 7, True)):
        assert StreamPosition.of_json(position.to_json()) == position
    for wrong in ({"snapshot": 1, "splits": 2}, {"snapshot": "one", "splits": 2, "full": False}):
        with pytest.raises(OptionError, match="not a position of this source"):
            StreamPosition.of_json(wrong)


def test_keys_of_limits_in_any_case() -> None:
    assert not Limits.of(TableModel()).is_set
    limits = Limits.of(TableModel({"READ.stream.MAXfilesPerTrigger": "3", "read.stream.maxbytespertrigger": "1 kb"}))
    assert limits == Limits(max_files=3, max_bytes=1024)
    assert limits.is_set


def test_a_minimum_needs_a_delay() -> None:
    both = {"read.stream.minRowsPerTrigger": "5", "read.stream.maxTriggerDelayMs": "100"}
    assert Limits.of(TableModel(both)) == Limits(min_rows=5, max_delay=100)
    for key, value in both.items():
        with pytest.raises(OptionError, match=r"Set .*, or neither"):
            Limits.of(TableModel({key: value}))


@pytest.mark.parametrize(
    ("limits", "taken"),
    [
        (Limits(), 5),
        (Limits(max_files=1), 1),
        (Limits(max_files=3), 2),
        (Limits(max_files=4), 2),
        (Limits(max_bytes=400), 2),
        (Limits(max_bytes=401), 3),
        (Limits(max_rows=1), 1),
        (Limits(max_rows=40), 2),
        (Limits(max_rows=41), 3),
    ],
)
def test_a_batch_ends_with_the_split_that_reaches_a_maximum(limits: Limits, taken: int) -> None:
    admission = Admission(limits)
    assert [admission.admit(split(2)) for _ in range(5)] == [True] * taken + [False] * (5 - taken)
    assert (admission.files, admission.bytes, admission.rows) == (2 * taken, 200 * taken, 20 * taken)


def test_batches_that_wait_for_more_rows() -> None:
    admission = Admission(Limits(min_rows=20, max_delay=1))
    assert admission.too_little
    admission.admit(split())
    assert admission.too_little
    admission.admit(split())
    assert not admission.too_little
    assert not Admission(Limits()).too_little


def test_what_follows_are_the_changes_of_the_next_snapshot() -> None:
    assert StreamPosition(3, 2, True).following == StreamPosition(4, 0, False)
    assert StreamPosition(3) == StreamPosition(3, 0, False)
