"""Whatever a name or an option says, nothing outside the table's own folder is created, changed or deleted.

The file system is the judge: everything around the table is compared before and after each call.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import Catalog, CatalogTable, RemoveOption, Schema, SetOption, open_catalog
from maintenance.errors import PaimonError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.clear_consumers import clear_consumers
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.rename_branch import rename_branch
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.reset_consumer import reset_consumer
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.rows.drop_partitions import drop_partitions
from maintenance.table.stream import TableStream
from tests.examples import examples
from tests.hostile_names import names
from tests.kept_plans import plan_compact
from tests.tables import KEYED, keyed, state

KEPT = "kept-by-the-test"
WAITING = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"}
PATH_OPTIONS = (
    "data-file.prefix", "changelog-file.prefix", "data-file.path-directory", "partition.default-name", "branch",
    "scan.fallback-branch", "scan.primary-branch", "scan.tag-name", "scan.version", "consumer-id",
    "incremental-between", "incremental-to-auto-tag", "commit.user-prefix", "file.compression", "file.format",
    "changelog-file.format", "data-file.external-paths", "path", "manifest.format",
)  # fmt: skip
STATE = {1: "a", 2: "b"}


@dataclass(frozen=True)
class Lake:
    """A warehouse, with files around it and in it that no call may touch. `root`: of everything."""

    root: Path

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse"

    @property
    def catalog(self) -> Catalog:
        return open_catalog({"warehouse": str(self.warehouse)})

    def build(self) -> None:
        for folder in ("warehouse/db.db", "warehouse/canary.db", "working/a", "outside/etc", "t", "esc"):
            (self.root / folder).mkdir(parents=True)
            (self.root / folder / "canary").write_text(folder)
        for name in ("t", KEPT):
            self.add(name)
            create_tag(self.table(name), "one", snapshot_id=1)
            create_branch(self.table(name), "b", tag="one")
            reset_consumer(self.table(name), "reader", 1)

    def add(self, name: str, **options: str) -> CatalogTable:
        """A table with two snapshots."""
        given = {"bucket": "1", "write-only": "true", "changelog-producer": "input", **options}
        self.catalog.create_table(f"db.{name}", Schema(KEYED, ["id"], options=given))
        table = self.table(name)
        table.write_arrow(keyed({1: "a"}))
        table.write_arrow(keyed({2: "b"}))
        return table

    def table(self, name: str = "t") -> CatalogTable:
        table = self.catalog.get_table(f"db.{name}")
        assert isinstance(table, CatalogTable)
        return table

    def around(self, name: str) -> dict[str, bytes | None]:
        """Everything but the database of that name and the tables `t` and of that name; files with their content."""
        return dict(self._walk(f"{name}.db", ("t", name)))

    def _walk(self, database: str, tables: tuple[str, ...]) -> Iterator[tuple[str, bytes | None]]:
        for folder, below, files in os.walk(self.root):
            place = Path(folder).relative_to(self.root).parts
            if place == ("warehouse",):
                below[:] = [each for each in below if each != database]
            if place == ("warehouse", "db.db"):
                below[:] = [each for each in below if each not in tables]
            for each in below:
                yield os.path.join(*place, each), None
            for each in files:
                yield os.path.join(*place, each), Path(folder, each).read_bytes()


def databases(lake: Lake, name: str) -> None:
    with suppress(PaimonError):
        lake.catalog.create_database(name)
        assert name in lake.catalog.list_databases()
    with suppress(PaimonError):
        lake.catalog.list_tables(name)
    lake.catalog.drop_database(name, cascade=True)


def tables(lake: Lake, name: str) -> None:
    with suppress(PaimonError):
        table = lake.add(name)
        assert name in lake.catalog.list_tables("db")
        create_tag(table, "tag")
        create_branch(table, "branch")
        compact(None, table, full=True)
        expire_snapshots(table, retain_max=1, retain_min=1)
        assert state(table) == STATE
    with suppress(PaimonError):
        lake.catalog.alter_table(f"db.{name}", [SetOption("snapshot.num-retained.max", "20")])
    lake.catalog.drop_table(f"db.{name}")


def identifiers(lake: Lake, name: str) -> None:
    for text in (
        name,
        f"{name}.t",
        f"{name}.{name}",
        f"db.t${name}",
        f"db.t$branch_{name}",
        f"db.t$branch_{name}$files",
    ):
        with suppress(PaimonError):
            lake.catalog.get_table(text)
        with suppress(PaimonError):
            lake.catalog.create_table(text, Schema(KEYED))
        if text != f"{name}.{name}" or name not in ("db", "canary"):
            with suppress(PaimonError):
                lake.catalog.drop_table(text)


def tags(lake: Lake, name: str) -> None:
    table = lake.table()
    for call in (
        lambda: create_tag(table, name),
        lambda: replace_tag(table, name, snapshot_id=1),
        lambda: rename_tag(table, "one", name),
        lambda: table.to_arrow(options={"scan.tag-name": name}),
        lambda: table.to_arrow(options={"scan.version": name}),
        lambda: rename_tag(table, name, f"{name}-"),
        lambda: rollback_to(table, tag=name),
        lambda: delete_tag(table, name),
        lambda: delete_tag(table, f"{name}-"),
    ):
        with suppress(PaimonError):
            call()


def branches(lake: Lake, name: str) -> None:
    table = lake.table()
    for call in (
        lambda: create_branch(table, name),
        lambda: create_branch(table, f"{name}2", tag=name),
        lambda: create_branch(table, f"{name}3", tag="one"),
        lambda: state(table.on_branch(f"{name}3")),
        lambda: table.on_branch(name).write_arrow(keyed({9: "z"})),
        lambda: table.copy({"branch": name}),
        lambda: rename_branch(table, "b", name),
        lambda: rename_branch(table, name, f"{name}4"),
        lambda: fast_forward(table, f"{name}3"),
        lambda: delete_branch(table, f"{name}3"),
        lambda: delete_branch(table, name),
    ):
        with suppress(PaimonError):
            call()


def consumers(lake: Lake, name: str) -> None:
    table = lake.table()
    for call in (
        lambda: reset_consumer(table, name, 2),
        lambda: table.consumers.find(name),
        lambda: reset_consumer(table, name),
        lambda: clear_consumers(table, including=name),
        lambda: _stream(table.copy({"consumer-id": name})),
    ):
        with suppress(PaimonError):
            call()


def _stream(table: CatalogTable) -> None:
    stream = TableStream(table)
    stream.progress(stream.end())


def plans(lake: Lake, name: str) -> None:
    table = lake.table()
    plan_compact(table, CompactRequest(full=True)).store(table.file_io, str(lake.root / "warehouse" / "db.db" / "t"))
    StoredPlan.load(table.file_io, str(lake.root / "warehouse" / "db.db" / "t"), name)


def commit_users(lake: Lake, name: str) -> None:
    lake.table().write_arrow(keyed({3: "c"}), commit_user=name, commit_identifier=1)
    lake.catalog.drop_table("db.t")
    table = lake.add("t", **WAITING, **{"changelog-producer": "none"})
    table.write_arrow(keyed({1: "a"}), commit_user=name, commit_identifier=1)
    compact(None, table)
    assert state(table)[1] == "a"


def partitions(lake: Lake, name: str) -> None:
    lake.catalog.drop_table("db.t")
    columns = [("p", "STRING NOT NULL"), (name, "STRING NOT NULL"), ("v", "INT")]
    schema = Schema(columns, partition_keys=["p", name], options={"bucket": "-1", "write-only": "true"})
    try:
        lake.catalog.create_table("db.t", schema)
    except PaimonError:
        lake.catalog.create_table(
            "db.t", Schema([*columns[:1], ("q", "STRING NOT NULL"), *columns[2:]], [], ["p", "q"])
        )
    table = lake.table()
    column = table.schema.field_names[1]
    try:
        table.write_arrow(pa.table({"p": [name, "x"], column: ["..", name], "v": pa.array([1, 2], pa.int32())}))
    except UnicodeEncodeError:
        return  # Arrow's, of a text that it cannot hold
    assert sorted(table.to_arrow()["v"].to_pylist()) == [1, 2]
    if name.strip():
        assert drop_partitions(table, [{"p": name}]).dropped
        assert table.to_arrow()["v"].to_pylist() == [2]
    expire_snapshots(table, retain_max=1, retain_min=1)


CALLS: tuple[Callable[[Lake, str], None], ...] = (
    databases, tables, identifiers, tags, branches, consumers, plans, commit_users, partitions,
)  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = Lake(tmp_path_factory.mktemp("template") / "root")
    lake.build()
    return lake.root


def watched(template: Path, name: str, call: Callable[[Lake], None]) -> None:
    """Run a call on a copy of the lake; it may refuse, and may touch only what `name` stands for."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(shutil.copytree(template, Path(folder) / "root")))
        before = lake.around(name)
        with chdir(lake.root / "working"), suppress(PaimonError):
            call(lake)
        assert lake.around(name) == before


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
@settings(max_examples=examples(25))
@given(name=names().filter(lambda name: name not in ("db", "canary", KEPT)))
def test_no_name_in_any_call_reaches_outside_the_table(
    template: Path, call: Callable[[Lake, str], None], name: str
) -> None:
    watched(template, name, lambda lake: call(lake, name))


@settings(max_examples=examples(60))
@given(key=st.sampled_from(PATH_OPTIONS), value=names())
def test_no_value_of_a_path_option_reaches_outside_the_table(template: Path, key: str, value: str) -> None:
    def use(lake: Lake) -> None:
        with suppress(PaimonError):
            lake.table().to_arrow(options={key: value})
        with suppress(PaimonError):
            lake.catalog.alter_table("db.t", [SetOption(key, value)])
            table = lake.table()
            table.write_arrow(keyed({2: "b", 3: "c"}))
            compact(None, table, full=True)
            expire_snapshots(table, retain_max=1, retain_min=1)
            lake.catalog.alter_table("db.t", [RemoveOption(key)])
        with suppress(PaimonError):
            lake.catalog.drop_table("db.t")
        table = lake.add("t", **{key: value})
        table.write_arrow(keyed({3: "c"}), commit_user=value)
        compact(None, table, full=True)
        expire_snapshots(table, retain_max=1, retain_min=1)
        assert state(table) == {**STATE, 3: "c"}

    watched(template, "t", use)
