"""A YAML file read into a pydantic model; a mistake is reported with its line.

Who reads no more of it than plain values needs no pydantic, which takes long to import.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import yaml

from maintenance.errors import OptionError, storage_fix
from maintenance.project.findings import Finding, Place, mistakes_of

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A file as it was read.

    Attributes:
        root: its nodes, which know their lines; None where only the path is known.
        content: the same as plain values.
    """

    path: Path
    root: yaml.Node | None
    content: Any

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises: OptionError, with the line: it cannot be read, is not YAML, or says something twice."""
        text = _text(path)
        try:
            root = yaml.compose(text, yaml.SafeLoader)
            if root is None:
                raise OptionError("the file is empty", str(path), "Describe a warehouse and its tables in it.")
            _forbid_repeated_keys(root, path)
            return cls(path, root, yaml.safe_load(text))
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

    def where(self, place: Place) -> str:
        """The path and line of a place in the file."""
        return _where(self.path, _mark(self.root, place))

    def as_model(self, model: type[Model], context: Mapping[str, Any] | None = None) -> Model:
        """The file as a model. `context`: of its validators.

        Raises: OptionError, with the line of the first mistake, and of the others.
        """
        from pydantic import ValidationError

        try:
            return model.model_validate(self.content, context=context)
        except ValidationError as error:
            raise mistake_in(self.path, self.root, error) from error

    def sound_part(self, model: type[Model]) -> "SoundPart[Model]":
        """The file without the entries that have mistakes, as a model."""
        from pydantic import ValidationError

        try:
            return SoundPart(model.model_validate(self.content), [], {})
        except ValidationError as error:
            mistakes = mistakes_of(error)
        for prune in (self._without_settings, self._without_entries):
            content, numbers = prune([mistake.place for mistake in mistakes if mistake.place])
            with suppress(ValidationError):
                return SoundPart(model.model_validate(content), mistakes, numbers)
        return SoundPart(None, mistakes, {})

    def _without_settings(self, places: Iterable[Place]) -> tuple[Any, dict[str, list[int]]]:
        """Leaves out the setting that each place is in."""
        content = deepcopy(self.content)
        for place in places:
            # Of an entry in a list the setting is one level deeper.
            *path, key = place[:3] if _number(place) >= 0 else place[:1]
            within = content
            for part in path:
                within = within[part]
            if isinstance(within, dict):
                within.pop(key, None)
        return content, {}

    def _without_entries(self, places: Iterable[Place]) -> tuple[Any, dict[str, list[int]]]:
        """Leaves out the entry of a list that each place is in, or the key at the top; and says which entries stay."""
        bad = {(str(place[0]), _number(place)) for place in places}
        content = dict(self.content) if isinstance(self.content, Mapping) else {}
        numbers: dict[str, list[int]] = {}
        for key in {key for key, _ in bad} & {*content}:
            listed = content.pop(key)
            if isinstance(listed, list) and (key, -1) not in bad:
                numbers[key] = [number for number in range(len(listed)) if (key, number) not in bad]
                content[key] = [listed[number] for number in numbers[key]]
        return content, numbers


@dataclass(frozen=True, slots=True)
class SoundPart(Generic[Model]):
    """What can be used of a file that has mistakes.

    Attributes:
        model: None if what is left is none.
        numbers: of a list that entries are left out of, the positions in the file of those that stay.
    """

    model: Model | None
    mistakes: Sequence[Finding]
    numbers: Mapping[str, Sequence[int]]

    def in_file(self, finding: Finding) -> Finding:
        """What was found in the model, at its place in the file."""
        number, numbers = _number(finding.place), self.numbers.get(str(finding.place[0]))
        if numbers is None or number < 0:
            return finding
        return replace(finding, place=(finding.place[0], numbers[number], *finding.place[2:]))


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


def attribute_mistake(path: Path, error: "ValidationError") -> OptionError:
    """What is wrong with the attributes of a component, with the line of its file where it is known."""
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), yaml.SafeLoader)
    except (OSError, yaml.YAMLError):
        root = None
    return mistake_in(path, root, error, "attributes")


def mistake_in(path: Path, root: yaml.Node | None, error: "ValidationError", *within: str) -> OptionError:
    """The first mistake that pydantic found, and where the others are. `within`: where in the file the part is."""
    first, *others = mistakes_of(error)
    rest = "; ".join(f"{_where(path, _mark(root, (*within, *other.place)))}: {_said(other)}" for other in others)
    fix = f"{first.fix} {len(others)} more: {rest}" if others else first.fix
    return OptionError(_said(first), _where(path, _mark(root, (*within, *first.place))), fix)


def _said(finding: Finding) -> str:
    return f"{finding.path}: {finding.found}" if finding.place else finding.found


def _mark(root: yaml.Node | None, place: Place) -> yaml.Mark | None:
    """Where to point for a place: the value if it is a scalar, else its key, or what encloses it.

    Keys and positions that are not there are passed over: pydantic names the kind of an entry in between, where there
    are several.
    """
    if root is None:
        return None
    shown = node = root
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            shown = node = node.value[part]
            continue
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        entry = next(((key, value) for key, value in entries if key.value == str(part)), None)
        if entry is not None:
            key, node = entry
            shown = node if isinstance(node, yaml.ScalarNode) else key
    mark: yaml.Mark = shown.start_mark
    return mark


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


def _number(place: Place) -> int:
    """Which entry of a list a place is in; -1 where it is in none."""
    number = place[1] if len(place) > 1 else -1
    return number if isinstance(number, int) else -1
