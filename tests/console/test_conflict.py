"""The page of a table's writers: their commits on one axis of time, the buckets they share, what to set."""

import re

from maintenance.catalog import CatalogTable
from tests.console_site import Site
from tests.small_tables import set_commit_time


def test_both_writers_are_drawn_with_the_commits_that_the_check_names(site: Site) -> None:
    answer = site.get("/tables/db.t/writers")
    assert answer.status == 200
    assert answer.html.count('class="lane"') == 2
    assert answer.html.count('class="ring"') == 3, "till, loader, till again"
    assert "What to set: Let one job write each partition" in answer.text
    assert "till (the tills of the shops): 4 commits" in answer.text
    assert "loader: 1 commit" in answer.text
    assert "bucket 0 loader: 1, till: 4" in answer.text or "bucket 0 loader: 1, till: 4" in answer.text
    assert "/tables/db.t/writers" in site.get("/tables/db.t").links()


def test_commits_lie_where_their_time_does(site: Site, keyed_table: CatalogTable) -> None:
    start = keyed_table.snapshots.get(1).time_millis
    for number, minutes in ((1, 0), (2, 10), (3, 20), (4, 30), (5, 100)):
        set_commit_time(keyed_table, number, start + minutes * 60_000)
    marks = re.findall(r'<circle class="colour-\d" cx="([\d.]+)"', site.get("/tables/db.t/writers").html)
    places = sorted(float(x) for x in marks)
    width = places[-1] - places[0]
    assert [round((x - places[0]) / width * 100) for x in places] == [0, 10, 20, 30, 100]


def test_writers_that_do_not_meet_are_told_so(site: Site) -> None:
    text = site.get("/tables/db.months/writers").text
    assert "No two writers interfere" in text
    assert site.get("/tables/db.nowhere/writers").status == 404
