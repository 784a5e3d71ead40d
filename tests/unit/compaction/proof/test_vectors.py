"""What the proof of deletion vectors says of each change, right or wrong, with no compaction around it."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, FrozenBitMap

from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.vectors import VectorsProof
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.types.row_hash import Digest
from maintenance.write.context import WriteContext
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import VectorsChange
from tests.examples import examples
from tests.tables import create_table

VECTORS = {"deletion-vectors.enabled": "true"}
ROWS = {"a": 10, "b": 10, "c": 10, "d": 10}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> WriteContext:
    """Of a table without buckets, whose index files each hold some of the vectors."""
    folder = tmp_path_factory.mktemp("vectors")
    return create_table(folder, [("id", "INT")], (), VECTORS).write_context()


def written(context: WriteContext, *parts: Mapping[str, Collection[int]]) -> list[IndexManifestEntry]:
    """An index file for each of these; deleted rows by data file."""
    vectors = BucketVectors(context, b"", 0, ())
    files = [{name: DeletionVector(FrozenBitMap(rows)) for name, rows in part.items()} for part in parts]
    return [entry for part in files for entry in vectors._written(part)]


def wrong(
    context: WriteContext,
    before: Sequence[IndexManifestEntry],
    change: VectorsChange,
    marked: Mapping[str, Collection[int]] | None = None,
    replaced: Collection[str] = (),
) -> list[str]:
    """What the proof finds. Where the rows differ their digests do."""
    proof = VectorsProof(context, before, ROWS)
    try:
        proof.check(change, {name: BitMap(rows) for name, rows in (marked or {}).items()}, replaced)
    except Findings as error:
        findings = error
    else:
        return []
    rows = "the deleted rows differ from the previous ones plus those that were marked"
    differ = findings.wrong[0] == rows
    assert (findings.expected != findings.given) == differ
    return [*findings.wrong[differ:]]


def test_right_changes_of_vectors_are_no_faults(context: WriteContext) -> None:
    before = written(context, {"a": [1], "b": [2, 3]}, {"c": [0]})
    one, two = (entry.file_name for entry in before)
    nothing = VectorsChange({})
    assert wrong(context, before, nothing) == []
    assert wrong(context, before, nothing, {"a": []}) == [], "where no row is marked nothing need be said"
    assert wrong(context, before, VectorsChange({"d": None}), replaced=["d"]) == []
    marked = VectorsChange({"a": one, "d": None}, (one,), tuple(written(context, {"a": [1, 9], "b": [2, 3], "d": [5]})))
    assert wrong(context, before, marked, {"a": [9], "d": [5]}) == []
    gone = VectorsChange({"a": one, "c": two}, (one, two), tuple(written(context, {"b": [2, 3]})))
    assert wrong(context, before, gone, replaced=["a", "c"]) == []
    assert wrong(context, before, VectorsChange({"c": two}, (two,)), replaced=["c"]) == []


def test_files_that_the_commit_does_not_look_for(context: WriteContext) -> None:
    before = written(context, {"a": [1]})
    name = before[0].file_name
    added = tuple(written(context, {"a": [1, 2]}))
    assert wrong(context, before, VectorsChange({}, (name,), added), {"a": [2]}) == [
        f"a had its vector in {name}, and the commit looks in None"
    ]
    assert wrong(context, before, VectorsChange({"a": "other"}, (name,), added), {"a": [2]}) == [
        f"a had its vector in {name}, and the commit looks in other"
    ]
    # That it had none must be said, too.
    assert wrong(context, before, VectorsChange({}), replaced=["d"]) == [
        "d had its vector in None, and the commit looks in None"
    ]


def test_index_files_that_stay_or_go(context: WriteContext) -> None:
    before = written(context, {"a": [1], "b": [2]}, {"c": [3]})
    one, two = (entry.file_name for entry in before)
    assert wrong(context, before, VectorsChange({}, ("index-x",))) == [
        "index file index-x is removed, but the bucket has no such file"
    ]
    # One is replaced, the other one's file, whose vector changes, stays.
    assert wrong(context, before, VectorsChange({"a": one, "c": two}, (two,)), replaced=["a", "c"]) == [
        f"index file {one} stays, but the vector of a changes"
    ]
    added = tuple(written(context, {"d": [5], "b": [4]}))
    said = wrong(context, before, VectorsChange({"b": one, "d": None}, (), added), {"b": [4], "d": [5]})
    assert said == [f"index file {one} stays, but the vector of b changes"]
    assert wrong(context, before, VectorsChange({"a": one}), replaced=["a"]) == [
        f"index file {one} stays, but the vector of a changes"
    ]


def test_rows_of_a_file_that_goes_are_marked(context: WriteContext) -> None:
    change = VectorsChange({"a": None}, (), tuple(written(context, {"a": [1]})))
    assert wrong(context, [], change, {"a": [1]}, ["a"]) == ["rows of a are marked, but the file is replaced"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": [1]}, ["1 rows of a are deleted, expected are 2 others", "b has no vector, and must have one"]),
        ({"a": [1, 2], "b": [4]}, []),
        ({"a": [1, 2], "b": [5]}, ["1 rows of b are deleted, expected are 1 others"]),
        ({"a": [1, 2], "b": [4], "c": [0]}, ["c has a vector, and must not have one"]),
        ({"b": [4]}, ["a has no vector, and must have one"]),
        ({}, ["a has no vector, and must have one", "b has no vector, and must have one"]),
    ],
)
def test_vectors_that_are_not_due(context: WriteContext, given: dict[str, list[int]], said: list[str]) -> None:
    before = written(context, {"a": [1]})
    change = VectorsChange({"a": before[0].file_name, "b": None}, (before[0].file_name,), ())
    change = dataclasses.replace(change, added=tuple(written(context, given) if given else ()))
    assert sorted(wrong(context, before, change, {"a": [2], "b": [4]})) == sorted(said)


@pytest.mark.parametrize(("row", "said"), [(9, []), (10, ["row 10 of a is deleted, and it has 10"])])
def test_rows_beyond_the_end(context: WriteContext, row: int, said: list[str]) -> None:
    change = VectorsChange({"a": None}, (), tuple(written(context, {"a": [0, row]})))
    assert wrong(context, [], change, {"a": [0, row]}) == said
    unknown = VectorsChange({"z": None}, (), tuple(written(context, {"z": [row]})))
    assert wrong(context, [], unknown, {"z": [row]}) == [], "nobody says how many rows it has"


def test_entries_that_say_something_else(context: WriteContext) -> None:
    (entry,) = written(context, {"a": [1], "b": [2]})
    marked, seen = {"a": [1], "b": [2]}, {"a": None, "b": None}
    size = entry.file_size
    unlike = f"index file {entry.file_name} has {size} bytes and 2 vectors, unlike its entry"
    uncounted = f"index file {entry.file_name} has a vector whose rows are not counted"
    ranges = entry.dv_ranges or ()
    bare = tuple(dataclasses.replace(part, cardinality=None) for part in ranges[:1]) + ranges[1:]
    for changed, said in (
        (entry, []),
        (dataclasses.replace(entry, index_type="HASH"), [unlike]),
        (dataclasses.replace(entry, file_size=size + 1), [unlike]),
        (dataclasses.replace(entry, row_count=3), [unlike]),
        (dataclasses.replace(entry, dv_ranges=bare), [uncounted]),
    ):
        assert wrong(context, [], VectorsChange(seen, (), (changed,)), marked) == said


def test_a_file_with_two_vectors(context: WriteContext) -> None:
    one, other = written(context, {"a": [1]}, {"b": [2], "a": [1]})
    seen: dict[str, str | None] = {"a": None, "b": None}
    assert wrong(context, [], VectorsChange(seen, (), (one, other)), {"a": [1], "b": [2]}) == [
        f"index file {other.file_name} has a vector of a file that has another one"
    ]
    ranges = one.dv_ranges or ()
    twice = dataclasses.replace(one, dv_ranges=ranges * 2, row_count=2)
    assert wrong(context, [], VectorsChange({"a": None}, (), (twice,)), {"a": [1]}) == [
        f"index file {one.file_name} has a vector of a file that has another one"
    ]


def test_files_that_are_not_there(context: WriteContext) -> None:
    """Nothing more is known of them: that is said, and what else is."""
    (entry,) = written(context, {"a": [1]})
    path = Path(context.paths.index_file(entry))
    path.write_bytes(path.read_bytes()[:-5] + b"\xff" * 5)
    said = wrong(context, [], VectorsChange({"a": None}, (), (entry,)), {"a": [1]})
    assert said[0].startswith("the new index files cannot be read again: ")
    assert said[1:] == ["a has no vector, and must have one"]


DELETED = st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, 9), min_size=1), max_size=4)


@settings(max_examples=examples(60))
@given(DELETED, DELETED, st.sets(st.sampled_from("abcd")), st.booleans())
def test_what_tables_write_is_right_and_nothing_else(
    context: WriteContext, held: dict[str, set[int]], marked: dict[str, set[int]], gone: set[str], apart: bool
) -> None:
    """Vectors as `write.deletion_vectors` makes them pass; with one row less, or more, none of them does."""
    parts = [{name: rows} for name, rows in held.items()] if apart else [held]
    before = written(context, *(part for part in parts if part))
    marked = {name: rows for name, rows in marked.items() if name not in gone}
    bitmaps = {name: BitMap(rows) for name, rows in marked.items()}
    change = BucketVectors(context, b"", 0, tuple(before)).change(bitmaps, gone)
    assert wrong(context, before, change, marked, gone) == []
    vectors = BucketVectors(context, b"", 0, change.added).vectors()
    for name, vector in vectors.items():
        rows = set(vector.positions)
        for other in (rows - {min(rows)}, rows ^ {0, 9} if rows != {0, 9} else rows - {9}):
            changed = {n: DeletionVector(FrozenBitMap(other)) if n == name else v for n, v in vectors.items()}
            entries = BucketVectors(context, b"", 0, ())._written(changed)
            assert wrong(context, before, dataclasses.replace(change, added=entries), marked, gone)


def test_digests_are_of_rows_and_their_files(context: WriteContext) -> None:
    """Of what is due, and of what is there."""

    def digests(given: dict[str, list[int]], marked: dict[str, list[int]]) -> tuple[Digest, Digest]:
        change = VectorsChange(dict.fromkeys(marked), (), tuple(written(context, given)))
        proof = VectorsProof(context, [], ROWS)
        with pytest.raises(Findings) as raised:
            proof.check(change, {name: BitMap(rows) for name, rows in marked.items()}, ())
        return raised.value.expected, raised.value.given

    expected, actual = digests({"a": [1, 2], "b": [3]}, {"a": [1]})
    assert (expected.rows, actual.rows) == (1, 3)
    # The same rows of another file are others, and the order of files does not count.
    (one, other), (third, fourth) = digests({"b": [1]}, {"a": [1]}), digests({"a": [1]}, {"b": [1]})
    assert one == fourth != other == third
    swapped = digests({"b": [1], "a": [2]}, {"c": [1]})[1]
    assert swapped == digests({"a": [2], "b": [1]}, {"c": [1]})[1] != digests({"a": [1], "b": [2]}, {"c": [1]})[1]
