"""Stripes of Arrow's ORC writer, with times before 1970 as Java writes them.

Before 1970 Arrow counts seconds and nanoseconds downwards. Java can read that for whole milliseconds and fails
otherwise. Java itself cuts seconds off towards 1970 and counts nanoseconds upwards; its reader recognizes this by more
than 999,999 nanoseconds. Java takes the last second before 1970 for the first one after it, so fractions of a
millisecond in that second have no valid form. Row indexes point into streams, so the stripes lose theirs.
Source: Java `TimestampTreeWriter`, `TimestampTreeReader`.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.bytes.protobuf import BYTES, VARINT, Message, serialize_message
from maintenance.format.orc.integers import decode_integers, encode_integers
from maintenance.format.orc.tail import Kind, OrcTail, StreamKind, Stripe, StripeStreams
from maintenance.format.orc.timestamps import EPOCH, nanos_of

_NANOS, _PER_MILLI = 10**9, 10**6
_INDEXES = (6, 7, 8)  # stream kinds ROW_INDEX, BLOOM_FILTER, BLOOM_FILTER_UTF8


def repaired_stripes(content: bytes) -> Iterator[tuple[bytes, Stripe]]:
    """The stripes of a file, and what its tail says of each but for the place. `content`: as Arrow wrote it, in UTC.

    Raises: DataError: a time that Java could not read in any form.
    """
    source = pa.BufferReader(content)
    tail = OrcTail.read(source)
    for stripe in tail.stripes:
        streams = tail.streams(source, stripe)
        replaced: dict[tuple[int, int], bytes] = {}
        for number, orc_type in enumerate(tail.types):
            if (
                orc_type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_INSTANT)
                and (number, StreamKind.DATA) in streams.ranges
            ):
                seconds, nanos = _repaired(tail, source, streams, number)
                replaced[number, StreamKind.DATA] = tail.stored(encode_integers(seconds, signed=True))
                replaced[number, StreamKind.SECONDARY] = tail.stored(encode_integers(nanos << 3, signed=False))
        yield _rebuilt(tail, source, stripe, replaced)


def _repaired(
    tail: OrcTail, source: pa.NativeFile, streams: StripeStreams, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Seconds as they are counted in the stream, and nanoseconds, of one column."""
    data, secondary = (streams.ranges[number, int(kind)] for kind in (StreamKind.DATA, StreamKind.SECONDARY))
    seconds = decode_integers(tail.stream(source, data), signed=True) + EPOCH
    nanos = nanos_of(decode_integers(tail.stream(source, secondary), signed=False))
    whole, rest = seconds - (nanos < 0), np.where(nanos < 0, nanos + _NANOS, nanos)
    fine = (whole < 0) & (rest % _PER_MILLI != 0)
    upwards = rest >= _PER_MILLI
    if np.any(fine & upwards & (whole == -1)):
        raise DataError(
            "a time in the last second before 1970 with parts of a millisecond, which Java cannot read from ORC",
            "data",
            "Cut the times off at milliseconds, or set file.format = parquet.",
        )
    return np.where(fine, whole + upwards, seconds) - EPOCH, np.where(fine, rest, nanos)


def _rebuilt(
    tail: OrcTail, source: pa.NativeFile, stripe: Stripe, replaced: dict[tuple[int, int], bytes]
) -> tuple[bytes, Stripe]:
    footer: Message = []
    parts = []
    for (column, kind), (position, size) in tail.streams(source, stripe).ranges.items():
        if kind in _INDEXES:
            continue
        source.seek(position)
        part = replaced.get((column, kind)) or source.read(size)
        parts.append(part)
        listed: Message = [(1, VARINT, kind), (2, VARINT, column), (3, VARINT, len(part))]
        footer.append((1, BYTES, serialize_message(listed)))
    footer += [field for field in tail.stripe_footer(source, stripe) if field[0] != 1]
    data, end = b"".join(parts), tail.stored(serialize_message(footer))
    return data + end, Stripe(0, 0, len(data), len(end), stripe.rows)
