"""Generated expressions in statements that write: what is selected is what they store, change, merge and delete."""

from collections.abc import Mapping
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from maintenance.errors import PaimonError
from maintenance.sql import Session
from tests.examples import SEARCHES, examples
from tests.flink.generated import made_session as flink_session
from tests.models.flink_expressions import FLINK
from tests.models.spark_expressions import SPARK, Expression, Grammar
from tests.models.spark_expressions import made_session as spark_session

GRAMMARS: Mapping[str, Grammar] = {"flink": FLINK, "spark": SPARK}
DIALECTS = tuple(GRAMMARS)


@pytest.fixture(scope="module", params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, dialect: str) -> Session:
    made = flink_session if dialect == "flink" else spark_session
    return made(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def selected(session: Session, dialect: str) -> dict[str, pa.ChunkedArray]:
    """Expressions without an error in any row, with what is selected for the rows in their order."""
    seed = Random().randrange(10**9) if SEARCHES else 1
    found = {each.text: _selected(session, each) for each in GRAMMARS[dialect].expressions(seed, examples(60))}
    return {text: column for text, column in found.items() if column is not None}


def _selected(session: Session, found: Expression) -> pa.ChunkedArray | None:
    if not found.is_of_rows:
        return None
    try:
        column = session.sql(found.query).to_arrow().column("x")
    except PaimonError:
        return None
    kind = column.type
    return None if pa.types.is_null(kind) or pa.types.is_duration(kind) or pa.types.is_interval(kind) else column


def _columns(selected: Mapping[str, pa.ChunkedArray]) -> str:
    return ", ".join(f"{text} AS x{number}" for number, text in enumerate(selected))


def _stored(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> dict[str, tuple[str, str]]:
    """What a table has otherwise than it was selected."""
    rows = session.sql("SELECT * FROM changed ORDER BY id").to_arrow()
    shown = {text: (_shown(selected[text]), _shown(rows.column(f"x{n}"))) for n, text in enumerate(selected)}
    return {text: both for text, both in shown.items() if both[0] != both[1]}


def _shown(column: pa.ChunkedArray) -> str:
    """All digits, whatever the type. Python has no days after 9999."""
    return " ".join(column.combine_chunks().to_string(window=100).split())


@pytest.fixture
def changed(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> None:
    """A table with the rows and a column for each expression."""
    session.sql("DROP TABLE IF EXISTS changed")
    session.sql(f"CREATE TABLE changed AS SELECT samples.*, {_columns(selected)} FROM samples")


@pytest.mark.usefixtures("changed")
def test_what_is_inserted_is_what_is_selected(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> None:
    assert len(selected) > examples(60) // 3
    assert _stored(session, selected) == {}
    session.sql("DELETE FROM changed WHERE id >= 0")
    session.sql(f"INSERT INTO changed SELECT samples.*, {_columns(selected)} FROM samples")
    assert _stored(session, selected) == {}


@pytest.mark.usefixtures("changed")
def test_what_is_updated_becomes_what_is_selected(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> None:
    session.sql(f"UPDATE changed SET {', '.join(f'x{number} = NULL' for number, _ in enumerate(selected))}")
    session.sql(f"UPDATE changed SET {', '.join(f'x{number} = {text}' for number, text in enumerate(selected))}")
    assert _stored(session, selected) == {}


@pytest.mark.usefixtures("changed")
def test_what_is_merged_becomes_what_is_selected(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> None:
    """Of the source, and computed where rows match."""
    names = [f"x{number}" for number, _ in enumerate(selected)]
    for source, texts in ((f"SELECT id AS k, {_columns(selected).replace(' AS x', ' AS y')} FROM samples",
                           [f"s.y{number}" for number, _ in enumerate(selected)]),
                          ("SELECT id AS k FROM samples", list(selected))):  # fmt: skip
        session.sql(f"UPDATE changed SET {', '.join(f'{name} = NULL' for name in names)}")
        assignments = ", ".join(f"{name} = {text}" for name, text in zip(names, texts, strict=True))
        session.sql(f"MERGE INTO changed USING ({source}) AS s ON id = k WHEN MATCHED THEN UPDATE SET {assignments}")
        assert _stored(session, selected) == {}


def test_what_is_found_and_deleted(session: Session, selected: Mapping[str, pa.ChunkedArray]) -> None:
    conditions = {text: column for text, column in selected.items() if pa.types.is_boolean(column.type)}
    assert conditions
    for text, column in list(conditions.items())[: examples(12)]:
        true = set(pc.indices_nonzero(column.combine_chunks().fill_null(False)).to_pylist())
        found = session.sql(f"SELECT id FROM samples WHERE {text}").to_arrow()
        assert set(found.column("id").to_pylist()) == true, text
        session.sql("DROP TABLE IF EXISTS fewer")
        session.sql("CREATE TABLE fewer AS SELECT * FROM samples")
        session.sql(f"DELETE FROM fewer WHERE {text}")
        left = session.sql("SELECT id FROM fewer").to_arrow()
        assert set(left.column("id").to_pylist()) == set(range(5)) - true, text
