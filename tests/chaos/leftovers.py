"""Which files are left that nothing names, and whether a process that was killed can have left them.

A process that is killed leaves the files it was writing, and nobody can know them but by their age. So a file that
nothing names must have been changed while an operation ran that never came to its end: from its entry in the journal to
the death of its process. The files of a deleted branch belong to nobody either; the journal has their names. The Java
core leaves manifests of attempts that came second; names tell them from ours, since all of one commit share an UUID.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from maintenance.catalog import CatalogTable
from tests.chaos.journal import Entry
from tests.chaos.observer import Seen
from tests.chaos.processes import Death
from tests.chaos.workload import JAVA
from tests.chaos.writer import COMMIT
from tests.models.reachable import unreachable_files

# The kernel dates files by a clock that lags a few milliseconds behind.
_LAG = 50_000_000


# In a name of a manifest or of a list of manifests.
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Unended:
    """An operation that did not come to its end. Times: nanoseconds since 1970."""

    name: str
    task: str
    begun: int
    ended: int

    def may_have_left(self, changed: int) -> bool:
        return self.begun - _LAG <= changed <= self.ended + _LAG


def unended(journals: Mapping[str, Sequence[Entry]], deaths: Iterable[Death]) -> list[Unended]:
    """Operations that were killed, or that failed in a way that leaves open whether they were committed."""
    died = {(death.name, death.incarnation): death.wall for death in deaths}
    collected = []
    for name, entries in journals.items():
        open_since: dict[int, Entry] = {}
        for entry in entries:
            if entry["what"] == "begin":
                open_since[entry["incarnation"]] = entry
            elif entry["what"] in ("done", "failed"):
                begun = open_since.pop(entry["incarnation"], None)
                if begun is not None and entry["what"] == "failed" and _is_open(name, entry):
                    collected.append(Unended(name, entry["task"], begun["wall"], entry["wall"]))
        for incarnation, entry in open_since.items():
            if (name, incarnation) in died:
                collected.append(Unended(name, entry["task"], entry["wall"], died[name, incarnation]))
    return collected


def _is_open(name: str, entry: Entry) -> bool:
    return name == "java" or "No space left on device" in entry["text"]


def attempts_of_java(journals: Mapping[str, Sequence[Entry]]) -> list[Unended]:
    """Java's commits that came to their end: some of their attempts may have come second."""
    begun: dict[int, Entry] = {}
    collected = []
    for entry in journals.get(JAVA, ()):
        if entry.get("task") == COMMIT and entry["what"] == "begin":
            begun[entry["number"]] = entry
        elif entry.get("task") == COMMIT and entry["what"] == "done" and entry["number"] in begun:
            collected.append(Unended(JAVA, COMMIT, begun[entry["number"]]["wall"], entry["wall"]))
    return collected


def uuids_of(seen: Iterable[Seen]) -> set[str]:
    """The UUIDs of all commits of ours: of their manifests and lists."""
    names = (json.loads(one.content)["deltaManifestList"] for one in seen if one.user != JAVA)
    return {match.group() for match in map(_UUID.search, names) if match}


def leftovers(
    table: CatalogTable,
    journals: Mapping[str, Sequence[Entry]],
    deaths: Iterable[Death],
    of_branches: Collection[str],
    ours: Collection[str],
) -> Iterator[tuple[str, str]]:
    """Files that nothing names, with who may have left them; ``""`` if nobody can have.

    Args: `of_branches`: what branches named that were deleted at the end; `ours`: UUIDs of our own commits.
    """
    second = attempts_of_java(journals)
    # Those that write data files first: a tag leaves next to nothing.
    operations = sorted(
        (part for part in unended(journals, deaths) if part.task != "remove_orphan_files"),
        key=lambda part: part.task.endswith(("tag", "tags", "branch")),
    )
    known = {path for entries in journals.values() for e in entries if e["what"] == "leaves" for path in e["files"]}
    for path in sorted({*unreachable_files(table), *_hidden(table)}):
        changed = os.stat(path).st_mtime_ns
        left = next((part for part in operations if part.may_have_left(changed)), None)
        if left is not None:
            yield path, f"{left.task} of {left.name}"
        elif path in known or path in of_branches:
            yield path, "a deleted branch"
        elif "/tag/." in path and any("tag" in part.task for part in operations):
            # It was a second name of the tag, which got a new time when it was moved away.
            yield path, "a tag that was being made"
        elif "/branch/." in path and any(part.task.endswith("branch") for part in operations):
            yield path, "a branch that was being made or deleted"
        elif _is_of_java(path, ours) and any(part.may_have_left(changed) for part in second):
            yield path, "an attempt of Java's that came second"
        else:
            yield path, ""


def _is_of_java(path: str, ours: Collection[str]) -> bool:
    """Whether a file is metadata that no commit of ours has written, but for those that never came to their end."""
    match = _UUID.search(os.path.basename(path))
    return os.path.basename(os.path.dirname(path)) == "manifest" and match is not None and match.group() not in ours


def _hidden(table: CatalogTable) -> set[str]:
    """Temporary files, whose names start with a dot."""
    actual = (os.path.join(folder, name) for folder, _, names in os.walk(table.location) for name in names)
    return {path for path in actual if "/." in path.removeprefix(table.location)}
