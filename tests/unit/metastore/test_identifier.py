"""Names of tables."""

import pytest

from maintenance.errors import SchemaError
from maintenance.metastore.identifier import Identifier


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db.t", Identifier("db", "t")),
        ("db.t$snapshots", Identifier("db", "t", "main", "snapshots")),
        ("db.t$SNAPSHOTS", Identifier("db", "t", "main", "snapshots")),
        ("db.t$branch_b", Identifier("db", "t", "b")),
        ("db.t$branch_b$files", Identifier("db", "t", "b", "files")),
        ("db.a.b", Identifier("db", "a.b")),
    ],
)
def test_names_have_a_database_table_branch_and_system_table(text: str, expected: Identifier) -> None:
    assert Identifier.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "t", "db.", ".t", "db.t$", "db.t$branch_", "db.t$a$b", "db.t$branch_b$a$c", "db.$snapshots"]
)
def test_texts_that_are_not_names(text: str) -> None:
    with pytest.raises(SchemaError, match="is not the name of a table"):
        Identifier.parse(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("db...", "'..' cannot be a table"),
        ("db..", "'.' cannot be a table"),
        ("db.a/b", "'a/b' cannot be a table"),
        ("db.a\0b", "cannot be a table"),
        ("a/b.t", "'a/b' cannot be a database"),
        ("db/x.t", "'db/x' cannot be a database"),
        ("db.t$branch_a/../../b", "'a/../../b' cannot be a branch"),
    ],
)
def test_names_that_lead_elsewhere(text: str, part: str) -> None:
    with pytest.raises(SchemaError, match=part):
        Identifier.parse(text)


def test_no_identifier_leads_elsewhere() -> None:
    with pytest.raises(SchemaError, match="cannot be a table"):
        Identifier("db", "..")


def test_text_without_system_table() -> None:
    assert str(Identifier.parse("db.t$branch_b$files")) == "db.t$branch_b"
    assert str(Identifier.parse("db.t$files")) == "db.t"
