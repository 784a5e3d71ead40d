"""Errors of statements."""

import pickle

import pytest

from maintenance.errors import AlreadyExistsError, ErrorClass, NotFoundError, PaimonError, SqlError, StorageError
from maintenance.sql.place import error_of


@pytest.mark.parametrize(
    "error",
    [
        AlreadyExistsError("table 'a.b' exists", "/lake", "Use it."),
        NotFoundError("table 'a.c' does not exist", "/lake", "Check the name."),
        StorageError("the storage cannot read: x", "/lake/f", "Check it.", 5),
    ],
)
def test_an_error_of_the_engine_keeps_its_class(error: PaimonError) -> None:
    found = error_of(error, "statement")
    assert isinstance(found, SqlError)
    assert isinstance(found, type(error))
    assert str(found) == f"{error.found} (statement, {error.where}). {error.fix}"
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), str(again), again.error_class) == (type(found), str(found), error.error_class)


def test_an_error_of_a_statement_stays_as_it_is() -> None:
    error = SqlError("x", "line 1", "Write y.", (1, 2), "x\n^", ErrorClass.USER)
    assert error_of(error) is error
