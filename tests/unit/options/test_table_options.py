"""Every table option of Paimon is honoured, refused by name, or harmless for a reason; none is just ignored."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import Schema, SetOption
from maintenance.errors import OptionError, UnsupportedError
from maintenance.names import file_prefix, relative_folder
from maintenance.options import table as table_options
from maintenance.options.families import FAMILIES
from maintenance.options.known import all_options, state_of
from maintenance.options.model import TableModel
from maintenance.options.option import Option, names, not_empty, string, untrimmed_names
from maintenance.options.state import READS, WRITES, Harmless, Honoured, Refused, refusal_of
from tests.tables import KEYED, create_table, keyed, open_warehouse, state

PAIMON = tomllib.loads(Path(__file__).with_name("paimon_2_0.toml").read_text())
ALL = {option.key: option for option in reversed(list(all_options()))}
HARMLESS = [option for option in ALL.values() if isinstance(option.state, Harmless)]
# Values that mean something that is not done, where `true` is none.
CHANGING = {
    "type": "format-table",
    "file.format": "csv",
    "file.format.per.level": "0:parquet,5:json",
    "changelog-file.format": "text",
    "vector.file.format": "orc",
    "metastore.tag-to-partition.preview": "batch",
    "metadata.iceberg.storage": "hive-catalog",
    "read.allow.fullScan": "false",
    "stream-scan-mode": "file-monitor",
    "json.map-null-key-mode": "drop",
    "scan.plan-auto-tag-for-read.time-retained": "1 h",
}


def refusing() -> Iterable[str]:
    return sorted(key for key, option in ALL.items() if refusal_of(option.state) is not None)


def test_every_option_of_paimon_has_a_state() -> None:
    keys = {key for keys in PAIMON.values() for key in keys}
    assert len(keys) > 450
    assert {key for key in keys if state_of(key) is None} == set()


def test_every_reason_is_a_sentence() -> None:
    states = [option.state for option in ALL.values()] + [family.state for family in FAMILIES]
    for where in states:
        if isinstance(where, Harmless):
            assert re.fullmatch(r"[A-Z].{20,}\.", where.why)
        refusal = refusal_of(where)
        if refusal is not None:
            assert re.fullmatch(r"[a-zA-Z].{15,}[^.]", refusal.why)


def test_a_key_has_one_state() -> None:
    states: dict[str, set[type]] = {}
    for option in all_options():
        for key in option.keys:
            states.setdefault(key, set()).add(type(option.state))
    assert {key: kinds for key, kinds in states.items() if len(kinds) > 1} == {}


@pytest.mark.parametrize("key", refusing())
def test_a_refused_value_is_named_by_all_who_set_it(tmp_path: Path, key: str) -> None:
    value = CHANGING.get(key, "true")
    what = "possible in a filesystem catalog" if key == "type" else "supported"
    named = re.escape(f"option '{key}' = '{value}' is not {what}")
    catalog = open_warehouse(tmp_path)
    with pytest.raises(UnsupportedError, match=named):
        catalog.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1", key: value}))
    table = create_table(tmp_path, name="db.u")
    if key not in table_options.IMMUTABLE:
        with pytest.raises(UnsupportedError, match=named):
            catalog.alter_table("db.u", [SetOption(key, value)])
        with pytest.raises(UnsupportedError, match=named):
            table.to_arrow(options={key: value})


@pytest.mark.parametrize("key", refusing())
def test_tables_that_others_made_are_refused_for_what_matters(tmp_path: Path, key: str) -> None:
    refusal = refusal_of(ALL[key].state)
    assert refusal is not None
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    path = Path(table.paths.schema(0))
    value = CHANGING.get(key, "true")
    if key == "type":
        return
    path.write_text(path.read_text().replace('"write-only"', f'"{key}" : "{value}", "write-only"'))
    table = open_warehouse(tmp_path).get_table("db.t")
    if refusal.by & READS:
        with pytest.raises(UnsupportedError, match=re.escape(key)):
            table.to_arrow()
    else:
        assert state(table) == {1: "a"}
    if refusal.by & WRITES:
        with pytest.raises(UnsupportedError, match=re.escape(key)):
            table.write_arrow(keyed({2: "b"}))
    else:
        table.write_arrow(keyed({2: "b"}))


def value_of(option: Option[Any]) -> str:
    """A value that the option takes."""
    for text in ("true", "1", "1 mb", "1 h"):
        try:
            option.parse(text)
        except ValueError as error:
            words = re.fullmatch(r"expected one of (\S+), .*", str(error))
            if words is not None:
                return words[1]
            continue
        return text
    raise AssertionError(option.key)


def test_harmless_options_change_nothing(tmp_path: Path) -> None:
    options = {option.key: value_of(option) for option in HARMLESS}
    table = create_table(tmp_path, options={"bucket": "1", "write-only": "false", **options})
    for number in range(7):
        table.write_arrow(keyed({number % 3: str(number)}))
    assert state(table) == {0: "6", 1: "4", 2: "5"}
    assert state(table, options=options) == {0: "6", 1: "4", 2: "5"}


@pytest.mark.parametrize("option", [each for each in HARMLESS if each.parse is not string], ids=lambda each: each.key)
def test_values_of_harmless_options_are_checked(tmp_path: Path, option: Option[Any]) -> None:
    named = re.escape(f"'{option.key}' = 'some text': expected")
    with pytest.raises(OptionError, match=named):
        create_table(tmp_path, options={option.key: "some text"})


def test_values_that_change_nothing_are_accepted(tmp_path: Path) -> None:
    options = {
        "merge-engine": "Deduplicate",
        "changelog-producer": "none",
        "deletion-vectors.enabled": "FALSE",
        "file.format": "parquet",
        "tag.time-expire-enabled": "true",
        "type": "table",
        "scan.ignore-lost-files": "False",
        "fields.v.map.storage-layout": "default",
    }
    create_table(tmp_path, options=options).write_arrow(keyed({1: "a"}))


def test_maps_as_columns_of_the_file_are_refused_by_reads_and_writes(tmp_path: Path) -> None:
    key = "fields.v.map.storage-layout"
    with pytest.raises(UnsupportedError, match=re.escape(f"option '{key}' = 'shared-shredding' is not supported")):
        create_table(tmp_path, options={key: "shared-shredding"})
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    path = Path(table.paths.schema(0))
    path.write_text(path.read_text().replace('"write-only"', f'"{key}" : "shared-shredding", "write-only"'))
    with pytest.raises(UnsupportedError, match=re.escape(key)):
        open_warehouse(tmp_path).get_table("db.t").to_arrow()


FREE_TEXTS = {string, names, untrimmed_names, not_empty, file_prefix, relative_folder}
HONOURED = {option.key: option for option in ALL.values() if isinstance(option.state, Honoured | Refused)}


@pytest.mark.parametrize("key", sorted(HONOURED))
def test_every_option_refuses_nonsense_or_takes_any_text(key: str) -> None:
    option = HONOURED[key]
    assert option.of({}) == option.default
    if option.parse in FREE_TEXTS:
        assert option.of({option.key: "some text"}) in ("some text", ("some text",))
        return
    with pytest.raises(OptionError, match=re.escape(f"'{option.key}' = 'some text': expected")):
        option.of({option.key: "some text"})


def test_defaults_follow_from_other_options_and_the_key() -> None:
    assert TableModel().num_levels == 6
    assert TableModel({"num-sorted-run.compaction-trigger": "9"}).num_levels == 10
    assert TableModel({"num-levels": "3"}).num_levels == 3
    assert TableModel().target_file_size(has_primary_key=True) == 128 << 20
    assert TableModel().target_file_size(has_primary_key=False) == 256 << 20
    assert TableModel({"target-file-size": "1 kb"}).target_file_size(has_primary_key=True) == 1024
