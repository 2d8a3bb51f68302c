"""What asking over HTTP costs, and whether a stalled server is seen.

overhead: `assay.search.running` with the HTTP searcher and a journal beside a bare loop over http.client that
reads the same ids and scores, in turns, against one server process that takes 10 ms (--ms) for each search of
100 hits: QPS, median latency, and the client's CPU for a query, which a busy machine blurs less.
stalled: a live server that answers one after another (1 ms each, 200 ms for every 500th) at 450 requests a
second, in a closed and an open loop, beside the textbook's queue (p90/p99 are 1/1 and 137.7/193.9 ms).
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

from assay.core.tables import Queries
from assay.search.load import Cap, Load, closed, opened
from assay.search.running import Options, run
from assay.search.systems.http import Http

SERVER = Path(__file__).parent.parent / "tests" / "services" / "stalled.py"
HITS = 100  # in each of its answers
WITHIN = 0.10
RATE = 450.0
GOLDEN = {"p90_ms": 137.7, "p99_ms": 193.9}
OFF = 0.10  # of the golden latencies, on a machine that does other things


@contextmanager
def serving(ms: float, stall: float, every: int) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    command = [sys.executable, str(SERVER), str(ms), str(stall), str(every)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


class Pass(NamedTuple):
    """One pass over the queries."""

    qps: float
    p50: float  # ms
    cpu: float  # µs a query, of the client


def bare(url: str, texts: Sequence[str], clients: int) -> tuple[float, float]:
    """QPS and median latency of threads that do nothing but ask and read."""
    taken, numbers = [0] * len(texts), count()

    def work() -> None:
        with closing(HTTPConnection(url.removeprefix("http://"))) as connection:
            while (i := next(numbers)) < len(texts):
                begin = time.perf_counter_ns()
                path = f"/search?q={quote(texts[i])}&k=100"
                connection.request("GET", path, headers={"Accept": "application/json"})
                hits = json.loads(connection.getresponse().read())["hits"]
                found = [(hit["id"], hit["score"]) for hit in hits]
                taken[i] = time.perf_counter_ns() - begin
                assert len(found) == HITS

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(texts) / (time.perf_counter() - begin), median(taken) / 1e6


def searcher(url: str) -> closing[Http]:
    asked = f"{url}/search?q={{query}}&k={{k}}"
    return closing(Http("http", url=asked, ids="$.hits[*].id", scores="$.hits[*].score"))


def assay(url: str, texts: Sequence[str], clients: int) -> tuple[float, float]:
    """QPS and median latency as a run tells them."""
    queries = Queries({"query_id": [f"q{i}" for i in range(len(texts))], "text": texts})
    with searcher(url) as asked, tempfile.TemporaryDirectory() as folder:
        found = run(asked, queries, Options(k=HITS, concurrency=clients), folder)
    assert not found.failed
    return found.qps or 0.0, median(found.latencies.values()) / 1e6


CLIENTS: dict[str, Callable[[str, Sequence[str], int], tuple[float, float]]] = {"bare": bare, "assay": assay}


def overhead(ms: float, queries: int, reps: int) -> tuple[str, list[str]]:
    """Assay beside a bare loop, one client and eight."""
    rows, problems = [], []
    with serving(ms, 0, 0) as url:
        for clients in (1, 8):
            texts = [f"how to reset router {i}" for i in range(queries * clients)]
            taken: dict[str, list[Pass]] = {tool: [] for tool in CLIENTS}
            for rep in range(reps):
                for tool, ask in CLIENTS.items():
                    say(f"overhead {rep + 1}/{reps}: {clients} clients, {tool}")
                    begin = time.process_time()
                    qps, p50 = ask(url, texts, clients)
                    taken[tool].append(Pass(qps, p50, (time.process_time() - begin) / len(texts) * 1e6))
            rows.append(row(clients, taken))
            problems += missed(clients, *ratios(taken))
    head = [
        "clients",
        "QPS, bare",
        "QPS, assay / bare",
        "p50 ms, bare",
        "p50, assay / bare",
        "CPU µs, bare",
        "assay",
    ]
    title = f"## A run beside http.client: {ms:g} ms a search, {HITS} hits"
    return title + "\n\n" + report.table(head, rows), problems


def ratios(taken: dict[str, list[Pass]]) -> tuple[list[float], list[float]]:
    """Assay's QPS and its median latency over those of the bare loop, in each repetition."""
    pairs = list(zip(taken["assay"], taken["bare"], strict=True))
    return [ours.qps / theirs.qps for ours, theirs in pairs], [
        ours.p50 / theirs.p50 for ours, theirs in pairs
    ]


