"""Do tests fail when the code breaks? ``python -m tests.mutants --sample 50 --seed 1``

A seeded sample of single changes (`<` for `<=`, `or` for `and`, a condition turned round, a number changed, a loop left
out) is tried on copies of the checkout, each against the tests of its own package. What these let live is tried against
the other tests that run the changed line, of all units and of the golden tables. Mutants that change nothing anybody
could see are listed in `equivalent.toml` and do not count. First the tests must pass as the code is; a mutant that
makes them take several times as long is killed, too. Ends with 1 if fewer than `--least` percent are killed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.cases import ALL, CASES
from tests.mutants.reach import reaching

ROOT = Path(__file__).parents[2]
PACKAGES = ("merge", "commit", "compaction", "scan", "metadata")
OPERATORS = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in ("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Eq_NotEq", "NotEq_Eq")),
    "ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceAndWithOr", "ReplaceOrWithAnd", "AddNot", "ReplaceUnaryOperator_Delete_Not",
    "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add",
    "NumberReplacer", "ReplaceContinueWithBreak", "ZeroIterationForLoop",
)  # fmt: skip
# How long the tests of a package may take as the code is, and with a mutant: this many times as long, and a minute.
_MOST_SECONDS = 1800
_TIMES = 4
# What may run lines of any package, and how many of its tests are named to one process.
_OTHERS = ("tests/unit", "tests/golden")
_AT_A_TIME = 500


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change. `path`: of the module, from the root; `line`: from 1; `before`, `after`: of that line."""

    path: str
    line: int
    before: str
    after: str
    code: str

    @property
    def package(self) -> str:
        return self.path.split("/")[1]

    @property
    def text(self) -> str:
        return f"{self.path}:{self.line}\n    - {self.before}\n    + {self.after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=90, help="percent that must be killed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--packages", nargs="*", default=PACKAGES)
    given = parser.parse_args(arguments)
    chosen = sampled(given.packages, given.sample, random.Random(given.seed))
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.jobs):
            copies.put(copied(Path(folder) / str(number)))
        healthy = pool.map(lambda package: seconds_of(package, copies), given.packages)
        seconds = dict(zip(given.packages, healthy, strict=True))
        sick = [package for package, taken in seconds.items() if taken is None]
        if sick:
            print(f"The tests of {', '.join(sick)} fail without a change: mend them first.")
            return 1
        limits = {package: 60 + _TIMES * (taken or 0) for package, taken in seconds.items()}
        outcomes = pool.map(lambda mutant: is_killed(mutant, copies, limits[mutant.package]), chosen)
        for number, (mutant, killed) in enumerate(zip(chosen, outcomes, strict=True), 1):
            outcome = "killed" if killed else "alive"
            print(f"{number:3} of {len(chosen)}  {outcome:6}  {mutant.path}:{mutant.line}", flush=True)
            alive += [] if killed else [mutant]
        print(f"{len(alive)} are alive after the tests of their packages; now the others that run these lines:")
        alive = survivors(alive, copies, pool)
    share = 100 * (1 - len(alive) / max(1, len(chosen)))
    print(*(mutant.text for mutant in alive), sep="\n")
    print(f"{len(chosen) - len(alive)} of {len(chosen)} killed: {share:.0f} %")
    return int(share < given.least)


def sampled(packages: Sequence[str], count: int, dice: random.Random) -> list[Mutant]:
    """That many mutants, evenly over the packages, without those that are known to be equivalent."""
    known = {(m["path"], m["before"], m["after"]) for m in tomllib.loads(_EQUIVALENT.read_text())["mutant"]}
    collected: list[Mutant] = []
    for number, package in enumerate(packages):
        wanted = count // len(packages) + (number < count % len(packages))
        modules = sorted((ROOT / "maintenance" / package).rglob("*.py"))
        tried = [pair for module in modules for pair in _places(module)]
        dice.shuffle(tried)
        mutants = (mutant for module, place in tried for mutant in _mutant(module, *place))
        for mutant in mutants:
            if wanted and (mutant.path, mutant.before, mutant.after) not in known:
                collected.append(mutant)
                wanted -= 1
            elif not wanted:
                break
    return collected


