"""The filters of Spark's queries on a table, from event logs (`spark.eventLog.enabled`).

A log is JSON, an event in a line; each query that starts has its plan there. What counts is the condition of a Filter
right above a scan of the table. Our own format is called `paimon` in a plan, whatever the table: such a scan is taken
to be of the table that has exactly these columns. The scans of Paimon's connector for Java name theirs.

A plan prints values without quotes: ``(city#5 = Oslo)``. So a condition is read by all ways in which its brackets could
pair, and the first one that uses up the text counts. Parts that are no conditions of one column are left out where that
makes the filter weaker, as behind AND; otherwise the filter is.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from io import BufferedReader, RawIOBase
from typing import Any

import pyarrow as pa

from maintenance.errors import CorruptFileError, OptionError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

_STARTS = b"SparkListenerSQLExecutionStart"
_LONGEST_LINE = 64 << 20
_MOST_FILTERS, _LONGEST_FILTER = 10_000, 20_000
_CUT_OFF = re.compile(r"\.\.\. \d+ more fields")
# Nodes between a Filter and its scan that rename no column.
_BETWEEN = ("InputAdapter", "WholeStageCodegen", "ColumnarToRow", "Filter")
_SCAN = re.compile(r"BatchScan (?P<name>.*?)\[(?P<columns>[^\]]*)\] (?P<description>.*)", re.DOTALL)
_NAMED = re.compile(r"Paimon\w*Scan: \[(?P<name>[^\]]+)\]")
_OWN = "(Python)"


@dataclass(frozen=True, slots=True)
class LoggedFilters:
    """What logs have of a table. `filters`: as SQL, the most frequent first; `queries`: with a scan of the table."""

    filters: tuple[str, ...]
    queries: int


def logged_filters(table: Table, path: str, most: int) -> LoggedFilters:
    """The filters of queries on a table, in one log or in all that lie in a folder.

    Raises: OptionError: there is no log; UnsupportedError: of its compression.
    """
    found: Counter[str] = Counter()
    queries = 0
    for plan in _plans(table.file_io, path):
        scans = list(_scans(table, plan, ()))
        queries += bool(scans)
        for conditions in scans:
            written = [said for text in conditions if (said := condition(text, table.schema.fields)) is not None]
            # What is new is left out once there are too many, so that a log of any size fits.
            if written and (len(found) < _MOST_FILTERS or " AND ".join(written) in found):
                found[" AND ".join(written)] += 1
    return LoggedFilters(tuple(text for text, _ in found.most_common(most)), queries)


def _plans(file_io: FileIO, path: str) -> Iterator[Mapping[str, Any]]:
    """The plans of all queries."""
    for file in _files(file_io, path):
        with closing(_opened(file_io, file)) as lines:
            while line := _line(lines, file):
                if _STARTS in line[:200]:
                    try:
                        plan = json.loads(line).get("sparkPlanInfo")
                    except ValueError:
                        # A line that is being written, or is too long.
                        continue
                    if isinstance(plan, dict):
                        yield plan


def _line(lines: BufferedReader, file: str) -> bytes:
    """The next one; what is beyond the longest is passed over."""
    try:
        line = lines.readline(_LONGEST_LINE)
        if len(line) == _LONGEST_LINE:
            while rest := lines.readline(_LONGEST_LINE):
                if rest.endswith(b"\n"):
                    break
    except OSError as error:
        if "runcated" in str(error):
            # The application still runs: what is compressed ends within a block.
            return b""
        raise CorruptFileError(f"the event log cannot be decompressed: {error}", file, "Leave it out.") from error
    return line


def _files(file_io: FileIO, path: str) -> Sequence[str]:
    """A log itself, or all in a folder, those that are rolled too, in the order of their names."""
    if not file_io.folder_exists(path):
        if file_io.size(path) is None:
            raise OptionError("there is no event log", path, "Name one, or the folder of spark.eventLog.dir.")
        return [path]
    root = path.rstrip("/")
    return [f"{root}/{each.path}" for each in file_io.list_tree(path) if each.size and _is_log(each.name)]


def _is_log(name: str) -> bool:
    return not name.startswith((".", "_", "appstatus"))


def _opened(file_io: FileIO, file: str) -> BufferedReader:
    source: Any = file_io.open_input(file)
    name = file.removesuffix(".inprogress")
    if name.endswith((".zstd", ".zst")):
        source = pa.CompressedInputStream(source, "zstd")
    elif name.endswith(".lz4"):
        source = _Lz4Blocks(source, file)
    elif name.endswith((".snappy", ".lzf")):
        problem = f"an event log that is compressed by {name.rpartition('.')[2]}"
        raise UnsupportedError(problem, file, "Set spark.eventLog.compression.codec to zstd or lz4.")
    return BufferedReader(source, 1 << 20)


class _Lz4Blocks(RawIOBase):
    """Blocks as lz4-java frames them: a magic text, token, lengths with and without compression, checksum, content."""

    _MAGIC, _RAW = b"LZ4Block", 0x10

    def __init__(self, source: Any, file: str) -> None:
        self._source, self._file, self._rest = source, file, memoryview(b"")
        self._codec = pa.Codec("lz4_raw")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._source.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            head = self._source.read(21)
            if len(head) < 21:
                return 0
            if head[:8] != self._MAGIC:
                raise CorruptFileError("the event log is not LZ4 as Spark writes it", self._file, "Leave it out.")
            packed, plain = (int.from_bytes(head[start : start + 4], "little") for start in (9, 13))
            body = self._source.read(packed)
            if len(body) < packed:
                return 0
            is_raw = head[8] & 0xF0 == self._RAW
            self._rest = memoryview(body if is_raw or not plain else self._codec.decompress(body, plain, asbytes=True))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _scans(table: Table, node: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The conditions of the Filters above each scan of the table."""
    name, text = str(node.get("nodeName", "")), str(node.get("simpleString", ""))
    if name.startswith("BatchScan"):
        if _is_of(table, text):
            yield above
        return
    if name == "Filter":
        above = (*above, text.removeprefix("Filter "))
    elif not name.startswith(_BETWEEN):
        above = ()
    for child in node.get("children", ()):
        yield from _scans(table, child, above)


