"""The catalog that a ``tables.yaml`` describes: its `warehouse` and `catalog`. What else it says is for Dagster."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maintenance.errors import OptionError
from maintenance.fs.location import is_absolute
from maintenance.options.environment import from_environment

# Where relative paths of such a file start: the checkout.
FOLDER = Path(__file__).resolve().parents[2]


def catalog_options(path: Path, folder: Path = FOLDER) -> dict[str, str]:
    """Paimon's catalog options. `folder`: where a relative warehouse starts.

    Raises: OptionError: the file cannot be read, or says of no catalog.
    """
    content = content_of(path)
    options, warehouse = content.get("catalog") or {}, content.get("warehouse")
    if not isinstance(options, dict):
        raise OptionError("'catalog' is not a mapping", str(path), "Write KEY: VALUE below it.")
    if not isinstance(warehouse, str) or not warehouse:
        raise OptionError("there is no 'warehouse'", str(path), "Write its path or URI.")
    # A REST server knows its warehouses by names.
    rooted = warehouse if options.get("metastore") == "rest" or is_absolute(warehouse) else str(folder / warehouse)
    given = {str(key): _text(value) for key, value in options.items()}
    return {"warehouse": rooted, **{key: from_environment(text, f"{path}, {key}") for key, text in given.items()}}


def _text(value: Any) -> str:
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
        raise OptionError(f"the file cannot be read: {error}", str(path), "Name another one.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = str(path) if mark is None else f"{path}, line {mark.line + 1}"
        raise OptionError(f"this is not YAML: {error.problem}", place, "Correct this line.") from error
    except yaml.YAMLError as error:
        raise OptionError(f"this is not YAML: {error}", str(path), "Correct it.") from error
    if not isinstance(content, dict):
        raise OptionError("the file is not a mapping", str(path), "Describe a warehouse and its tables in it.")
    return content
