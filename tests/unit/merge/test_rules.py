"""Definitions that a merge engine refuses, when a table is created and when it is altered."""

from pathlib import Path

import pytest

from maintenance.catalog import Schema, SetOption
from maintenance.errors import OptionError, SchemaError
from tests.tables import create_table, open_warehouse

FIELDS = (("k", "INT NOT NULL"), ("a", "INT"), ("b", "STRING"), ("g", "INT"), ("h", "INT"))
PARTIAL = {"merge-engine": "partial-update"}
GROUP = {**PARTIAL, "fields.g.sequence-group": "a,b"}
AGGREGATION = {"merge-engine": "aggregation"}
REMOVE = "partial-update.remove-record-on-delete"
REMOVE_GROUP = "partial-update.remove-record-on-sequence-group"
REFUSED = {
    "function outside of a group": ({**PARTIAL, "fields.a.aggregate-function": "sum"}, "in no sequence group"),
    "default function outside of a group": (
        {**GROUP, "fields.default-aggregate-function": "last_value"},
        "column 'h' has aggregate function 'last_value'",
    ),
    "a column in two groups": ({**GROUP, "fields.h.sequence-group": "a"}, "column 'a' is in two sequence groups"),
    "a sequence in another group": ({**GROUP, "fields.h.sequence-group": "g"}, "column 'g' is in two sequence groups"),
    "a key in a group": ({**PARTIAL, "fields.g.sequence-group": "k"}, "sequence group names 'k'"),
    "a key as sequence": ({**PARTIAL, "fields.k.sequence-group": "a"}, "sequence group names 'k'"),
    "an unknown column in a group": ({**PARTIAL, "fields.g.sequence-group": "zz"}, "sequence group names 'zz'"),
    "blanks in a group": ({**PARTIAL, "fields.g.sequence-group": "a, b"}, "sequence group names ' b'"),
    "removing what is ignored": ({**PARTIAL, REMOVE: "true", "ignore-delete": "true"}, "contradict each other"),
    "removing from groups what is ignored": (
        {**GROUP, REMOVE_GROUP: "g", "partial-update.ignore-delete": "true"},
        "contradict each other",
    ),
    "removing on delete with groups": ({**GROUP, REMOVE: "true"}, "contradict each other"),
    "removing by a column of no group": ({**GROUP, REMOVE_GROUP: "h"}, f"'{REMOVE_GROUP}' names 'h'"),
    "unknown function": ({**AGGREGATION, "fields.a.aggregate-function": "median"}, "'median' does not exist"),
    "unknown default function": ({**AGGREGATION, "fields.default-aggregate-function": "x"}, "'x' does not exist"),
    "sum of texts": ({**AGGREGATION, "fields.b.aggregate-function": "sum"}, "'sum' does not take STRING"),
    "count of texts": ({**AGGREGATION, "fields.b.aggregate-function": "count"}, "'count' does not take STRING"),
    "list of numbers": ({**AGGREGATION, "fields.a.aggregate-function": "listagg"}, "'listagg' does not take INT"),
    "bitmap of texts": ({**AGGREGATION, "fields.b.aggregate-function": "rbm32"}, "'rbm32' does not take STRING"),
    "collecting numbers": ({**AGGREGATION, "fields.a.aggregate-function": "collect"}, "'collect' does not take INT"),
    "keytime without map": (
        {**AGGREGATION, "fields.a.aggregate-function": "merge_map_with_keytime"},
        "'merge_map_with_keytime' does not take INT",
    ),
    "sum of texts in a group": ({**GROUP, "fields.b.aggregate-function": "sum"}, "'sum' does not take STRING"),
    "removing and ignoring retractions": (
        {**AGGREGATION, "aggregation.remove-record-on-delete": "true", "fields.a.ignore-retract": "true"},
        "contradict each other",
    ),
    "a flag that does not exist": (
        {**AGGREGATION, "fields.a.ignore-retract": "yes"},
        "'fields.a.ignore-retract' = 'yes'",
    ),
    "padding without sequence": ({"sequence.auto-padding": "row-kind-flag"}, "'sequence.auto-padding' without one"),
    "padding of texts": (
        {"sequence.auto-padding": "second-to-micro", "sequence.field": "b"},
        "'sequence.auto-padding' without one",
    ),
    "padding of a descending sequence": (
        {"sequence.auto-padding": "row-kind-flag", "sequence.field": "a", "sequence.field.sort-order": "descending"},
        "'sequence.auto-padding' with 'sequence.field.sort-order' = 'descending'",
    ),
    "an unknown padding": ({"sequence.auto-padding": "hours", "sequence.field": "a"}, "expected one of row-kind-flag"),
    "a default that is not a value": ({"fields.a.default-value": "x"}, "'fields.a.default-value' = 'x'"),
    "a default of the key": ({"fields.k.default-value": "1"}, "for a column of the key"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_created_and_when_altered(tmp_path: Path, name: str) -> None:
    options, message = REFUSED[name]
    catalog = open_warehouse(tmp_path)
    with pytest.raises((OptionError, SchemaError)) as refused:
        catalog.create_table("db.refused", Schema(FIELDS, ["k"], options={"bucket": "1", **options}))
    assert message in str(refused.value)
    assert refused.value.fix
    create_table(tmp_path, FIELDS, ["k"])
    with pytest.raises((OptionError, SchemaError)):
        catalog.alter_table("db.t", [SetOption(key, value) for key, value in options.items()])
    assert catalog.get_table("db.t").schema.id == 0


def test_what_fits_is_accepted(tmp_path: Path) -> None:
    options = {
        **GROUP,
        REMOVE_GROUP: "g",
        "fields.a.aggregate-function": "sum",
        "fields.default-aggregate-function": "last_non_null_value",
    }
    create_table(tmp_path, FIELDS, ["k"], options)


def test_without_a_primary_key_nothing_is_merged(tmp_path: Path) -> None:
    create_table(tmp_path, FIELDS, [], {"fields.b.aggregate-function": "sum"})
