"""ORC timestamps of all years and of writers in any time zone.

Arrow decodes them to nanoseconds, which end in 2262, and takes TIMESTAMP_LTZ for instants. But unless
`orc.timestamp-ltz.legacy.type` is false, Paimon stores the local time of the writing machine as if it were UTC; stripes
name the zone, so reads can convert it back whatever the zone of this machine. Writers in other zones than UTC also make
Arrow wrong by a second for times around 1970: whether seconds were cut off towards 1970 is up to the writer's clock.

Arrow is given the file with another footer, where timestamps are whole numbers: their seconds, in whatever nesting.
Only the nanoseconds are decoded here, in the same order as the seconds.
Source: ORC specification v1, Java `TimestampTreeReader`, `OrcTimestampColumnVector`.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from maintenance.errors import UnsupportedError
from maintenance.format.bytes.protobuf import Message, messages, number_of, numbers, parse_message
from maintenance.format.bytes.varint import unzigzag
from maintenance.format.orc.integers import decode_integers
from maintenance.format.orc.tail import Kind, OrcTail, StreamKind, Stripe, StripeStreams, with_kind
from maintenance.format.rows.nested import entries, rebuilt
from maintenance.options.formats import ORC_TIMESTAMP_LTZ_LEGACY_TYPE
from maintenance.types.arrow import arrow_type, element_of, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import NANOS, of_parts

EPOCH = 1_420_070_400  # 2015-01-01 00:00:00, from which ORC counts seconds
_UTC = ("", "UTC", "GMT", "Etc/UTC", "Z")
_DIRECT_V2 = 2
_UNIT_DIGITS = {"ms": 3, "us": 6}
_TIMES = 9  # of statistics
# Milliseconds: a day for the window, and one since old writers say bounds by their own clock alone.
_AROUND = 2 * 86_400_000

Seconds = Callable[[np.ndarray], np.ndarray]


def is_legacy(options: Mapping[str, str]) -> bool:
    """Whether a table's TIMESTAMP_LTZ are made by the clock of the machine that writes them."""
    return ORC_TIMESTAMP_LTZ_LEGACY_TYPE.of(options)


def times_in(fields: Sequence[DataField]) -> set[str]:
    """The roots of all timestamps in columns."""
    return {part.root for field in fields for part in field.type.walk() if part.is_timestamp}


def is_wrong_in_arrow(source: pa.NativeFile, tail: OrcTail, times: set[str], *, legacy: bool) -> bool:
    """Whether a clock other than UTC wrote timestamps that Arrow decodes to others.

    Args: `times`: as `times_in` finds them; `legacy`: see above.
    """
    if not (legacy and "TIMESTAMP_LTZ" in times) and not _may_be_around_1970(tail):
        return False
    return any(tail.streams(source, stripe).time_zone not in _UTC for stripe in tail.stripes)


def _may_be_around_1970(tail: OrcTail) -> bool:
    """Whether the statistics of the file's timestamps leave it open that some are."""
    statistics = tail.statistics()
    numbered = [number for number, orc_type in enumerate(tail.types) if orc_type.kind == Kind.TIMESTAMP]
    return any(number >= len(statistics) or _is_around_1970(statistics[number]) for number in numbered)


def _is_around_1970(statistics: Message) -> bool:
    if number_of(statistics, 1, 1) == 0:
        return False  # of values
    bounds = [part for content in messages(statistics, _TIMES) for part in parse_message(content)]
    low, high = (list(numbers(bounds, utc)) or list(numbers(bounds, local)) for utc, local in ((3, 1), (4, 2)))
    return not (low and high) or (unzigzag(low[0]) <= _AROUND and unzigzag(high[0]) >= -_AROUND)


class ExactStripes:
    """Reads stripes with exact timestamps. `legacy`: TIMESTAMP_LTZ is written by the writer's clock."""

    def __init__(self, source: pa.NativeFile, where: str, *, legacy: bool) -> None:
        self._source = source
        self._where = where
        self._legacy = legacy
        self._tail = OrcTail.read(source)
        types = [
            with_kind(message, Kind.LONG) if orc_type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_INSTANT) else message
            for message, orc_type in zip(self._tail.type_messages(), self._tail.types, strict=True)
        ]
        source.seek(0)
        self._file = orc.ORCFile(pa.BufferReader(source.read(self._tail.start) + self._tail.serialized(types)))

    def stripe(self, number: int, fields: Sequence[DataField]) -> pa.Table:
        """The columns of a stripe: timestamps in natural types, others as Arrow reads them."""
        stripe = self._tail.stripes[number]
        batch = self._file.read_stripe(number, [field.name for field in fields])
        columns = _Columns(self._source, self._where, self._tail, stripe, self._legacy)
        root = self._tail.types[0]
        ids = dict(zip(root.names, root.subtypes, strict=True))
        arrays = [columns.exact(batch.column(field.name), field.type, ids[field.name]) for field in fields]
        return pa.Table.from_arrays(arrays, names=[field.name for field in fields])


