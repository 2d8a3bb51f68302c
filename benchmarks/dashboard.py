"""Measure the pages of the dashboard in a real server on loopback, over stores of growing sizes.

pages: the time in which the server answers with each page, and the size of the page, as the store grows; of
the largest store also the processor time of the server, and how long the first complete answer took.
load: requests per second and the 99th percentile of the latency under several clients, as ratios to a bare
FastAPI route in the same process. paint: the first contentful paint of the heaviest pages in Chromium as a
ratio to an empty page of the same server.
"""

import argparse
import contextlib
import multiprocessing
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import uvicorn
from dashboard_store import DATASET, PROJECT, DashboardSize, build_store
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from report import (
    format_number,
    format_spread,
    format_table,
    machine_heading,
    print_progress,
    print_sections,
)
from starlette.types import Receive, Scope, Send

from assay.web.access import Access
from assay.web.app import create_app
from assay.web.long_reads import PATIENCE

EMPTY_PAGE = "<!doctype html><html lang=en><title>Empty</title><p>Empty</p></html>"
EMPTY_PATH = "/bare"
WAITING = 202  # the status of a page that is being computed
_MOST_FIRST_SECONDS = 120.0
PAINT_TARGET = 5.0  # times the empty page
SIZES = (
    DashboardSize(100, 50, 10_000),
    DashboardSize(1_000, 500, 100_000),
    DashboardSize(10_000, 5_000, 1_000_000),
)
TINY_SIZES = (DashboardSize(10, 10, 200), DashboardSize(20, 20, 400))
PAGES = {
    "home": "/",
    "experiments": "/experiments",
    "experiments, filtered and sorted": "/experiments?where=params.seed+%3C+9&sort=nDCG%4010",
    "one experiment": "/experiments/e00001",
    "compare": "/compare?baseline=e00001&candidate=e00002",
    "compare by slice": "/compare?baseline=e00001&candidate=e00002&by=category",
    "one query": "/queries/query-7",
    "failures": "/failures?experiment=e00001&measure=nDCG%4010",
    "datasets": "/datasets",
    "one dataset": f"/datasets/{DATASET}",
    "one dataset, coverage": f"/datasets/{DATASET}?tab=coverage",
    "one dataset, checks": f"/datasets/{DATASET}?tab=checks",
    "one dataset, pools": f"/datasets/{DATASET}?tab=pools",
    "annotate": "/annotate",
    "one pair to judge": f"/annotate/{PROJECT}?rater=r3",
    "agreement": f"/agreement?project={PROJECT}",
    "judges": f"/judges?human=project%3A{PROJECT}%23r0&model=project%3A{PROJECT}%23r1",
    "search": "/search?text=part+7",
    "indexes (no trials)": "/indexes",
    "jobs (none)": "/jobs",
}
LOADED = ("home", "experiments", "one experiment", "one query", "datasets", "compare", "annotate", "failures")
_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_PAINT = "() => performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)"


@dataclass(frozen=True)
class Work:
    """How much is measured."""

    sizes: Sequence[DashboardSize] = SIZES
    reps: int = 3
    page_seconds: float = 8.0  # after which a page is not called again
    clients: int = 4
    requests: int = 100  # of each client to a page
    load_seconds: float = 8.0  # after which the clients stop
    paints: int = 7
    browser: str = "/usr/bin/chromium"
    painted: Sequence[str] = ()  # pages; empty: the slowest and the largest


@dataclass(frozen=True)
class Answers:
    """The seconds of requests, the largest size in bytes, and how many requests failed."""

    seconds: Sequence[float]
    size: int
    errors: int
    span: float = 0.0  # seconds from the first request to the last answer


# the server


def serve(folder: str, port: int) -> None:
    """Serve the dashboard of a store, and a bare route that passes none of its middleware."""
    bare = FastAPI()
    bare.get(EMPTY_PATH, response_class=HTMLResponse)(_empty_page)
    dashboard = create_app(Access(folder), patience=PATIENCE)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:  # the lifespan is the dashboard's
        await (bare if scope.get("path") == EMPTY_PATH else dashboard)(scope, receive, send)

    uvicorn.run(app, port=port, log_level="warning", access_log=False)


def _empty_page() -> str:
    return EMPTY_PAGE


class Server(NamedTuple):
    """A server that runs."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return the processor time that it has taken so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def run_server(folder: Path) -> Iterator[Server]:
    """Start a server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(str(folder), port), daemon=True
    )
    process.start()
    try:
        _wait_for(port)
        yield Server(port, process.pid or 0)
    finally:
        process.terminate()
        process.join(20)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while request_page(port, EMPTY_PATH, 1, 10.0).errors:
        if time.monotonic() > deadline:
            raise SystemExit("the server did not start within 60 s")
        time.sleep(0.1)


