"""System columns: their ids and their order in data files."""

from maintenance.format.rows.system_fields import (
    SEQUENCE_NUMBER,
    VALUE_KIND,
    element_field_id,
    is_system_field,
    is_system_id,
    key_field,
    key_value_fields,
    map_key_field_id,
)
from maintenance.types.data_type import DataField, parse_type

K = DataField(4, "k", parse_type("INT NOT NULL"))
V = DataField(5, "v", parse_type("STRING"))


def test_a_key_column_has_a_reserved_id_and_name() -> None:
    assert key_field(K) == DataField(1073741827, "_KEY_k", parse_type("INT NOT NULL"))


def test_columns_of_a_file_stand_in_paimons_order() -> None:
    names = [field.name for field in key_value_fields([K], [K, V])]
    assert names == ["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "v"]
    assert key_value_fields([], [V]) == (SEQUENCE_NUMBER, VALUE_KIND, V)


def test_reserved_names_and_ids() -> None:
    assert all(
        map(is_system_field, ["_KEY_", "_KEY_a", "_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID"])
    )
    assert not any(map(is_system_field, ["KEY_a", "sequence_number", "a"]))
    assert is_system_id(2**30 - 1)
    assert not is_system_id(2**30 - 2)


def test_ids_of_nested_parts() -> None:
    assert (element_field_id(2, 1), map_key_field_id(2, 1)) == (536870911 + 2049, 536870911 - 2049)
