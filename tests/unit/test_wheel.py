"""The wheel that the project builds works where nothing but it and its dependencies is installed."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
UV = PROJECT / ".cache/uv/bin/uv"
EXTRAS = {
    "cli": ["prompt_toolkit"],
    "spark": ["pyspark"],
    "dagster": ["dagster", "pyspark", "paimon_maintenance.definitions"],
    "all": ["dagster", "prompt_toolkit", "pyspark", "thriftpy2", "pymysql"],
}
OWN = ["assets", "commands", "components", "console", "definitions", "demo", "jobs", "run_launcher", "sensors"]
TOP_LEVEL = {"maintenance", "paimon_maintenance"}


def uv(*arguments: object, offline: bool = False) -> None:
    """Run uv, `offline` with what it has kept if that is enough; without a network the tests are skipped if it is not.

    An index that is asked again may have its answers taken for new ones, and then Spark is built again, in 1.4 GB.
    """
    for more in (["--offline"], []) if offline else ([],):
        command = [str(UV), *map(str, arguments), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT)
        if done.returncode == 0:
            return
    if os.environ.get("CI") != "true" and _is_offline(done.stderr):
        pytest.skip(f"no network: {done.stderr.strip().splitlines()[-1]}")
    pytest.fail(done.stderr)


def _is_offline(text: str) -> bool:
    return any(sign in text for sign in ("dns error", "error sending request", "Could not connect", "Failed to fetch"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not UV.exists():
        pytest.skip("no uv: scripts/install test")
    folder = tmp_path_factory.mktemp("wheel")
    # What is not committed stays out of it, such as a folder that an earlier build left.
    source = folder / "source"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if name.partition("/")[0] not in ("tests", "benchmarks", ".ci") and (PROJECT / name).exists():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, target, follow_symlinks=False)
    uv("build", "--quiet", "--wheel", "--out-dir", folder / "dist", source)
    (built,) = (folder / "dist").glob("*.whl")
    return built


def test_it_holds_two_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("/")[0] for name in archive.namelist()}
    assert {name for name in names if not name.endswith(".dist-info")} == TOP_LEVEL


def test_it_holds_what_the_console_serves(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("templates", "static"):
        files = list((PROJECT / "console" / folder).iterdir())
        assert files
        assert {f"paimon_maintenance/console/{folder}/{path.name}" for path in files} <= names


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_it_works_installed_alone_and_with_each_extra(wheel: Path, tmp_path: Path, extra: str) -> None:
    environment = tmp_path / "venv"
    uv("venv", "--quiet", "--python", sys.executable, environment)
    # The versions that all other tests run with; the hashes are left out: they are allowed for requirements only.
    locked = (PROJECT / "requirements.txt").read_text().splitlines()
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(line.rstrip(" \\") for line in locked if "==" in line))
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    uv("pip", "install", "--quiet", "--python", environment / "bin/python", "-c", constraints, wanted, offline=True)

    def run(*command: str) -> str:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            [str(environment / "bin" / command[0]), *command[1:]],
            capture_output=True, text=True, check=False, cwd=tmp_path, env=clean,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    # A project beside it has packages of its own under the names that every Dagster project uses.
    for name in OWN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWN = True")

    assert "expire-snapshots" in run("paimonctl", "--help")
    program = (
        "import maintenance as pm; from importlib import import_module\n"
        f"for name in {EXTRAS.get(extra, [])!r}: import_module(name)\n"
        f"for name in {OWN!r}: assert import_module(name).OWN\n"
        f"catalog = pm.open_catalog({{'warehouse': {str(tmp_path / 'lake')!r}}})\n"
        f"print(pm.__file__)"
    )
    assert str(environment) in run("python", "-c", program)
    lake = str(tmp_path / "lake")
    run("paimonctl", "--warehouse", lake, "sql", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    actual = run("paimonctl", "--warehouse", lake, "--json", "sql", "SELECT SUM(a) AS n FROM t")
    assert json.loads(actual) == {"n": 3}
    shutil.rmtree(environment)  # a gigabyte that nobody looks at
