"""`python -m tests.chaos --minutes 10`: a campaign of each scenario, with figures every few seconds and a verdict."""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.campaign import Outcome, campaign
from tests.chaos.scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long each scenario lasts, besides its checks")
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], default="all")
    parser.add_argument("--seed", type=int, help="of the commits and of what goes wrong; else a random one")
    parser.add_argument("--mischief", type=float, default=1.0, help="0 = nothing is killed, 1 = as usual")
    parser.add_argument("--folder", type=Path, help="keep everything here; else only what failed is kept")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started ends, too
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
    names = list(SCENARIOS) if arguments.scenario == "all" else [arguments.scenario]
    failed = [name for name in names if not held(name, seed, arguments)]
    print(f"failed: {', '.join(failed)}" if failed else f"all of {', '.join(names)} held")
    return 1 if failed else 0


def held(name: str, seed: int, arguments: argparse.Namespace) -> bool:
    """Run one scenario and say what was found."""
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{name}-")) if arguments.folder is None else arguments.folder / name
    again = f"python -m tests.chaos --minutes {arguments.minutes:g} --scenario {name} --seed {seed}"
    print(f"{again}\nin {folder}", flush=True)
    outcome = campaign(folder, name, seed, 60 * arguments.minutes, say=say, mischief=arguments.mischief)
    print(reported(outcome), flush=True)
    if outcome.faults:
        print(f"The warehouse and the journals are kept in {folder}. Again: {again}", flush=True)
    elif arguments.folder is None:
        shutil.rmtree(folder)
    return not outcome.faults


def say(line: str) -> None:
    print(line, flush=True)


def reported(outcome: Outcome) -> str:
    """The figures and the verdict."""
    lines = [f"{name:<40} {value:>8}" for name, value in outcome.figures.items()]
    lines += [f"  {count:>5} times {error}" for error, count in sorted(outcome.errors.items())]
    lines += [f"{len(outcome.left)} files were left by operations that did not come to their end"]
    lines += [f"  {line}" for line in outcome.left[:10]]
    lines += [f"WRONG: {fault}" for fault in outcome.faults] or ["The campaign held."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
