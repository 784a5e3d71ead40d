"""PySpark's archives hold what Python has compiled of them, where an environment has been prepared."""

import builtins
import runpy
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

_SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_spark_archives.py"


def test_a_module_of_an_archive_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/module.py", "answer = 42\n")
        archive.writestr("package/data.json", "{}")
    add_compiled = runpy.run_path(str(_SCRIPT))["add_compiled"]
    add_compiled(path)
    made = path.read_bytes()
    add_compiled(path)
    assert path.read_bytes() == made

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("Python compiles the module again.")

    monkeypatch.setattr(builtins, "compile", refuse)
    found = zipimporter(str(path))
    assert found.get_data("package/data.json") == b"{}"
    assert "answer" in zipimporter(str(path / "package")).get_code("module").co_names
    assert found.is_package("package")
