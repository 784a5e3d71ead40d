"""Merge engine `first-row`: the oldest record of a key is the key's row, whole.

Retractions are refused, or left out with `ignore-delete`. Source: seed 002 (first row), Java `FirstRowMergeFunction`.
"""

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.merge.ordered import KeyGroups
from maintenance.types.row_kind import is_retract


def first_row(rows: pa.Table, groups: KeyGroups) -> np.ndarray:
    """Record number of each key's result, in key order. Raises: DataError: a key with several records was retracted."""
    retract = is_retract(rows.column("_VALUE_KIND").to_numpy())
    if retract.any():
        several = np.diff(groups.starts, append=len(groups.order)) > 1
        if (np.logical_or.reduceat(retract[groups.order], groups.starts) & several).any():
            raise _refused()
    return np.asarray(groups.order[groups.starts])


def refuse_retractions(rows: pa.Table) -> None:
    """Raises: DataError: one of the records is a retraction."""
    if is_retract(rows.column("_VALUE_KIND").to_numpy()).any():
        raise _refused()


def _refused() -> DataError:
    return DataError("merge engine first-row does not take -U and -D", "row kinds", "Set 'ignore-delete' = 'true'.")


def first_row_ignoring_deletes(rows: pa.Table, groups: KeyGroups) -> np.ndarray:
    """The same with `ignore-delete`: the oldest record that is not a retraction, else the oldest of all."""
    kept = ~is_retract(rows.column("_VALUE_KIND").to_numpy())[groups.order]
    count = len(kept)
    positions = np.minimum.reduceat(np.where(kept, np.arange(count), count), groups.starts)
    return groups.order[np.where(positions < count, positions, groups.starts)]
