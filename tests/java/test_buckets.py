"""Java puts every key into the bucket that we put it into."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from maintenance.bucket.fixed import assign_buckets
from maintenance.types.data_type import DataField, parse_type
from tests.java.process import JavaProcess
from tests.java.samples import VALUES, Row, arrow_of

BUCKETS = 97  # many and prime, so that another hash is another bucket


@pytest.mark.parametrize("text", VALUES)
def test_a_key_of_each_type(java: JavaProcess, tmp_path: Path, text: str) -> None:
    compare(java, tmp_path, [text], [(value,) for value in VALUES[text]])


def test_a_key_of_many_columns_with_nulls(java: JavaProcess, tmp_path: Path) -> None:
    texts = ["STRING", "INT", "DECIMAL(38, 10)", "TIMESTAMP(9)", "BOOLEAN", "DOUBLE"]
    rows = [tuple((*VALUES[text], None)[i % (len(VALUES[text]) + 1)] for text in texts) for i in range(60)]
    compare(java, tmp_path, texts, rows)


def test_the_function_mod_gives_javas_buckets(java: JavaProcess, tmp_path: Path) -> None:
    rows = [(value,) for value in (*VALUES["BIGINT"], -1, 0, 1, 96, 97, 98)]
    compare(java, tmp_path, ["BIGINT"], rows, {"bucket-function.type": "mod"})


HIVE = [text for text in VALUES if not text.startswith("TIMESTAMP")]


@pytest.mark.parametrize("text", HIVE)
def test_the_function_hive_gives_javas_buckets(java: JavaProcess, tmp_path: Path, text: str) -> None:
    rows = [(value,) for value in (*VALUES[text], None)]
    compare(java, tmp_path, [text], rows, {"bucket-function.type": "hive"})


def test_the_function_hive_of_many_columns(java: JavaProcess, tmp_path: Path) -> None:
    texts = ["STRING", "INT", "DECIMAL(38, 10)", "BOOLEAN", "DOUBLE", "BIGINT", "DATE"]
    rows = [tuple((*VALUES[text], None)[i % (len(VALUES[text]) + 1)] for text in texts) for i in range(60)]
    compare(java, tmp_path, texts, rows, {"bucket-function.type": "hive"})


def compare(
    java: JavaProcess, folder: Path, texts: list[str], rows: Sequence[Row], options: dict[str, str] | None = None
) -> None:
    """Both engines on an append table whose columns are the bucket key."""
    columns = [(f"k{i}", text) for i, text in enumerate(texts)]
    names = ",".join(name for name, _ in columns)
    settings = {"bucket": str(BUCKETS), "bucket-key": names, **(options or {})}
    java.create_table(str(folder), "db.t", columns, ([], []), settings)
    fields = [DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(columns)]
    function = settings.get("bucket-function.type", "default")
    ours = assign_buckets(arrow_of(rows, columns), fields, BUCKETS, function)
    assert ours.tolist() == java.buckets(str(folder), "db.t", rows)
