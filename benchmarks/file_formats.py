"""Times data files of every format: written, read whole, one column, and three rows by their numbers.

    python -m benchmarks.file_formats [--rows 300000] [--rounds 3]

Files of the same rows in memory: numbers and texts, columns of many types, lists and maps. The best of the rounds
counts, in seconds of the processor. A format is left out where it lacks a type, or its library is not installed.
"""

import argparse
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.results import tell
from maintenance.errors import UnsupportedError
from maintenance.format.data_format import FileSelection, FileSettings, OpenWriter
from maintenance.format.data_formats import DATA_FORMATS, open_data_file
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type

T = TypeVar("T")
_PIECES = 4


def sample(kind: str, rows: int) -> tuple[list[DataField], pa.Table]:
    """Columns and rows; about a tenth of the values is null."""
    random = np.random.default_rng(7)
    nulls = random.random(rows) < 0.1
    numbers = np.arange(rows)
    some = pa.array(random.integers(0, 10**6, rows), mask=nulls)
    texts = pa.array(np.char.add("text of ", (numbers % 1000).astype(str)))
    columns: dict[str, tuple[str, pa.Array]] = {"id": ("BIGINT NOT NULL", pa.array(numbers))}
    if kind == "plain":
        columns |= {"a": ("BIGINT", some), "b": ("DOUBLE", pa.array(random.random(rows))), "v": ("STRING", texts)}
    elif kind == "wide":
        columns |= {
            "i": ("INT", some.cast(pa.int32())),
            "t": ("TIMESTAMP(6)", some.cast(pa.timestamp("us"))),
            "d": ("DECIMAL(12, 2)", some.cast(pa.int32()).cast(pa.decimal128(12, 2))),
            "s": ("STRING", some.cast(pa.string())),
            "v": ("STRING", texts),
            "o": ("BOOLEAN", pa.array(random.random(rows) < 0.5, mask=nulls)),
        }
    else:
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * 2)
        inner, keys = pa.array(random.integers(0, 99, 2 * rows).astype(np.int32)), pa.array(["a", "bb"] * rows)
        columns |= {
            "l": ("ARRAY<INT>", pa.ListArray.from_arrays(offsets, inner)),
            "s": ("ARRAY<STRING>", pa.ListArray.from_arrays(offsets, inner.cast(pa.string()))),
            "m": ("MAP<STRING, INT>", pa.MapArray.from_arrays(offsets, keys, inner)),
        }
    fields = [DataField(n, name, parse_data_type(text)) for n, (name, (text, _)) in enumerate(columns.items())]
    arrays = [array.cast(arrow_type(f.type)) for f, (_, array) in zip(fields, columns.values(), strict=True)]
    return fields, pa.Table.from_arrays(arrays, names=[f.name for f in fields])


def written(rows: pa.Table, open_writer: OpenWriter) -> bytes:
    sink = pa.BufferOutputStream()
    writer = open_writer(sink)
    step = -(-rows.num_rows // _PIECES)
    for start in range(0, rows.num_rows, step):
        writer.write(rows.slice(start, step))
    writer.close()
    content: bytes = sink.getvalue().to_pybytes()
    return content


def best(work: Callable[[], T], rounds: int) -> tuple[list[float], T]:
    """Seconds of each round, and what it returned."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        found = work()
        times.append(time.process_time() - started)
    return times, found


def compare(kind: str, count: int, rounds: int) -> None:
    fields, rows = sample(kind, count)
    wanted = FileSelection(rows=np.array([5, count // 2, count - 1]))
    print(f"\n{kind}: {count} rows of {', '.join(str(field.type) for field in fields)}")
    print(f"{'':10}{'write':>9}{'read':>9}{'1 column':>10}{'3 rows':>9}{'MB':>8}")
    for name, form in DATA_FORMATS.items():
        try:
            open_writer = form.prepare_writer(fields, FileSettings(name))
        except UnsupportedError as error:
            print(f"{name:10}{error}")
            continue
        write, content = best(lambda w=open_writer: written(rows, w), rounds)  # type: ignore[misc]
        times, cases = [min(write)], iter(("read", "one column read", "three rows read"))
        tell(f"{kind}: written", name, write, megabytes=round(len(content) / 1e6, 1))
        for columns, selection in ((fields, FileSelection()), (fields[:1], FileSelection()), (fields, wanted)):

            def read(c=columns, s=selection, data=content, form=name) -> pa.Table:  # type: ignore[no-untyped-def]  # noqa: ANN001
                return open_data_file(pa.BufferReader(data), f"file.{form}", {}, fields).read(c, s)

            seconds, found = best(read, rounds)
            assert found.num_rows == count or selection is wanted, name
            times.append(min(seconds))
            tell(f"{kind}: {next(cases)}", name, seconds)
        print(f"{name:10}{times[0]:9.3f}{times[1]:9.3f}{times[2]:10.3f}{times[3]:9.4f}{len(content) / 1e6:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for kind in ("plain", "wide", "nested"):
        compare(kind, arguments.rows, arguments.rounds)


if __name__ == "__main__":
    main()
