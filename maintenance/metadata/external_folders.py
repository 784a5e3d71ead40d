"""Which external folders a table has used, for data and for global indexes, and which other tables use them, too."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from maintenance.errors import OptionError
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local, local_path
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_paths import external_index_roots, external_roots, overlap
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.options.own import EXTERNAL_PATHS_EXCLUSIVE

_DATABASE = ".db"
_SCHEMA = "schema"
_THREADS = 8


@dataclass(frozen=True, slots=True)
class ExternalFolders:
    """`roots`: those that hold files of one table alone; `notes`: which others there are, and why they may not."""

    roots: tuple[str, ...]
    notes: tuple[str, ...] = ()


def roots_ever(
    branches: Branches, known: TableSchema | None = None, names: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The folders that any schema of any branch of a table names: old files may still be there.

    `known`: a schema of the main branch, which need not be read; `names`: of the branches, if they are known.
    """
    folders: set[str] = set()
    for branch in branches.names() if names is None else names:
        schemas = Schemas(branches.file_io, replace(branches.paths, branch=branch).schema_folder())
        for number in schemas.list_ids():
            is_known = known is not None and (branch, number) == (MAIN_BRANCH, known.id)
            schema = known if known is not None and is_known else schemas.get(number)
            try:
                folders.update(external_roots(schema.model))
                folders.update(external_index_roots(schema.model))
            except OptionError:
                continue  # nothing could be written with it
    return tuple(sorted(folders))


def own_folders(
    branches: Branches, known: TableSchema, names: Sequence[str] | None = None, *, exclusive: bool
) -> ExternalFolders:
    """The external folders of a table in which a file that it does not name is one that nobody needs.

    Files there do not say whose they are. So the table must say that it is alone, and no table of the same warehouse
    may say otherwise: none names a folder that overlaps, or lies in one.

    Args: `known`, `names`: as of `roots_ever`; `exclusive`: the table says so.
    Raises: CorruptFileError: a schema of another table cannot be read.
    """
    roots = roots_ever(branches, known, names)
    if not roots:
        return ExternalFolders(())
    if not exclusive:
        named, key = ", ".join(roots), EXTERNAL_PATHS_EXCLUSIVE.key
        note = f"files below {named} are not looked at: set '{key}' = 'true' if no other table writes there"
        return ExternalFolders((), (note,))
    shared = {root: _sharer(branches, root) for root in roots}
    users = list(_neighbours(branches.file_io, branches.paths.root))
    for root in roots:
        clash = (user.name for user in users if any(overlap(_plain(root), folder) for folder in user.folders))
        shared[root] = shared[root] or next(clash, None)
    notes = (f"files below {root} are not looked at: {other} is there, too" for root, other in shared.items() if other)
    return ExternalFolders(tuple(root for root in roots if shared[root] is None), tuple(notes))


@dataclass(frozen=True, slots=True)
class _User:
    """Another table. `folders`: its own and its external ones."""

    name: str
    folders: tuple[str, ...]


def _sharer(branches: Branches, root: str) -> str | None:
    """What is in a folder that makes it that of a table."""
    own = _plain(branches.paths.root)
    if _plain(root) == own or not branches.file_io.list_names(f"{root}/{_SCHEMA}"):
        return None
    return "a table with a schema of its own"


def _neighbours(file_io: FileIO, location: str) -> Iterator[_User]:
    """The other tables of the warehouse that a location is in, as far as it is laid out as Paimon's are."""
    above, _, _ = location.rpartition("/")
    warehouse, _, database = above.rpartition("/")
    if not database.endswith(_DATABASE):
        return
    databases = [name for name in file_io.list_folders(warehouse) if name.endswith(_DATABASE)]
    places = [
        f"{warehouse}/{name}/{table}" for name in databases for table in file_io.list_folders(f"{warehouse}/{name}")
    ]
    with ThreadPoolExecutor(_THREADS) as pool:
        yield from pool.map(lambda place: _user(file_io, place), (place for place in places if place != location))


def _user(file_io: FileIO, location: str) -> _User:
    roots = roots_ever(Branches(file_io, TablePaths(location)))
    name = f"table {location.split('/')[-2].removesuffix(_DATABASE)}.{location.rsplit('/', maxsplit=1)[-1]}"
    return _User(name, tuple(_plain(folder) for folder in (location, *roots)))


def _plain(folder: str) -> str:
    """One spelling of a folder."""
    return local_path(folder) if is_local(folder) else folder
