"""tables.yaml: what is read from it, and how mistakes are told with their line."""

from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pydantic
import pytest

from maintenance.errors import OptionError
from maintenance.project.config import Project, load_project

GOOD = """\
warehouse: lake
spark: {options: {spark.ui.enabled: false, spark.executor.cores: 2}}
tables:
  - identifier: db.t
    columns:
      id: BIGINT NOT NULL
      day: DATE
    primary_keys: [id]
    options:
      write-only: true
      bucket: 4
    landing:
      path: landing/t
      commit_user: feed
"""


def written(text: str, folder: Path) -> Path:
    path = folder / "tables.yaml"
    path.write_text(text)
    return path


def test_paths_are_the_projects_and_options_are_text(tmp_path: Path) -> None:
    project = load_project(written(GOOD, tmp_path), tmp_path)
    (table,) = project.tables
    assert project.warehouse == str(tmp_path / "lake")
    assert table.landing is not None
    assert table.landing.path == str(tmp_path / "landing/t")
    assert table.options == {"write-only": "true", "bucket": "4"}
    assert table.tag is None, "nobody asked for tags"
    assert project.spark.options == {"spark.ui.enabled": "false", "spark.executor.cores": "2"}


@pytest.mark.parametrize("uri", ["s3://lake/warehouse", "file:///data/lake", "file:/data/lake", "/data/lake"])
def test_a_uri_or_an_absolute_path_stays_as_it_is(uri: str, tmp_path: Path) -> None:
    text = GOOD.replace("warehouse: lake", f"warehouse: {uri}").replace("path: landing/t", f"path: {uri}")
    project = load_project(written(text, tmp_path), tmp_path)
    assert project.warehouse == uri
    assert project.tables[0].landing is not None
    assert project.tables[0].landing.path == uri


def test_a_relative_path_may_hold_a_colon(tmp_path: Path) -> None:
    project = load_project(written(GOOD.replace("warehouse: lake", "warehouse: 2026/a:b"), tmp_path), tmp_path)
    assert project.warehouse == str(tmp_path / "2026/a:b")


def test_a_table_can_do_without_the_tags_of_its_pattern(tmp_path: Path) -> None:
    tables = "tables: [{identifier: db.t, tag: null}, {identifier: db.u}]"
    text = f'warehouse: lake\npatterns: [{{pattern: "db.*", tag: {{time_retained: 7 d}}}}]\n{tables}\n'
    without, tagged = load_project(written(text, tmp_path), tmp_path).with_patterns([]).tables
    assert without.tag is None
    assert tagged.tag is not None
    assert tagged.tag.lifetime == timedelta(days=7)


@pytest.mark.parametrize(("history", "there"), [("", "_maintenance"), ("history: ops", "ops"), ("history: null", "x")])
def test_the_history_is_not_maintained_as_a_users_table(history: str, there: str, tmp_path: Path) -> None:
    project = load_project(written(f'warehouse: lake\n{history}\npatterns: [{{pattern: "*.*"}}]', tmp_path), tmp_path)
    assert project.history == (None if there == "x" else there)
    actual = project.with_patterns(["db.t", f"{project.history}.history"]).tables
    assert [table.identifier for table in actual] == ["db.t", *(["None.history"] if there == "x" else [])]


def test_a_project_is_frozen(tmp_path: Path) -> None:
    project = load_project(written(GOOD, tmp_path), tmp_path)
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        project.warehouse = "elsewhere"  # type: ignore[misc]


def test_days_of_a_table_begin_in_the_zone_of_its_project_though_that_comes_from_no_file() -> None:
    project = Project.model_validate(
        {"warehouse": "lake", "expiry": {"time_zone": "Asia/Tokyo"}, "tables": [{"identifier": "shop.orders"}]}
    )
    of_project = project.table("shop.orders")
    assert of_project is not None
    assert of_project.zone == ZoneInfo("Asia/Tokyo")
    assert project.with_patterns([]).tables[0].zone == ZoneInfo("Asia/Tokyo")


