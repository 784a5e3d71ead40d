"""Names of tables."""

import pytest

from maintenance.catalog.identifier import Identifier
from maintenance.errors import SchemaError


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
def test_names(text: str, expected: Identifier) -> None:
    assert Identifier.parse(text) == expected


@pytest.mark.parametrize(
    "text", ["", "t", "db.", ".t", "db.t$", "db.t$branch_", "db.t$a$b", "db.t$branch_b$a$c", "db/x.t", "db.$snapshots"]
)
def test_no_names(text: str) -> None:
    with pytest.raises(SchemaError, match="no name of a table"):
        Identifier.parse(text)


def test_text_without_system_table() -> None:
    assert str(Identifier.parse("db.t$branch_b$files")) == "db.t$branch_b"
    assert str(Identifier.parse("db.t$files")) == "db.t"
