"""What every answer of the console keeps to: it reads, it fetches nothing from elsewhere, and it says what is wrong."""

import re
from pathlib import Path

import dagster as dg
import pytest

from tests.console_site import Site

PAGES = ("/", "/tables/db.t", "/tables/db.months", "/tables/db.nowhere")


@pytest.mark.parametrize("page", PAGES)
def test_pages_need_nothing_from_elsewhere_and_no_script(site: Site, page: str) -> None:
    answer = site.get(page)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "<script" not in answer.html
    assert not re.search(r'(src|style)="', answer.html), "styles are in the one file"
    fetched = re.findall(r'<link rel="[^"]*" href="([^"]*)"', answer.html)
    assert fetched
    for address in fetched:
        assert site.get(address).status == 200
        assert "http" not in site.get(address).text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_their_parts_for_those_who_do_not_see_them(site: Site, page: str) -> None:
    html = site.get(page).html
    assert '<html lang="en">' in html
    assert len(re.findall("<h1", html)) == 1
    assert all("aria-label=" in tag for tag in re.findall("<svg[^>]*>", html))
    inputs = re.findall(r"<label>[^<]*<(?:input|select)", html)
    assert len(inputs) == len(re.findall("<(?:input|select)", html)), "each field has a label"
    levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_sent(site: Site, method: str) -> None:
    assert site.get("/", method).status == 405
    assert site.get("/tables/db.t", method).status == 405


def test_what_does_not_exist_is_told(site: Site) -> None:
    answer = site.get("/tables/db.nowhere")
    assert answer.status == 404
    assert "'db.nowhere' is not a table of tables.yaml" in answer.text
    assert site.get("/nowhere").status == 404
    assert site.get("/tables/%3Cb%3E").status == 404


def test_a_mistake_in_tables_yaml_is_shown_with_its_line(site: Site, tables_yaml: Path) -> None:
    tables_yaml.write_text(tables_yaml.read_text().replace("trigger: 3", "trigger: many"))
    answer = site.get("/")
    assert answer.status == 500
    assert "compaction.trigger" in answer.text
    assert re.search(r"tables.yaml, line \d+", answer.text)


def test_a_warehouse_that_cannot_be_listed_is_told(tables_yaml: Path, instance: dg.DagsterInstance) -> None:
    tables_yaml.write_text("warehouse: nosuchscheme://nowhere/lake\npatterns: [{pattern: '*.*'}]\n")
    answer = Site(tables_yaml, instance).get("/")
    assert answer.status == 500
    assert "nosuchscheme" in answer.text


def test_only_the_names_of_this_machine_are_listened_to(tables_yaml: Path, instance: dg.DagsterInstance) -> None:
    guarded = Site(tables_yaml, instance, ("127.0.0.1", "localhost"))
    assert guarded.get("/alive", host="127.0.0.1:3001").status == 200
    assert guarded.get("/alive", host="evil.example").status == 400


def test_links_into_dagster_are_plain_text_where_its_address_is_not_known(
    tables_yaml: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PAIMON_DAGSTER_URL", raising=False)
    assert any(address.startswith("http://dagster.test") for address in site.get("/tables/db.t").links())
    tables_yaml.write_text(tables_yaml.read_text().replace('alerts: {url: "http://dagster.test"}', ""))
    answer = site.get("/tables/db.t")
    assert "Open in Dagster" in answer.text
    assert all(address.startswith(("/", "#")) for address in answer.links())
