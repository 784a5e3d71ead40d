"""File indexes of all kinds: the bytes of the Java core for the same values, and what its readers find in ours."""

import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import pytest

from maintenance.errors import DataError
from maintenance.format.file_index.kind import IndexedColumn
from maintenance.format.file_index.kinds import KINDS
from maintenance.predicate.tree import Compare, In, IsNull, Not
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import Value, arrow_of_values
from tests.java.oracle import Condition
from tests.java.process import JavaProcess
from tests.java.samples import VALUES

SETTINGS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "bloom-filter": ({"items": "100", "fpp": "0.05"},),
    "bitmap": ({"version": "1"}, {"version": "2"}, {"version": "2", "index-block-size": "120 b"}),
    "bsi": ({},),
    "range-bitmap": ({}, {"chunk-size": "64 b"}, {"chunk-size": "0 b"}),
}
CASES = [
    (kind.name, text) for kind in KINDS.values() for text in VALUES if kind.supports(parse_type(text))
]  # every type a kind takes, by the types of all tables
each_case = pytest.mark.parametrize(("kind", "text"), CASES, ids=[f"{kind} {text}" for kind, text in CASES])


def columns(data_type: DataType, rng: random.Random) -> Iterator[list[Value]]:
    """Columns of a type: its edges, few values often, runs, many values, nulls in each measure."""
    edges = list(VALUES[str(data_type)])
    yield [*edges, None, *edges]
    yield [None, None]
    yield [edges[-1]]
    yield [edges[0], None]
    several = [random_value(data_type, rng) for _ in range(7)]
    yield [rng.choice(several) for _ in range(200)]
    yield [value for value in several for _ in range(rng.randrange(1, 40))]
    yield [None if rng.random() < 0.3 else random_value(data_type, rng) for _ in range(300)]
    if data_type.root == "INT":
        yield [several[0] if row % 70 else several[1] for row in range(66_000)]


def random_value(data_type: DataType, rng: random.Random) -> Value:
    match data_type.root:
        case "BOOLEAN":
            return rng.random() < 0.5
        case "FLOAT":
            return float(struct.unpack("f", struct.pack("f", rng.uniform(-1e6, 1e6)))[0])
        case "DOUBLE":
            return rng.uniform(-1e6, 1e6)
        case "DECIMAL":
            digits = min(18, data_type.precision or 0)
            return Decimal(rng.randrange(1 - 10**digits, 10**digits)).scaleb(-(data_type.scale or 0))
        case "CHAR" | "VARCHAR":
            most = min(data_type.length or 0, 12)
            return "".join(rng.choice("abcé中😀 ") for _ in range(rng.randrange(most + 1)))
        case "BINARY" | "VARBINARY":
            return rng.randbytes(rng.randrange(min(data_type.length or 0, 12) + 1))
        case "DATE":
            return rng.randrange(-30_000, 30_000)
        case "TIME":
            return rng.randrange(86_400) * 1000
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return rng.randrange(-(10**9), 2 * 10**9) * 10**9 + rng.randrange(1000) * 10**6
    bits = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[data_type.root]
    return rng.randrange(1 - 2 ** (bits - 1), 2 ** (bits - 1))


def body_of(kind: str, data_type: DataType, options: Mapping[str, str], values: Sequence[Value]) -> bytes | None:
    builder = KINDS[kind].builder(data_type, options)
    builder.add(arrow_of_values(values, data_type))
    try:
        return builder.finish()
    except DataError:
        return None


@pytest.mark.slow
@each_case
def test_bytes_are_those_of_java(java: JavaProcess, kind: str, text: str) -> None:
    data_type = parse_type(text)
    work = [
        (kind, data_type, options, values)
        for options in SETTINGS[kind]
        for values in columns(data_type, random.Random(f"{kind}{text}"))
    ]
    for (_, _, options, values), wanted in zip(work, java.index_bodies(work), strict=True):
        actual = body_of(kind, data_type, options, values)
        assert actual == wanted, (options, len(values), values[:30])


@pytest.mark.slow
@each_case
def test_java_reads_what_we_write_as_we_do(java: JavaProcess, kind: str, text: str) -> None:
    data_type = parse_type(text)
    rng = random.Random(f"{text}{kind}")
    work: list[tuple[str, DataType, bytes, list[Condition]]] = []
    ours = []
    for options in SETTINGS[kind]:
        for values in columns(data_type, rng):
            body = body_of(kind, data_type, options, values)
            if body is None or (kind == "range-bitmap" and set(values) == {None}):
                continue  # of nulls alone Java's range-bitmap finds too few
            asked = list(questions(data_type, values, rng))
            work.append((kind, data_type, body, [condition for condition, _ in asked]))
            answers = [KINDS[kind].select(leaf, body, IndexedColumn(data_type, len(values))) for _, leaf in asked]
            ours.append((asked, values, answers))
    for (asked, values, answers), theirs in zip(ours, java.index_answers(work), strict=True):
        for (condition, _), actual, wanted in zip(asked, answers, theirs, strict=True):
            if isinstance(wanted, bool):
                assert wanted or (actual is not None and not actual), condition
                assert not wanted or kind != "bloom-filter" or actual is None, condition
                continue
            assert actual is not None
            rows = set(wanted)
            if kind == "bitmap" and condition[0] == "notEqual":
                rows = {row for row in rows if values[row] is not None}  # Java's complement has the nulls
            assert set(actual) == rows or is_coarse(data_type), condition


def is_coarse(data_type: DataType) -> bool:
    """Types whose conditions Java and we answer otherwise: both zeros are equal for us, digits beyond six are kept."""
    return data_type.root in ("FLOAT", "DOUBLE") or (data_type.is_timestamp and (data_type.precision or 0) > 6)


def questions(
    data_type: DataType, values: Sequence[Value], rng: random.Random
) -> Iterator[tuple[Condition, Compare | In | IsNull | Not]]:
    """Conditions in Java's words and in ours."""
    yield ("isNull",), IsNull("f")
    yield ("isNotNull",), Not(IsNull("f"))
    present = [value for value in dict.fromkeys(values) if value is not None]
    present = [value for value in present if not (data_type.root == "BIGINT" and value == -(2**63))]
    chosen = [*rng.sample(present, min(3, len(present))), random_value(data_type, rng)]
    yield ("in_", chosen), In("f", tuple(chosen))
    for value in chosen:
        yield ("equal", value), Compare("=", "f", value)
        yield ("notEqual", value), Compare("!=", "f", value)
        if not data_type.is_bytes:
            yield ("lessThan", value), Compare("<", "f", value)
            yield ("lessOrEqual", value), Compare("<=", "f", value)
            yield ("greaterThan", value), Compare(">", "f", value)
            yield ("greaterOrEqual", value), Compare(">=", "f", value)
