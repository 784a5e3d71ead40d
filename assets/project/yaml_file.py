"""A YAML file read into a pydantic model; a mistake is reported with its line."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from maintenance.errors import OptionError, storage_fix
from paimon_maintenance.assets.project.findings import Finding, Place, mistakes_of

Model = TypeVar("Model", bound=BaseModel)


def parse_yaml(path: Path, model: type[Model]) -> Model:
    """The file as a model. Raises OptionError, with the line of the mistake."""
    text = _text(path)
    try:
        root = yaml.compose(text, yaml.SafeLoader)
        if root is None:
            raise OptionError("the file is empty", str(path), "Describe a warehouse and its tables in it.")
        _forbid_repeated_keys(root, path)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        raise _mistake(path, error.problem_mark, f"this is not YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character U+{error.character:04X} cannot be in YAML"
        raise OptionError(problem, f"{path}, line {line}", "Delete it.") from error
    except RecursionError as error:
        raise OptionError(
            "the file is nested too deeply, or a part of it contains itself", str(path), "Use fewer levels."
        ) from error
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise mistake_in(path, root, error) from error


def _text(path: Path) -> str:
    """The text of a file. Raises OptionError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise OptionError("the file does not exist", str(path), "Write it, or name another one.") from error
    except OSError as error:
        raise OptionError(f"the file cannot be read: {error.strerror}", str(path), storage_fix(error)) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"the byte 0x{data[error.start]:02X} is not UTF-8"
        raise OptionError(problem, f"{path}, line {line}", "Save the file as UTF-8.") from error


def attribute_mistake(path: Path, error: ValidationError) -> OptionError:
    """What is wrong with the attributes of a component, with the line of its file where it is known."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, yaml.YAMLError):
        root = None
    return mistake_in(path, root, error, "attributes")


def mistake_in(path: Path, root: yaml.Node | None, error: ValidationError, *within: str) -> OptionError:
    """The first mistake that pydantic found, and where the others are. `within`: where in the file the part is."""
    first, *others = mistakes_of(error)
    rest = "; ".join(f"{_where(path, _mark(root, (*within, *other.place)))}: {_said(other)}" for other in others)
    fix = f"{first.fix} {len(others)} more: {rest}" if others else first.fix
    return OptionError(_said(first), _where(path, _mark(root, (*within, *first.place))), fix)


def _said(finding: Finding) -> str:
    return f"{finding.path}: {finding.found}" if finding.place else finding.found


def _mark(root: yaml.Node | None, place: Place) -> yaml.Mark | None:
    return None if root is None else _node_at(root, place).start_mark


def _where(path: Path, mark: yaml.Mark | None) -> str:
    return f"{path}, line {mark.line + 1}" if mark else str(path)


def _mistake(path: Path, mark: yaml.Mark | None, problem: str) -> OptionError:
    return OptionError(problem, _where(path, mark), "Correct this line.")


def _forbid_repeated_keys(node: yaml.Node, path: Path) -> None:
    """YAML lets the last of several equal keys win without a word: a setting would be lost."""
    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _forbid_repeated_keys(child, path)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _mistake(path, key.start_mark, "a key is not a plain word")
        if key.value in seen:
            raise _mistake(path, key.start_mark, f"the key '{key.value}' is set here a second time")
        seen.add(key.value)
        _forbid_repeated_keys(value, path)


def _node_at(node: yaml.Node, location: Place) -> yaml.Node:
    """Where to point for a pydantic location: the value if it is a scalar, else its key, or what encloses it."""
    shown = node
    for part in location:
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