def test_which_steps_apply_follows_from_the_options(tmp_path: Path) -> None:
    plain = load_project(written(GOOD, tmp_path), tmp_path).tables[0]
    more = "      changelog-producer: full-compaction\n      file-index.bloom-filter.columns: id\n    landing:"
    full = load_project(written(GOOD.replace("    landing:", more), tmp_path), tmp_path).tables[0]
    assert (plain.writes_changelog, plain.has_file_index) == (False, False)
    assert (full.writes_changelog, full.has_file_index) == (True, True)
    assert (plain.has_changelog, full.has_changelog) == (False, True)


MISTAKES = {
    "unknown key": ("    primary_keys: [id]", "    primary_key: [id]", 8, "primary_key"),
    "repeated key": ("      bucket: 4", "      bucket: 4\n      bucket: 8", 12, "'bucket' is set here a second time"),
    "type": ("      day: DATE", "      day: DATUM", 7, "DATUM"),
    "identifier": ("  - identifier: db.t", "  - identifier: t", 4, "identifier"),
    "key without column": ("[id]", "[idd]", 4, "'idd' is not among the columns"),
    "missing": ("      commit_user: feed\n", "", 12, "commit_user"),
    "duration": ("    landing:", "    tag:\n      time_retained: 3 fortnights\n    landing:", 13, "time_retained"),
    "zone": ("tables:", "expiry:\n  time_zone: Europe/Atlantis\ntables:", 4, "Europe/Atlantis"),
    "not yaml": ("    primary_keys: [id]", "    primary_keys: [id", 9, "not YAML"),
    "option": ("      bucket: 4", "      bukcet: 4", 9, "option 'bukcet' does not exist. Did you mean 'bucket'?"),
    "value": ("      bucket: 4", "      bucket: four", 9, "'bucket' = 'four': expected an integer"),
    "refused": (
        "      bucket: 4",
        "      scan.ignore-lost-files: true",
        9,
        "'scan.ignore-lost-files' = 'true'",
    ),
    "twice": ("tables:", "tables:\n  - identifier: db.t", 3, "two entries"),
}


