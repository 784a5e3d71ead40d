"""Pack golden cases into archives: ``python -m tests.golden.pack FOLDER``, each in a `FOLDER/<case>` of its own.

The same folders give the same archives, byte by byte, wherever and whenever they are packed.
"""

import sys
import tarfile
from pathlib import Path

from tests.golden.case import CASES


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member without owner, time and permissions of the machine that packs."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def pack(case: Path, archive: Path) -> None:
    """Pack one case, its `expected.json` first, so that it is read without the rest."""
    with tarfile.open(archive, "w:xz", preset=9) as target:
        members = sorted(path for path in case.rglob("*") if path.name != "expected.json")
        for path in [case / "expected.json", *members]:
            name = f"{case.name}/{path.relative_to(case).as_posix()}"
            target.add(path, arcname=name, recursive=False, filter=plain)


def main(folder: Path) -> None:
    for expected in sorted(folder.glob("*/expected.json")):
        pack(expected.parent, CASES / f"{expected.parent.name}.tar.xz")
        print(expected.parent.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