def row(clients: int, taken: dict[str, list[Pass]]) -> list[str]:
    qps, p50 = ratios(taken)
    theirs, cpu = taken["bare"], [[one.cpu for one in taken[tool]] for tool in CLIENTS]
    shown = [report.spread([one.qps for one in theirs]), report.spread(qps, "×")]
    shown += [report.spread([one.p50 for one in theirs]), report.spread(p50, "×")]
    return [str(clients), *shown, *(report.number(min(each)) for each in cpu)]


def missed(clients: int, qps: Sequence[float], p50: Sequence[float]) -> list[str]:
    """What was promised and does not hold."""
    made = []
    if median(qps) < 1 - WITHIN:
        made.append(f"{clients} clients: {median(qps):.2f} of the bare QPS, not {1 - WITHIN:g}")
    if median(p50) > 1 + WITHIN:
        made.append(f"{clients} clients: {median(p50):.2f} of the bare median latency, not {1 + WITHIN:g}")
    return made


def stalled(n: int) -> tuple[str, list[str]]:
    """A server that stalls, in both loops."""
    queries, cap = Queries({"query_id": ["q"], "text": ["how"]}), Cap(2000, 4 * n / RATE)
    loops: dict[str, Load] = {}
    for loop in ("closed", "open"):
        say(f"stalled: {loop}")
        with serving(1, 200, 500) as url, searcher(url) as asked:
            if loop == "closed":
                loops[loop] = closed(asked, queries, 100, 1, cap, requests=n)
            else:
                loops[loop] = opened(asked, queries, 100, RATE, n / RATE, cap)
    told = {loop: found.latency.percentiles() for loop, found in loops.items()}
    rows = [
        [loop, f"{found.requests:,}", report.number(found.achieved)]
        + [report.number(told[loop][name] or 0) for name in ("p50_ms", *GOLDEN)]
        for loop, found in loops.items()
    ]
    problems = [
        f"{name} in an open loop is {told['open'][name]:.1f}, not {golden}"
        for name, golden in GOLDEN.items()
        if n == 13_500 and abs((told["open"][name] or 0) / golden - 1) > OFF
    ]
    problems += ["the closed loop saw the stall"] if (told["closed"]["p99_ms"] or 0) > 20 else []
    title = f"## A stalled server at {RATE:g} requests a second"
    return title + "\n\n" + report.table(
        ["loop", "requests", "answers/s", "p50 ms", "p90", "p99"], rows
    ), problems


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("overhead", "stalled")
    made.add_argument("--only", nargs="+", choices=sections, default=sections, help="some of the sections")
    made.add_argument("--reps", type=int, default=5)
    made.add_argument(
        "--ms", type=float, default=10.0, help="how long a search takes the server of `overhead`"
    )
    made.add_argument("--quick", action="store_true", help="small numbers, to see that everything works")
    return made.parse_args()


def main() -> None:
    chosen = options()
    parts: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "overhead": lambda: overhead(
            chosen.ms, 30 if chosen.quick else 300, 1 if chosen.quick else chosen.reps
        ),
        "stalled": lambda: stalled(1100 if chosen.quick else 13_500),
    }
    print(" · ".join(f"{name} {value}" for name, value in report.machine().items()))
    report.shown(parts[name] for name in chosen.only)


if __name__ == "__main__":
    main()
