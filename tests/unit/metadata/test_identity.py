"""A file holds what its name says, or the error tells both."""

import pytest

from maintenance.errors import CorruptFileError
from maintenance.metadata.identity import check_number, check_size


def test_what_is_as_named_passes() -> None:
    check_number("snapshot", 1, 1, "p")
    check_size(0, 0, "p")
    check_size(None, 5, "p")


def test_what_is_not_says_both() -> None:
    with pytest.raises(CorruptFileError, match=r"expected snapshot 1, found snapshot 2 \(p\)"):
        check_number("snapshot", 1, 2, "p")
    with pytest.raises(CorruptFileError, match="expected 5 bytes, found 6"):
        check_size(5, 6, "p")
    with pytest.raises(CorruptFileError, match="expected 0 bytes, found 1"):
        check_size(0, 1, "p")
