"""Changes that would corrupt a table, and those that only look like it."""

from collections.abc import Sequence

from maintenance.commit.conflicts import Base, find_conflict
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from tests.unit.commit.entries import KEY_OF, TYPES, add, delete

HERE = (EMPTY_ROW, 0)


def conflict(
    base: Sequence[ManifestEntry], delta: Sequence[ManifestEntry], *, keyed: bool = True, check_buckets: bool = True
) -> tuple[str, set[tuple[bytes, int]]] | None:
    actual = find_conflict(Base(base), delta, key_of=KEY_OF if keyed else None, check_buckets=check_buckets)
    return None if actual is None else (actual.reason, set(actual.groups))


def test_files_replaced_as_planned() -> None:
    base = [add("a"), add("b"), add("old", level=5)]
    delta = [delete("a"), delete("b"), delete("old", level=5), add("new", level=5)]
    assert conflict(base, delta) is None


def test_a_file_that_is_gone() -> None:
    actual = conflict([add("b")], [delete("a"), delete("b"), add("new", level=5)])
    assert actual == ("files that this commit replaces were already replaced or deleted", {HERE})


def test_a_file_that_changed_its_level_or_index_is_another_one() -> None:
    assert conflict([add("a", level=5)], [delete("a", level=0)]) is not None
    assert conflict([add("a", index=b"x")], [delete("a")]) is not None
    assert conflict([add("a", index=b"x")], [delete("a", index=b"x"), add("a", index=b"y")]) is None


def test_a_file_that_is_added_twice() -> None:
    actual = conflict([add("a")], [add("a")])
    assert actual == ("a file that this commit adds already exists", {HERE})
    assert conflict([], [add("a"), add("a")]) is not None


def test_only_the_groups_to_blame() -> None:
    base = [add("a", bucket=0), add("b", bucket=1)]
    delta = [delete("a", bucket=0), delete("gone", bucket=1), add("n", bucket=0, level=5)]
    assert conflict(base, delta) == (
        "files that this commit replaces were already replaced or deleted",
        {(EMPTY_ROW, 1)},
    )


def test_key_ranges_of_a_level_may_not_overlap() -> None:
    base = [add("a", level=5, keys=(0, 9))]
    assert conflict(base, [add("b", level=5, keys=(9, 12))]) == (
        "key ranges of files on one level would overlap",
        {HERE},
    )
    assert conflict(base, [add("b", level=5, keys=(10, 12))]) is None
    assert conflict(base, [add("b", level=4, keys=(0, 9))]) is None
    assert conflict([add("a")], [add("b")]) is None, "files of level 0 may"
    assert conflict(base, [add("b", level=5, keys=(0, 9), bucket=1)]) is None, "another bucket"
    assert conflict(base, [add("b", level=5)], keyed=False) is None


def test_an_old_overlap_that_the_changes_do_not_touch_is_left_to_others() -> None:
    base = [add("a", level=5, keys=(0, 9)), add("b", level=5, keys=(5, 9))]
    assert conflict(base, [add("c", level=4)]) is None


def test_a_partition_has_one_number_of_buckets() -> None:
    base = [add("a", total_buckets=2)]
    assert conflict(base, [add("b", total_buckets=4, bucket=3)]) == (
        "the number of buckets of the partition has changed",
        {(EMPTY_ROW, 3)},
    )
    assert conflict(base, [add("b", total_buckets=4, bucket=3)], check_buckets=False) is None
    elsewhere = serialize_row([7], TYPES)
    assert conflict(base, [add("b", total_buckets=4, partition=elsewhere)]) is None
    assert conflict([add("a", total_buckets=-1)], [add("b", total_buckets=-1)]) is None
