"""The LSM tree of a table: a column for each bucket, a row for each level, a box for each file.

Files of level 0 lie under one another, the newest at the top: each is a sorted run. The files of a higher level lie
side by side, since together they are one run. A box is as long as its file is large, on a scale that small files stay
visible on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from maintenance.amounts import number_of, size_text
from maintenance.compaction.levels import run_count
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.scan.split import by_bucket

COLUMN, GAP, LEFT, TOP = 86.0, 12.0, 64.0, 34.0
_THICK, _SPACE, _ROW = 7.0, 2.0, 12.0
_COLUMNS = 40
_FILES = 14
_LEAST = 3.0


@dataclass(frozen=True, slots=True)
class Box:
    """A file, or the rest of many. `kind`: ``level0``, ``level`` or ``more``."""

    x: float
    y: float
    width: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A level as it is drawn."""

    level: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """A bucket. `runs`: sorted runs; `files`, `bytes`: of all levels."""

    place: str
    x: float
    runs: int
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The picture.

    Attributes:
        hidden: buckets that are not drawn: those that are have the most sorted runs.
        width, height: of the whole.
    """

    rows: Sequence[Row]
    columns: Sequence[Column]
    boxes: Sequence[Box]
    hidden: int
    width: float
    height: float

    @property
    def thick(self) -> float:
        return _THICK

    @classmethod
    def of(cls, entries: Sequence[ManifestEntry], place: Callable[[bytes, int], str]) -> Self | None:
        """The tree of the live files. `place`: the name of a bucket; None: there are no files."""
        groups = {key: [entry.file for entry in group] for key, group in by_bucket(entries).items()}
        if not groups:
            return None
        ranked = sorted(groups, key=lambda key: (-run_count([file.level for file in groups[key]]), key))[:_COLUMNS]
        drawn = {key: groups[key] for key in sorted(ranked)}
        rows = _rows(list(drawn.values()))
        scale = _scale(drawn)
        columns, boxes = [], []
        for number, (key, files) in enumerate(drawn.items()):
            x = LEFT + number * (COLUMN + GAP)
            runs = run_count([file.level for file in files])
            columns.append(Column(place(*key), x, runs, len(files), sum(file.file_size for file in files)))
            for row in rows:
                boxes += _boxes([file for file in files if file.level == row.level], row, x, scale)
        height = rows[-1].y + rows[-1].height + 8
        width = LEFT + len(drawn) * (COLUMN + GAP)
        return cls(rows, columns, boxes, len(groups) - len(drawn), width, height)


def _rows(buckets: Sequence[Sequence[DataFileMeta]]) -> list[Row]:
    """The levels that have files, and level 0: from the top down."""
    deepest = max(sum(file.level == 0 for file in files) for files in buckets)
    levels = sorted({0, *(file.level for files in buckets for file in files)})
    rows, y = [], TOP
    for level in levels:
        lines = min(max(deepest, 1), _FILES + 1) if level == 0 else 1
        height = max(_ROW, lines * (_THICK + _SPACE)) + 6
        rows.append(Row(level, y, height))
        y += height + 4
    return rows


def _scale(drawn: Mapping[tuple[bytes, int], Sequence[DataFileMeta]]) -> Callable[[int], float]:
    """Bytes of a run to the length of its box."""
    sizes = [0]
    for files in drawn.values():
        by_level: dict[int, int] = {}
        for file in files:
            by_level[file.level] = by_level.get(file.level, 0) + file.file_size
            sizes.append(file.file_size)
        sizes += [size for level, size in by_level.items() if level]
    most = math.sqrt(max(sizes)) or 1.0
    return lambda size: max(_LEAST, COLUMN * math.sqrt(size) / most)


def _boxes(files: Sequence[DataFileMeta], row: Row, x: float, scale: Callable[[int], float]) -> list[Box]:
    if row.level:
        return _side_by_side(files, row, x, scale)
    newest_first = sorted(files, key=lambda file: -file.max_sequence_number)
    boxes = [
        Box(round(x, 1), row.y + 3 + number * (_THICK + _SPACE), round(scale(file.file_size), 1), "level0", _text(file))
        for number, file in enumerate(newest_first[:_FILES])
    ]
    if len(files) > _FILES:
        y = row.y + 3 + _FILES * (_THICK + _SPACE)
        boxes.append(Box(round(x, 1), y, COLUMN, "more", f"{number_of(len(files) - _FILES, 'more file')} of level 0"))
    return boxes


def _side_by_side(files: Sequence[DataFileMeta], row: Row, x: float, scale: Callable[[int], float]) -> list[Box]:
    total = sum(file.file_size for file in files)
    if not files:
        return []
    whole, shown = scale(total), sorted(files, key=lambda file: -file.file_size)[: 2 * _FILES]
    boxes, at = [], x
    for file in shown:
        width = max(1.0, whole * file.file_size / (total or 1) - 1)
        boxes.append(Box(round(at, 1), row.y + 3, round(width, 1), "level", _text(file)))
        at += width + 1
    return boxes


def _text(file: DataFileMeta) -> str:
    return f"{file.file_name}: level {file.level}, {size_text(file.file_size)}, {number_of(file.row_count, 'row')}"
