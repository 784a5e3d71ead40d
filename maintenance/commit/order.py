"""What is committed later is newer, whoever has read the table first.

Writers number their rows on from what they found. When another writer commits to the same bucket in the meantime, its
numbers are the same or higher, and readers would take its rows for the newer ones. So before each attempt to publish
them, files are compared with what their buckets hold by then. Where their numbers are not all higher, they are written
again with higher ones. If yet another writer is first, the attempt fails and the next one compares again.

- All files of a bucket are shifted by the same amount, so they keep their order among each other.
- Who was overtaken leaves room below the new numbers, more each time: so a busy table cannot make a large commit write
  its files again and again.
- The new files are named by no snapshot until they are published, and the old ones stay until the outcome is certain.
- Rows that wait in the postpone bucket have no numbers. Their order is that of the snapshots; once these have expired
  it is that of the files' creation times, so in such tables no file is published as older than one that is there.
- Left as they are: numbers that follow from the user's sequence (`sequence.auto-padding`), and those of append tables
  without buckets. Of append tables with buckets only the manifest entries say a number, so no file is written.

Other engines do not compare: what they commit may lose to rows that were committed before. Source: data section 3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from maintenance.commit.newest import Newest
from maintenance.commit.target import CommitTarget
from maintenance.errors import CommitError, ErrorClass, WriteError, class_of
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.schemas import Schemas
from maintenance.read.data_file import ReadContext
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.renumber import RenumberTask, Runner, in_threads, renumber, shifted_meta
from maintenance.write.state import WriteState

Group = tuple[bytes, int]

# Numbers left free below a commit that was overtaken, as powers of two: at first, more each further time, at most.
_ROOM_BITS, _MORE_BITS, _MOST_BITS = 20, 6, 40
_ROOM_BELOW = 1 << 62


@dataclass(slots=True)
class OrderedFiles:
    """New files on their way into a table.

    Attributes:
        written: as the writers left them.
        messages: as they may be published now; each stands at the place of the one that it is made of.
        run: what writes files again.
    """

    target: CommitTarget
    written: Sequence[CommitMessage]
    messages: Sequence[CommitMessage]
    newest: Newest
    run: Runner = in_threads
    _overtaken: int = 0
    _schemas: dict[int, TableSchema] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        target: CommitTarget,
        messages: Sequence[CommitMessage],
        state: WriteState | None,
        run: Runner = in_threads,
    ) -> "OrderedFiles":
        """`state`: on which the files were written, None = it is not known."""
        partitions = {message.partition for message in messages if message.new_files}
        return cls(target, messages, messages, Newest.of(target.snapshots, target.manifests, partitions, state), run)

    def upon(self, latest: Snapshot | None) -> Sequence[CommitMessage]:
        """The messages to publish next after a snapshot: the same object as before if nothing has to change.

        Raises: CommitError: files cannot be written again. Nothing was published, and what was written here is deleted.
        """
        numbered, postponed = _is_numbered(self.target), self.target.model.is_postponed
        if not self.newest.partitions or not (numbered or postponed):
            return self.messages
        self.newest.advance(latest)
        shifts = self._shifts() if numbered else {}
        if shifts:
            self._shift(shifts)
        if postponed:
            self._date()
        return self.messages

    def published(self) -> None:
        """Delete the files that others took the place of. For messages that are published."""
        self.target.file_io.discard(self._paths(self.written) - self._paths(self.messages))

    def discard(self) -> None:
        """Delete what was written here. For messages that are certainly not published."""
        self.target.file_io.discard(self._paths(self.messages) - self._paths(self.written))
        self.messages = self.written

    def _paths(self, messages: Sequence[CommitMessage]) -> set[str]:
        paths = self.target.paths
        return {
            path
            for message in messages
            for file in (*message.new_files, *message.changelog_files)
            for path in paths.all_files_of(message.partition, message.bucket, file)
        }

    # Sequence numbers

    def _shifts(self) -> dict[Group, int]:
        """By how much files must be shifted, as they were written, where those to publish are not new enough."""
        lowest, as_written = _lowest(self.messages), _lowest(self.written)
        held = {group: self.newest.sequences.get(group, -1) for group in lowest}
        overtaken = [group for group, number in lowest.items() if number <= held[group]]
        return {group: held[group] + 1 + self._room(held[group]) - as_written[group] for group in overtaken}

    def _room(self, held: int) -> int:
        bits = min(_MOST_BITS, _ROOM_BITS + _MORE_BITS * self._overtaken)
        return 1 << bits if held < _ROOM_BELOW else 0

    def _shift(self, shifts: Mapping[Group, int]) -> None:
        self._overtaken += 1
        chosen = {
            at: shifts[message.partition, message.bucket]
            for at, message in enumerate(self.written)
            if (message.partition, message.bucket) in shifts
        }
        before, after = self._paths(self.messages), list(self.messages)
        for at, message in (self._again if self.target.schema.primary_keys else self._renamed)(chosen).items():
            after[at] = message
        self.messages = after
        self.target.file_io.discard(before - self._paths(after) - self._paths(self.written))

    def _renamed(self, chosen: Mapping[int, int]) -> dict[int, CommitMessage]:
        """Messages with renumbered files. `chosen`: shifts by place."""
        return {
            at: replace(self.written[at], new_files=tuple(shifted_meta(f, shift) for f in self.written[at].new_files))
            for at, shift in chosen.items()
        }

    def _again(self, chosen: Mapping[int, int]) -> dict[int, CommitMessage]:
        """Messages whose files are written again. `chosen`: shifts by place."""
        tasks, places = [], []
        for at, shift in chosen.items():
            message = self.written[at]
            files = [
                *((file, True) for file in message.changelog_files),
                *((file, False) for file in message.new_files),
            ]
            tasks += [self._task(message, file, shift, changelog=changelog) for file, changelog in files]
            places += [at] * len(files)
        data: dict[int, list[DataFileMeta]] = {at: [] for at in chosen}
        changelogs: dict[int, list[DataFileMeta]] = {at: [] for at in chosen}
        for task, at, made in zip(tasks, places, self._made(tasks), strict=True):
            (changelogs if task.changelog else data)[at].extend(made)
        return {
            at: replace(self.written[at], new_files=tuple(data[at]), changelog_files=tuple(changelogs[at]))
            for at in chosen
        }

    def _task(self, message: CommitMessage, file: DataFileMeta, shift: int, *, changelog: bool) -> RenumberTask:
        target, schema = self.target, self._schema(file.schema_id)
        write = WriteContext(target.name, target.file_io, target.paths, schema, target.options)
        read = ReadContext(target.file_io, {schema.id: schema}, write.row_fields, schema.partition_keys)
        return RenumberTask(write, read, message.partition, message.bucket, file, shift, changelog=changelog)

    def _schema(self, schema_id: int) -> TableSchema:
        """The schema that a file was written with: the table's own as a rule."""
        if schema_id == self.target.schema.id:
            return self.target.schema
        if schema_id not in self._schemas:
            schemas = Schemas.of(self.target.file_io, self.target.paths)
            self._schemas[schema_id] = schemas.get(schema_id)
        return self._schemas[schema_id]

    def _made(self, tasks: Sequence[RenumberTask]) -> list[tuple[DataFileMeta, ...]]:
        outcomes = self.run(renumber, tasks)
        made = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if not errors:
            return made
        paths = self.target.paths
        for task, outcome in zip(tasks, outcomes, strict=True):
            for file in () if isinstance(outcome, Exception) else outcome:
                self.target.file_io.discard(paths.all_files_of(task.partition, task.bucket, file))
        self.discard()
        kind = WriteError if class_of(errors[0]) is ErrorClass.INFRASTRUCTURE else CommitError
        raise kind(
            "another writer committed to the same buckets first, and the files of this commit could not be written "
            f"again with higher sequence numbers: {errors[0]}",
            f"table {self.target.name}",
            "Nothing was committed. Remove the cause and run again.",
        ) from errors[0]

    # Creation times

    def _date(self) -> None:
        """Let no file be older than those that are in its partition."""
        dated = [self._dated(message) for message in self.messages]
        if any(new is not old for new, old in zip(dated, self.messages, strict=True)):
            self.messages = dated

    def _dated(self, message: CommitMessage) -> CommitMessage:
        after = 1 + self.newest.created.get(message.partition, 0)
        if all((file.creation_time or 0) >= after for file in message.new_files):
            return message
        files = (replace(file, creation_time=max(file.creation_time or 0, after)) for file in message.new_files)
        return replace(message, new_files=tuple(files))


def _is_numbered(target: CommitTarget) -> bool:
    """Whether the numbers of new files say how new they are."""
    if target.schema.primary_keys:
        if target.model.sequence_snapshot_ordering:
            return False
        return not target.model.sequence_auto_padding
    return target.model.bucket > 0


def _lowest(messages: Sequence[CommitMessage]) -> dict[Group, int]:
    """The lowest number among the new files of each bucket whose rows are numbered."""
    lowest: dict[Group, int] = {}
    for message in messages:
        group = (message.partition, message.bucket)
        for file in (*message.new_files, *message.changelog_files) if message.bucket >= 0 else ():
            lowest[group] = min(lowest.get(group, file.min_sequence_number), file.min_sequence_number)
    return lowest
