"""The catalog that a tables.yaml describes: its `warehouse` and `catalog`, whatever else is in the file."""

import os
from pathlib import Path
from typing import Any

from maintenance.errors import OptionError
from maintenance.fs.location import is_absolute
from maintenance.options.environment import from_environment


def catalog_options(path: Path) -> dict[str, str]:
    """Paimon's catalog options. A relative warehouse starts at the folder of the file.

    Raises: OptionError: the file cannot be read, or says of no catalog.
    """
    from maintenance.project.yaml_file import YamlFile

    content = YamlFile.read(path).content
    if not isinstance(content, dict):
        raise OptionError("the file is not a mapping", str(path), "Describe a warehouse and its tables in it.")
    options, warehouse = content.get("catalog") or {}, content.get("warehouse")
    if not isinstance(options, dict):
        raise OptionError("'catalog' is not a mapping", str(path), "Write KEY: VALUE below it.")
    if not isinstance(warehouse, str) or not warehouse:
        raise OptionError(
            "there is no 'warehouse'", str(path), "Write the path or URI of the warehouse, as 'warehouse'."
        )
    given = {str(key): option_text(value) for key, value in options.items()}
    return {
        "warehouse": rooted_warehouse(path.parent, warehouse, given),
        **{key: from_environment(text, f"{path}, {key}") for key, text in given.items()},
    }


def rooted_warehouse(folder: Path, warehouse: str, options: dict[str, str]) -> str:
    """The warehouse of a file in `folder`. A REST server knows its warehouses by names."""
    return warehouse if options.get("metastore") == "rest" else path_from(folder, warehouse)


def path_from(folder: Path, path: str) -> str:
    """A path or URI of the file, which is in `folder`."""
    return path if is_absolute(path) else os.path.normpath(folder.resolve() / path)


def option_text(value: Any) -> str:
    """A value of the file in the form in which Paimon and Spark take options: true is ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)
