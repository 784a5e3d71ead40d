"""Golden cases: tables that Apache Paimon 2.0.0 wrote, and what its Java core read from them.

A case is an archive `cases/<case>.tar.xz`: `<case>/expected.json` is its first member, `<case>/warehouse` follows.
`written_by_pypaimon` was written by pypaimon 2.1.0 instead; `schema_old_versions` has schema files of older Paimons.
Values in `expected.json` have the forms that `tests/golden/canonical.py` describes.
"""

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
_SUFFIX = ".tar.xz"


@dataclass(frozen=True)
class GoldenRead:
    """One read and its result.

    Attributes:
        how: `table` with its suffix, dynamic `options`; where given `projection`, `predicate` (a nested list), `sql`.
        types: Paimon's type texts of `columns`.
        rows: a multiset of rows in canonical form; `{warehouse}` stands for the path of the warehouse.
    """

    case: str
    name: str
    how: dict[str, Any]
    columns: list[str]
    types: list[str]
    rows: list[list[Any]]

    @cached_property
    def id(self) -> str:
        return f"{self.case}:{self.name}"


def case_names() -> list[str]:
    return sorted(path.name.removesuffix(_SUFFIX) for path in CASES.glob(f"*{_SUFFIX}"))


def golden_reads() -> Iterator[GoldenRead]:
    """Every read of every case."""
    for case in case_names():
        for read in _expected(case)["reads"]:
            yield GoldenRead(case, read["name"], read["how"], read["columns"], read["types"], read["rows"])


def extract(case: str, folder: Path) -> Path:
    """Unpack a case below `folder`. Returns its warehouse."""
    with tarfile.open(CASES / f"{case}{_SUFFIX}") as archive:
        archive.extractall(folder, filter="data")
    return folder / case / "warehouse"


def contents(case: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a case that end so, without unpacking it."""
    with tarfile.open(CASES / f"{case}{_SUFFIX}") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(suffix) else None
            if file is not None:
                yield member.name, file.read()


def _expected(case: str) -> dict[str, Any]:
    with tarfile.open(CASES / f"{case}{_SUFFIX}", "r|xz") as archive:
        first = archive.next()
        assert first is not None
        assert first.name == f"{case}/expected.json"
        content = archive.extractfile(first)
        assert content is not None
        document: dict[str, Any] = json.load(content)
        return document
