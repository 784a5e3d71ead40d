"""Ways in which files are damaged, and the files of a table by what they are."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What a file is, by the first part of its path or the first words of its name.
JSON_FOLDERS = ("schema", "snapshot", "tag", "changelog", "consumer")


@dataclass(frozen=True)
class Damage:
    """A new content of a file. `content`: None = the file is gone; `lossy`: bytes are missing, not only others."""

    name: str
    content: bytes | None
    lossy: bool


def damages(content: bytes) -> Iterator[Damage]:
    """Damages of a file with that content, always the same."""
    yield Damage("gone", None, lossy=True)
    if not content:
        return
    yield Damage("empty", b"", lossy=True)
    for name, end in (("a third", len(content) // 3), ("all but a byte", len(content) - 1)):
        if 0 < end < len(content):
            yield Damage(f"cut to {name}", content[:end], lossy=True)
    drawn = random.Random(len(content))
    for number in range(2):
        bit = drawn.randrange(8 * len(content))
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield Damage(f"flipped bit {number}", bytes(changed), lossy=False)
    yield Damage("zeros", bytes(len(content)), lossy=True)
    yield Damage("noise", drawn.randbytes(200), lossy=True)


def kind_of(path: str) -> str:
    """What a file of a table is. `path`: relative to the table's root."""
    parts = path.split("/")
    if parts[0] in JSON_FOLDERS:
        return "hint" if parts[-1] in ("LATEST", "EARLIEST") else parts[0]
    if parts[0] == "manifest":
        return parts[-1][:-39].rstrip("-")
    if parts[0] in ("index", "statistics", "branch"):
        return parts[0]
    return f"{parts[-1].split('-')[0]} file (.{parts[-1].rsplit('.', 1)[-1]})"


def one_of_each_kind(root: Path) -> list[str]:
    """The first and the last file of each kind below a table's root, relative to it."""
    collected: dict[str, list[str]] = {}
    for path in sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()):
        collected.setdefault(kind_of(path), []).append(path)
    return [path for paths in collected.values() for path in dict.fromkeys((paths[0], paths[-1]))]
