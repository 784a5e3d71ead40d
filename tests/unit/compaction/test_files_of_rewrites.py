"""What the proof says of the files that a rewrite replaces and writes, by their descriptions."""

from dataclasses import replace

import pytest

from maintenance.compaction.plan import BucketCompaction, RewriteStep, UpgradeStep
from maintenance.compaction.proof.files import levels, replaced_files
from maintenance.compaction.proof.hashing import Hashing
from maintenance.compaction.proof.observer import FileSeen, WrittenRows
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.types.data_type import DataField, parse_type
from maintenance.write.message import CommitMessage
from tests.unit.compaction.files import data_file

SCHEMA = TableSchema(0, (DataField(0, "id", parse_type("INT NOT NULL")),), 0, primary_keys=("id",))
OLD = (data_file("a", sequence=3), data_file("b", sequence=5))
NEW = data_file("c", 5, sequence=4)


def wrong(
    *after: DataFileMeta, lifted: DataFileMeta | None = None, staying: tuple[DataFileMeta, ...] = (), retracts: int = 0
) -> list[str]:
    """What is wrong with a rewrite of `OLD` to level 5 that writes these files."""
    steps: tuple[RewriteStep | UpgradeStep, ...] = (
        RewriteStep((tuple((file,) for file in OLD),)),
        *([UpgradeStep(lifted)] if lifted else []),
    )
    plan = BucketCompaction(EMPTY_ROW, 0, 1, 5, 5, True, False, steps, "", staying=staying)
    before = (*OLD, *([lifted] if lifted else []))
    message = CommitMessage(EMPTY_ROW, 0, 1, compact_before=before, compact_after=after)
    observer = WrittenRows(Hashing(("id",), ("id",)), ordered=True)
    observer.files["c"] = FileSeen(retracts=retracts)
    return [*levels(plan, message, observer, SCHEMA)]


def test_a_right_rewrite_is_right() -> None:
    lifted = data_file("d", 0, keys=(20, 29), sequence=4)
    assert wrong(NEW) == []
    assert wrong(NEW, replace(lifted, level=5), lifted=lifted) == []
    assert wrong(NEW, staying=(data_file("e", 5, keys=(10, 19)),)) == []


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (data_file("c", 4, sequence=4), "is on level 4, and 5 was planned"),
        (data_file("c", 5, sequence=2), "has sequence number 2, which no input has"),
        (data_file("c", 5, sequence=6), "has sequence number 6, which no input has"),
        (data_file("c", 5, keys=(9, 0), sequence=4), "has a smallest key above its largest"),
        (replace(OLD[0], level=5), "stays in the table but should not"),
    ],
)
def test_what_is_wrong_is_said(after: DataFileMeta, said: str) -> None:
    (problem,) = wrong(after)
    assert said in problem
    assert problem.startswith(after.file_name)


def test_files_of_a_level_may_not_overlap() -> None:
    (problem,) = wrong(NEW, staying=(data_file("e", 5, keys=(9, 19)),))
    assert "c and e are on one level" in problem


def test_a_file_that_changes_its_level_stays_as_it_is() -> None:
    lifted = data_file("d", 0, keys=(20, 29), sequence=4)
    (gone,) = wrong(NEW, lifted=lifted)
    assert "d should change its level, and is gone" in gone
    (changed,) = wrong(NEW, replace(lifted, level=5, row_count=11), lifted=lifted)
    assert "d stays in the table but should not, or has changed" in changed


def test_retractions_that_should_be_dropped() -> None:
    (problem,) = wrong(NEW, retracts=1)
    assert "holds retractions" in problem


def test_files_that_go_are_those_that_were_planned() -> None:
    message = CommitMessage(EMPTY_ROW, 0, 1, compact_before=OLD[:1])
    assert [*replaced_files(OLD[:1], message)] == []
    assert len([*replaced_files(OLD, message)]) == 1


@pytest.mark.parametrize(("low", "high", "said"), [(3, 5, 0), (2, 5, 1), (3, 6, 1), (2, 6, 2)])
def test_numbers_are_between_those_of_the_inputs(low: int, high: int, said: int) -> None:
    assert len(wrong(replace(NEW, min_sequence_number=low, max_sequence_number=high))) == said


def test_older_records_that_are_looked_up_have_numbers_too() -> None:
    older = data_file("old", 4, keys=(0, 9), sequence=1)
    plan = BucketCompaction(EMPTY_ROW, 0, 1, 3, 5, False, False, (RewriteStep((((OLD[0],),),)),), "", older=(older,))
    observer = WrittenRows(Hashing(("id",), ("id",)), ordered=True)
    for sequence, said in ((1, 0), (3, 0), (0, 1), (4, 1)):
        made = data_file("c", 3, sequence=sequence)
        message = CommitMessage(EMPTY_ROW, 0, 1, compact_before=OLD[:1], compact_after=(made,))
        assert bool([*levels(plan, message, observer, SCHEMA)]) == bool(said)


def test_what_is_wrong_with_a_lifted_file_hides_nothing_of_others() -> None:
    """Whichever comes first."""
    lifted = data_file("d", 0, keys=(20, 29), sequence=4)
    there, new = replace(lifted, level=5), data_file("c", 5, sequence=9)
    for after in ((there, new), (new, there)):
        (problem,) = wrong(*after, lifted=lifted)
        assert "c has sequence number 9" in problem


@pytest.mark.parametrize(
    ("keys", "problems"),
    [
        ([(0, 4), (5, 9)], 0),
        ([(0, 5), (5, 9)], 1),
        ([(3, 3), (4, 4)], 0),
        ([(3, 3), (3, 3)], 1),
        ([(0, 9), (0, 4)], 1),
        ([(4, 3)], 1),
        ([(0, 9), (0, 0), (5, 6)], 2),
    ],
)
def test_key_ranges_of_a_level(keys: list[tuple[int, int]], problems: int) -> None:
    """A file may have a single key; ends belong to the ranges."""
    for ranges in (keys, keys[::-1]):
        files = [data_file(name, 5, keys=each, sequence=4) for name, each in zip("cef", ranges, strict=False)]
        assert len(wrong(*files)) == problems
