"""What must hold of the files that a rewrite replaces and writes: levels, key ranges, and what their bytes say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import orc
from pyarrow import parquet as pq

from maintenance.compaction.plan import BucketCompaction, UpgradeStep
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.observer import HEAD_ROWS, FileSeen, WrittenRows
from maintenance.errors import PaimonError
from maintenance.format.data_format import is_of_storage
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import parse_row
from maintenance.format.rows.key import key_reader
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import Digest
from maintenance.types.values import values_of_arrow
from maintenance.write.message import CommitMessage


def replaced_files(planned: Sequence[DataFileMeta], message: CommitMessage) -> Iterator[str]:
    """What is wrong with the files that go: they must be those that were planned."""
    names, gone = sorted(f.file_name for f in planned), sorted(f.file_name for f in message.compact_before)
    if names != gone:
        yield f"files {names} were to be replaced, and {gone} are"


def written_files(files: Sequence[DataFileMeta], observer: WrittenRows, schema: TableSchema) -> Iterator[str]:
    """What is wrong with new files: manifests must say what was handed to their encoders."""
    names = {file.file_name for file in files}
    for name in sorted(set(observer.files) ^ names):
        yield f"file {name} was {'written, and is not' if name in observer.files else 'not written, and is'} committed"
    for file in files:
        seen = observer.files.get(file.file_name)
        if seen is None:
            continue
        if file.row_count != seen.rows:
            yield f"{file.file_name} got {seen.rows} rows, but its entry says {file.row_count}"
        if seen.first is not None:
            yield from _wrong_keys(file, seen, schema)


def _wrong_keys(file: DataFileMeta, seen: FileSeen, schema: TableSchema) -> Iterator[str]:
    types = [field.type for field in schema.key_fields]
    for which, key, row in (("smallest", file.min_key, seen.first), ("largest", file.max_key, seen.last)):
        assert row is not None
        actual = tuple(values_of_arrow(row.column(field.name))[0] for field in schema.key_fields)
        if not same_key(tuple(parse_row(key, types)), actual):
            yield f"the {which} key of {file.file_name} is {actual}, its manifest entry says {parse_row(key, types)}"
    if not seen.ascending:
        yield f"the keys of {file.file_name} do not ascend, or differ from its key columns"
    if file.delete_row_count != seen.retracts:
        yield f"{file.file_name} got {seen.retracts} retractions, but its entry says {file.delete_row_count}"
    if (file.min_sequence_number, file.max_sequence_number) != (seen.low, seen.high):
        yield f"{file.file_name} got sequence numbers {seen.low} to {seen.high}, but its entry says others"


def same_key(left: Sequence[object], right: Sequence[object]) -> bool:
    """Whether keys are the same; NaN is NaN."""
    pairs = zip(left, right, strict=True)
    return all(one == other or (one != one and other != other) for one, other in pairs)


def levels(plan: BucketCompaction, message: CommitMessage, observer: WrittenRows, schema: TableSchema) -> Iterator[str]:
    """What is wrong with the levels of a bucket: the rules of sorted runs, and where retractions may be."""
    before = {file.file_name: file for file in message.compact_before}
    lifted = {step.file.file_name for step in plan.steps if isinstance(step, UpgradeStep)}
    after = {file.file_name: file for file in message.compact_after}
    for name in sorted(lifted - set(after)):
        yield f"{name} should change its level, and is gone"
    sources = (*plan.input_files, *plan.older)
    lowest = min((f.min_sequence_number for f in sources), default=0)
    highest = max((f.max_sequence_number for f in sources), default=0)
    for name, file in after.items():
        if file.level != plan.output_level:
            yield f"{name} is on level {file.level}, and {plan.output_level} was planned"
        if name in before:
            if name not in lifted or replace(before[name], level=file.level) != file:
                yield f"{name} stays in the table but should not, or has changed"
            continue
        if file.min_sequence_number < lowest:
            yield f"{name} has sequence number {file.min_sequence_number}, which no input has"
        if file.max_sequence_number > highest:
            yield f"{name} has sequence number {file.max_sequence_number}, which no input has"
        if plan.drop_deletes and name in observer.files and observer.files[name].retracts:
            yield f"{name} holds retractions, which should have been dropped"
    yield from overlaps([*message.compact_after, *plan.staying], schema)


def overlaps(files: Sequence[DataFileMeta], schema: TableSchema) -> Iterator[str]:
    read_key = key_reader([field.type for field in schema.key_fields])
    ranges = sorted(((read_key(f.min_key), read_key(f.max_key), f.file_name) for f in files), key=lambda r: r[:2])
    for low, high, name in ranges:
        if low > high:
            yield f"{name} has a smallest key above its largest"
    for (_, end, one), (begin, _, other) in zip(ranges, ranges[1:], strict=False):
        if begin <= end:
            yield f"{one} and {other} are on one level and have overlapping key ranges"


@dataclass(frozen=True, slots=True)
class ReadBack:
    """How files just written are read again. `readers`: by name of file, of all columns that are hashed."""

    hashing: Hashing
    readers: Mapping[str, DataFileReader]
    rows: int
    whole: bool = False

    def check(self, observer: WrittenRows) -> tuple[int, list[str]]:
        """How many rows were read, and what is wrong: rows in footers, and what the starts of files hold."""
        read, wrong = 0, []
        for name, reader in self.readers.items():
            seen = observer.files.get(name)
            if seen is None:
                continue
            try:
                wrong += _wrong_footer(reader, seen)
                if read < self.rows and not wrong:
                    digest, due = self._digest(reader, seen), seen.digest if self.whole else seen.head
                    read += digest.rows
                    if digest != due:
                        wrong.append(f"{name} was given {due}, and holds {digest}")
            except (PaimonError, pa.ArrowException, OSError) as error:
                # A storage that fails for a while says nothing about what was written.
                if is_of_storage(error) and not isinstance(error, FileNotFoundError):
                    raise
                wrong.append(f"{name} cannot be read again: {error}")
        return read, wrong

    def _digest(self, reader: DataFileReader, seen: FileSeen) -> Digest:
        remaining = seen.rows if self.whole else seen.head_rows
        digest = Digest()
        for rows in reader.batches(HEAD_ROWS):
            part = rows.slice(0, remaining)
            if part.num_rows:
                digest += Digest.of(HashedRows(part, self.hashing).of(ROWS))
            remaining -= part.num_rows
            if remaining <= 0:
                break
        return digest


def _wrong_footer(reader: DataFileReader, seen: FileSeen) -> list[str]:
    name = reader.file.file_name
    with reader.context.file_io.open_input(reader.path, reader.file.file_size) as source:
        if source.size() != reader.file.file_size:
            return [f"{name} has {source.size()} bytes, but its entry says {reader.file.file_size}"]
        if name.endswith(".parquet"):
            rows = pq.read_metadata(source).num_rows
        elif name.endswith(".orc"):
            rows = orc.ORCFile(source).nrows
        else:
            return []
    return [] if rows == seen.rows else [f"{name} was given {seen.rows} rows, and its footer says {rows}"]
