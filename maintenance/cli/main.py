"""The commands of `paimonctl`.

Only click is imported before a command runs, so that help and completion are quick; each command imports what it needs.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from maintenance.amounts import number_of
from maintenance.cli.choices import FILES, FORMATS, JSON
from maintenance.cli.exits import FAILED, NOTHING_TO_DO, REFUSED
from maintenance.operation_names import commands, operation_modules

if TYPE_CHECKING:
    import pyarrow as pa

    from maintenance.catalog import Catalog
    from maintenance.project.config import Project
    from maintenance.sql import Result, Session


@dataclass(frozen=True, slots=True)
class Target:
    """Where the tables are, what runs queries and operations, and how results are shown.

    `described`: the tables.yaml that was named; None: none was.
    """

    options: Mapping[str, str]
    dialect: str
    output: str
    engine: str = "embedded"
    described: Path | None = None

    def as_json(self) -> "Target":
        """The same, with results as JSON."""
        return replace(self, output="json")

    def catalog(self) -> "Catalog":
        """Raises: PaimonError: it cannot be opened."""
        from maintenance.catalog.open import open_catalog

        return open_catalog(self._given())

    def project(self) -> "Project | None":
        """What the named tables.yaml says. Raises: OptionError, with the line of the mistake."""
        if self.described is None:
            return None
        with _extra_cli(self.described):
            from maintenance.project.config import parse_project

            return parse_project(self.described, may_be_empty=True)

    def session(self) -> "Session":
        """Raises: PaimonError: the catalog cannot be opened."""
        from maintenance.sql import Session

        return Session(self._given(), dialect=self.dialect, engine=self.engine)  # type: ignore[arg-type]

    def _given(self) -> Mapping[str, str]:
        if not self.options:
            raise click.UsageError(
                "Give --warehouse, --profile or --tables; for other kinds of catalogs --catalog-option."
            )
        return self.options

    def report(self, result: "Result") -> int:
        """Print what an operation reports: for people in sentences where it has no rows, or a single column.

        Behind blocks of lines, which are long, its sentences come last. Returns: the exit code.
        """
        from maintenance.cli.output import is_wide

        rows = result.to_arrow()
        said = result.said if self.output == "table" else ()
        enough = result.is_told or rows.num_columns <= 1 or not rows.num_rows
        if rows.num_columns and not (said and enough):
            self.print_report(rows)
        if said and (enough or is_wide(rows.column_names)):
            click.echo("\n".join(said if enough else ("", *said)))
        return FAILED if result.wrong else NOTHING_TO_DO if result.nothing_to_do else 0

    def print_report(self, rows: "pa.Table") -> None:
        """Print rows of an operation: on a terminal sizes have units, to programs they are numbers."""
        from maintenance.cli.output import for_people

        self.print_rows(for_people(rows) if self.output == "table" else rows)

    def show(self, result: "Result", session: "Session | None" = None) -> None:
        """Print the rows of a statement, if it has any columns. `session`: whose zone instants are shown in."""
        rows = result.to_arrow()
        if session is not None and self.output not in FILES:
            from maintenance.sql.zones import shown_in

            rows = shown_in(rows, lambda: session.zone)
        if rows.num_columns:
            self.print_rows(rows)

    def say(self, content: Mapping[str, Any], text: str) -> None:
        """Print what a command without rows tells. `content`: the same as JSON."""
        import json

        click.echo(json.dumps(content, default=str, ensure_ascii=False) if self.output == "json" else text)

    def print_names(self, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> None:
        """Print rows of texts, without Arrow where it is not asked for."""
        if self.output in FILES:
            import pyarrow as pa

            columns = zip(*rows, strict=True) if rows else ((),) * len(heads)
            self.print_rows(pa.table([pa.array(column, pa.string()) for column in columns], names=list(heads)))
            return
        from maintenance.cli.output import text_of_values

        self._echo(text_of_values(heads, rows, self.output))

    def _echo(self, text: str) -> None:
        """Print rows. As JSON, none are no line, for a blank one is no object."""
        if text or self.output != "json":
            click.echo(text)

    def print_rows(self, rows: "pa.Table") -> None:
        from maintenance.cli.output import bytes_of, text_of

        if self.output not in FILES:
            self._echo(text_of(rows, self.output))
            return
        out: BinaryIO = sys.stdout.buffer
        if out.isatty():
            raise click.UsageError(f"{self.output} is not for a terminal: lead the output into a file.")
        out.write(bytes_of(rows, self.output))
        out.flush()


@contextmanager
def _extra_cli(path: Path) -> Iterator[None]:
    """While a tables.yaml is read. Raises: OptionError: what that needs is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        from maintenance.errors import OptionError

        raise OptionError(f"{error.name} is not installed", str(path), "Install the extra 'cli'.") from error


