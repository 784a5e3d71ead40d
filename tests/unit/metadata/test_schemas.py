"""Schemas: the highest number is the latest, with gaps or without."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, MissingFileError
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from tests.unit.metadata.states import FILE_IO, schema_of


@pytest.fixture
def schemas(tmp_path: Path) -> Schemas:
    return Schemas(FILE_IO, str(tmp_path / "schema"))


def test_without_a_table_there_is_no_schema(schemas: Schemas) -> None:
    assert schemas.list_ids() == []
    assert schemas.latest() is None
    with pytest.raises(MissingFileError, match="schema 0 does not exist"):
        schemas.get(0)


def test_the_latest_has_the_highest_number(schemas: Schemas, tmp_path: Path) -> None:
    for number in (10, 0, 9):
        assert schemas.publish(schema_of(number))
    for other in ("schema-x", "schema-", "other-11", "12"):
        (tmp_path / "schema" / other).touch()
    assert schemas.list_ids() == [0, 9, 10]
    assert schemas.latest() == schema_of(10)
    assert schemas.get(9) == schema_of(9)


def test_a_number_is_given_once(schemas: Schemas) -> None:
    assert schemas.publish(schema_of(0))
    assert not schemas.publish(schema_of(0, comment="another"))
    assert schemas.get(0) == schema_of(0)


def test_another_schema_under_the_name(schemas: Schemas, tmp_path: Path) -> None:
    schemas.publish(schema_of(1))
    shutil.copy(tmp_path / "schema/schema-1", tmp_path / "schema/schema-0")
    with pytest.raises(CorruptFileError, match="expected schema 0, found schema 1"):
        schemas.get(0)


def test_only_the_branch_that_a_table_names_has_schemas_behind_its_own() -> None:
    branch = TablePaths("/w/t", branch="b")
    assert Schemas.of(FILE_IO, branch).behind is None
    assert Schemas.of(FILE_IO, replace(branch, follows_main=True)).behind == "/w/t/schema"