@pytest.mark.parametrize(("good", "bad", "line", "reported"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_line(good: str, bad: str, line: int, reported: str, tmp_path: Path) -> None:
    path = written(GOOD.replace(good, bad), tmp_path)
    with pytest.raises(OptionError) as caught:
        load_project(path, tmp_path)
    assert reported in caught.value.found
    assert caught.value.where == f"{path}, line {line}"


@pytest.mark.parametrize(
    ("text", "reported"), [(None, "does not exist"), ("", "empty"), ("- a\n", "expected a mapping")]
)
def test_a_file_that_is_none(text: str | None, reported: str, tmp_path: Path) -> None:
    if text is not None:
        written(text, tmp_path)
    with pytest.raises(OptionError, match=reported):
        load_project(tmp_path / "tables.yaml", tmp_path)


@pytest.mark.parametrize(
    ("data", "line", "reported"),
    [
        (
            b"warehouse: lake\ntables: !!python/object/apply:os.system [ls]\n",
            ", line 2",
            "could not determine a constr",
        ),
        (b"warehouse: lake\ntables: !unknown []\n", ", line 2", "could not determine a constructor"),
        (b"warehouse: lake\nname: a\0b\n", ", line 2", r"U\+0000 cannot be in YAML"),
        ("warehouse: lake\n# größe\n".encode("latin-1"), ", line 2", "the byte 0xF6 is not UTF-8"),
        (b"warehouse: lake\n? [a, b]\n: c\n", ", line 2", "a key is not a plain word"),
        (b"warehouse: &a [*a]\n", "", "contains itself"),
        (b"warehouse: " + b"[" * 3000 + b"]" * 3000, "", "nested too deeply"),
    ],
    ids=["python-tag", "own-tag", "nul", "latin-1", "list-as-key", "itself", "deep"],
)
def test_files_that_are_not_plain_yaml(data: bytes, line: str, reported: str, tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_bytes(data)
    with pytest.raises(OptionError, match=reported) as caught:
        load_project(path, tmp_path)
    assert caught.value.where == f"{path}{line}"


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="the file cannot be read: Is a directory"):
        load_project(tmp_path, tmp_path)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_project(path, tmp_path).tables[0].identifier == "db.t"


@pytest.mark.parametrize(
    ("good", "bad", "line", "said"),
    [
        (
            "    primary_keys: [id]",
            "    primary_key: [id]",
            8,
            "unknown key 'primary_key'. Did you mean 'primary_keys'?",
        ),
        (
            "warehouse: lake",
            "warehous: lake",
            1,
            "unknown key 'warehous'. Did you mean 'warehouse'? Known keys: alerts,",
        ),
        (
            "    landing:",
            "    checks: {max_agee: 2 h}\n    landing:",
            12,
            "Did you mean 'max_age'? Known keys: max_age,",
        ),
        ("    landing:", "    xyz: 1\n    landing:", 12, "unknown key 'xyz'. Known keys: alerts, bin, checks,"),
    ],
)
def test_an_unknown_key_names_the_nearest_and_all_there_are(
    good: str, bad: str, line: int, said: str, tmp_path: Path
) -> None:
    path = written(GOOD.replace(good, bad), tmp_path)
    with pytest.raises(OptionError) as caught:
        load_project(path, tmp_path)
    assert said in caught.value.found
    assert "found" not in caught.value.found.partition("Known keys:")[2], "a key that the file must not have"
    assert caught.value.where == f"{path}, line {line}"


def test_every_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    text = GOOD.replace("      day: DATE", "      day: DATUM").replace("      commit_user", "      commit_usr")
    path = written(text, tmp_path)
    with pytest.raises(OptionError) as caught:
        load_project(path, tmp_path)
    assert caught.value.where == f"{path}, line 7"
    assert f"1 more: {path}, line 14: tables.0.landing.commit_usr: unknown key" in caught.value.fix


def test_keys_may_be_written_as_options(tmp_path: Path) -> None:
    as_options = GOOD.replace("    primary_keys: [id]\n", "").replace(
        "      bucket: 4\n", "      bucket: 4\n      primary-key: 'id, day'\n      partition: day\n"
    )
    (table,) = load_project(written(as_options, tmp_path), tmp_path).tables
    assert (table.primary_keys, table.partition_keys) == (("id", "day"), ("day",))
    assert table.options == {"write-only": "true", "bucket": "4"}
    both = GOOD.replace("      bucket: 4\n", "      bucket: 4\n      primary-key: id\n")
    with pytest.raises(OptionError, match="'primary-key' and the keys of the definition are given"):
        load_project(written(both, tmp_path), tmp_path)
    unknown = GOOD.replace("      bucket: 4\n", "      bucket: 4\n      partition: hour\n")
    with pytest.raises(OptionError, match="the key 'hour' is not among the columns"):
        load_project(written(unknown, tmp_path), tmp_path)


def test_the_format_of_a_landing_folder(tmp_path: Path) -> None:
    def landing(more: str) -> str:
        return GOOD.replace("      commit_user: feed\n", f"      commit_user: feed\n{more}")

    said = "      format: debezium-json\n      options: {decimal.handling.mode: string}\n      bad_lines: set_aside\n"
    (table,) = load_project(written(landing(said), tmp_path), tmp_path).tables
    assert table.landing is not None
    folder = table.landing.folder
    assert (folder.format, folder.bad_lines) == ("debezium-json", "set_aside")
    assert folder.format_options == {"decimal.handling.mode": "string"}
    for wrong, problem in (
        ("      format: ogg-json\n", "debezium-json"),
        ("      options: {time-zone: UTC}\n", "format 'parquet' has no options"),
        ("      format: canal-json\n      options: {time-zone: Mars}\n", "time-zone"),
        ("      format: canal-json\n      row_kind_column: op\n", "say the kinds of their rows"),
    ):
        with pytest.raises(OptionError, match=problem):
            load_project(written(landing(wrong), tmp_path), tmp_path)
