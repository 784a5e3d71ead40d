"""What an operation may be asked for: the fields of its request, each told once for SQL, `paimonctl` and Dagster.

A request is a frozen dataclass. A field whose type is `Annotated[..., Param(...)]` can be set by every face; the type
says how a value is read, and `Param` what it means. A field without `Param` belongs to Python alone.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, replace
from datetime import datetime, timedelta
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from maintenance.fs.file_io import FileIO
from maintenance.metadata.partition_names import Exactly, Spec, kept
from maintenance.metastore.catalog import Catalog
from maintenance.operations.bin.run import BinRun
from maintenance.operations.progress import Progress
from maintenance.options.option import duration
from maintenance.spark.sharing import SparkSource
from maintenance.table.table import Table

Result = TypeVar("Result")
Value = Any
"""Of an argument: a text, number, truth value, or a list or mapping of them."""

Specs = Sequence[Spec]
MILLIS = "milliseconds since 1970-01-01 UTC"
"""The unit of a moment that is given as a number."""


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a call: what a field of a request means, as its annotation says, or one of a call's own.

    Attributes:
        text: a sentence for people who set it.
        name: in calls; of a field: Paimon's, where calls name it otherwise. others: further names of it in calls.
        read: makes a value of what a call has; None = by the type of the field, a text where there is none. Raises:
            ValueError, PaimonError: it does not fit.
        of_call: what a call means that leaves it out, by its table; None = the field's default.
        takes_more: further texts by position are of it, too.
        least: the smallest number that it can be.
        unit: of a number; `MILLIS` says that it is a moment.
        is_kept: whether a plan says it. Without it the plan's groups do, or it only matters while the work is done.
        is_each: a call may have several, and each is a request of its own.
        repeats: a command may have several, which are read as a list.
        by_position: a command takes it by its position, though it may be left out.
        option: the option of the table that it sets for the call.
        field: of the request that it sets; "" = what is read maps fields to values, or is not of the request.
        required, type, default: as the field says them. `type`: of its values, without None.
    """

    text: str = ""
    name: str = ""
    others: tuple[str, ...] = ()
    read: Callable[[Value], Any] | None = None
    of_call: Callable[[Any], Any] | None = None
    takes_more: bool = False
    least: int | None = None
    unit: str = ""
    is_kept: bool = True
    is_each: bool = False
    repeats: bool = False
    by_position: bool = False
    option: str | None = None
    field: str = ""
    required: bool = False
    type: Any = str
    default: Any = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.others)

    @property
    def is_flag(self) -> bool:
        """Whether naming it says that it is true."""
        return self.read is truth and not self.default

    def of(self, field: "Field[Any]", hint: Any) -> "Param":
        """The same as a field of a request says it. `hint`: the type of the field."""
        plain = bare(hint)
        return replace(
            self,
            name=self.name or field.name,
            read=names if self.is_each else self.read or _READERS.get(plain, names),
            field=field.name,
            required=_is_required(field),
            type=plain,
            default=None if field.default is MISSING else field.default,
        )


@cache
def parameters_of(request: type) -> tuple[Param, ...]:
    """The parameters of a request, in the order of its fields."""
    hints = get_type_hints(request, include_extras=True)
    told = [(each, hints[each.name], _told(hints[each.name])) for each in fields(request)]
    return tuple(param.of(each, get_args(hint)[0]) for each, hint, param in told if param is not None)


def _told(hint: Any) -> Param | None:
    return next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Param)), None)


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def bare(hint: Any) -> Any:
    """A type without None."""
    if get_origin(hint) in (Union, UnionType):
        (only,) = (part for part in get_args(hint) if part is not NoneType)
        return only
    return hint


def arguments_of(request: Any) -> dict[str, Any]:
    """The fields of a request as the JSON of a plan keeps them; those at their defaults are left out."""
    hints = get_type_hints(type(request), include_extras=True)
    found = {}
    for each in fields(request):
        told = _told(hints[each.name])
        value = getattr(request, each.name)
        if (told is None or told.is_kept) and value is not None and value != each.default:
            found[each.name] = _as_json(value)
    return found