class _Columns:
    """The columns of one stripe."""

    def __init__(self, source: pa.NativeFile, where: str, tail: OrcTail, stripe: Stripe, legacy: bool) -> None:
        self._source = source
        self._where = where
        self._tail = tail
        self._streams: StripeStreams = tail.streams(source, stripe)
        self._legacy = legacy

    def exact(self, array: pa.Array, data_type: DataType, type_id: int) -> pa.Array:
        """A column, or a part of one, with its timestamps. `type_id`: in the file."""
        inner = self._tail.types[type_id].subtypes
        match data_type.root:
            case "TIMESTAMP" | "TIMESTAMP_LTZ":
                return self._timestamps(array, data_type, type_id)
            case "ARRAY":
                element = self.exact(array.values, element_of(data_type), inner[0])
                return rebuilt(array, pa.list_(element.type), [element])
            case "MAP" | "MULTISET":
                parts = zip((array.keys, array.items), map_parts(data_type), inner, strict=True)
                exact = [self.exact(*part) for part in parts]
                target = pa.map_(exact[0].type, exact[1].type)
                return rebuilt(array, target, [entries(target, exact)])
            case "ROW":
                fields = [self.exact(array.field(i), f.type, inner[i]) for i, f in enumerate(data_type.fields)]
                names = [field.name for field in data_type.fields]
                return rebuilt(array, pa.struct(list(zip(names, (f.type for f in fields), strict=True))), fields)
        return array

    def _timestamps(self, array: pa.Array, data_type: DataType, type_id: int) -> pa.Array:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        seconds = array.drop_null().to_numpy() + self._base(type_id)
        nanos = self._nanos(type_id, len(seconds))
        # Writers cut the seconds of times before 1970 off towards 1970.
        seconds = seconds - ((seconds < 0) & (nanos > 999_999))
        clock = self._clock(type_id, data_type)(seconds)
        target = arrow_type(data_type)
        digits = 6 if target == NANOS else _UNIT_DIGITS[target.unit]
        numbers, rest = np.zeros(len(valid), np.int64), np.zeros(len(valid), np.int64)
        numbers[valid] = clock * 10**digits + nanos // 10 ** (9 - digits)
        if target == NANOS:
            rest[valid] = nanos % 1000
            return of_parts(numbers, rest, ~valid)
        return pa.array(numbers, mask=~valid).cast(target)

    def _zone(self, type_id: int) -> str:
        zone = self._streams.time_zone
        return "UTC" if zone in _UTC else zone

    def _is_instant(self, type_id: int) -> bool:
        return self._tail.types[type_id].kind == Kind.TIMESTAMP_INSTANT

    def _base(self, type_id: int) -> int:
        """Seconds from 1970 UTC to where counting begins: of instants in UTC, of others by the writer's clock."""
        zone = self._zone(type_id)
        if self._is_instant(type_id) or zone == "UTC":
            return EPOCH
        start = pc.assume_timezone(pa.array([EPOCH], pa.timestamp("s")), zone)
        return int(start.cast(pa.int64())[0].as_py())

    def _clock(self, type_id: int, data_type: DataType) -> Seconds:
        """What makes seconds of instants those of the clock that the column shows."""
        zone = self._zone(type_id)
        if zone == "UTC" or (self._is_instant(type_id) and not self._legacy):
            return lambda seconds: seconds

        def shown(seconds: np.ndarray) -> np.ndarray:
            local = pc.local_timestamp(pa.array(seconds).cast(pa.timestamp("s", zone)))
            return np.asarray(local.cast(pa.int64()).to_numpy())

        return shown

    def _nanos(self, type_id: int, count: int) -> np.ndarray:
        """Nanoseconds of the second, of each value that is not null."""
        if self._streams.encodings[type_id] != _DIRECT_V2:
            raise UnsupportedError(
                "timestamps of far years in the run-length encoding of ORC 0.11", self._where, "Rewrite the file."
            )
        place = self._streams.ranges.get((type_id, int(StreamKind.SECONDARY)), (0, 0))
        stored = decode_integers(self._tail.stream(self._source, place), signed=False)
        if len(stored) != count:
            raise ValueError(f"{count} timestamps have nanoseconds for {len(stored)}")
        return nanos_of(stored)


def nanos_of(stored: np.ndarray) -> np.ndarray:
    """Nanoseconds of the second out of their form in a stream.

    The lowest three bits say how many zeros follow the digits above: none, or that number and one more. Arrow writes
    negative ones, of which Java keeps 32 bits.
    """
    zeros = stored & 7
    digits = (stored >> 3).astype(np.int32).astype(np.int64)
    return np.asarray(digits * np.power(10, np.where(zeros, zeros + 1, 0)))
