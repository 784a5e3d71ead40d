"""All procedures by name: those of the operations. Each is imported when it is asked for."""

from collections.abc import Iterator, Mapping
from functools import cache

from maintenance.operation_names import operation_modules
from maintenance.operations.operation import operation
from maintenance.sql.procedures.procedure import Procedure

# What is about more than one table of the operation, too.
_OF_MORE = ("remove_orphan_files", "restore")


class _Procedures(Mapping[str, Procedure]):
    def __getitem__(self, name: str) -> Procedure:
        return _procedure(_operations()[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(_operations())

    def __len__(self) -> int:
        return len(_operations())


def _operations() -> Mapping[str, str]:
    """The operation behind each name that calls know."""
    return {spelt: name for name, module in operation_modules().items() for spelt in module.commands}


@cache
def _procedure(name: str, spelt: str) -> Procedure:
    if name in _OF_MORE:
        from maintenance.sql.procedures.orphans import PROCEDURES_OF_MORE

        return PROCEDURES_OF_MORE[name]
    found = operation(name)
    return next(Procedure(found, spelling) for spelling in found.spelt() if spelling.name == spelt)


PROCEDURES: Mapping[str, Procedure] = _Procedures()
