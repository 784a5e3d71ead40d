"""What a running operation tells: a bar on a terminal, lines elsewhere. Standard output has results alone."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from maintenance.operations.progress import Counted, Progress


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """What is called with each line. The bar goes once the work has ended."""
    if not sys.stderr.isatty():
        yield lambda line: click.echo(line, err=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    # Its lines have names of files and partitions in them: they are not markup.
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("", total=None)

        def show(line: str) -> None:
            if isinstance(line, Counted):
                bars.update(bar, description=line, completed=line.done, total=line.total)
            else:
                bars.update(bar, description=line)

        yield show
