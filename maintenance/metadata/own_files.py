"""Whether the small files of a table match their names: checked before some of them are deleted.

An intact snapshot, tag, changelog or schema under a wrong name may be the only copy of what a branch needs. A file with
unknown content is not examined further: it is damaged, and nothing is lost with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from maintenance.errors import CorruptFileError
from maintenance.format.json_object import parse_object
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branches import Branches
from maintenance.metadata.identity import BEGINNINGS, unexpected
from maintenance.metadata.schemas import Schemas
from maintenance.threads import map_in_threads

_READERS = 8
_STATE = "baseManifestList"


@dataclass(frozen=True, slots=True)
class _Named:
    """A file. `key`: of its JSON, which no other kind has; `number`: of its name, None for a tag."""

    kind: str
    path: str
    key: str
    number: int | None = None


def check_own_files(branches: Branches) -> None:
    """Check the snapshots, tags, changelogs and schemas of all branches. Raises: CorruptFileError."""
    files = [named for branch in branches.names() for named in _files(branches, branch)]
    map_in_threads(lambda named: _check(branches.file_io, named), files, _READERS)


def _files(branches: Branches, branch: str) -> Iterator[_Named]:
    snapshots, tags, changelogs = branches.snapshots(branch), branches.tags(branch), branches.changelogs(branch)
    paths = snapshots.paths
    schemas = Schemas(branches.file_io, paths.schema_folder())
    yield from (_Named("snapshot", paths.snapshot(number), _STATE, number) for number in snapshots.list_ids())
    yield from (_Named("changelog", paths.changelog(number), _STATE, number) for number in changelogs.list_ids())
    yield from (_Named("schema", paths.schema(number), "highestFieldId", number) for number in schemas.list_ids())
    yield from (_Named("a tag", paths.tag(name), _STATE) for name in tags.names())


def _check(file_io: FileIO, named: _Named) -> None:
    try:
        data = file_io.read_settled(named.path)
    except FileNotFoundError:
        return
    expected = named.kind if named.number is None else f"{named.kind} {named.number}"
    try:
        form = parse_object(data, named.path)
    except CorruptFileError as error:
        if data.startswith(BEGINNINGS):
            raise unexpected(expected, "what cannot be read", named.path) from error
        return
    if form and named.key not in form:
        raise unexpected(expected, "a file of another kind", named.path)
    if form and named.number is not None and form.get("id") != named.number:
        raise unexpected(expected, f"{named.kind} {form.get('id')}", named.path)
