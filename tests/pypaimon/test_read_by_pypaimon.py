"""pypaimon reads what we write, compact and index."""

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.operations.compact import compact
from maintenance.operations.rewrite_file_index import rewrite_file_index
from maintenance.table.table import Table
from tests.java.samples import COLUMNS, SAMPLES, Row, Sample, arrow_of, comparable, rows_in, rows_of

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-pypaimon" / "bin" / "python"


@pytest.fixture(scope="module")
def pypaimon() -> Path:
    """The interpreter of pypaimon's environment. Where there is none the test is skipped, in CI it fails."""
    reason = f"there is no {PYTHON}: run scripts/install pypaimon"
    if not PYTHON.exists() and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if not PYTHON.exists():
        pytest.skip(reason)
    return PYTHON


def batch(table: Table, rows: list[Row]) -> pa.Table:
    return arrow_of(rows).select(table.schema.field_names)


def maintained(warehouse: str, sample: Sample) -> Table:
    """A table of ours, written, compacted, indexed, and written again."""
    # To merge rows, pypaimon makes them Python objects, which hold no nanoseconds.
    columns = [column for column in COLUMNS if not (sample.primary_keys and column[1] == "TIMESTAMP(9)")]
    table = sample.create(warehouse, columns)
    for start, version in ((0, 0), (8, 1)):
        table.write_arrow(batch(table, rows_of(range(start, start + 12), version)))
    compact(None, table, full=True)
    rewrite_file_index(None, table.copy({"file-index.bloom-filter.columns": "id"}))
    late = batch(table, rows_of(range(14, 18), 2))
    table.write_arrow(late, ["+I", "+U", "-D", "-D"] if sample.primary_keys else None)
    return table


def test_pypaimon_reads_our_rows(pypaimon: Path, tmp_path: Path) -> None:
    tables = {str(tmp_path / name): maintained(str(tmp_path / name), sample) for name, sample in SAMPLES.items()}
    script = Path(__file__).parent / "read_tables.py"
    done = subprocess.run([pypaimon, script, *tables], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for warehouse, table in tables.items():
        wanted = table.to_arrow()
        with pa.OSFile(f"{warehouse}/rows.arrow") as source:
            found = pa.ipc.open_file(source).read_all()
        assert found.column_names == wanted.column_names
        assert comparable(rows_in(found.cast(wanted.schema))) == comparable(rows_in(wanted))