_WITHOUT_ARROW = ("tables", "completion")


# Headings of the help, and the packages whose operations stand below each.
_HEADINGS = {
    "Rows and partitions": ("ingestion", "rows", "sql"),
    "Compaction, changelogs and indexes": ("compaction", "indexes"),
    "Tags, branches, consumers, going back": ("refs",),
    "Expiry, orphan files, the bin": ("expiry", "orphans", "bin", "retention"),
    "Health, costs and settings": ("fleet", "checks", "tuning", "acknowledgements"),
    "Databases, copies, other formats": ("databases",),
    "Repairs": ("repairs",),
}
_OTHERS = "Others"


def _headed() -> dict[str, list[str]]:
    """The commands of operations, sorted, by the heading that they stand below."""
    headings = {package: heading for heading, packages in _HEADINGS.items() for package in packages}
    found: dict[str, list[str]] = {heading: [] for heading in (*_HEADINGS, _OTHERS)}
    for each in operation_modules().values():
        above, package = each.module.split(".")[1:3]
        names = (name.replace("_", "-") for name, text in each.commands.items() if text)
        found[headings.get(package if above == "operations" else above, _OTHERS)] += names
    return {heading: sorted(names) for heading, names in found.items() if names}


class OperationGroup(click.Group):
    """The commands below, and one for each operation, which is made when it is called."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names and summaries; the commands of operations are not made for it."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        return [CompletionItem(name, help=self._summary(name)) for name in names]

    def _summary(self, name: str) -> str:
        summary = commands().get(name.replace("-", "_"))
        command = None if summary else self.commands.get(name)
        return summary or (command.get_short_help_str(150) if command else "")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *(name.replace("_", "-") for name in commands())])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _WITHOUT_ARROW:
            from maintenance.cli.arrow import load_arrow

            load_arrow()
        name = cmd_name.replace("-", "_")
        if name not in commands():
            return super().get_command(ctx, cmd_name)
        from maintenance.cli.operation_command import operation_command

        return operation_command(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in {"Tables": super().list_commands(ctx), **_headed()}.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._summary(name)) for name in names])


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign:
            raise click.BadParameter(f"'{value}' is not KEY=VALUE")
        pairs[key] = text
    return pairs


def _profiles(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    from maintenance.cli.profiles import profile_names

    return [name for name in profile_names() if name.startswith(incomplete)]


ENGINE = click.option(
    "--engine", help="Runs queries and operations: embedded (this process), spark, sail, auto, or sc://HOST:PORT."
)


@click.group(cls=OperationGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--warehouse", envvar="PAIMON_WAREHOUSE", help="The path or URI of the warehouse. PAIMON_WAREHOUSE sets it, too."
)
@click.option(
    "--profile",
    envvar="PAIMON_PROFILE",
    shell_complete=_profiles,
    help="A profile of your configuration file. PAIMON_PROFILE sets it, too.",
)
@click.option(
    "--tables",
    "described",
    envvar="PAIMON_TABLES",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Use the catalog that this tables.yaml names. PAIMON_TABLES sets it, too.",
)
@click.option(
    "--catalog-option",
    "options",
    multiple=True,
    callback=_pairs,
    help="An option of the catalog, as KEY=VALUE. It may be repeated.",
)
@click.option("--dialect", type=click.Choice(["flink", "spark"]), help="The SQL dialect; default: spark.")
@ENGINE
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON, one object per row.")
@click.option(
    "--format",
    "output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How results are printed.",
)
@click.pass_context
def cli(
    context: click.Context,
    /,
    warehouse: str | None,
    profile: str | None,
    described: Path | None,
    options: Mapping[str, str],
    as_json: bool,
    **given: Any,
) -> None:
    """Read, change and maintain Apache Paimon tables.

    \b
    paimonctl --warehouse /data/lake sql "SELECT * FROM trips LIMIT 5"
    paimonctl --warehouse /data/lake compact default.trips --dry-run
    paimonctl --profile lake health default.trips

    Profiles are sections of ~/.config/paimonctl/config.toml: [profiles.lake] with warehouse = "/data/lake" and other
    catalog options. Shell completion: paimonctl completion bash.

    \b
    Exit codes:
      0  done
      1  failed, or not healthy: a retry may help
      2  refused: something must be corrected first
      3  nothing to do
    """
    own = {**({} if warehouse is None else {"warehouse": warehouse}), **options}
    is_typed = context.get_parameter_source("described") is ParameterSource.COMMANDLINE
    if is_typed and profile is not None:
        raise click.UsageError("Give --tables or --profile, not both.")
    named: Mapping[str, str] = {}
    dialect, engine = given["dialect"], given["engine"]
    if profile is not None:
        from maintenance.cli.profiles import load_profile

        settings = load_profile(profile)
        named, dialect, engine = settings.options, dialect or settings.dialect, engine or settings.engine
    elif described is not None and (warehouse is None or is_typed):
        from maintenance.project.catalog_options import catalog_options

        with _extra_cli(described):
            named = catalog_options(described)
    output = "json" if as_json else given["output"]
    context.obj = Target({**named, **own}, dialect or "spark", output, engine or "embedded", described)


Command = Callable[..., int | None]
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
TABLE = click.argument("table")
WHERE = click.option("--where", help="Print only rows for which this SQL condition is true.")
LIMIT = click.option("--limit", type=click.IntRange(min=0), help="Print at most this many rows.")


def _command(*parameters: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A command that is given where the tables are, and has --json itself."""

    def made(command: Command) -> Command:
        @wraps(command)
        @click.pass_obj
        def run(target: Target, /, *, as_json: bool, **given: Any) -> int | None:
            return command(target.as_json() if as_json else target, **given)

        shown: Any = run
        for each in reversed(parameters):
            shown = each(shown)
        cli.command()(shown).params.append(JSON)
        return command

    return made


