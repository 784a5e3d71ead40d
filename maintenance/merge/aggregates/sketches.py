"""The library that unites sketches."""

from typing import Any

from maintenance.errors import UnsupportedError


def sketch_library(where: str) -> Any:
    """Apache DataSketches. Raises: UnsupportedError: it is not installed; not every release of Python has it."""
    try:
        import datasketches
    except ModuleNotFoundError as error:
        problem = "sketches are united by the package datasketches, which is not installed"
        fix = "Install it (pip install datasketches) on a Python that it has a wheel for: 3.11 to 3.13."
        raise UnsupportedError(problem, where, fix) from error
    return datasketches
