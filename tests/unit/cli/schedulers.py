"""What the examples for schedulers need: a table with work to do, and `paimonctl` as a program."""

import sys
from pathlib import Path

from maintenance.sql import Session

_PROJECT = Path(__file__).parents[3]


def four_small_files(lake: Path) -> Session:
    """A session of a new warehouse whose table `t` has four files that a compaction makes one."""
    session = Session({"warehouse": str(lake)})
    session.sql("CREATE TABLE t (a INT) TBLPROPERTIES ('write-only' = 'true', 'compaction.min.file-num' = '2')")
    for number in range(4):
        session.sql(f"INSERT INTO t VALUES ({number})")
    return session


def paimonctl(folder: Path) -> Path:
    """The program, in a new folder: of this checkout and this Python, whatever environment it is called from."""
    command = folder / "paimonctl"
    folder.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH={_PROJECT} exec {sys.executable} -m maintenance.cli "$@"\n')
    command.chmod(0o755)
    return command
