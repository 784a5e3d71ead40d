"""The archive of this package that the workers of a cluster import."""

import os
import subprocess
import sys
from importlib.util import cache_from_source
from pathlib import Path

import maintenance.operations.compaction.compact as compact
from maintenance.operation_names import operation_modules
from maintenance.spark.session import package_archive

_LOOK = """
import json
import maintenance.operations.compaction.compact as module
from maintenance.operation_names import operation_modules
from maintenance.operations import expire_snapshots
print(json.dumps([module.__file__, list(operation_modules())]))
"""


def test_all_of_the_package_is_imported_from_it_compiled(tmp_path: Path) -> None:
    archive = tmp_path / "package.zip"
    archive.write_bytes(package_archive())
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert str(archive) in done.stdout
    assert all(f'"{name}"' in done.stdout for name in operation_modules())
    if Path(cache_from_source(str(compact.__file__))).exists():  # where Python keeps what it compiles
        assert f"{archive}/maintenance/operations/compaction/compact.pyc" in done.stdout
