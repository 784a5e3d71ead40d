"""Following a page: its blocks, one after the other, beside the tables that they name."""

import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from pyspark.sql import SparkSession

from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.main import cli, run
from maintenance.cli.profiles import load_profile
from maintenance.options.catalog import check_names
from maintenance.project.config import Project, load_project
from maintenance.sql import Session
from paimon_maintenance.commands import main as commands_of_dagster
from tests.unit.docs.blocks import ROOT, Block, commands
from tests.unit.docs.page_tables import names_of, orders

# What only a session of Spark can do.
NEEDS_SPARK = re.compile(
    r"readStream|writeStream|\.write\.format|ingest(_stream)?\(spark|spark=spark|get_session|'streaming'"
)
# Where examples have their warehouse and their files.
_LAKE = re.compile(r"""(?<![\w:/.])(/tmp/lake|/data/lake|/lake|/warehouse)(?=[/"'\s,]|$)""")
_FOLDERS = re.compile(r"(?<![\w/.])(/path/to/|/data/|/opt/|s3://(?=logs))")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_ENDED_WELL = (0, NOTHING_TO_DO)
_SOME_PLAN = "0123456789abcdef"
_SOME_FILE = "manifest-1a2b-0"


@dataclass
class Reader:
    """Somebody who types what a page shows, in a folder of its own. Without `spark` what needs it is only compiled."""

    page: Path
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]
    spark: SparkSession | None = None
    names: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setenv("PAIMONCTL_CONFIG", str(self.folder / "config.toml"))
        self.monkeypatch.setattr(commands_of_dagster, "_console", lambda *_: 0)
        self.names |= {"spark": self.spark, **names_of(self.page.name, self.folder)}
        if self.spark is not None:
            self.spark.createDataFrame([(7,)], "id INT").createOrReplaceTempView("recalibrated")
            self.names["frame"] = frame = self.spark.createDataFrame(self.names["rows"])
            self.spark.createDataFrame(orders(11)).write.parquet(str(self.folder / "landed"))
            self.names["stream"] = self.spark.readStream.schema(frame.schema).parquet(str(self.folder / "landed"))
        self.describe({"patterns": [{"pattern": "*.*"}]})

    def follow(self, block: Block) -> None:
        """Do what a block says. An unknown language is an error."""
        text = _FOLDERS.sub(f"{self.folder}/", _LAKE.sub(f"{self.folder}/lake", block.text))
        for name in _VARIABLE.findall(text):
            self.monkeypatch.setenv(name, "https://hooks.example/secret")
        if block.title:
            (self.folder / block.title).write_text(text)
        language = block.language or "sh"
        languages = {
            "python": self.python,
            "sql": self.sql,
            "yaml": self.yaml,
            "toml": self.toml,
            "text": self.error,
            "sh": self.shell,
        }
        languages[language](text, block.title)

    def python(self, text: str, _title: str) -> None:
        code = compile(text, str(self.page), "exec")
        if re.search(r"^(from|import) (airflow|paimon_maintenance\.operators)", text, re.MULTILINE):
            return
        if self.spark is not None or not NEEDS_SPARK.search(text):
            exec(code, self.names)

    def sql(self, text: str, _title: str) -> None:
        if self.spark is None and NEEDS_SPARK.search(text):
            return
        options = {"warehouse": str(self.folder / "lake")}
        session = self.names.setdefault("session", Session(options, dialect="flink"))
        if NEEDS_SPARK.search(text):
            session = Session(options, self.spark, dialect="flink")
        if "COPY INTO" in text:
            session = session.in_dialect("spark")
        self.names["results"] = list(session.execute(text))

    def yaml(self, text: str, title: str) -> None:
        content = yaml.safe_load(text)
        if title == "defs.yaml":
            assert find_spec(content["type"].rpartition(".")[0])
            content = content["attributes"]
        if set(content) <= set(Project.model_fields):
            self.describe(content)

    def describe(self, content: dict[str, Any]) -> None:
        """tables.yaml, or a part of one: it loads, and is what the commands behind it go by."""
        whole = {"warehouse": "lake", **content}
        if "tables" not in whole and "patterns" not in whole:
            whole["patterns"] = [{"pattern": "*.*"}]
        path = self.folder / "tables.yaml"
        path.write_text(yaml.safe_dump(whole))
        check_names(load_project(path).catalog)
        self.described |= whole | {"warehouse": str(self.folder / "lake"), "catalog": {}}
        path.write_text(yaml.safe_dump(self.described))

    def toml(self, text: str, _title: str) -> None:
        for name in tomllib.loads(text)["profiles"]:
            assert load_profile(name).options["warehouse"]

    def error(self, text: str, _title: str) -> None:
        """What a statement that is shown below its error says."""
        statement = text.splitlines()[1]
        with pytest.raises(Exception, match=re.escape(text.strip())):
            self.names["session"].sql(statement)

    def shell(self, text: str, _title: str) -> None:
        for command in commands(text):
            words = shlex.split(command.replace("$PWD", str(self.folder)), comments=True)
            while "=" in words[0]:
                words = words[1:]
            programs: Mapping[str, Callable[[list[str]], None]] = {
                "paimonctl": self.paimonctl,
                "paimon-maintenance": self.paimon_maintenance,
                "make": make,
                "pip": pip,
                "dagster": dagster,
            }
            if words[0] in programs:
                programs[words[0]](words[1:])
            elif words[0] != "export":
                installed(words)

    def paimonctl(self, words: list[str]) -> None:
        """Run it, with the plan of the last dry run in place of the id that the page shows."""
        given = [self.names.get("plan_of_dry_run", word) if word == _SOME_PLAN else word for word in words]
        given = [str(next(Path(word).parent.glob("manifest-*-0"))) if _SOME_FILE in word else word for word in given]
        code = run(given)
        shown = self.capture.readouterr()
        assert code in _ENDED_WELL, f"{words}\n{shown.out}{shown.err}"
        if found := re.search(r"^(?:\w+: )?plan ([0-9a-f]{16})\b", shown.out + shown.err, re.MULTILINE):
            self.names["plan_of_dry_run"] = found[1]

    def paimon_maintenance(self, words: list[str]) -> None:
        code = commands_of_dagster.main(words)
        assert code == 0, self.capture.readouterr().out


def installed(words: list[str]) -> None:
    """A program of the checkout, with files that it has."""
    assert words[0].startswith(".venv/bin/"), f"{words[0]}: try it in tests/unit/docs/pages.py, or say why not"
    for word in [words[0], *(word for word in words if word.endswith(".py"))]:
        assert (ROOT / word).exists(), word


def make(words: list[str]) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(words) <= set(targets)


def pip(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert words[0] == "install"
    for word in words[1:]:
        for extra in re.findall(r"\[(\w+)\]", word):
            assert extra in extras


def dagster(words: list[str]) -> None:
    assert words[:2] == ["dev", "-m"]
    assert find_spec(words[2])


def parse(words: list[str]) -> None:
    """Is there such a command of `paimonctl`, with these options? Raises: click.ClickException: no."""
    context = cli.make_context("paimonctl", list(words))
    rest = [*context._protected_args, *context.args]
    name, command, rest = cli.resolve_command(context, rest)
    if command is None:
        raise click.UsageError(f"no command in {words}")
    command.make_context(name, rest, parent=context)