_EQUIVALENT = Path(__file__).with_name("equivalent.toml")


def _places(module: Path) -> Iterator[tuple[Path, tuple[str, int]]]:
    """Every operator and occurrence of it in a module."""
    nodes = list(ast_nodes(get_ast(module.read_text())))
    for name in OPERATORS:
        operator = plugins.get_operator(f"core/{name}")()
        count = sum(len(list(operator.mutation_positions(node))) for node in nodes)
        yield from ((module, (name, occurrence)) for occurrence in range(count))


def _mutant(module: Path, name: str, occurrence: int) -> Iterator[Mutant]:
    before = module.read_text()
    after = mutate_code(before, plugins.get_operator(f"core/{name}")(), occurrence)
    old, new = before.splitlines(), (after or before).splitlines()
    changed = [i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    # How a record is stored (`slots`, `frozen`) changes no result, nor does it that `zip` checks lengths.
    at = changed[0] if changed else 0
    checked = "zip(" in old[at] and old[at].replace("strict=True", "strict=False") == new[at]
    unseen = old[at].strip().startswith("@dataclass(") or checked
    if changed and after is not None and not unseen:
        path = str(module.relative_to(ROOT))
        yield Mutant(path, at + 1, old[at].strip(), new[at].strip(), after)


def copied(folder: Path) -> Path:
    """A copy of the files that git knows."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def seconds_of(package: str, copies: "SimpleQueue[Path]") -> float | None:
    """How long the tests of a package take as the code is; None if they fail."""
    folder = copies.get()
    began = time.monotonic()
    try:
        return time.monotonic() - began if all_pass(folder, package, _MOST_SECONDS) else None
    finally:
        copies.put(folder)


def is_killed(mutant: Mutant, copies: "SimpleQueue[Path]", limit: float, others: Sequence[str] | None = None) -> bool:
    """Whether a test of the mutant's package fails, or the tests run for more than `limit` seconds.

    Args: `others`: the tests to run in their place, some at a time, without a limit but the usual one.
    """
    folder = copies.get()
    try:
        (folder / mutant.path).write_text(mutant.code)
        if others is None:
            return not all_pass(folder, mutant.package, limit, first=Path(mutant.path).stem)
        return any(
            not pass_in_time(folder, others[start : start + _AT_A_TIME], _MOST_SECONDS)
            for start in range(0, len(others), _AT_A_TIME)
        )
    finally:
        shutil.copyfile(ROOT / mutant.path, folder / mutant.path)
        copies.put(folder)


def all_pass(folder: Path, package: str, limit: float, first: str = "") -> bool:
    """Whether the tests of a package pass in time. `first`: the module whose own tests are run before the others."""
    files = (folder / "tests" / "unit" / package).rglob("test_*.py")
    return pass_in_time(
        folder, sorted(map(str, files), key=lambda path: (not path.endswith(f"test_{first}.py"), path)), limit
    )


def pass_in_time(folder: Path, tests: Sequence[str], limit: float) -> bool:
    """Whether tests pass within `limit` seconds. `tests`: files, or names as pytest has them."""
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    try:
        run = subprocess.run(command, cwd=folder, env=_ENVIRONMENT, capture_output=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def survivors(alive: Sequence[Mutant], copies: "SimpleQueue[Path]", pool: ThreadPoolExecutor) -> list[Mutant]:
    """Those that the other tests that run their lines let live, too."""
    if not alive:
        return []
    folder = copies.get()
    lines = [(mutant.path, mutant.line) for mutant in alive]
    tests = dict(zip(alive, reaching(folder, lines, _OTHERS, _ENVIRONMENT), strict=True))
    copies.put(folder)
    left: list[Mutant] = []
    for mutant, killed in zip(alive, pool.map(lambda one: is_killed(one, copies, 0, tests[one]), alive), strict=True):
        outcome = "killed" if killed else "ALIVE "
        print(f"{outcome}  {mutant.path}:{mutant.line}, which {len(tests[mutant])} tests run", flush=True)
        left += [] if killed else [mutant]
    return left


_ENVIRONMENT = {**os.environ, CASES: ALL}


if __name__ == "__main__":
    sys.exit(main())
