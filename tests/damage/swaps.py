"""Tables with files of every kind, pairs of files that are exchanged, and the operations that delete."""

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import combinations_with_replacement
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_changelogs import expire_changelogs
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.rollback_to import rollback_to
from tests.small_tables import put, small_table, table_in

Change = Callable[[CatalogTable], object]


def keyed(folder: Path) -> CatalogTable:
    """Changelog 1, snapshots 2 to 8 with a compaction, tags of 1, 2 and 5, a branch that starts with 2, consumers."""
    table = small_table(folder, {"bucket": "1", "changelog-producer": "input"})
    put(table, {1: "a"})
    create_tag(table, "one")
    put(table, {1: "b", 2: "bb"})
    create_tag(table, "two")
    create_branch(table, "b", tag="two")
    for number, value in enumerate(("c", "dd", "eee")):
        put(table, {1: value, **dict.fromkeys(range(3, 4 + number), value)})
        if value == "eee":
            create_tag(table, "five")
    compact(None, table, full=True)
    for number in (9, 10):
        put(table, dict.fromkeys(range(number, 2 * number), "z"))
    branch = table.on_branch("b")
    put(branch, dict.fromkeys(range(20, 40), "branch"))
    put(branch, dict.fromkeys(range(50, 90), "branch"))
    for name, following in (("slow", 7), ("quick", 9)):
        table.consumers.record(name, following)
    kept = table.copy({"changelog.num-retained.max": "100", "snapshot.num-retained.max": "7"})
    expire_snapshots(kept, retain_max=7, retain_min=1)
    # Else the expiries of the tests would stop at the consumers.
    table.consumers.remove(["slow"])
    table.consumers.record("slow", 9)
    return table_in(folder)


def vectors(folder: Path) -> CatalogTable:
    """An append table whose rows were deleted three times: index manifests, deletion vectors; tags of 2, 3 and 5."""
    table = small_table(folder, {"deletion-vectors.enabled": "true", "file.format": "avro"}, primary_key=False)
    for start in (0, 10):
        put(table, dict.fromkeys(range(start, start + 10), f"v{start}"))
    create_tag(table, "two")
    for number, where in enumerate(("k = 3", "k > 15", "k IN (1, 12)"), 3):
        table.delete(where)
        if number != 4:
            create_tag(table, {3: "three", 5: "five"}[number])
    compact(None, table, full=True)
    put(table, {30: "x"})
    return table_in(folder)


TABLES: Mapping[str, Callable[[Path], CatalogTable]] = {"keyed": keyed, "vectors": vectors}


def expire(count: int) -> Change:
    return lambda table: expire_snapshots(table, retain_min=1, retain_max=count)


DELETING: Mapping[str, Change] = {
    "expire all but one": expire(1),
    "expire all but three": expire(3),
    "delete_tag": lambda table: delete_tag(table, "two"),
    "expire_tags": lambda table: expire_tags(table, older_than=datetime(2199, 1, 1)),
    "replace_tag": lambda table: replace_tag(table, "two", snapshot_id=6),
    "rollback_to a snapshot": lambda table: rollback_to(table, snapshot_id=4),
    "rollback_to a tag": lambda table: rollback_to(table, tag="two"),
    "expire_changelogs": lambda table: expire_changelogs(table, delete_all=True),
    "delete_branch": lambda table: delete_branch(table, "b"),
    "fast_forward": lambda table: fast_forward(table, "b"),
}


def kind_of(path: str) -> str:
    """What a file is, and of which branch. `path`: relative to the table's root."""
    parts = path.split("/")
    if parts[0] == "branch":
        return f"branch's {kind_of('/'.join(parts[2:]))}"
    if parts[-1] in ("LATEST", "EARLIEST"):
        return f"{parts[0]} hint"
    if parts[0] == "manifest":
        return parts[-1][:-39].rstrip("-")
    if parts[0].startswith("bucket"):
        return f"{parts[-1].split('-')[0]} file"
    return parts[0]


def by_format(root: Path) -> list[list[str]]:
    """The files of a table by what they begin with: one format each, paths relative to the root."""
    collected: dict[bytes, list[str]] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        head = path.read_bytes()[:3]
        collected.setdefault(b"" if head[:1].isdigit() else head, []).append(str(path.relative_to(root)))
    return list(collected.values())


def pairs(root: Path, *, of_a_kind: int) -> Iterator[tuple[str, str]]:
    """Two files of one format each: of every kind with every kind, the first and last ones of them."""
    for paths in by_format(root):
        kinds: dict[str, list[str]] = {}
        for path in paths:
            kinds.setdefault(kind_of(path), []).append(path)
        some = {kind: list(dict.fromkeys([*actual[: of_a_kind - 1], actual[-1]])) for kind, actual in kinds.items()}
        for one, other in combinations_with_replacement(some, 2):
            yield from {(min(a, b), max(a, b)) for a in some[one] for b in some[other] if a != b}


def one_of_each_two_kinds(root: Path, dice: random.Random) -> list[tuple[str, str]]:
    """Of every kind with every kind one pair, drawn."""
    collected: dict[frozenset[str], list[tuple[str, str]]] = {}
    for pair in pairs(root, of_a_kind=3):
        collected.setdefault(frozenset(map(kind_of, pair)), []).append(pair)
    return [dice.choice(drawn) for drawn in collected.values()]


def exchange(root: Path, one: str, other: str) -> None:
    """Let two files hold each other's content."""
    aside = root / f"{one}.aside"
    shutil.move(root / one, aside)
    shutil.move(root / other, root / one)
    shutil.move(aside, root / other)
