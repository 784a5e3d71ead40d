"""The console by itself: ``python -m paimon_maintenance.console``, which `make ui` does."""

import argparse
import sys
from collections.abc import Sequence

from paimon_maintenance.assets.project.environment import path_of_environment
from paimon_maintenance.console.serve import HOST, PORT, serve


def main(arguments: Sequence[str]) -> int:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m paimon_maintenance.console", description="The console.")
    parser.add_argument("--host", default=HOST, help="the address to listen on")
    parser.add_argument("-p", "--port", type=int, default=PORT, help="where it listens")
    given = parser.parse_args(arguments)
    return serve(path_of_environment(), given.host, given.port)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
