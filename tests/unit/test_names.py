"""The rule for names that become parts of paths."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, OptionError, SchemaError
from maintenance.names import check_new_name, file_prefix, relative_folder, segment, segment_fault, stored_name


@given(st.text(alphabet=st.sampled_from("./\\a%2eF :~\0"), max_size=8))
def test_a_segment_stays_where_it_is(text: str) -> None:
    path = posixpath.normpath(f"/w/t/{text}")
    stays = path == f"/w/t/{text}" and path.count("/") == 3 and "\0" not in text
    assert (segment_fault(text) is None) == stays


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("a/b", "contains '/'"),
        ("a\0b", "NUL"),
        ("..", "another folder"),
        (" \t", "blank"),
        ("a:b", "cannot list"),
        ("\ud800", "not valid Unicode"),
        ("ü" * 128, "256 bytes, the limit is 255"),
    ],
)
def test_why_a_name_cannot_be_new(text: str, reason: str) -> None:
    with pytest.raises(OptionError, match=rf"cannot be a thing: .*{reason}.* \(here\)\. Choose another name"):
        check_new_name(text, "a thing", "here")


def test_what_stands_around_a_name_counts() -> None:
    assert segment("..", "a tag", "here", prefix="tag-") == "tag-.."
    with pytest.raises(SchemaError, match=r"'\.\.' cannot be a table"):
        segment("..", "a table", "here", error=SchemaError)
    check_new_name("x" * 250, "a thing", "here", around=5)
    with pytest.raises(OptionError, match="251 bytes, the limit is 250"):
        check_new_name("x" * 251, "a thing", "here", around=5)


def test_an_impossible_name_in_metadata_is_damage() -> None:
    assert stored_name("data-..-0.parquet", "bucket-0") == "data-..-0.parquet"
    with pytest.raises(CorruptFileError, match=r"metadata contains an impossible file name '\.\./x'.*\(bucket-0\)"):
        stored_name("../x", "bucket-0")


@pytest.mark.parametrize("text", ["data", "./data", "data/", "data//"])
def test_a_folder_below_a_table(text: str) -> None:
    assert relative_folder(text) == "data"
    assert relative_folder(f"{text}/./b c") == "data/b c"


@pytest.mark.parametrize("text", ["", "/", ".", "/abs", "..", "a/../b", "s3://b/c", "b:c", "a/\0"])
def test_folders_that_are_elsewhere(text: str) -> None:
    with pytest.raises(ValueError, match="expected a folder below the table"):
        relative_folder(text)


@pytest.mark.parametrize("text", ["", "data-", "..", "%2e%2e"])
def test_prefixes_of_files_stay_as_they_are(text: str) -> None:
    assert file_prefix(text) == text


@pytest.mark.parametrize("text", ["a/", "../", "a:b", "\0", "x" * 120])
def test_texts_that_no_name_begins_with(text: str) -> None:
    with pytest.raises(ValueError, match="expected the beginning of a file name"):
        file_prefix(text)