def request_page(port: int, path: str, count: int, most_seconds: float) -> Answers:
    """Request a page over one connection until it was answered `count` times or the time is over."""
    seconds, size, errors, start = list[float](), 0, 0, time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    for _ in range(count):
        begin = time.perf_counter()
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            size = max(size, len(answer.read()))
            errors += answer.status != 200
        except (OSError, HTTPException):
            errors += 1
            connection.close()
        seconds.append(time.perf_counter() - begin)
        if time.perf_counter() - start > most_seconds:
            break
    connection.close()
    return Answers(seconds, size, errors, time.perf_counter() - start)


# pages


class PageFigures(NamedTuple):
    """What one page costs."""

    seconds: float  # the median of the calls after the first complete answer
    cpu_seconds: float  # of the server, for each of these calls
    first: float  # seconds until the first complete answer
    size: int  # in bytes
    errors: int


def _request_first(port: int, path: str) -> tuple[float, int]:
    """Return the seconds until a page is complete (it may say that it is being computed), and errors."""
    start = time.perf_counter()
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    while True:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != WAITING or time.perf_counter() - start > _MOST_FIRST_SECONDS:
            connection.close()
            return time.perf_counter() - start, int(answer.status != 200)
        time.sleep(0.1)


def measure_pages(server: Server, work: Work) -> dict[str, PageFigures]:
    """Return the figures of each page."""
    figures = {}
    for name, path in PAGES.items():
        first, errors = _request_first(server.port, path)
        before = server.cpu_seconds()
        rest = request_page(server.port, path, work.reps, work.page_seconds)
        cpu = (server.cpu_seconds() - before) / len(rest.seconds)
        figures[name] = PageFigures(median(rest.seconds), cpu, first, rest.size, errors + rest.errors)
        print_progress(f"  {name}: {1000 * figures[name].seconds:.0f} ms, first {first:.1f} s")
    return figures


def pages_section(stores: dict[DashboardSize, Path], work: Work) -> tuple[str, list[str]]:
    """Return the time and the size of every page at every size of the store, and how both grow."""
    figures = []
    for size, folder in stores.items():
        print_progress(f"pages, {size.experiments:,} experiments")
        with run_server(folder) as server:
            figures.append(measure_pages(server, work))
    rows = []
    for name in PAGES:
        each = [one[name] for one in figures]
        times = (format_number(1000 * one.seconds) for one in each)
        last = each[-1]
        row = [name, *times, f"{last.seconds / each[0].seconds:.1f}×", f"{1000 * last.cpu_seconds:.0f}"]
        rows.append([*row, f"{last.first:.1f}", *(f"{one.size / 1000:.0f}" for one in each)])
    sizes = [f"{size.experiments:,}" for size in stores]
    columns = (
        *(f"ms, {size}" for size in sizes),
        *("growth", "CPU ms", "first, s"),
        *(f"kB, {size}" for size in sizes),
    )
    failed = [name for name in PAGES if any(one[name].errors for one in figures)]
    texts = [
        f"{s.experiments:,} experiments, {s.queries:,} queries, {s.judgments:,} judgments" for s in stores
    ]
    return f"## Pages: {'; '.join(texts)}\n\n{format_table(['page', *columns], rows)}", [
        f"{name} was answered with an error" for name in failed
    ]


# load


def load_page(pool: ProcessPoolExecutor, port: int, path: str, work: Work) -> Answers:
    """Request a page with all clients at once."""
    calls = [
        pool.submit(request_page, port, path, work.requests, work.load_seconds) for _ in range(work.clients)
    ]
    answers = [call.result() for call in calls]
    seconds = [value for one in answers for value in one.seconds]
    span = max(one.span for one in answers)
    return Answers(seconds, max(one.size for one in answers), sum(one.errors for one in answers), span)


def percentile_99(seconds: Sequence[float]) -> float:
    """Return the 99th percentile.

    >>> percentile_99([1.0, 1.0, 1.0])
    1.0
    """
    return quantiles(seconds, n=100, method="inclusive")[98] if len(seconds) > 1 else seconds[0]


def load_section(stores: dict[DashboardSize, Path], work: Work) -> tuple[str, list[str]]:
    """Return requests per second and p99 of pages of the largest store over those of the bare route."""
    size, folder = list(stores.items())[-1]
    pages = {"bare FastAPI route": EMPTY_PATH, **{name: PAGES[name] for name in LOADED}}
    spawn = multiprocessing.get_context("spawn")
    with run_server(folder) as server, ProcessPoolExecutor(work.clients, mp_context=spawn) as pool:
        list(pool.map(time.sleep, [0.5] * work.clients))  # until every client has started
        answers = {}
        for name, path in pages.items():
            print_progress(f"load, {name}")
            _request_first(server.port, path)
            answers[name] = load_page(pool, server.port, path, work)
    bare = answers["bare FastAPI route"]
    rows = [_load_row(name, one, bare) for name, one in answers.items()]
    head = ["page", "requests", "errors", "per second", "over bare", "p99, ms", "over bare"]
    title = f"## Load: {work.clients} clients, {size.experiments:,} experiments"
    problems = [f"{one.errors} errors of {name} under load" for name, one in answers.items() if one.errors]
    return f"{title}\n\n{format_table(head, rows)}", problems