@_command(
    click.argument("text", required=False),
    click.option("-f", "--file", "path", type=_FILE, help="Run the statements of this file."),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Show what a DELETE, UPDATE, MERGE INTO, DROP or CALL would do, and store a plan.",
    ),
    ENGINE,
)
def sql(target: Target, text: str | None, path: Path | None, dry_run: bool, engine: str | None) -> int | None:
    """Run SQL from the command line, a file or standard input; on a terminal, open a prompt.

    \b
    paimonctl --warehouse /data/lake sql
    paimonctl --warehouse /data/lake sql "SHOW TABLES"
    paimonctl --warehouse /data/lake sql -f nightly.sql --engine sail
    paimonctl --warehouse /data/lake sql "DELETE FROM trips WHERE city IS NULL" --dry-run
    """
    target = target if engine is None else replace(target, engine=engine)
    if (text is None) == (path is None) and text is not None:
        raise click.UsageError("Give a statement or a file, not both.")
    if text is None and path is None and sys.stdin.isatty() and not dry_run:
        _prompt(target)
        return None
    script = text if text is not None else sys.stdin.read() if path is None else path.read_text(encoding="utf-8")
    if dry_run:
        from maintenance.cli.operation_command import show_plan

        session = target.session()
        return show_plan(target, session, "apply", session.plan(script), only_id=False)
    answered = False
    session = target.session()
    for result in session.execute(script):
        if answered and target.output in FILES and result.to_arrow().num_columns:
            raise click.UsageError(f"There is a second result, and {target.output} holds one.")
        target.show(result, session)
        answered = answered or bool(result.to_arrow().num_columns)
    return None


@_command(
    click.argument("plan"),
    click.option("--into-bin", is_flag=True, help="Move deleted files into the bin, if the operation can do that."),
)
def apply(target: Target, plan: str, into_bin: bool) -> int:
    """Apply the plan of a dry run of any operation: exactly as planned, or not at all if the table has changed.

    \b
    paimonctl --warehouse /data/lake apply 0123456789abcdef
    """
    from maintenance.cli.progress import shown_progress

    with shown_progress() as progress:
        result = target.session().apply(plan, into_bin=into_bin, progress=progress)
    return target.report(result)


