"""Merge engine `deduplicate`: the newest record of a key is the key's row, whole, nulls included."""

import numpy as np
import pyarrow as pa

from maintenance.merge.ordered import KeyGroups
from maintenance.types.row_kind import is_retract


def deduplicate(rows: pa.Table, groups: KeyGroups) -> np.ndarray:
    """Record number of each key's result, in key order. A result may be a retraction: the caller drops or keeps it.

    Args: `rows`: unused by this engine, which looks at the order alone; `groups`: of these rows.
    """
    del rows
    return groups.newest


def deduplicate_ignoring_deletes(rows: pa.Table, groups: KeyGroups) -> np.ndarray:
    """The same with `ignore-delete`: the newest record that is not a retraction, the newest of all where none is.

    Writers drop retractions of such a table, but older files may hold some: from before the option was set. A key whose
    records are all retractions has no row either way. Source: Java `DeduplicateMergeFunction`.
    """
    kept = ~is_retract(rows.column("_VALUE_KIND").to_numpy())[groups.order]
    positions = np.maximum.reduceat(np.where(kept, np.arange(len(kept)), -1), groups.starts)
    return np.where(positions >= 0, groups.order[positions], groups.newest)
