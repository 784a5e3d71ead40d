"""Folders of partitions have Java's names, for values of every type, in both ways of naming."""

import pytest

from maintenance.metadata.partition_path import partition_spec
from maintenance.types.data_type import DataField, parse_type
from tests.java.process import JavaProcess
from tests.java.samples import VALUES

FLOATS = (1.0, 1e7, 0.5**10, 2.0**-11, 123456.75, -(2.0**-40))


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("text", VALUES)
def test_folders_have_the_names_that_java_gives(java: JavaProcess, text: str, legacy: bool) -> None:
    data_type = parse_type(text)
    if legacy and data_type.is_bytes:
        return  # the address of a Java object; refused here
    values = VALUES[text] + (FLOATS if data_type.root in ("FLOAT", "DOUBLE") else ())
    field = DataField(0, "p", data_type)
    ours = [partition_spec([value], [field], "default", legacy, "UTC")["p"] for value in values]
    assert ours == java.partition_texts(data_type, values, legacy=legacy)