@_command(
    click.argument("database", required=False),
    click.option("--long", "is_long", is_flag=True, help="Print the rows, size, files and snapshots of each table."),
)
def tables(target: Target, database: str | None, is_long: bool) -> None:
    """List the tables of a database, or of all databases.

    \b
    paimonctl --warehouse /data/lake tables db --long
    """
    catalog = target.catalog()
    if not is_long:
        listed = catalog.list_databases() if database is None else [database]
        target.print_names(
            ("database", "table"), [(each, table) for each in listed for table in catalog.list_tables(each)]
        )
        return
    from maintenance.cli.arrow import load_arrow

    load_arrow()
    from maintenance.operations import table_figures

    target.print_report(table_figures(catalog, database=database))


@_command(TABLE)
def show(target: Target, table: str) -> None:
    """Print the statement that creates a table.

    \b
    paimonctl --warehouse /data/lake show db.trips
    """
    rows = target.session().sql(f"SHOW CREATE TABLE {_quoted(table)}").to_arrow()
    statement = rows.column(0)[0].as_py()
    target.say({"table": table, "statement": statement}, statement)


@_command(
    TABLE,
    click.option("--columns", help="Print these columns, separated by commas; default: all."),
    WHERE,
    LIMIT,
    click.option(
        "--option", "reading", multiple=True, callback=_pairs, help="A dynamic option of the table, as KEY=VALUE."
    ),
    click.option(
        "-o",
        "--output",
        "path",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to this file, whose name ends in csv, json, parquet or arrow.",
    ),
)
def read(
    target: Target,
    table: str,
    columns: str | None,
    where: str | None,
    limit: int | None,
    reading: dict[str, str],
    path: Path | None,
) -> None:
    """Print rows of a table or system table, or write them to a file.

    \b
    paimonctl --warehouse /data/lake read db.trips --where "city = 'Oslo'" --limit 10
    paimonctl --warehouse /data/lake read 'db.trips$snapshots' --json
    paimonctl --warehouse /data/lake read db.trips --output trips.parquet
    """
    listed = "*" if columns is None else ", ".join(_quoted(name.strip()) for name in columns.split(","))
    text = _select(listed, table, reading, where, limit)
    if path is None:
        target.show(target.session().sql(text))
        return
    from maintenance.cli.output import format_of, write_file

    output = format_of(path)
    rows = target.session().sql(text).to_arrow()
    write_file(rows, path, output)
    target.say({"rows": rows.num_rows, "file": str(path)}, f"{number_of(rows.num_rows, 'row')} in {path}")


@_command(TABLE, click.argument("path", type=_FILE))
def write(target: Target, table: str, path: Path) -> None:
    """Add the rows of a csv, json (one object per line), parquet or arrow file, in one commit.

    A format table gets new files instead: it has no commits.

    \b
    paimonctl --warehouse /data/lake write db.trips trips.parquet
    """
    from maintenance.catalog import CatalogTable
    from maintenance.cli.input import rows_of
    from maintenance.errors import UnsupportedError
    from maintenance.table.format_table import FormatTable
    from maintenance.types.arrow import arrow_type

    written = target.catalog().open_table(table)
    if not isinstance(written, CatalogTable | FormatTable):
        raise UnsupportedError("this command cannot write such a table", f"table {table}", "Use INSERT INTO of SQL.")
    rows = rows_of(path, {field.name: arrow_type(field.type) for field in written.schema.fields})
    ids = written.write_arrow(rows)
    text = (
        f"{number_of(rows.num_rows, 'row')} in snapshot {', '.join(map(str, ids))}" if ids else "no rows, no snapshot"
    )
    if isinstance(written, FormatTable):
        text = f"{number_of(rows.num_rows, 'row')} in files of {written.location}"
    target.say({"rows": rows.num_rows, "snapshots": list(ids)}, text)


def _prompt(target: Target) -> None:
    """Statements as they are typed; one that fails does not end it."""
    from maintenance.cli.prompt import line_reader, statements
    from maintenance.errors import SqlError

    session = target.session()
    click.echo(f"{session.dialect} dialect, database {session.current_database}; quit or Ctrl-D ends.")
    for statement in statements(line_reader(session), session):
        try:
            for result in session.execute(statement):
                target.show(result, session)
        except SqlError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)