def _is_of(table: Table, text: str) -> bool:
    scan = _SCAN.fullmatch(text)
    if scan is None:
        return False
    named = _NAMED.match(scan["description"])
    if named is not None:
        whole = table.identifier
        names = {named["name"], scan["name"]}
        qualified = [name for name in names if "." in name]
        if qualified:
            return any(name == whole or name.endswith(f".{whole}") for name in qualified)
        return whole.rpartition(".")[2] in names
    if not scan["description"].startswith(_OWN):
        return False
    cut = _CUT_OFF.sub("", scan["columns"])
    columns = [re.sub(r"#\d+L?$", "", column.strip()) for column in cut.split(", ") if column.strip()]
    own = list(table.schema.field_names)
    return columns == (own if cut == scan["columns"] else own[: len(columns)])


def condition(text: str, fields: Sequence[DataField]) -> str | None:
    """A condition as Spark prints it in a plan, as SQL; None where nothing of it is one of a column and a value."""
    if len(text) > _LONGEST_FILTER or _CUT_OFF.search(text):
        return None
    try:
        ways = _Printed(text, {field.name: field for field in fields}).ways(0)
    except RecursionError:
        return None
    return {end: said.text for said, end in ways}.get(len(text))


@dataclass(frozen=True, slots=True)
class _Said:
    """A condition. `text`: as SQL, None: nothing is said; `is_whole`: it says all that was printed."""

    text: str | None
    is_whole: bool = True


_NOTHING = _Said(None, False)
_COLUMN = re.compile(r"(?P<column>[^\s()#,]+)#\d+L?(?![.\[\w])")
_COMPARISON = re.compile(rf"\({_COLUMN.pattern} (?P<operator><=>|<=|>=|=|<|>) ")
_NULL_TEST = re.compile(rf"(?P<test>isnotnull|isnull)\({_COLUMN.pattern}\)")
_TEXT_TEST = re.compile(rf"(?P<test>StartsWith|EndsWith|Contains)\({_COLUMN.pattern}, ")
_WITHIN = re.compile(rf"{_COLUMN.pattern} (?P<test>IN \(|INSET )")
_ENDS = re.compile(r"\)| AND | OR |$")


