"""What is done for many things at a time is returned in order, and a thread is started only where it helps."""

import threading
from collections.abc import Sequence

import pytest

from maintenance.threads import map_in_threads


def test_results_are_in_the_order_of_the_items_whichever_is_done_first() -> None:
    second = threading.Event()

    def one(number: int) -> int:
        if number == 0:
            assert second.wait(30), "the second has to be done beside the first"
        second.set()
        return number * 10

    assert map_in_threads(one, iter(range(5)), 2) == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(("items", "most"), [((1,), 8), ((1, 2, 3), 1), ((), 8)])
def test_no_thread_is_started_where_one_is_enough(items: Sequence[int], most: int) -> None:
    used = {threading.get_ident(), *map_in_threads(lambda _: threading.get_ident(), items, most)}
    assert used == {threading.get_ident()}


@pytest.mark.parametrize("most", [1, 4])
def test_the_first_failure_in_order_is_raised(most: int) -> None:
    def one(number: int) -> int:
        if number:
            raise ValueError(str(number))
        return number

    with pytest.raises(ValueError, match="1"):
        map_in_threads(one, range(4), most)
