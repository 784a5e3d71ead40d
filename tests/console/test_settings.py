"""The page of other settings: the picture, the statements, and what is wrong with what was asked."""

from maintenance.catalog import CatalogTable
from tests.console_site import Site

PAGE = "/tables/db.months/settings"


def test_settings_are_drawn_with_the_statement_of_each(site: Site, by_month: CatalogTable) -> None:
    answer = site.get(f"{PAGE}?try=compaction.min.file-num%3D2,10&snapshots=4")
    assert answer.status == 200
    assert "<polyline" in answer.html
    assert "ALTER TABLE db.months SET ('compaction.min.file-num' = '10')" in answer.text
    assert f"{PAGE}" in site.get("/tables/db.months").links()


def test_what_cannot_be_tried_is_said(site: Site, by_month: CatalogTable) -> None:
    assert "settings to try are written as" in site.get(f"{PAGE}?try=many").text
    assert "cannot be simulated" in site.get(f"{PAGE}?try=bucket%3D4").text
    assert site.get("/tables/db.none/settings").status == 404
