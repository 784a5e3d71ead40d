"""`python -m tests.soak --minutes 10`: the soak, with its figures every few seconds and a verdict (`make soak`)."""

import argparse
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.soak.soak import Limits, Load, soak, summary_text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the writer commits")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--rate", type=float, default=20.0, help="commits per second over all tables")
    parser.add_argument("--lag", type=int, default=180, help="commits to a table that maintenance may lag behind")
    parser.add_argument("--artifacts", type=Path, default=Path(".artifacts/soak"), help="the plot is left here")
    parser.add_argument("--folder", type=Path, help="keep everything here; else it is removed")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is to end, too
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        say = partial(print, flush=True)
        load = Load(round(60 * arguments.minutes), arguments.tables, arguments.rate)
        outcome = soak(folder, load, limits=Limits(arguments.lag), say=say, artifacts=arguments.artifacts)
    print(summary_text(outcome))
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
