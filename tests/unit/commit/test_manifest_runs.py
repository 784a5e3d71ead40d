"""Which runs of sorted manifests are sorted together again."""

from maintenance.commit.manifest_order import ManifestSorting
from maintenance.commit.manifest_runs import picked
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.options.model import TableModel

SORTING = ManifestSorting.of(TableModel({"manifest-sort.enabled": "true"}), ("p",))


def run(size: int) -> list[ManifestFileMeta]:
    return [ManifestFileMeta(f"m-{size}", size, 1, 0, EMPTY_STATS, 0)]


def test_few_runs_stay_as_they_are() -> None:
    assert SORTING is not None
    chosen, left = picked([run(1), run(2), run(3), run(4)], SORTING)
    assert chosen == []
    assert [meta.file_size for meta in left] == [1, 2, 3, 4]


def test_the_smallest_are_sorted_until_few_are_left() -> None:
    """Each of the others is far larger than all before it."""
    assert SORTING is not None
    runs = [run(1), run(1_000), run(1_000_000), run(10**9), run(10**12)]
    assert [[meta.file_size for meta in metas] for metas in picked(runs, SORTING)] == [
        [1, 1_000],
        [10**6, 10**9, 10**12],
    ]
    assert [len(metas) for metas in picked([run(0), *runs], SORTING)] == [3, 3]


def test_a_run_of_a_like_size_goes_with_them() -> None:
    assert SORTING is not None
    chosen, left = picked([run(10), run(20), run(30), run(10**6), run(10**9)], SORTING)
    assert [meta.file_size for meta in chosen] == [10, 20, 30]
    assert [meta.file_size for meta in left] == [10**6, 10**9]
