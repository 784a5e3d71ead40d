"""The tail of an ORC file: what it says about stripes and types, beyond what Arrow exposes and writes.

From the end: one byte with the size of the postscript, the postscript, the footer, the statistics of stripes (called
metadata). All but the postscript are compressed in chunks, each with three bytes in front: its size, and in the lowest
bit whether it is stored as it is. Source: ORC specification v1, `orc_proto.proto`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import pyarrow as pa

from maintenance.format.bytes.protobuf import (
    BYTES,
    VARINT,
    Message,
    messages,
    number_of,
    numbers,
    parse_message,
    serialize_message,
    with_number,
)
from maintenance.format.orc.chunks import stored, unpacked

_FIRST_READ = 16 << 10
MAGIC = b"ORC"
_MAX_CHUNK = (1 << 23) - 1


class Kind(IntEnum):
    """Kinds of types whose numbers are needed here."""

    BYTE = 1
    SHORT = 2
    INT = 3
    LONG = 4
    STRING = 7
    TIMESTAMP = 9
    DATE = 15
    VARCHAR = 16
    CHAR = 17
    TIMESTAMP_INSTANT = 18


class StreamKind(IntEnum):
    """Kinds of streams that are read here."""

    DATA = 1
    SECONDARY = 5


@dataclass(frozen=True, slots=True)
class OrcType:
    """A type in the file's tree; its id is its place in the list. `subtypes`: ids."""

    kind: int
    subtypes: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stripe:
    """The location of a stripe: the index, then data, then its footer, in bytes."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int


@dataclass(frozen=True, slots=True)
class StripeStreams:
    """What a stripe's footer says.

    Attributes:
        ranges: first byte and size of each stream, by column and kind.
        encodings: of each column, 2 = DIRECT_V2.
        time_zone: of the writer, "" when it does not say.
    """

    ranges: Mapping[tuple[int, int], tuple[int, int]]
    encodings: tuple[int, ...]
    time_zone: str


@dataclass(frozen=True, slots=True)
class OrcTail:
    """The parsed end of a file. `start`: position of its first byte. Parsing damaged bytes may raise anything."""

    start: int
    stripes: tuple[Stripe, ...]
    types: tuple[OrcType, ...]
    _compression: int
    _chunk_size: int
    _metadata: bytes
    _footer: Message
    _postscript: Message

    @classmethod
    def read(cls, source: pa.NativeFile) -> "OrcTail":
        """The end of a file."""
        size = source.size()
        position = max(0, size - _FIRST_READ)
        source.seek(position)
        end = source.read(size - position)
        missing = _tail_size(end) - len(end)
        if missing > 0:
            source.seek(max(0, position - missing))
            end = source.read(min(missing, position)) + end
        return cls.parse(end, size)

    @classmethod
    def parse(cls, end: bytes, file_size: int) -> "OrcTail":
        """The end of a file. `end`: its last bytes, all of the tail among them."""
        tail_size = _tail_size(end)
        tail = end[len(end) - tail_size :]
        postscript = parse_message(tail[-1 - tail[-1] : -1])
        if MAGIC not in messages(postscript, 8000):
            raise ValueError("the postscript does not hold 'ORC'")
        compression, metadata_size = number_of(postscript, 2), number_of(postscript, 5)
        chunk_size = number_of(postscript, 3, _MAX_CHUNK)
        footer = parse_message(unpacked(tail[metadata_size : -1 - tail[-1]], compression, chunk_size))
        return cls(
            file_size - tail_size,
            tuple(_stripe(parse_message(part)) for part in messages(footer, 3)),
            tuple(_type(parse_message(part)) for part in messages(footer, 4)),
            compression,
            chunk_size,
            tail[:metadata_size],
            footer,
            postscript,
        )

    def stripe_footer(self, source: pa.NativeFile, stripe: Stripe) -> Message:
        """The footer of a stripe."""
        source.seek(stripe.offset + stripe.index_length + stripe.data_length)
        return parse_message(self._content(source.read(stripe.footer_length)))

    def streams(self, source: pa.NativeFile, stripe: Stripe) -> StripeStreams:
        """What the footer of a stripe says."""
        footer = self.stripe_footer(source, stripe)
        ranges, position = {}, stripe.offset
        for part in map(parse_message, messages(footer, 1)):
            size = number_of(part, 3)
            ranges[number_of(part, 2), number_of(part, 1)] = (position, size)
            position += size
        encodings = tuple(number_of(parse_message(part), 1) for part in messages(footer, 2))
        zone = messages(footer, 3)
        return StripeStreams(ranges, encodings, zone[0].decode() if zone else "")

    def stream(self, source: pa.NativeFile, place: tuple[int, int]) -> bytes:
        """The content of a stream."""
        source.seek(place[0])
        return self._content(source.read(place[1]))

    def stored(self, content: bytes) -> bytes:
        """A stream or footer as it may stand in the file, without compression."""
        return stored(content, self._compression, self._chunk_size)

    def _content(self, packed: bytes) -> bytes:
        return unpacked(packed, self._compression, self._chunk_size)

    def stripe_statistics(self) -> list[list[Message]]:
        """For each stripe and each type its statistics; no stripes when the file has none."""
        metadata = parse_message(self._content(self._metadata))
        return [
            [parse_message(column) for column in messages(parse_message(stripe), 1)] for stripe in messages(metadata, 1)
        ]

    def statistics(self) -> list[Message]:
        """For each type its statistics in the whole file; none when the file has none."""
        return [parse_message(column) for column in messages(self._footer, 7)]

    def has_null(self, type_id: int) -> bool:
        """Whether a type has nulls among its values, as far as the file says."""
        statistics = self.statistics()
        return type_id < len(statistics) and number_of(statistics[type_id], 10) == 1

    def serialized(self, types: Sequence[Message] | None = None, *, row_index: bool = True) -> bytes:
        """The end of the file, with other types or without row indexes, which stay in the stripes."""
        footer = self._footer
        if types is not None:
            replaced: Message = [(4, BYTES, serialize_message(part)) for part in types]
            first = next(i for i, field in enumerate(footer) if field[0] == 4)
            others = [field for field in footer[first:] if field[0] != 4]
            footer = [*footer[:first], *replaced, *others]
        if not row_index:
            footer = with_number(footer, 8, 0)
        packed = self.stored(serialize_message(footer))
        postscript = serialize_message(with_number(self._postscript, 1, len(packed)))
        return b"".join((self._metadata, packed, postscript, bytes([len(postscript)])))

    def with_stripes(self, stripes: Sequence[Stripe]) -> "OrcTail":
        """The tail of a file with other stripes."""
        placed: Message = [(3, BYTES, serialize_message(_message_of(stripe))) for stripe in stripes]
        footer: Message = [*placed, *(field for field in self._footer if field[0] != 3)]
        if stripes:
            last = stripes[-1]
            end = last.offset + last.index_length + last.data_length + last.footer_length
            footer = with_number(footer, 2, end)
        return replace(self, stripes=tuple(stripes), _footer=footer)

    def type_messages(self) -> list[Message]:
        """The types as they are in the footer."""
        return [parse_message(part) for part in messages(self._footer, 4)]


def joined(parts: Sequence[tuple[OrcTail, Sequence[Stripe]]]) -> OrcTail:
    """The tail of a file made of parts that were files. `parts`: their tails, and the locations of their stripes.

    Statistics of stripes are kept, those of the whole file are just numbers of values.
    """
    first = parts[0][0]
    if len(parts) == 1:
        return first.with_stripes(parts[0][1])
    stripes = [stripe for _, placed in parts for stripe in placed]
    counts = [[parse_message(part) for part in messages(tail._footer, 7)] for tail, _ in parts]
    totals: Message = []
    for columns in zip(*counts, strict=True):
        values, nulls = (sum(number_of(column, number) for column in columns) for number in (1, 10))
        totals.append((7, BYTES, serialize_message([(1, VARINT, values), (10, VARINT, int(nulls > 0))])))
    footer: Message = [*(field for field in first._footer if field[0] != 7), *totals]
    metadata = first.stored(b"".join(tail._content(tail._metadata) for tail, _ in parts))
    whole = replace(
        first,
        _footer=with_number(footer, 6, sum(stripe.rows for stripe in stripes)),
        _metadata=metadata,
        _postscript=with_number(first._postscript, 5, len(metadata)),
    )
    return whole.with_stripes(stripes)


def _tail_size(end: bytes) -> int:
    postscript = parse_message(end[-1 - end[-1] : -1])
    return number_of(postscript, 1) + number_of(postscript, 5) + end[-1] + 1


def _stripe(fields: Message) -> Stripe:
    return Stripe(*(number_of(fields, number) for number in range(1, 6)))


def _message_of(stripe: Stripe) -> Message:
    sizes = (stripe.offset, stripe.index_length, stripe.data_length, stripe.footer_length, stripe.rows)
    return [(number, VARINT, size) for number, size in enumerate(sizes, start=1)]


def _type(fields: Message) -> OrcType:
    names = tuple(name.decode() for name in messages(fields, 3))
    return OrcType(number_of(fields, 1), tuple(numbers(fields, 2)), names)


def with_kind(fields: Message, kind: int, length: int | None = None) -> Message:
    """A type of another kind. `length`: of CHAR and VARCHAR."""
    changed = with_number(fields, 1, int(kind))
    return changed if length is None else with_number(changed, 4, length)


def with_attribute(fields: Message, key: str, value: str) -> Message:
    """A type with an attribute more."""
    return [*fields, (7, BYTES, serialize_message([(1, BYTES, key.encode()), (2, BYTES, value.encode())]))]
