"""The catalog that a ``tables.yaml`` describes, its `warehouse` and `catalog`, and how such a file is looked through:
which of its entries are about a table, and where something stands in it. Dagster's project reads it by the same rules.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from maintenance.errors import OptionError
from maintenance.fs.location import is_absolute
from maintenance.options.environment import from_environment


def catalog_options(path: Path) -> dict[str, str]:
    """Paimon's catalog options. A relative warehouse starts at the folder of the file.

    Raises: OptionError: the file cannot be read, or says of no catalog.
    """
    content = content_of(path)
    options, warehouse = content.get("catalog") or {}, content.get("warehouse")
    if not isinstance(options, dict):
        raise OptionError("'catalog' is not a mapping", str(path), "Write KEY: VALUE below it.")
    if not isinstance(warehouse, str) or not warehouse:
        raise OptionError(
            "there is no 'warehouse'", str(path), "Write the path or URI of the warehouse, as 'warehouse'."
        )
    # A REST server knows its warehouses by names.
    rooted = warehouse if options.get("metastore") == "rest" else path_from(path.parent, warehouse)
    given = {str(key): option_text(value) for key, value in options.items()}
    return {"warehouse": rooted, **{key: from_environment(text, f"{path}, {key}") for key, text in given.items()}}


def path_from(folder: Path, path: str) -> str:
    """A path or URI of the file, which is in `folder`."""
    return path if is_absolute(path) else os.path.normpath(folder.resolve() / path)


def option_text(value: Any) -> str:
    """A value of the file in the form in which options are given: true is ``true``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def content_of(path: Path) -> Mapping[str, Any]:
    """The file as plain values. Raises: OptionError: it cannot be read."""
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise OptionError("PyYAML is not installed", str(path), "Install the extra 'cli'.") from error
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        fix = "Name a file that can be read with --tables or PAIMON_TABLES."
        raise OptionError(f"the file cannot be read: {error}", str(path), fix) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = str(path) if mark is None else f"{path}, line {mark.line + 1}"
        raise OptionError(f"this is not YAML: {error.problem}", place, "Correct this line.") from error
    except yaml.YAMLError as error:
        raise OptionError(f"this is not YAML: {error}", str(path), "Correct the YAML of this file.") from error
    if not isinstance(content, dict):
        raise OptionError("the file is not a mapping", str(path), "Describe a warehouse and its tables in it.")
    return content


def is_about(identifier: str, pattern: str, without: Iterable[str] = ()) -> bool:
    """Whether an entry of `patterns` is about a table; upper and lower case differ."""
    return fnmatchcase(identifier, pattern) and not any(fnmatchcase(identifier, no) for no in without)


def node_at(root: Any, place: Sequence[str | int]) -> Any:
    """Where to point for a place in a file: the value if it is a scalar, else its key, or what encloses it.

    Args: `root`: the node that `yaml.compose` gives; `place`: keys and positions; those that are not there are passed
        over.
    """
    import yaml

    shown = node = root
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            shown = node = node.value[part]
            continue
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        entry = next(((key, value) for key, value in entries if key.value == str(part)), None)
        if entry is None:
            continue  # pydantic names the kind of an entry in between, where there are several
        key, node = entry
        shown = node if isinstance(node, yaml.ScalarNode) else key
    return shown
