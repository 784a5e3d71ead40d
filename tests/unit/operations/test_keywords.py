"""Functions of Python that take the fields of a record as keywords."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from maintenance.operations.parameters import Param, keywords_of


@dataclass(frozen=True)
class Tagging:
    """Which tag.

    Attributes:
        note: what it is for,
            on two lines.
    """

    name: Annotated[str, Param("Name of the tag.")]
    days: Annotated[int | None, Param("How long it lives.")] = None
    note: str = ""


@keywords_of(Tagging, "tagging")
def tag(table: str, tagging: Tagging, *, dry_run: bool = False) -> tuple[str, Tagging, bool]:
    """Tag a table.

    Args:
        table: which one.
        name: must be new.
    Raises: ValueError.
    """
    return table, tagging, dry_run


@keywords_of(Tagging, "tagging", only=("name",))
def name_tag(tagging: Tagging) -> str:
    """Name a tag."""
    return f"{tagging.name} {tagging.days}"


def test_the_fields_arrive_as_the_record() -> None:
    assert tag("t", "a") == ("t", Tagging("a"), False)
    assert tag(table="t", name="a", days=3, dry_run=True) == ("t", Tagging("a", 3), True)
    assert name_tag("a") == "a None"


@pytest.mark.parametrize("keywords", [{}, {"name": "a", "hours": 3}, {"name": "a", "tagging": Tagging("a")}], ids=str)
def test_what_is_missing_or_unknown_is_a_type_error(keywords: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        tag("t", **keywords)


def test_fields_with_defaults_are_not_taken_by_position_nor_those_that_are_left_out() -> None:
    with pytest.raises(TypeError, match="takes 2 arguments by position"):
        tag("t", "a", 3)
    with pytest.raises(TypeError):
        name_tag("a", days=3)
    with pytest.raises(TypeError, match="multiple values for argument 'name'"):
        tag("t", "a", name="b")


def test_signature_and_docstring_have_the_fields_in_order() -> None:
    shown = "(table: str, name: str, *, days: int | None = None, note: str = '', dry_run: bool = False)"
    assert str(inspect.signature(tag)).startswith(shown)
    assert (
        inspect.getdoc(tag)
        == """Tag a table.

Args:
    table: which one.
    name: must be new.
    days: how long it lives.
    note: what it is for,
        on two lines.
    dry_run: report what would be done, change nothing.
Raises: ValueError."""
    )
    assert inspect.getdoc(name_tag) == "Name a tag.\n\nArgs:\n    name: name of the tag."
