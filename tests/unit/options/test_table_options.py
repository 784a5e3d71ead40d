"""Every table option of Paimon is implemented, refused by name, or harmless for a reason; none is just ignored."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import maintenance
from maintenance.catalog import Schema
from maintenance.errors import OptionError, UnsupportedError
from maintenance.names import file_prefix, relative_folder
from maintenance.options import blob, file_index, global_index, iceberg
from maintenance.options import table as table_options
from maintenance.options.option import Option, names, string, untrimmed_names
from maintenance.options.table import REFUSED, REFUSED_ON_WRITE
from tests.tables import KEYED, create_table, keyed, open_warehouse

KNOWN = tomllib.loads(Path(__file__).with_name("paimon_2_0.toml").read_text())
ENGINE = Path(maintenance.__file__).parent
OPTIONS = {
    name: option
    for module in (table_options, file_index, iceberg, blob, global_index)
    for name, option in vars(module).items()
    if isinstance(option, Option)
}
# Read by validation alone: a table may say what its writers do, and they do nothing else here.
ONLY_CHECKED: set[str] = set()
# Paimon knows these no more, or under no name of its own: old tables may still have them.
BEYOND_PAIMON_2 = {
    "sequence.auto-padding",
    "manifest.format",
    "blob-external-storage-field",
    "blob-external-storage-path",
}
# Values that change something, where `true` is none.
CHANGING = {
    "changelog-producer": "lookup",
    "type": "format-table",
    "file.format": "csv",
    "file.format.per.level": "0:parquet,5:json",
    "changelog-file.format": "text",
    "batch-scan-mode": "compacted-full",
    "write.sequence-number-init-mode": "snapshot",
    "snapshot.ignore-empty-commit": "false",
    "changelog.num-retained.min": "3",
    "changelog.num-retained.max": "9",
    "changelog.time-retained": "1 d",
    "metadata.iceberg.storage": "hive-catalog",
}


def harmless() -> Iterator[str]:
    for keys in KNOWN["harmless"].values():
        yield from keys


def test_every_option_of_paimon_is_in_one_list() -> None:
    keys = [*KNOWN["implemented"], *KNOWN["refused"], *KNOWN["refused_by_reads"], *harmless()]
    assert len(keys) == len(set(keys))
    assert len(keys) > 330
    assert all(reason.strip() for reason in KNOWN["harmless"])


def test_the_lists_agree_with_the_engine() -> None:
    refused = {*REFUSED, *REFUSED_ON_WRITE} - BEYOND_PAIMON_2
    assert set(KNOWN["refused"]) == refused
    constants = {option.key for option in OPTIONS.values()} - refused - BEYOND_PAIMON_2
    assert constants <= set(KNOWN["implemented"])
    read_elsewhere = set(KNOWN["implemented"]) - constants
    source = "".join(path.read_text() for path in ENGINE.rglob("*.py"))
    assert {key for key in read_elsewhere if f'"{key}"' not in source} == set()


def test_every_constant_is_used() -> None:
    own = tuple(
        ENGINE / "options" / f"{name}.py" for name in ("table", "file_index", "iceberg", "blob", "global_index")
    )
    source = "".join(path.read_text() for path in ENGINE.rglob("*.py") if path not in own)
    source += "".join(re.sub(r"^[A-Z_]+\b.*", "", path.read_text(), flags=re.MULTILINE) for path in own)
    unused = {option.key for name, option in OPTIONS.items() if not re.search(rf"\b{name}\b", source)}
    assert unused - {*REFUSED, *REFUSED_ON_WRITE} == ONLY_CHECKED


@pytest.mark.parametrize("key", sorted({*REFUSED, *REFUSED_ON_WRITE}))
def test_a_refused_option_is_named(tmp_path: Path, key: str) -> None:
    value = CHANGING.get(key, "true")
    schema = Schema(KEYED, ["id"], options={"bucket": "1", key: value})
    with pytest.raises(UnsupportedError, match=re.escape(f"option '{key}' = '{value}'")):
        open_warehouse(tmp_path).create_table("db.t", schema)


@pytest.mark.parametrize("key", sorted(key for key in REFUSED if key not in table_options.IMMUTABLE))
def test_a_refused_option_is_refused_by_reads(tmp_path: Path, key: str) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    with pytest.raises(UnsupportedError, match=re.escape(key)):
        table.to_arrow(options={key: CHANGING.get(key, "true")})


@pytest.mark.parametrize("key", KNOWN["refused_by_reads"])
def test_options_that_reads_refuse(tmp_path: Path, key: str) -> None:
    table = create_table(tmp_path)
    with pytest.raises(UnsupportedError, match=re.escape(key)):
        table.to_arrow(options={key: "true"})


def test_values_that_change_nothing_are_accepted(tmp_path: Path) -> None:
    options = {
        "merge-engine": "Deduplicate",
        "changelog-producer": "none",
        "deletion-vectors.enabled": "FALSE",
        "file.format": "parquet",
        "tag.time-expire-enabled": "true",
        "type": "table",
    }
    create_table(tmp_path, options=options).write_arrow(keyed({1: "a"}))


FREE_TEXTS = {string, names, untrimmed_names, file_prefix, relative_folder}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_every_option_refuses_nonsense_or_takes_any_text(name: str) -> None:
    option = OPTIONS[name]
    assert option.of({}) == option.default
    if option.parse in FREE_TEXTS:
        assert option.of({option.key: "some text"}) in ("some text", ("some text",))
        return
    with pytest.raises(OptionError, match=re.escape(f"'{option.key}' = 'some text': expected")):
        option.of({option.key: "some text"})


def test_derived_defaults() -> None:
    assert table_options.num_levels({}) == 6
    assert table_options.num_levels({"num-sorted-run.compaction-trigger": "9"}) == 10
    assert table_options.num_levels({"num-levels": "3"}) == 3
    assert table_options.target_file_size({}, has_primary_key=True) == 128 << 20
    assert table_options.target_file_size({}, has_primary_key=False) == 256 << 20
    assert table_options.target_file_size({"target-file-size": "1 kb"}, has_primary_key=True) == 1024
