"""The addresses of the console, and how each page is made. All are read with GET, and none changes anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from maintenance.errors import NotFoundError, PaimonError
from paimon_maintenance.assets.pages.freeable import beside_of
from paimon_maintenance.console.conflict import conflict_view
from paimon_maintenance.console.fleet import STATES, Choice, fleet_view, lines_of
from paimon_maintenance.console.lake import Known, Lake
from paimon_maintenance.console.links import Links, page_of, with_query
from paimon_maintenance.console.looks import Looks
from paimon_maintenance.console.metrics import CONTENT_TYPE, TableMetrics, metrics_text
from paimon_maintenance.console.night import night_view
from paimon_maintenance.console.plans import plan_lines, plan_view
from paimon_maintenance.console.settings import settings_view
from paimon_maintenance.console.table import table_view
from paimon_maintenance.console.words import FILTERS, ago

_FOLDER = Path(__file__).parent
_LINES = 300
# Nothing is fetched from elsewhere, nothing runs in the browser, and no other page can frame this one.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Maker = Callable[["Pages", Known, Request], tuple[str, Mapping[str, Any]]]


def application(lake: Lake, hosts: Sequence[str] = (), looks: Looks | None = None) -> Starlette:
    """The console. `hosts`: the names it may be called by; none = any. It listens to no others: a page of another site
    must not read it through a name of its own."""
    pages = Pages(lake, looks or Looks())
    routes = [
        Route("/", partial(pages.answer, fleet)),
        Route("/tables/{table}", partial(pages.answer, table)),
        Route("/tables/{table}/writers", partial(pages.answer, conflict)),
        Route("/tables/{table}/settings", partial(pages.answer, settings)),
        Route("/next", partial(pages.answer, work)),
        Route("/costs", partial(pages.answer, costs)),
        Route("/plans", partial(pages.answer, plans)),
        Route("/plans/{plan}", partial(pages.answer, plan)),
        Route("/night", partial(pages.answer, night)),
        Route("/metrics", pages.metrics),
        Route("/alive", lambda _: PlainTextResponse("ok")),
        Mount("/static", StaticFiles(directory=_FOLDER / "static")),
    ]
    guard = [Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))] if hosts else []
    return Starlette(routes=routes, middleware=guard, exception_handlers={404: pages.no_page})


@dataclass
class Pages:
    """What all pages are made with."""

    lake: Lake
    looks: Looks
    templates: jinja2.Environment = field(init=False)

    def __post_init__(self) -> None:
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters.update(FILTERS)
        self.templates.globals.update(page_of=page_of, with_query=with_query, ago=ago)

    async def answer(self, make: Maker, request: Request) -> Response:
        """A page; what goes wrong is one, too."""
        return await run_in_threadpool(self._answer, make, request)

    async def metrics(self, _: Request) -> Response:
        """What Prometheus scrapes."""
        return await run_in_threadpool(self._metrics)

    def _metrics(self) -> Response:
        try:
            known = self.lake.known()
            lines = lines_of(known, self.looks, self.lake.now())
            metrics = TableMetrics(lines, self.lake.week(), self.lake.bins(), known.project.prices)
            return Response(metrics_text(metrics), headers=_HEADERS, media_type=CONTENT_TYPE)
        except Exception as error:  # noqa: BLE001 - a scrape that fails is seen as one, whatever the reason
            return PlainTextResponse(f"{error}\n", 500, _HEADERS)

    async def no_page(self, request: Request, _: Exception) -> Response:
        """What is shown under an address that is none."""
        return await run_in_threadpool(self._fault, 404, "There is no such page.", request.url.path, "")

    def _answer(self, make: Maker, request: Request) -> Response:
        try:
            known = self.lake.known()
            name, values = make(self, known, request)
            return self._page(name, {"links": known.links, **values})
        except NotFoundError as error:
            return self._fault(404, error.found, error.where, error.fix)
        except PaimonError as error:
            return self._fault(500, error.found, error.where, error.fix)
        except Exception as error:  # noqa: BLE001 - whatever it is, a person wants to read it
            return self._fault(500, f"{type(error).__name__}: {error}", "console", "The log of the console says more.")

    def _page(self, name: str, values: Mapping[str, Any], status: int = 200) -> Response:
        text = self.templates.get_template(name).render(now=self.lake.now(), **values)
        return HTMLResponse(text, status, _HEADERS)

    def _fault(self, status: int, found: str, where: str, fix: str) -> Response:
        return self._page(
            "fault.html", {"links": Links(), "status": status, "found": found, "where": where, "fix": fix}, status
        )


def fleet(pages: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """All tables."""
    lake, choice = pages.lake, Choice.of(request.query_params)
    now = lake.now()
    lines = lines_of(known, pages.looks, now)
    beside = beside_of(lake.instance, lake.due_in_bin)
    view = fleet_view(known, lines, choice, now, past=lake.past(), bins=lake.bins(), beside=beside)
    # Nobody waits here for what is planned over all tables.
    return "fleet.html", {"view": view, "states": STATES, "work": lake.known_work(), "costs": lake.known_costs()}


def table(pages: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """One table."""
    lake, name = pages.lake, request.path_params["table"]
    beside = beside_of(lake.instance, lake.due_in_bin)
    view = table_view(known, lake.instance, lake.path, name, lake.now(), request.query_params, beside)
    if view.health.table is not None:
        view.work = view.attempt("What is done next", lambda: lake.work_on(view.config))
        view.costs = view.attempt("What it costs", lambda: lake.costs_of(view.config))
    return "table.html", {"view": view}


def conflict(_: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """The writers of one table."""
    return "conflict.html", {"view": conflict_view(known, request.path_params["table"])}


def settings(_: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """What other settings of one table would cost."""
    return "settings.html", {"view": settings_view(known, request.path_params["table"], request.query_params)}


def work(pages: Pages, known: Known, _: Request) -> tuple[str, Mapping[str, Any]]:
    """What is done next to all tables, and what waits."""
    report = pages.lake.work()
    return "next.html", {"known": known, "report": report, "lines": report.lines[:_LINES]}


def costs(pages: Pages, known: Known, _: Request) -> tuple[str, Mapping[str, Any]]:
    """What the maintenance of all tables costs and saves."""
    return "costs.html", {"known": known, "report": pages.lake.costs()}


def plans(_: Pages, known: Known, __: Request) -> tuple[str, Mapping[str, Any]]:
    """The plans that are kept."""
    return "plans.html", {"known": known, "lines": plan_lines(known)}


def plan(pages: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """One plan."""
    view = plan_view(known, pages.lake.instance, request.path_params["plan"])
    return "plan.html", {"known": known, "view": view}


def night(pages: Pages, known: Known, request: Request) -> tuple[str, Mapping[str, Any]]:
    """What was done in a span of time."""
    lake, now = pages.lake, pages.lake.now()
    lines = lines_of(known, pages.looks, now)
    return "night.html", {"view": night_view(known, lake.instance, lines, request.query_params, now)}
