"""A table's options are read once, where somebody asks, and never change."""

import pickle
from pathlib import Path

import pytest

from maintenance.errors import PaimonError
from maintenance.options.model import TableModel
from tests.tables import create_table

OPTIONS = {"bucket": "-2", "merge-engine": "first-row", "deletion-vectors.enabled": "true"}


def test_what_the_options_say() -> None:
    model = TableModel(OPTIONS)
    assert (model.bucket, model.is_postponed, model.merge_engine) == (-2, True, "first-row")
    assert model.has_deletion_vectors
    assert (model.changelog_producer, model.ignores_deletes, model.tracks_rows, model.evolves) == (
        "none",
        False,
        False,
        False,
    )
    assert not model.clusters_keys
    assert model == OPTIONS


def test_an_option_is_read_once() -> None:
    read: list[str] = []

    class Counted(TableModel):
        def __getitem__(self, key: str) -> str:
            read.append(key)
            return super().__getitem__(key)

    model = Counted(OPTIONS)
    assert [model.merge_engine, TableModel.of(model).merge_engine] == ["first-row", "first-row"]
    assert read == ["merge-engine"]


def test_a_wrong_value_is_told_where_it_is_asked_for_alone() -> None:
    model = TableModel({**OPTIONS, "bucket": "many"})
    assert model.merge_engine == "first-row"
    with pytest.raises(PaimonError, match="many"):
        _ = model.bucket


def test_options_of_an_open_table_do_not_change() -> None:
    model = TableModel(OPTIONS)
    with pytest.raises(TypeError, match="do not change"):
        model["bucket"] = "1"
    with pytest.raises(TypeError, match="do not change"):
        model.update({"bucket": "1"})
    assert model == OPTIONS


def test_a_model_travels_to_tasks() -> None:
    model = TableModel(OPTIONS)
    assert model.bucket == -2
    other = pickle.loads(pickle.dumps(model))
    assert isinstance(other, TableModel)
    assert (other, other.bucket) == (OPTIONS, -2)


def test_what_a_table_hands_down_is_its_own_model(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert table.scan_source().model is table.write_context().model is table.commit_target().model is table.model
    other = table.copy({"read.batch-size": "7"})
    assert other.model is not table.model
    assert other.options["read.batch-size"] == "7"
