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
    actual = error_of(error, "statement")
    assert isinstance(actual, SqlError)
    assert isinstance(actual, type(error))
    assert str(actual) == f"{error.found} (statement, {error.where}). {error.fix}"
    again = pickle.loads(pickle.dumps(actual))
    assert (type(again), str(again), again.error_class) == (type(actual), str(actual), error.error_class)


def test_an_error_of_a_statement_stays_as_it_is() -> None:
    error = SqlError("x", "line 1", "Write y.", (1, 2), "x\n^", ErrorClass.USER)
    assert error_of(error) is error
