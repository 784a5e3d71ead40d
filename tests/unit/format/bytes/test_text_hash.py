"""Hashes of texts: alike for like texts, wherever they stand."""

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.text_hash import text_hashes


def test_a_text_has_one_hash_wherever_it_stands() -> None:
    texts = pa.array(["", "a", "b", "ab", "ba", "data-é-0.orc", "x" * 5000, "a"])
    hashes = text_hashes(texts)
    assert len(set(hashes.tolist())) == 7
    assert hashes[1] == hashes[7]
    assert text_hashes(texts.slice(3, 4)).tolist() == hashes[3:7].tolist()
    chunked = pa.chunked_array([texts.slice(0, 3), texts.slice(3)])
    assert text_hashes(chunked).tolist() == hashes.tolist()
    assert text_hashes(texts.cast(pa.large_string())).tolist() == hashes.tolist()
    assert text_hashes(pa.array([], pa.string())).tolist() == []


def test_names_that_differ_in_one_place_have_different_hashes() -> None:
    names = pa.array([f"data-{number % 997:08x}-{number}.parquet" for number in range(200_000)])
    assert len(np.unique(text_hashes(names))) == 200_000