def fields_of_arguments(request: type, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request by the arguments of a plan. Raises: KeyError: it is of an earlier release with others."""
    hints = get_type_hints(request)
    return {name: _of_json(value, bare(hints[name])) for name, value in arguments.items() if value is not None}


@dataclass(frozen=True)
class OfRuns:
    """What functions take that is of no request.

    Attributes:
        warehouse: its folder.
        dry_run: report what would be done, change nothing.
        progress: called with a line for each thing that happens.
        now: None = the current time; one without a zone is local.
        into: takes what is deleted, so that it can be restored; None = it is destroyed at once.
        spark: a session whose tasks do the work, or what gives one; None = this process does it.
    """

    table: Table
    catalog: Catalog
    file_io: FileIO
    warehouse: str = ""
    dry_run: bool = False
    progress: Progress | None = None
    now: datetime | None = None
    into: BinRun | None = None
    spark: SparkSource = None


def keywords_of(
    record: type[Any], name: str = "request", only: Iterable[str] | None = None, by_position: Sequence[str] = ()
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Callers of a function give the fields of a record, and the function gets the record as its parameter `name`.

    A field without a default may be given by position, where the function has the record. The docstring gets what is
    said of the fields, by `Param` or under Attributes, and what is the same for all runs, where it does not say it.

    Args: `only`: these fields; the function sets the others, which have defaults; `by_position`: those with defaults
        that may be given by position as well.
    """
    chosen = [each for each in fields(record) if each.init and (only is None or each.name in only)]

    def made(function: Callable[..., Result]) -> Callable[..., Result]:
        own = inspect.signature(function)
        place = list(own.parameters).index(name)
        first, behind = list(own.parameters.values())[:place], list(own.parameters.values())[place + 1 :]
        shown = [as_parameter(each, by_position=each.name in by_position) for each in chosen]
        parameters = sorted([*first, *shown, *behind], key=lambda parameter: parameter.kind)
        signature = own.replace(parameters=parameters)
        most = sum(each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for each in parameters)

        @wraps(function)
        def called(*args: Any, **given: Any) -> Result:
            if len(args) > most:
                raise TypeError(f"{function.__name__}() takes {most} arguments by position")
            arguments = signature.bind(*args, **given).arguments
            asked = record(**{each.name: arguments.pop(each.name) for each in chosen if each.name in arguments})
            return function(**arguments, **{name: asked})

        called.record = record  # type: ignore[attr-defined]
        called.__signature__ = signature  # type: ignore[attr-defined]
        called.__doc__ = _described(function.__doc__ or "", record, [each.name for each in parameters])
        return called

    return made


def as_parameter(field: "Field[Any]", *, by_position: bool = False) -> inspect.Parameter:
    """A field as a parameter of a function."""
    hint = getattr(field.type, "__origin__", field.type) if hasattr(field.type, "__metadata__") else field.type
    required = _is_required(field)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if required or by_position else inspect.Parameter.KEYWORD_ONLY
    default = inspect.Parameter.empty if required else field.default
    return inspect.Parameter(field.name, kind, default=default, annotation=hint)


def _described(doc: str, record: type[Any], parameters: Sequence[str]) -> str:
    """A docstring with what it does not say of these parameters yet, in their order."""
    text = inspect.cleandoc(doc)
    runs, about = (inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")[2] for each in (OfRuns, record))
    own = re.search(r"^Args:\n((?: {4}.*\n)*)", text, re.MULTILINE)
    hints = get_type_hints(record, include_extras=True)
    told = {name: param.text for name, hint in hints.items() if (param := _told(hint)) is not None}
    items: dict[str, str] = {}
    fields = "".join(f"    {name}: {text[0].lower() + text[1:]}\n" for name, text in told.items())
    said = f"{runs}\n{fields}{about.rstrip()}\n" + (own[1] if own else "")
    for item in re.findall(r"^ {4}\w.*\n(?: {8}.*\n)*", said, re.MULTILINE):
        items |= dict.fromkeys(item.partition(":")[0].strip().split(", "), item)
    chosen = dict.fromkeys(items[name] for name in parameters if name in items)
    if not chosen:
        return text
    above, below = (text[: own.start()], text[own.end() :]) if own else text.partition("Raises:")[::2]
    if not own:
        below = f"Raises:{below}" if below else ""
    return f"{above.rstrip()}\n\nArgs:\n{''.join(chosen)}{below}"


_TIME, _PERIOD = "time:", "seconds:"


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{_TIME}{value.isoformat()}"
    if isinstance(value, timedelta):
        return f"{_PERIOD}{value.total_seconds()}"
    if isinstance(value, Mapping):
        return kept(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return [_as_json(part) for part in value] if isinstance(value, list | tuple) else value


def _of_json(value: Any, kind: Any) -> Any:
    if isinstance(value, str) and kind is datetime:
        return datetime.fromisoformat(value.removeprefix(_TIME))
    if isinstance(value, str) and kind is timedelta:
        return timedelta(seconds=float(value.removeprefix(_PERIOD)))
    return value


def text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return value


def number(value: Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    raise ValueError("a whole number is expected")


def truth(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError("true or false is expected")


def spoken(value: Value) -> bool:
    """As `truth`, where a command says the word too: ``--overwrite true``."""
    return truth(value)


def period(value: Value) -> timedelta:
    return duration(text(value))


def moment(value: Value) -> datetime:
    """A time of the local zone, as text or in milliseconds since 1970 UTC."""
    if isinstance(value, int):
        return datetime.fromtimestamp(value / 1000).astimezone()
    try:
        return datetime.fromisoformat(text(value))
    except ValueError:
        raise ValueError("a time is written as 2024-02-29 12:00:00") from None


def names(value: Value) -> tuple[str, ...]:
    """Names with commas between them, or a list of names."""
    parts = value if isinstance(value, list) else text(value).split(",")
    return tuple(str(part).strip() for part in parts if str(part).strip())


def numbers(value: Value) -> tuple[int, ...]:
    """Whole numbers with commas between them, or a list of them."""
    return tuple(number(part) for part in ([value] if isinstance(value, int) else names(value)))


def one_of(*words: str) -> Callable[[Value], str]:
    """Reads one of some words, in any case."""
    said = " or ".join(f"'{word}'" for word in words)

    def read(value: Value) -> str:
        if str(value).lower() not in words:
            raise ValueError(f"{said} is expected")
        return str(value).lower()

    return read


def specs(value: Value) -> tuple[Spec, ...]:
    """Partitions: ``a=1,b=2;a=2,b IS NULL``, or a list of such texts. A value in quotes may hold commas, semicolons."""
    read: list[dict[str, str | None]] = []
    for part in value if isinstance(value, list) else [value]:
        written, start, end = text(part), 0, ";"
        while end:
            pair = _PAIR.match(written, start)
            if pair is None:
                raise ValueError("partitions are written as a=1,b=2;a=2,b=3")
            if end == ";":
                read.append({})
            read[-1][(pair["name"] or pair["null"]).strip()] = _unquoted(pair)
            start, end = pair.end(), pair["end"]
    return tuple(read)


def spec(value: Value) -> Spec:
    """One partition, as of `specs`."""
    found = specs(value)
    if len(found) != 1:
        raise ValueError(f"{len(found)} partitions are named, and one is expected")
    return found[0]


# A value in quotes ends where its quotes do, any other at the next comma or semicolon.
_PAIR = re.compile(
    r"""(?:(?P<null>[^=,;]+?)\s+IS\s+NULL
        |(?P<name>[^=,;]+)=\s*(?:'(?P<text>(?:[^']|'')*)'|"(?P<other>(?:[^"]|"")*)"|(?P<bare>[^,;]*?))
        )\s*(?P<end>[,;]|$)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


def _unquoted(pair: re.Match[str]) -> str | None:
    """The value of a pair, None for null. In quotes it is that text, whatever folders are called."""
    for quote, group in (("'", "text"), ('"', "other")):
        if pair[group] is not None:
            return Exactly(pair[group].replace(quote * 2, quote))
    return pair["bare"]


def options(value: Value) -> dict[str, str]:
    """Table options: ``k1=v1,k2=v2``, or a mapping."""
    if isinstance(value, Mapping):
        return {str(key): str(shown) for key, shown in value.items()}
    pairs = [pair.partition("=") for pair in text(value).replace(";", ",").split(",") if pair.strip()]
    return {key.strip(): shown.strip() for key, _, shown in pairs}


_READERS: Mapping[Any, Callable[[Value], Any]] = {
    str: text,
    int: number,
    bool: truth,
    timedelta: period,
    datetime: moment,
    Spec: spec,
    Specs: specs,
    Sequence[int]: numbers,
    Mapping[str, str]: options,
    Mapping[str, object]: options,
}
"""How values of a type are read from a call, unless its parameter says it; those of all others are names."""