@_command(
    click.argument("path"),
    click.option(
        "--rows",
        "limit",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        help="How many rows of a data file are printed.",
    ),
)
def inspect(target: Target, path: str, limit: int) -> None:
    """Show the content of one file: a snapshot, schema, tag, manifest, manifest list, index or data file, on any store.

    The settings of a store are catalog options.

    \b
    paimonctl inspect /data/lake/db.db/trips/snapshot/snapshot-7
    paimonctl --catalog-option s3.endpoint=http://minio:9000 inspect s3://lake/db.db/trips/manifest/manifest-1a2b-0
    """
    from maintenance.cli.output import of_plain_values
    from maintenance.fs.file_io import FileIO
    from maintenance.operations.checks.file_inspection import inspected

    shown = inspected(FileIO.of(target.options), path, limit)
    lines = [f"{shown.kind}: {path}"]
    for name, value in shown.facts.items():
        inner = value if isinstance(value, dict) else {}
        lines += [f"  {name}:" if value is inner else f"  {name}: {value}"]
        lines += [f"    {key}: {each}" for key, each in inner.items()]
    target.say({"kind": shown.kind, **shown.facts, "entries": list(shown.rows)}, "\n".join(lines))
    if shown.rows and target.output != "json":
        target.print_rows(of_plain_values(shown.rows))


@_command(
    TABLE,
    click.argument("start", metavar="FROM"),
    click.argument("end", metavar="TO"),
    click.option("--summary", is_flag=True, help="Print only the number of rows of each kind."),
    click.option("--where", help="Only rows for which this SQL condition is true."),
    LIMIT,
)
def diff(target: Target, table: str, start: str, end: str, summary: bool, where: str | None, limit: int | None) -> int:
    """Print the rows that differ between two snapshots or tags of a table; exit code 3 if there are none.

    +I is new, -D is gone; a row that changed has its new values as +I or +U.

    \b
    paimonctl --warehouse /data/lake diff db.trips 3 7 --summary
    paimonctl --warehouse /data/lake diff db.trips monday tuesday --where "city = 'Oslo'"
    """
    reading = {"incremental-between": f"{start},{end}", "incremental-between-scan-mode": "diff"}
    log = f"{table}$audit_log"
    if summary:
        text = _select("rowkind, COUNT(*) AS row_count", log, reading, where) + " GROUP BY rowkind ORDER BY rowkind"
    else:
        text = _select("*", log, reading, where, limit)
    result = target.session().sql(text)
    target.show(result)
    return 0 if result.to_arrow().num_rows else NOTHING_TO_DO


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a shell script that completes commands, options and profiles.

    \b
    eval "$(paimonctl completion bash)"
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"{shell} is not known.")
    click.echo(made(cli, {}, "paimonctl", "_PAIMONCTL_COMPLETE").source())


def _select(columns: str, table: str, reading: Mapping[str, str], where: str | None, limit: int | None = None) -> str:
    """A query. `reading`: dynamic options of the table."""
    pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in reading.items())
    hint = f" /*+ OPTIONS({pairs}) */" if pairs else ""
    text = f"SELECT {columns} FROM {_quoted(table)}{hint}" + (f" WHERE {where}" if where else "")
    return text if limit is None else f"{text} LIMIT {limit}"


def _quoted(path: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path.split("."))


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run(arguments: list[str] | None = None) -> int:
    """Run a command line. Returns: the exit code."""
    try:
        code = cli.main(args=arguments, prog_name="paimonctl", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return REFUSED
    except click.Abort:
        return FAILED
    except Exception as error:  # noqa: BLE001 - the edge: whatever happens becomes an exit code
        return _failed(error)


def _failed(error: Exception) -> int:
    """Say what went wrong. Returns: the exit code: what the user has to correct is refused."""
    from maintenance.errors import ErrorClass, class_of

    click.echo(f"Error: {error}", err=True)
    return REFUSED if class_of(error) is ErrorClass.USER else FAILED


def main() -> None:
    """The console script."""
    sys.exit(run())
