"""What writing data files of a table needs; travels to Spark's tasks."""

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from maintenance.format.rows.system_fields import (
    ROW_ID,
    SEQUENCE_NUMBER,
    VALUE_KIND,
    WRITTEN_SEQUENCE,
    is_system_field,
    key_value_fields,
)
from maintenance.metadata.table_files import TableFiles
from maintenance.options import table as table_options
from maintenance.types.data_type import DataField

_COMPRESSION_SUFFIXES = {"none": "", "": "", "gzip": ".gz", "bzip2": ".bz2", "zstd": ".zst"}


def wall_clock_millis() -> int:
    """The local wall clock as if it were UTC, in milliseconds: how data files hold their creation time."""
    return int(dt.datetime.now().replace(tzinfo=dt.UTC).timestamp() * 1000)


@dataclass(frozen=True, slots=True)
class WriteContext(TableFiles):
    """The table written to.

    Attributes:
        clock: creation time of files, see `wall_clock_millis`.
        write_cols: columns of the files in order, `_ROW_ID` and `_SEQUENCE_NUMBER` among them; None = those of the
            table. Only for tables without a primary key.
        stamp: how the UUIDs in the names of files begin, so that the files of one job can be distinguished from
            others'.
        fits_texts: texts get the lengths of their columns, see `fitted`.
        threads: that may write, for a process that has the rows in memory anyway and all cores to itself.
    """

    clock: Callable[[], int] = wall_clock_millis
    stamp: str = ""
    write_cols: tuple[str, ...] | None = None
    fits_texts: bool = False
    threads: int = 1

    @property
    def has_primary_key(self) -> bool:
        return bool(self.schema.primary_keys)

    @property
    def tracks_rows(self) -> bool:
        """Whether rows have an id for life. Source: option `row-tracking.enabled`."""
        return self.model.tracks_rows

    def with_row_ids(self) -> "WriteContext":
        """The context for rows that are there already: with row tracking their files hold id and sequence number.

        With data evolution a file's rows have consecutive ids, which its manifest entry says.
        """
        if not self.tracks_rows or self.model.evolves:
            return self
        return replace(self, write_cols=(*self.schema.field_names, ROW_ID.name, SEQUENCE_NUMBER.name))

    @property
    def columns(self) -> tuple[DataField, ...]:
        """The table's own columns in the files written, in file order."""
        if self.write_cols is None:
            return tuple(self.schema.fields)
        return tuple(self.schema.field(name) for name in self.write_cols if not is_system_field(name))

    @property
    def row_fields(self) -> tuple[DataField, ...]:
        """Columns of the rows handed to a writer: sequence number and kind first, with a primary key."""
        if self.write_cols is not None:
            by_name = {field.name: field for field in (*self.schema.fields, ROW_ID, WRITTEN_SEQUENCE)}
            return tuple(by_name[name] for name in self.write_cols)
        system = (SEQUENCE_NUMBER, VALUE_KIND) if self.has_primary_key else ()
        return (*system, *self.schema.fields)

    @property
    def file_fields(self) -> tuple[DataField, ...]:
        """Columns of a data file, in file order."""
        if not self.has_primary_key:
            return self.row_fields
        return key_value_fields(() if self.is_thin else self.schema.key_fields, self.schema.fields)

    @property
    def is_thin(self) -> bool:
        """Whether files leave out the `_KEY_` columns, whose values the table's columns have too."""
        return self.has_primary_key and self.model.data_file_thin_mode

    @property
    def target_file_size(self) -> int:
        return self.model.target_file_size(self.has_primary_key)

    @property
    def total_buckets(self) -> int:
        return self.model.bucket


@dataclass(slots=True)
class FileNames:
    """Names of one writer's files: one UUID, one counter for data and changelog files.

    `suffix`: stands between the counter and the extension. Source: `DataFilePathFactory`.
    """

    data_prefix: str
    changelog_prefix: str
    suffix: str = ""
    _uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    _count: int = 0

    @classmethod
    def of(cls, context: WriteContext) -> "FileNames":
        options = context.model
        prefixes = options.data_file_prefix, table_options.CHANGELOG_FILE_PREFIX.of(options)
        suffix = ""
        if table_options.FILE_SUFFIX_INCLUDE_COMPRESSION.of(options):
            # Java names the table's compression, also where a level has another one.
            compression = options.file_compression
            suffix = _COMPRESSION_SUFFIXES.get(compression.lower(), f".{compression}")
        return cls(*prefixes, suffix, context.stamp + str(uuid.uuid4())[len(context.stamp) :])

    def next(self, extension: str, *, changelog: bool) -> str:
        """A name. `extension`: the file's format."""
        prefix = self.changelog_prefix if changelog else self.data_prefix
        name = f"{prefix}{self._uuid}-{self._count}{self.suffix}.{extension}"
        self._count += 1
        return name
