"""The sample of keys that a proof looks at."""

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.hashing import KEYS, HashedRows, Hashing

ROWS = pa.table({"k": pa.array(range(4_000), pa.int64()), "v": ["x"] * 4_000})


def test_a_sample_has_the_keys_whose_hash_ends_with_zeros() -> None:
    rows = HashedRows(ROWS, Hashing(("k", "v"), ("k",), shift=3))
    chosen = rows.in_sample
    assert chosen is not None
    assert 350 < len(chosen) < 650, "about an eighth"
    assert (np.asarray(rows.of(KEYS))[chosen] & np.uint64(7) == 0).all()
    assert rows.sampled().rows["k"].to_pylist() == chosen.tolist()


def test_without_bits_or_a_key_all_rows_are_proved() -> None:
    assert HashedRows(ROWS, Hashing(("k", "v"), ("k",))).in_sample is None
    rows = HashedRows(ROWS, Hashing(("k", "v"), shift=3))
    assert rows.in_sample is None
    assert rows.sampled() is rows
