"""Measure the overhead of HTTP requests, and whether a stalled server is visible in the latencies.

overhead: `assay.search.run_queries` with the HTTP searcher and a journal is compared with a bare loop over
http.client that reads the same ids and scores. They alternate, and use one server process that takes 10 ms
(--ms) for each search of 100 hits. The table has QPS, median latency, and the CPU time of the client per
query, which other work on the machine affects less.
stalled: a server that answers requests one after another (1 ms each, 200 ms for every 500th) gets 450
requests per second in a closed and an open loop. For such a queue, p90/p99 are 1/1 and 137.7/193.9 ms.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median
from subprocess import PIPE, Popen
from typing import NamedTuple
from urllib.parse import quote

import report
from report import print_progress

from assay.core.tables import Queries
from assay.search.load_testing import LoadCap, LoadMeasurement, measure_closed_loop, measure_open_loop
from assay.search.run_queries import RunOptions, run_queries
from assay.search.searchers.http import HttpSearcher

SERVER_SCRIPT = Path(__file__).parent.parent / "tests" / "services" / "stalled.py"
HITS = 100  # in each answer of the server
OVERHEAD_LIMIT = 0.10  # relative to the bare loop
RATE = 450.0
EXPECTED_MS = {"p90_ms": 137.7, "p99_ms": 193.9}
LATENCY_TOLERANCE = 0.10  # relative, because other work may run on the machine


@contextmanager
def start_server(ms: float, stall: float, every: int) -> Iterator[str]:
    """Start a server in its own process and yield its URL."""
    command = [sys.executable, str(SERVER_SCRIPT), str(ms), str(stall), str(every)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


class ClientPass(NamedTuple):
    """One pass over the queries."""

    qps: float
    p50: float  # ms
    cpu: float  # µs per query, of the client


def query_bare(url: str, texts: Sequence[str], clients: int) -> tuple[float, float]:
    """Return QPS and median latency of threads that only send requests and read the answers."""
    latencies, numbers = [0] * len(texts), count()

    def send_requests() -> None:
        with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
            while (i := next(numbers)) < len(texts):
                begin = time.perf_counter_ns()
                path = f"/search?q={quote(texts[i])}&k=100"
                connection.request("GET", path, headers={"Accept": "application/json"})
                hits = json.loads(connection.getresponse().read())["hits"]
                documents = [(hit["id"], hit["score"]) for hit in hits]
                latencies[i] = time.perf_counter_ns() - begin
                assert len(documents) == HITS

    threads = [threading.Thread(target=send_requests) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(texts) / (time.perf_counter() - begin), median(latencies) / 1e6


def open_searcher(url: str) -> closing[HttpSearcher]:
    template = f"{url}/search?q={{query}}&k={{k}}"
    return closing(HttpSearcher("http", url=template, ids="$.hits[*].id", scores="$.hits[*].score"))


def query_assay(url: str, texts: Sequence[str], clients: int) -> tuple[float, float]:
    """Return QPS and median latency as a run of Assay reports them."""
    queries = Queries({"query_id": [f"q{i}" for i in range(len(texts))], "text": texts})
    with open_searcher(url) as http_searcher, tempfile.TemporaryDirectory() as folder:
        result = run_queries(http_searcher, queries, RunOptions(k=HITS, concurrency=clients), folder)
    assert not result.failures
    return result.qps or 0.0, median(result.latencies.values()) / 1e6


CLIENTS: dict[str, Callable[[str, Sequence[str], int], tuple[float, float]]] = {
    "bare": query_bare,
    "assay": query_assay,
}


def overhead_section(ms: float, queries: int, reps: int) -> tuple[str, list[str]]:
    """Compare Assay with a bare loop, with one client and with eight."""
    rows, problems = [], []
    with start_server(ms, 0, 0) as url:
        for clients in (1, 8):
            texts = [f"how to reset router {i}" for i in range(queries * clients)]
            passes: dict[str, list[ClientPass]] = {tool: [] for tool in CLIENTS}
            for rep in range(reps):
                for tool, measure_client in CLIENTS.items():
                    print_progress(f"overhead {rep + 1}/{reps}: {clients} clients, {tool}")
                    begin = time.process_time()
                    qps, p50 = measure_client(url, texts, clients)
                    cpu = (time.process_time() - begin) / len(texts) * 1e6
                    passes[tool].append(ClientPass(qps, p50, cpu))
            rows.append(table_row(clients, passes))
            problems += missed_targets(clients, *assay_ratios(passes))
    head = [
        "clients",
        "QPS, bare",
        "QPS, assay / bare",
        "p50 ms, bare",
        "p50, assay / bare",
        "CPU µs, bare",
        "assay",
    ]
    title = f"## A run compared with http.client: {ms:g} ms per search, {HITS} hits"
    return title + "\n\n" + report.format_table(head, rows), problems


def assay_ratios(passes: dict[str, list[ClientPass]]) -> tuple[list[float], list[float]]:
    """Return QPS and median latency of Assay, divided by those of the bare loop in the same repetition."""
    pairs = list(zip(passes["assay"], passes["bare"], strict=True))
    return [ours.qps / theirs.qps for ours, theirs in pairs], [
        ours.p50 / theirs.p50 for ours, theirs in pairs
    ]


def table_row(clients: int, passes: dict[str, list[ClientPass]]) -> list[str]:
    qps, p50 = assay_ratios(passes)
    theirs, cpu = passes["bare"], [[each.cpu for each in passes[tool]] for tool in CLIENTS]
    cells = [report.format_spread([each.qps for each in theirs]), report.format_spread(qps, "×")]
    cells += [report.format_spread([each.p50 for each in theirs]), report.format_spread(p50, "×")]
    return [str(clients), *cells, *(report.format_number(min(values)) for values in cpu)]


def missed_targets(clients: int, qps: Sequence[float], p50: Sequence[float]) -> list[str]:
    """Return the targets that are missed."""
    problems = []
    if median(qps) < 1 - OVERHEAD_LIMIT:
        expected = f"expected at least {1 - OVERHEAD_LIMIT:g}"
        problems.append(f"{clients} clients: {median(qps):.2f} of the bare QPS, {expected}")
    if median(p50) > 1 + OVERHEAD_LIMIT:
        expected = f"expected at most {1 + OVERHEAD_LIMIT:g}"
        problems.append(f"{clients} clients: {median(p50):.2f} of the bare median latency, {expected}")
    return problems


def stalled_section(n: int) -> tuple[str, list[str]]:
    """Measure a server that stalls, in a closed and an open loop."""
    queries, cap = Queries({"query_id": ["q"], "text": ["how"]}), LoadCap(2000, 4 * n / RATE)
    loops: dict[str, LoadMeasurement] = {}
    for loop in ("closed", "open"):
        print_progress(f"stalled: {loop}")
        with start_server(1, 200, 500) as url, open_searcher(url) as http_searcher:
            if loop == "closed":
                loops[loop] = measure_closed_loop(http_searcher, queries, 100, 1, cap, requests=n)
            else:
                loops[loop] = measure_open_loop(http_searcher, queries, 100, RATE, n / RATE, cap)
    percentiles = {loop: measurement.latency.percentiles() for loop, measurement in loops.items()}
    rows = [
        [loop, f"{measurement.requests:,}", report.format_number(measurement.achieved_rate)]
        + [report.format_number(percentiles[loop][name] or 0) for name in ("p50_ms", *EXPECTED_MS)]
        for loop, measurement in loops.items()
    ]
    problems = [
        f"{name} in an open loop is {percentiles['open'][name]:.1f}, expected {expected}"
        for name, expected in EXPECTED_MS.items()
        if n == 13_500 and abs((percentiles["open"][name] or 0) / expected - 1) > LATENCY_TOLERANCE
    ]
    if (percentiles["closed"]["p99_ms"] or 0) > 20:
        problems.append("p99_ms in the closed loop is over 20, but a closed loop must not show the stall")
    title = f"## A stalled server at {RATE:g} requests per second"
    return title + "\n\n" + report.format_table(
        ["loop", "requests", "answers/s", "p50 ms", "p90", "p99"], rows
    ), problems


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = ("overhead", "stalled")
    parser.add_argument(
        "--only", nargs="+", choices=sections, default=sections, help="sections to run (default: all)"
    )
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument(
        "--ms", type=float, default=10.0, help="time that the server of `overhead` takes for a search"
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, to check that everything works")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    sections: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "overhead": lambda: overhead_section(
            arguments.ms, 30 if arguments.quick else 300, 1 if arguments.quick else arguments.reps
        ),
        "stalled": lambda: stalled_section(1100 if arguments.quick else 13_500),
    }
    print(" · ".join(f"{name} {value}" for name, value in report.describe_machine().items()))
    report.print_sections(sections[name] for name in arguments.only)


if __name__ == "__main__":
    main()
