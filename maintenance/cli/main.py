"""The commands of `paimonctl`.

Only click is imported before a command runs, so that help and completion are quick; each command imports what it needs.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maintenance.cli.exits import FAILED, REFUSED
from maintenance.cli.operations import SUMMARIES

if TYPE_CHECKING:
    import pyarrow as pa

    from maintenance.catalog import Catalog
    from maintenance.sql import Result, Session

FORMATS = ("table", "json", "csv")


@dataclass(frozen=True, slots=True)
class Target:
    """Where the tables are, and how results are shown."""

    options: Mapping[str, str]
    dialect: str
    output: str

    def catalog(self) -> "Catalog":
        """Raises: PaimonError: it cannot be opened."""
        from maintenance.catalog import open_catalog

        return open_catalog(self._given())

    def session(self) -> "Session":
        """Raises: PaimonError: the catalog cannot be opened."""
        from maintenance.sql import Session

        return Session(self._given(), dialect=self.dialect)  # type: ignore[arg-type]

    def _given(self) -> Mapping[str, str]:
        if not self.options:
            raise click.UsageError("Give --warehouse, or --catalog-option for another kind of catalog.")
        return self.options

    def show(self, result: "Result") -> None:
        """Print the rows of a statement, if it has any columns."""
        rows = result.to_arrow()
        if rows.num_columns:
            self.print_rows(rows)

    def print_rows(self, rows: "pa.Table") -> None:
        from maintenance.cli.output import text_of

        click.echo(text_of(rows, self.output))


class OperationGroup(click.Group):
    """The commands below, and one for each operation, which is made when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *(name.replace("_", "-") for name in SUMMARIES)])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.replace("-", "_")
        if name not in SUMMARIES:
            return super().get_command(ctx, cmd_name)
        from maintenance.cli.operation_command import operation_command

        return operation_command(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = []
        for shown in self.list_commands(ctx):
            summary = SUMMARIES.get(shown.replace("-", "_"))
            command = None if summary else super().get_command(ctx, shown)
            rows.append((shown, summary or (command.get_short_help_str(80) if command else "")))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign:
            raise click.BadParameter(f"'{value}' is not KEY=VALUE")
        pairs[key] = text
    return pairs


@click.group(cls=OperationGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--warehouse", envvar="PAIMON_WAREHOUSE", help="Path or URI of the warehouse; or PAIMON_WAREHOUSE.")
@click.option("--catalog-option", "options", multiple=True, callback=_pairs, help="KEY=VALUE, may be repeated.")
@click.option("--dialect", type=click.Choice(["flink", "spark"]), default="spark", show_default=True, help="Of SQL.")
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON: an object for each row.")
@click.option("--format", "output", type=click.Choice(FORMATS), default="table", show_default=True)
@click.pass_context
def cli(
    context: click.Context, warehouse: str | None, options: dict[str, str], dialect: str, as_json: bool, output: str
) -> None:
    """Read, change and maintain Apache Paimon tables.

    \b
    paimonctl --warehouse /data/lake sql "SELECT * FROM trips LIMIT 5"
    paimonctl --warehouse /data/lake compact default.trips --dry-run

    Exit codes: 0 done, 1 failed, 2 refused, 3 nothing to do.
    """
    catalog_options = options if warehouse is None else {"warehouse": warehouse, **options}
    context.obj = Target(catalog_options, dialect, "json" if as_json else output)


@cli.command()
@click.argument("text", required=False)
@click.option("-f", "--file", "path", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A script.")
@click.pass_obj
def sql(target: Target, text: str | None, path: Path | None) -> None:
    """Run statements: one text, a file, or what standard input has.

    \b
    paimonctl --warehouse /data/lake sql "SHOW TABLES"
    paimonctl --warehouse /data/lake sql -f nightly.sql
    """
    if (text is None) == (path is None) and text is not None:
        raise click.UsageError("Give a statement or a file, not both.")
    script = text if text is not None else sys.stdin.read() if path is None else path.read_text(encoding="utf-8")
    for result in target.session().execute(script):
        target.show(result)


@cli.command()
@click.argument("database", required=False)
@click.pass_obj
def tables(target: Target, database: str | None) -> None:
    """List the tables of a database, or of all: paimonctl --warehouse /data/lake tables db"""
    import pyarrow as pa

    catalog = target.catalog()
    listed = catalog.list_databases() if database is None else [database]
    names = [(each, table) for each in listed for table in catalog.list_tables(each)]
    columns = zip(*names, strict=True) if names else ((), ())
    target.print_rows(pa.table([pa.array(column, pa.string()) for column in columns], names=["database", "table"]))


@cli.command()
@click.argument("table")
@click.pass_obj
def show(target: Target, table: str) -> None:
    """Print the statement that creates a table: paimonctl --warehouse /data/lake show db.trips"""
    rows = target.session().sql(f"SHOW CREATE TABLE {_quoted(table)}").to_arrow()
    click.echo(rows.column(0)[0].as_py())


@cli.command()
@click.argument("table")
@click.option("--columns", help="Names, with commas between them; all if not given.")
@click.option("--where", help="A condition in SQL.")
@click.option("--limit", type=click.IntRange(min=0), help="Maximum number of rows.")
@click.option("--option", "reading", multiple=True, callback=_pairs, help="A dynamic option, KEY=VALUE.")
@click.pass_obj
def read(
    target: Target, table: str, columns: str | None, where: str | None, limit: int | None, reading: dict[str, str]
) -> None:
    """Print rows of a table or system table.

    \b
    paimonctl --warehouse /data/lake read db.trips --where "city = 'Oslo'" --limit 10
    paimonctl --warehouse /data/lake read 'db.trips$snapshots' --json
    """
    listed = "*" if columns is None else ", ".join(_quoted(name.strip()) for name in columns.split(","))
    pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in reading.items())
    hint = f" /*+ OPTIONS({pairs}) */" if pairs else ""
    text = f"SELECT {listed} FROM {_quoted(table)}{hint}"
    text += f" WHERE {where}" if where else ""
    text += f" LIMIT {limit}" if limit is not None else ""
    target.show(target.session().sql(text))


@cli.command()
@click.argument("table")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def write(target: Target, table: str, path: Path) -> None:
    """Add the rows of a csv, json (an object a line), parquet or arrow file, as one commit.

    \b
    paimonctl --warehouse /data/lake write db.trips trips.parquet
    """
    from maintenance.catalog import CatalogTable
    from maintenance.cli.input import rows_of
    from maintenance.errors import UnsupportedError

    rows = rows_of(path)
    written = target.catalog().get_table(table)
    if not isinstance(written, CatalogTable):
        raise UnsupportedError("this command cannot write such a table", f"table {table}", "Use INSERT INTO of SQL.")
    ids = written.write_arrow(rows)
    click.echo(f"{rows.num_rows:,} rows in snapshot {', '.join(map(str, ids))}" if ids else "no rows, no snapshot")


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