def _load_row(name: str, one: Answers, bare: Answers) -> list[str]:
    rate, bare_rate = (len(each.seconds) / each.span for each in (one, bare))
    tail, bare_tail = (percentile_99(each.seconds) for each in (one, bare))
    ratios = (f"{rate / bare_rate:.3f}×", f"{tail / bare_tail:.1f}×")
    counts = [f"{len(one.seconds):,}", str(one.errors)]
    return [name, *counts, format_number(rate), ratios[0], format_number(1000 * tail), ratios[1]]


# paint


def measure_paints(port: int, paths: Sequence[str], work: Work) -> dict[str, list[float]]:
    """Return the milliseconds until something is painted, in turn for each page, with an empty cache."""
    from playwright.sync_api import sync_playwright

    paints: dict[str, list[float]] = {path: [] for path in paths}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=work.browser, args=_OPTIONS)
        for _ in range(work.paints + 1):
            for path in paths:
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                page = context.new_page()
                page.goto(f"http://127.0.0.1:{port}{path}", wait_until="load", timeout=60_000)
                while not (times := page.evaluate(_PAINT)):  # the pages forbid what wait_for_function does
                    page.wait_for_timeout(50)
                paints[path] += times
                context.close()
        browser.close()
    return {path: values[1:] for path, values in paints.items()}  # the first one starts the browser up


def _find_heaviest(server: Server) -> list[str]:
    """Return the page that takes the server longest and the one that has most bytes."""
    figures = measure_pages(server, Work(reps=1))
    slowest = max(figures, key=lambda name: figures[name].seconds)
    return list(dict.fromkeys([slowest, max(figures, key=lambda name: figures[name].size)]))


def paint_section(stores: dict[DashboardSize, Path], work: Work) -> tuple[str, list[str]]:
    """Return the first contentful paint of the heaviest pages over that of an empty page."""
    size, folder = list(stores.items())[-1]
    with run_server(folder) as server:
        names = work.painted or _find_heaviest(server)
        paths = [EMPTY_PATH, *(PAGES[name] for name in names)]
        for path in paths:
            _request_first(server.port, path)
        paints = measure_paints(server.port, paths, work)
    empty = paints[EMPTY_PATH]
    rows, problems = [["empty page", format_spread(empty), ""]], list[str]()
    for name in names:
        ratios = [one / other for one, other in zip(paints[PAGES[name]], empty, strict=True)]
        rows.append([name, format_spread(paints[PAGES[name]]), format_spread(ratios, "×")])
        if median(ratios) > PAINT_TARGET:
            problems.append(f"{name} is painted after {median(ratios):.1f}× the empty page")
    head = ["page", "first contentful paint, ms", "over the empty page"]
    title = f"## First contentful paint, {size.experiments:,} experiments"
    return f"{title}\n\n{format_table(head, rows)}", problems


SECTIONS: dict[str, Callable[[dict[DashboardSize, Path], Work], tuple[str, list[str]]]] = {
    "pages": pages_section,
    "load": load_section,
    "paint": paint_section,
}


def _build_stores(folder: Path, sizes: Sequence[DashboardSize]) -> dict[DashboardSize, Path]:
    """Write the stores, unless the folder has them from an earlier run."""
    stores = {}
    for size in sizes:
        stores[size] = folder / f"{size.experiments}-{size.queries}-{size.judgments}"
        if not stores[size].exists():
            print_progress(f"store, {size.experiments:,} experiments")
            build_store(stores[size], size)
    return stores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=SECTIONS)
    parser.add_argument("--tiny", action="store_true", help="small numbers, to check that everything works")
    parser.add_argument(
        "--folder", type=Path, help="keep the stores here for the next run (default: a temporary folder)"
    )
    parser.add_argument("--browser", default=Work.browser, help=f"Chromium (default: {Work.browser})")
    parser.add_argument(
        "--paint",
        nargs="+",
        choices=PAGES,
        default=[],
        metavar="PAGE",
        help=f"pages to paint (default: the slowest and the largest): {', '.join(PAGES)}",
    )
    options = parser.parse_args()
    work = Work(browser=options.browser, painted=options.paint)
    if options.tiny:
        work = Work(TINY_SIZES, 1, 1.0, 2, 5, 1.0, 1, options.browser, options.paint)
    names = [options.only] if options.only else list(SECTIONS)
    print(machine_heading(["assay", "fastapi", "uvicorn", "polars", "sqlalchemy", "playwright"]))
    with tempfile.TemporaryDirectory() as temporary:
        needed = work.sizes if "pages" in names else work.sizes[-1:]
        stores = _build_stores(options.folder or Path(temporary), needed)
        print_sections(partial(SECTIONS[name], stores, work) for name in names)


if __name__ == "__main__":
    main()
