"""Every entry of the table in Flink's dialect beside a real Flink: the same value and type, or both fail.

Of arrays, maps and bytes the types are compared.
"""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.errors import PaimonError
from maintenance.sql import Session
from maintenance.types.arrow import data_type_of_arrow
from tests.examples import SEARCHES
from tests.expression_samples import COLUMNS, Sample, samples, table_values
from tests.flink.process import flink_process
from tests.java.process import JavaError, JavaProcess

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("flink_jars")]
# Calls that were found equal, which must stay so. About half of the others are not yet: a search tries all.
EQUAL = frozenset(Path(__file__).with_name("equal_calls.txt").read_text().splitlines())


def name_of(sample: Sample) -> str:
    return f"{sample.name}: {sample.text}"


SAMPLES = [sample for sample in samples("flink") if SEARCHES or name_of(sample) in EQUAL]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    session = Session({"warehouse": str(folder)}, dialect="spark")
    session.sql("SET spark.sql.session.timeZone = UTC")
    listed = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    session.sql(f"CREATE TABLE samples (id INT, {listed})")
    session.sql(f"INSERT INTO samples VALUES {table_values()}")
    return folder


@pytest.fixture(scope="module")
def flink(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProcess]:
    process = flink_process(warehouse, tmp_path_factory.mktemp("flink"))
    yield process
    process.close()


@pytest.fixture(scope="module")
def session(warehouse: Path) -> Session:
    made = Session({"warehouse": str(warehouse)}, dialect="flink")
    made.sql("SET 'table.local-time-zone' = 'UTC'")
    return made


@pytest.mark.parametrize("sample", SAMPLES, ids=name_of)
def test_each_entry_gives_the_value_and_type_of_flink(flink: JavaProcess, session: Session, sample: Sample) -> None:
    different = difference(flink, session, sample)
    assert different is None, different


def difference(flink: JavaProcess, session: Session, sample: Sample) -> str | None:
    """How the two are not the same; None: they are, or it is refused here in our words."""
    try:
        ours = session.sql(sample.query.replace("samples", "`default`.samples")).to_arrow()
    except PaimonError as error:
        if "Run the statement in Flink." in str(error):
            return None
        ours = error
    inner = sample.query.removesuffix(" ORDER BY id").replace("samples", "`default`.samples")
    try:
        theirs = flink.query(f"SELECT q.*, TYPEOF(x) FROM ({inner}) AS q")
    except JavaError as error:
        return None if isinstance(ours, PaimonError) else f"Flink fails: {str(error)[:200]}; here: {ours.to_pydict()}"
    if isinstance(ours, PaimonError):
        return f"Flink: {theirs}; here: {ours}"
    return _compared(theirs, ours)


def _compared(theirs: list[tuple[Any, ...]], ours: pa.Table) -> str | None:
    kind = str(data_type_of_arrow(ours.schema.field("x").type))
    wanted = str(theirs[0][-1]).removesuffix(" NOT NULL")
    if _plain_kind(kind) != _plain_kind(wanted):
        return f"Flink's type is {wanted}, ours {kind}"
    column = ours.column("x")
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        return None
    ids = ours.column("id").to_pylist() if "id" in ours.column_names else [0]
    found = sorted(zip(ids, map(_plain, column.to_pylist()), strict=True), key=repr)
    given = sorted(((row[0] if len(row) > 2 else 0, _read(row[-2], column.type)) for row in theirs), key=repr)
    return None if repr(found) == repr(given) else f"Flink: {given}, here: {found}"


def _plain_kind(kind: str) -> str:
    """Lengths of texts and bytes are not told by Arrow."""
    root = kind.partition("(")[0].partition("<")[0].strip()
    if root in ("CHAR", "VARCHAR", "STRING"):
        return "STRING"
    return "BYTES" if root in ("BINARY", "VARBINARY", "BYTES") else kind.replace(" NOT NULL", "")


def _read(value: Any, kind: pa.DataType) -> Any:
    """A value of Java's, of which some are texts."""
    if value is None or not isinstance(value, str):
        return value
    if pa.types.is_floating(kind):
        return _plain(float(value.replace("Infinity", "inf")))
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(value.removesuffix("Z"))
    return dt.date.fromisoformat(value) if pa.types.is_date(kind) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else f"{value:.11g}"
    return value


def test_a_wrong_value_would_be_seen() -> None:
    ours = pa.table({"x": pa.array([1], pa.int32())})
    assert _compared([(2, "INT")], ours) is not None
    assert _compared([(1, "BIGINT")], ours) is not None
    assert _compared([(1, "INT NOT NULL")], ours) is None
