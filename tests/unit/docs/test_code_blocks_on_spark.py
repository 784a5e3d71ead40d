"""The blocks of README and docs that need a session of Spark, and what their pages say of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.spark.opened import close_session
from maintenance.spark.session import get_session
from tests.spark.conftest import without_sessions
from tests.unit.docs.blocks import DOCS, PAGES, blocks
from tests.unit.docs.page_claims import CLAIMS_ON_SPARK
from tests.unit.docs.page_tables import make_orders
from tests.unit.docs.pages import NEEDS_SPARK, Reader

pytestmark = pytest.mark.slow

WITH_SPARK = [
    page
    for page in PAGES
    if page != DOCS / "api.md"
    and any(NEEDS_SPARK.search(block.text) and block.language in ("python", "sql") for block in blocks(page))
]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    without_sessions()  # tests before may have left one with other settings
    yield get_session(master="local[2]", config={"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    close_session()


@pytest.mark.parametrize("page", WITH_SPARK, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_work(
    page: Path,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_orders(tmp_path / "lake")
    reader = Reader(page, tmp_path, monkeypatch, capsys, spark)
    for block in blocks(page):
        if not block.why:
            reader.follow(block)
    for query in spark.streams.active:
        query.processAllAvailable()
        query.stop()
    CLAIMS_ON_SPARK[page.name](reader.names)
