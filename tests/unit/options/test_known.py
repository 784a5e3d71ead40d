"""Names of options: a misspelt one is refused when it is set, and those of others are left alone."""

import tomllib
from pathlib import Path

import pytest

from maintenance.catalog import Schema, SetOption, open_catalog
from maintenance.errors import OptionError
from maintenance.metadata.schemas import Schemas
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.options.known import known_options
from tests.tables import KEYED, create_table, get_table, keyed, open_warehouse, state

PAIMON = tomllib.loads(Path(__file__).with_name("paimon_2_0.toml").read_text())


def test_every_option_of_paimon_is_known() -> None:
    harmless = [key for keys in PAIMON["harmless"].values() for key in keys]
    assert {*PAIMON["implemented"], *PAIMON["refused"], *PAIMON["refused_by_reads"], *harmless} <= known_options()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("merge-engin", "merge-engine"),
        ("merge_engine", "merge-engine"),
        ("Merge-Engine", "merge-engine"),
        ("snapshot.time-retaned", "snapshot.time-retained"),
        ("snapshot.num.retained.max", "snapshot.num-retained.max"),
        ("sink.paralellism", "sink.parallelism"),
        ("chnagelog-producer", "changelog-producer"),
        ("bucket-keys", "bucket-key"),
        ("paimon-maintenance.proof", "paimon-maintenance.compaction.proof"),
    ],
)
def test_a_misspelt_option_is_refused(tmp_path: Path, key: str, meant: str) -> None:
    with pytest.raises(OptionError, match=rf"option '{key}' does not exist \(table db.t\). Did you mean '{meant}'\?"):
        create_table(tmp_path, options={key: "1"})
    create_table(tmp_path)
    with pytest.raises(OptionError, match=f"Did you mean '{meant}'"):
        open_warehouse(tmp_path).alter_table("db.t", [SetOption(key, "1")])
    assert len(get_table(tmp_path).schemas.list_ids()) == 1


def test_an_unknown_name_without_a_namespace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"option 'retention' does not exist .*Give options of your own a namespace"):
        create_table(tmp_path, options={"retention": "7 d"})


@pytest.mark.parametrize(
    "key",
    [
        "team.owner", "owner", "transient_lastDdlTime", "connector", "dlf.catalog.id", "hive.metastore.urls",
        "fields.v.some-day-an-option", "snapshot.expire.limit-of-a-later-paimon", "sink.parallelism",
    ],
)  # fmt: skip
def test_options_of_others_are_kept(tmp_path: Path, key: str) -> None:
    assert create_table(tmp_path, options={key: "1"}).options[key] == "1"


def test_a_table_that_others_made_may_have_any_options(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    first = table.schemas.get(0)
    path = Path(table.paths.schema(0))
    path.write_text(path.read_text().replace('"write-only"', '"merge-engin" : "x", "retention" : "1", "write-only"'))
    assert get_table(tmp_path).options != first.options
    table = get_table(tmp_path)
    for number in range(3):
        table.write_arrow(keyed({number: "a"}))
    compact(None, table, full=True)
    expire_snapshots(table, retain_max=1, retain_min=1)
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("write-only", "false"), SetOption("retention", "2")])
    assert get_table(tmp_path).options["retention"] == "2"
    assert Schemas(table.file_io, table.paths.schema_folder()).list_ids() == [0, 1]
    assert state(get_table(tmp_path)) == {0: "a", 1: "a", 2: "a"}


def test_defaults_of_a_catalog_are_checked_too(tmp_path: Path) -> None:
    open_warehouse(tmp_path)
    catalog = open_catalog({"warehouse": str(tmp_path), "table-default.merge-engin": "x"})
    with pytest.raises(OptionError, match="Did you mean 'merge-engine'"):
        catalog.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1"}))