class _Printed:
    """A printed condition and how it can be read."""

    def __init__(self, text: str, fields: Mapping[str, DataField]) -> None:
        self._text, self._fields = text, fields
        self._known: dict[int, list[tuple[_Said, int]]] = {}

    def ways(self, start: int) -> list[tuple[_Said, int]]:
        """The conditions that could begin here, and where each ends."""
        if start not in self._known:
            self._known[start] = []
            by_end: dict[int, _Said] = {}
            for said, end in (*self._read(start), *self._passed_over(start)):
                by_end.setdefault(end, said)
            self._known[start] = [(said, end) for end, said in by_end.items()]
        return self._known[start]

    def _read(self, start: int) -> Iterator[tuple[_Said, int]]:
        text = self._text
        if text.startswith("NOT ", start):
            for said, end in self.ways(start + 4):
                yield _Said(f"NOT ({said.text})") if said.is_whole and said.text is not None else _NOTHING, end
        elif found := _NULL_TEST.match(text, start):
            # Spark asks for what is not null beside each comparison and join: that says nothing new.
            is_null = f"{_quoted(found['column'])} IS NULL" if found["test"] == "isnull" else None
            yield self._of(found, is_null), found.end()
        elif found := _COMPARISON.match(text, start):
            for end in self._brackets(found.end()):
                value = self._value(found["column"], text[found.end() : end])
                written = None if value is None else f"{_quoted(found['column'])} {found['operator']} {value}"
                yield self._of(found, written), end + 1
        elif found := _TEXT_TEST.match(text, start):
            for end in self._brackets(found.end()):
                value = self._value(found["column"], text[found.end() : end])
                written = None if value is None else f"{found['test'].lower()}({_quoted(found['column'])}, {value})"
                yield self._of(found, written), end + 1
        elif found := _WITHIN.match(text, start):
            yield from self._within(found)
        elif (found := _COLUMN.match(text, start)) and self._is_boolean(found["column"]):
            yield self._of(found, f"{_quoted(found['column'])} = true"), found.end()
        elif text.startswith("(", start):
            yield from self._joined(start)

    def _joined(self, start: int) -> Iterator[tuple[_Said, int]]:
        for left, middle in self.ways(start + 1):
            for word in (" AND ", " OR "):
                if not self._text.startswith(word, middle):
                    continue
                for right, end in self.ways(middle + len(word)):
                    if self._text.startswith(")", end):
                        yield _both(left, right, word), end + 1

    def _within(self, found: re.Match[str]) -> Iterator[tuple[_Said, int]]:
        is_short = found["test"] == "IN ("
        ends = self._brackets(found.end()) if is_short else (e.start() for e in _ENDS.finditer(self._text, found.end()))
        for end in ends:
            texts = self._text[found.end() : end].split("," if is_short else ", ")
            values = [self._value(found["column"], each) for each in texts]
            listed = None if None in values else ", ".join(value for value in values if value is not None)
            said = None if listed is None else f"{_quoted(found['column'])} IN ({listed})"
            yield self._of(found, said), end + (1 if is_short else 0)

    def _passed_over(self, start: int) -> Iterator[tuple[_Said, int]]:
        """What is no condition of a column and a value ends where its brackets are closed."""
        depth = 0
        for found in re.compile(r"[()]|$| AND | OR ").finditer(self._text, start):
            if depth == 0 and found[0] not in ("(", ""):
                yield _NOTHING, found.start()
                if found[0] == ")":
                    return
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0 and found[0] in (")", ""):
                yield _NOTHING, found.end()

    def _brackets(self, start: int) -> Iterator[int]:
        return (found.start() for found in re.compile(r"\)").finditer(self._text, start))

    def _of(self, found: re.Match[str], text: str | None) -> _Said:
        if found["column"] not in self._fields or text is None:
            # That something is not null is implied by its comparison.
            return _Said(None, is_whole=False)
        return _Said(text)

    def _is_boolean(self, column: str) -> bool:
        return column in self._fields and self._fields[column].type.root == "BOOLEAN"

    def _value(self, column: str, text: str) -> str | None:
        """A printed value as a literal; None: it is none of the column's type."""
        field = self._fields.get(column)
        if field is None:
            return None
        if field.type.is_string:
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if field.type.root in ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ"):
            return f"'{text}'" if re.fullmatch(r"[-+]?\d[\d\-: .]*", text) else None
        if field.type.root == "BOOLEAN":
            return text if text in ("true", "false") else None
        try:
            return text if Decimal(text).is_finite() else None
        except InvalidOperation:
            return None


def _both(left: _Said, right: _Said, word: str) -> _Said:
    texts = [said.text for said in (left, right) if said.text is not None]
    is_whole = left.is_whole and right.is_whole
    if word == " OR " and len(texts) < 2:
        return _NOTHING
    if not texts:
        return _Said(None, is_whole=is_whole)
    if len(texts) == 1:
        return _Said(texts[0], is_whole=is_whole)
    return _Said(f"({word.join(texts)})" if word == " OR " else word.join(texts), is_whole=is_whole)


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
