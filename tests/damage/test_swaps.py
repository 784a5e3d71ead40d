"""Files that hold each other's content: whatever deletes then deletes nothing that a snapshot, tag or branch needs.

Each table has two files of one format exchanged: of every kind with every kind. Then an operation that deletes runs.
It may refuse, and then every file is there. If it does its work, all that is still needed must be there: for the table
as it was found, and for the table with the two files back in their places.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from maintenance.metadata.branches import Branches
from tests.damage.swaps import DELETING, TABLES, Change, exchange, kind_of, one_of_each_two_kinds, pairs
from tests.examples import PROFILE
from tests.models.reachable import needed_files
from tests.small_tables import rows, rows_at, rows_of_tag, table_in

APPLIES = {
    "vectors": [name for name in DELETING if "branch" not in name and "fast" not in name and "changelog" not in name]
}
CASES = [(table, change) for table in TABLES for change in APPLIES.get(table, DELETING)]


@dataclass(frozen=True)
class Original:
    """A table that tests copy. `root`: of the table; `files`: content by path, relative to the root."""

    root: Path
    files: dict[str, bytes]

    def copied(self, folder: Path) -> CatalogTable:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root, folder / "db.db" / "t")
        return table_in(folder)


@pytest.fixture(scope="module")
def original_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Original]:
    folder = tmp_path_factory.mktemp("originals")

    @cache
    def made(name: str) -> Original:
        root = Path(TABLES[name](folder / name).location)
        return Original(root, contents(root))

    return made


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def relative(table: CatalogTable, paths: set[str]) -> set[str]:
    return {os.path.relpath(path, table.location) for path in paths}


def holders(table: CatalogTable) -> dict[str, set[str]]:
    """What each snapshot, tag and changelog needs that can be read: all of it there, itself among it."""
    collected = {}
    for record, needed in needed_files(table).items():
        if needed is not None and all(os.path.exists(path) for path in needed):
            collected[record] = relative(table, {record, *needed})
    return collected


def kept_by(change: Change, original: Original, folder: Path) -> dict[str, bytes]:
    """The files that are still needed after the change of an intact table, with what is in them."""
    table = original.copied(folder)
    change(table)
    after = contents(Path(table.location))
    needed = {path for paths in holders(table).values() for path in paths}
    return {path: after[path] for path in needed if original.files.get(path) == after[path]}


def tell_apart(original: Original, one: str, other: str) -> bool:
    """Whether anything in the format says which of two files is which, so that the exchange can be noticed."""
    kinds = {kind_of(one).removeprefix("branch's "), kind_of(other).removeprefix("branch's ")}
    if kinds <= {"tag", "consumer"}:
        return False
    if kinds == {"snapshot"} and os.path.basename(one) == os.path.basename(other):
        return False
    of_a_size = len(original.files[one]) == len(original.files[other])
    return not (of_a_size and len(kinds) == 1 and kinds.isdisjoint({"snapshot", "schema", "changelog"}))


def attempt(change: Change, table: CatalogTable) -> PaimonError | None:
    try:
        change(table)
    except PaimonError as error:
        return error
    return None


def check(change: Change, original: Original, kept: dict[str, bytes], folder: Path, pair: tuple[str, str]) -> bool:
    """Run a change on a table with two files exchanged. Returns whether it was refused."""
    table = original.copied(folder)
    root = Path(table.location)
    exchange(root, *pair)
    before, there = contents(root), holders(table)
    error = attempt(change, table)
    after = contents(root)
    if error is not None:
        assert error.fix, pair
        assert before.items() <= after.items(), (pair, error, before.keys() - after.keys())
        return True
    for record, needed in there.items():
        name = os.path.relpath(record, root)
        if after.get(name) == before[name]:
            assert needed <= after.keys(), (pair, name, needed - after.keys())
    if tell_apart(original, *pair):
        if all(name in after for name in pair) and original.files[pair[0]] != original.files[pair[1]]:
            exchange(root, *pair)
            after = contents(root)
        lost = {path for path, content in kept.items() if after.get(path) != content}
        assert not lost, (pair, lost)
    return False


def run(
    original: Original, change: str, folder: Path, chosen: Iterator[tuple[str, str]] | list[tuple[str, str]]
) -> None:
    kept = kept_by(DELETING[change], original, folder / "intact")
    assert len(kept) > 5
    refused = [check(DELETING[change], original, kept, folder / "swapped", pair) for pair in chosen]
    assert any(refused)


def states(table: CatalogTable) -> Iterator[tuple[str, Callable[[], list[tuple[int, str]]]]]:
    """How to read each state of a table, by the path of what names it."""
    yield "", lambda: rows(table)
    for number in (4, 5):
        yield f"snapshot/snapshot-{number}", partial(rows_at, table, number)
    for name in ("two", "five"):
        yield f"tag/tag-{name}", partial(rows_of_tag, table, name)
    if "b" in Branches(table.file_io, table.paths).names():
        yield "branch/branch-b", lambda: rows(table.on_branch("b"))


@pytest.mark.parametrize("name", TABLES)
def test_reads_of_swapped_files_give_the_right_rows_or_an_error(
    original_of: Callable[[str], Original], tmp_path: Path, name: str
) -> None:
    """The right rows, or an error of ours. A tag may hold any state, an index manifest any vectors of live files."""
    original = original_of(name)
    expected = {named: read() for named, read in states(original.copied(tmp_path / "intact"))}
    refused = 0
    for pair in pairs(original.root, of_a_kind=2):
        kinds = {kind_of(path).removeprefix("branch's ") for path in pair}
        if not tell_apart(original, *pair) or kinds == {"index-manifest"}:
            continue
        table = original.copied(tmp_path / "swapped")
        exchange(Path(table.location), *pair)
        for named, read in states(table):
            if named in pair and "tag" in kinds:
                continue
            with suppress(PaimonError):
                assert read() == expected[named], (pair, named)
                continue
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(("table", "change"), CASES)
def test_no_swap_makes_an_operation_delete_what_is_needed(
    original_of: Callable[[str], Original], tmp_path: Path, table: str, change: str
) -> None:
    """Each pair with one of the operations."""
    original = original_of(table)
    changes = [name for case, name in CASES if case == table]
    run(original, change, tmp_path, list(pairs(original.root, of_a_kind=2))[changes.index(change) :: len(changes)])


@pytest.mark.slow
@pytest.mark.parametrize(("table", "change"), CASES)
def test_swaps_of_every_two_kinds(
    original_of: Callable[[str], Original], tmp_path: Path, table: str, change: str
) -> None:
    """One pair of every kind with every kind; for a night (``thorough``) all of them.

    What fails names the pair. The names of the files are new in each run, so the same draw may be of others.
    """
    original = original_of(table)
    every, dice = pairs(original.root, of_a_kind=3), Random(f"{table} {change}")
    run(original, change, tmp_path, every if PROFILE == "thorough" else one_of_each_two_kinds(original.root, dice))
