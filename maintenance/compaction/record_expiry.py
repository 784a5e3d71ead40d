"""Rows that are too old: options `record-level.expire-time` and `record-level.time-field`.

Compactions of tables with a primary key leave them out as they read their files, so that they make no changelog; reads
return them as long as they are stored. A full compaction also rewrites files whose minimum of the field is too old.
Times are whole seconds. An INT counts seconds since 1970 UTC, a BIGINT too, or milliseconds from 10^12 on; the wall
clock of a TIMESTAMP is taken for UTC. A row without a time stays. Source: Java `RecordLevelExpire`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import OptionError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.read.run import ReadsFile
from maintenance.scan.pruning import Pruning
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS, micros_of

_MILLIS_FROM = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """Which rows go. `field`: the column of their time, of that type; `before`: seconds since 1970 UTC."""

    field: str
    type: DataType
    before: int

    @classmethod
    def of(cls, schema: TableSchema, options: TableModel, now: float) -> "RecordExpiry | None":
        """The rows that go now; None where rows do not expire. `now`: seconds since 1970 UTC.

        Raises: OptionError: there is no such column, or it holds no time.
        """
        life = options.record_level_expire_time
        if life is None:
            return None
        name = table_options.RECORD_LEVEL_TIME_FIELD.of(options)
        if name is None or name not in schema.field_names:
            raise OptionError(
                f"'record-level.expire-time' is set, and 'record-level.time-field' = '{name}' is not a column",
                "options",
                "Set 'record-level.time-field' to the column that holds the time of a row.",
            )
        return cls(name, schema.field(name).type, int(now) - life // timedelta(seconds=1))

    def kept(self, rows: pa.Table) -> pa.Table:
        """The rows that stay."""
        stays = self._stays(rows)
        return rows if pc.all(stays).as_py() in (True, None) else rows.filter(stays)

    def divided(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows that stay, and those that go."""
        stays = self._stays(rows)
        return rows.filter(stays), rows.filter(pc.invert(stays))

    def _stays(self, rows: pa.Table) -> pa.ChunkedArray:
        return pc.fill_null(pc.greater_equal(self._seconds(rows.column(self.field)), self.before), True)

    def _seconds(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if column.type == NANOS:
            column = pa.chunked_array([micros_of(chunk, None) for chunk in column.chunks], pa.timestamp("us"))
        if self.type.is_timestamp:
            return pc.divide(column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64()), 1000)
        seconds = column.cast(pa.int64())
        if self.type.root == "BIGINT":
            return pc.if_else(pc.greater_equal(seconds, _MILLIS_FROM), pc.divide(seconds, 1000), seconds)
        return seconds

    def is_in(self, file: DataFileMeta, schema: TableSchema, schemas: Mapping[int, TableSchema]) -> bool:
        """Whether a row of a file has gone past its time; False where statistics do not say it.

        Args: `schemas`: by id, that of the file among them.
        """
        least = Pruning(schema, schemas, None).least(file, self.field)
        if least is None:
            return False
        if self.type.is_timestamp:
            least //= 10**9
        elif self.type.root == "BIGINT" and least >= _MILLIS_FROM:
            least //= 1000
        return bool(least < self.before)


@dataclass(frozen=True, slots=True)
class LivingRows:
    """A reader of a file without the rows that are too old."""

    reader: ReadsFile
    expiry: RecordExpiry

    @property
    def file(self) -> DataFileMeta:
        return self.reader.file

    def read(self) -> pa.Table:
        return self.expiry.kept(self.reader.read())

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        for rows in self.reader.batches(batch_rows):
            kept = self.expiry.kept(rows)
            if kept.num_rows:
                yield kept
