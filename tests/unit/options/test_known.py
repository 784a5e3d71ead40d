"""Names of options: a misspelt one is refused when it is set, and those of others are left alone."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from maintenance.catalog import Schema, SetOption, open_catalog
from maintenance.errors import OptionError, PaimonError
from maintenance.metadata.schemas import Schemas
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.sql import Session
from tests.tables import KEYED, create_table, get_table, keyed, open_warehouse, state


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
        ("snapshot.retained.max", "snapshot.num-retained.max"),
        ("metastore.partitioned-tabel", "metastore.partitioned-table"),
        ("csv.field-delimeter", "csv.field-delimiter"),
        ("parquet.page.sizes", "parquet.page.size"),
        ("fields.v.aggregat-function", "fields.v.aggregate-function"),
        ("variant.infershreddingschema", "variant.inferShreddingSchema"),
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
        "my.team", "a.b.c.d", "comment", "team.owner", "owner",
        "transient_lastDdlTime", "connector", "dlf.catalog.id", "hive.metastore.urls",
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


def table_options_of(tmp_path: Path) -> Mapping[str, str]:
    return get_table(tmp_path).options


def test_a_name_of_the_documents_is_stored_as_the_option(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    create_table(tmp_path, options={"deletion-vectors": "true"})
    assert table_options_of(tmp_path)["deletion-vectors.enabled"] == "true"
    assert "deletion-vectors" not in table_options_of(tmp_path)
    assert "there is no option 'deletion-vectors', it is set as 'deletion-vectors.enabled'" in caplog.text
    create_table(tmp_path, name="db.u")
    open_warehouse(tmp_path).alter_table("db.u", [SetOption("deletion-vectors", "true")])
    assert get_table(tmp_path, "db.u").options["deletion-vectors.enabled"] == "true"


# What sets an option of a table that is there. Each is given the warehouse and the option.
SETTERS: Mapping[str, Callable[[Path, str, str], object]] = {
    "ALTER": lambda path, key, value: open_warehouse(path).alter_table("db.t", [SetOption(key, value)]),
    "copy": lambda path, key, value: get_table(path).copy({key: value}),
    "to_arrow": lambda path, key, value: get_table(path).to_arrow(options={key: value}),
    "hint": lambda path, key, value: flink(path, f"SELECT * FROM t /*+ OPTIONS('{key}' = '{value}') */"),
    "hint of a sink": lambda path, key, value: flink(
        path, f"INSERT INTO t /*+ OPTIONS('{key}' = '{value}') */ VALUES (1, 'a')"
    ),
    "hint of a system table": lambda path, key, value: flink(
        path, f"SELECT * FROM t$snapshots /*+ OPTIONS('{key}' = '{value}') */"
    ),
    "hint of sys": lambda path, key, value: flink(
        path, f"SELECT * FROM sys.tables /*+ OPTIONS('{key}' = '{value}') */"
    ),
    "SET of Flink": lambda path, key, value: flink(path, f"SET 'paimon.*.db.t.{key}' = '{value}'"),
    "SET of Spark": lambda path, key, value: spark(path, f"SET spark.paimon.*.db.t.{key} = {value}"),
    "procedure": lambda path, key, value: flink(
        path, f"CALL sys.compact(`table` => 'db.t', options => '{key}={value}')"
    ),
}


def flink(path: Path, statement: str) -> object:
    session = Session({"warehouse": str(path)}, dialect="flink")
    session.sql("USE db")
    return session.sql(statement)


def spark(path: Path, statement: str) -> object:
    return Session({"warehouse": str(path)}, dialect="spark").sql(statement)


@pytest.mark.parametrize("how", SETTERS)
def test_one_rule_for_all_who_set_options(tmp_path: Path, how: str) -> None:
    create_table(tmp_path, options={"consumer.expiration-time": "1 d"})
    setting = SETTERS[how]
    with pytest.raises(PaimonError, match=r"option 'scan\.snaphot-id' does not exist.*'scan\.snapshot-id'"):
        setting(tmp_path, "scan.snaphot-id", "1")
    with pytest.raises(PaimonError, match=r"'scan\.bounded\.watermark' = 'soon': expected an integer"):
        setting(tmp_path, "scan.bounded.watermark", "soon")
    with pytest.raises(PaimonError, match=r"'scan\.parallelism' = 'many': expected an integer"):
        setting(tmp_path, "scan.parallelism", "many")
    with pytest.raises(PaimonError, match=r"option 'scan\.ignore-lost-files' = 'true' is not supported"):
        setting(tmp_path, "scan.ignore-lost-files", "true")
    for key, value in {"scan.bounded.watermark": "5", "consumer-id": "me", "my.team": "x"}.items():
        setting(tmp_path, key, value)


def test_an_empty_consumer_is_refused(tmp_path: Path) -> None:
    create_table(tmp_path)
    with pytest.raises(PaimonError, match="'consumer-id' = '': expected a text that is not empty"):
        flink(tmp_path, "SELECT * FROM t /*+ OPTIONS('consumer-id' = '') */")


def test_a_setting_of_flink_names_its_table(tmp_path: Path) -> None:
    create_table(tmp_path)
    with pytest.raises(PaimonError, match=r"names no table.*Write 'paimon\.\*\.\*\.\*\.scan\.snapshot-id'"):
        flink(tmp_path, "SET 'paimon.scan.snapshot-id' = '1'")


def test_older_spellings_of_scan_options(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    later = table.latest_snapshot()
    table.write_arrow(keyed({2: "b"}))
    assert later is not None
    assert state(table, options={"log.scan.timestamp-millis": str(later.time_millis)}) == {1: "a"}
    with pytest.raises(PaimonError, match="needs another option"):
        state(table, options={"log.scan": "from-timestamp"})
