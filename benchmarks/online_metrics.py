"""Time online metrics of a large log against a bare scan of the same columns by DuckDB.

    python benchmarks/online_metrics.py                     # 1, 10 and 100 million events
    python benchmarks/online_metrics.py --events 1000000    # a smaller log

The log is made by DuckDB: a query for every five events, a click in every four events, ten queries for each
user and three for each session. It is Parquet with text ids of 16 characters in no order. The bare scan
hashes every value of the columns that the metrics read: a count would be read from the ends of the files.
SQL is one statement written by hand with the sums over users of the metrics of queries and clicks, without
the percentile of latency and the counts of the log: how much of the ratio any computation by user costs.
Each measurement is a process of its own, whose peak memory is printed; scans, SQL and metrics alternate, and
a ratio is that of two neighbours. Other work on the machine changes seconds, so ratios of processor time are
printed beside them.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb

from assay.online.event_tables import load_ibis
from assay.online.measured_metrics import measure_metrics
from assay.online.metrics import METRICS, parse_metric
from assay.workflows.event_inputs import EventSource, open_event_tables

SETS = {
    "of queries": ("zero_result", "latency_p95", "slo", "cost"),
    "of queries and clicks": ("ctr", "ctr@1", "clicks@3", "mrr", "zero_result", "latency_p95", "slo", "cost"),
    "all": tuple(METRICS),
}
BY_HAND = "of queries and clicks"  # the set that is also computed by SQL written by hand
_IDS = ("client_id", "session_id")  # which are counted, of queries and events
QUERY_COLUMNS = {
    "of queries": (*_IDS, "at", "result_count", "latency_ms", "cost"),
    "of queries and clicks": ("query_id", *_IDS, "at", "result_count", "latency_ms", "cost"),
    "all": ("query_id", *_IDS, "at", "user_query", "result_count", "latency_ms", "cost"),
}
EVENT_COLUMNS = {
    "of queries": _IDS,
    "of queries and clicks": ("query_id", *_IDS, "action", "rank", "is_repeated"),
    "all": ("query_id", *_IDS, "at", "action", "rank", "is_repeated"),
}


_TIMES = ("scan s", "metrics s", "ratio (lowest–highest)")
_VALUES = {  # of a query
    "ctr": "clicks IS NOT NULL",
    "ctr1": "CASE WHEN result_count >= 1 THEN coalesce(first, 0) END",
    "clicks3": "coalesce(top, 0)",
    "mrr": "1.0 / best",
    "zero_result": "result_count = 0",
    "slo": "latency_ms <= 500",
    "cost": "cost",
}


def write_log(folder: Path, events: int) -> None:
    """Write a log as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    queries = events // 5
    with duckdb.connect() as connection:
        connection.execute(f"SET temp_directory = '{folder}/spill'; SET preserve_insertion_order = true")
        for name, sql in (("queries", _QUERIES), ("events", _EVENTS)):
            text = sql.format(queries=queries, events=events, users=max(1, queries // 10))
            connection.execute(f"COPY ({text}) TO '{folder}/{name}.parquet' (FORMAT parquet)")


_QUERIES = """
WITH numbers AS (SELECT n, hash(n // 3) % {users} AS c, hash(n, 7) % 1000000 AS r FROM range({queries}) t(n))
SELECT printf('%016x', hash(n)) AS query_id, printf('%016x', hash(c, 1)) AS client_id,
  printf('%016x', hash(n // 3, 2)) AS session_id,
  TIMESTAMP '2026-01-01' + to_milliseconds(n * 1209600000 // {queries} + (n % 3) * 40000) AS at,
  'word' || (hash(n // 3) % 5000) || ' word' || (r % 300) AS user_query,
  CASE WHEN r % 20 = 0 THEN 0 ELSE 10 END AS result_count,
  CASE WHEN c % 2 = 0 THEN 'control' ELSE 'treatment' END AS variant,
  20 + r % 1000 / 1.7 AS latency_ms, 0.0001 * (1 + r % 3) AS cost
FROM numbers"""
_EVENTS = """
WITH numbers AS (SELECT n, n // 5 AS q, hash(n, 3) % 1000000 AS r FROM range({events}) t(n))
SELECT printf('%016x', hash(q)) AS query_id, printf('%016x', hash(hash(q // 3) % {users}, 1)) AS client_id,
  printf('%016x', hash(q // 3, 2)) AS session_id,
  TIMESTAMP '2026-01-01' + to_milliseconds(q * 1209600000 // {queries} + (q % 3) * 40000
    + 2000 * (n % 5) + 500) AS at,
  CASE WHEN r % 4 = 0 THEN 'click' ELSE 'impression' END AS action,
  'd' || (r % 50000) AS object_id, 1 + r % 10 AS rank, false AS is_repeated
FROM numbers"""


def scan(folder: Path, name: str) -> None:
    """Read every value of the columns that a set of metrics reads."""
    with duckdb.connect() as connection:
        for table, columns in (("queries", QUERY_COLUMNS[name]), ("events", EVENT_COLUMNS[name])):
            values = ", ".join(f'bit_xor(hash("{column}"))' for column in columns)
            connection.execute(f"SELECT {values} FROM '{folder}/{table}.parquet'").fetchall()


def sum_by_hand(folder: Path, name: str) -> Sequence[float]:
    """Return the sums over users of the metrics of queries and clicks by SQL."""
    of_query = ", ".join(f"{value} AS {metric}" for metric, value in _VALUES.items())
    of_user = ", ".join(f"sum({m})::DOUBLE AS s_{m}, count({m})::DOUBLE AS n_{m}" for m in _VALUES)
    parts = ("s_{0}", "n_{0}", "s_{0} * s_{0}", "n_{0} * n_{0}", "s_{0} * n_{0}")
    sums = [f"sum({part.format(metric)})" for metric in _VALUES for part in parts]
    with duckdb.connect() as connection:
        (row,) = connection.execute(
            f"""WITH clicked AS (
              SELECT query_id, count(*) AS clicks, min(rank) AS best, max(CAST(rank = 1 AS INT)) AS first,
                sum(CAST(rank <= 3 AS INT)) AS top
              FROM '{folder}/events.parquet' WHERE action = 'click' AND NOT is_repeated GROUP BY query_id),
            facts AS (SELECT client_id, {of_query}
              FROM '{folder}/queries.parquet' LEFT JOIN clicked USING (query_id)),
            users AS (SELECT client_id, {of_user} FROM facts GROUP BY client_id)
            SELECT count(*), {", ".join(sums)} FROM users"""
        ).fetchall()
    return tuple(row)


def measure(folder: Path, name: str) -> None:
    """Compute a set of metrics, without the checks of the log and the search for programs."""
    files = [str(folder / "queries.parquet"), str(folder / "events.parquet")]
    with open_event_tables(EventSource(paths=files, bots=None)) as tables:
        result = measure_metrics(tables, [parse_metric(metric) for metric in SETS[name]])
    assert all(estimate.value is not None for estimate in result.estimates.values() if estimate.n)


class Cost(NamedTuple):
    """What a process needed."""

    seconds: float
    processor: float  # seconds of all cores
    memory: float  # the peak, in GB


def _call(action: str, folder: Path, name: str) -> Cost:
    """Return what a process of its own needed for a scan or for metrics."""
    command = [sys.executable, __file__, "--call", action, "--metrics", name, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Cost(*json.loads(done.stdout))


def _run_action(action: str, folder: Path, name: str) -> None:
    load_ibis()
    begin, before = time.perf_counter(), time.process_time()
    {"scan": scan, "sql": sum_by_hand, "measure": measure}[action](folder, name)
    seconds, processor = time.perf_counter() - begin, time.process_time() - before
    print(json.dumps([seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6]))


def _calls(folder: Path, name: str) -> list[Cost]:
    """Return what a scan, the metrics and, if there is one, the statement by hand needed."""
    actions = ("scan", "measure", "sql") if name == BY_HAND else ("scan", "measure")
    return [_call(action, folder, name) for action in actions]


def _row(events: int, name: str, rounds: Sequence[Sequence[Cost]]) -> str:
    cells = [f"{events:,}", name]
    for number in (0, 1):  # seconds, processor seconds
        cells += [f"{median(costs[which][number] for costs in rounds):.2f}" for which in (0, 1)]
        cells.append(_format_ratios([costs[1][number] / costs[0][number] for costs in rounds]))
    by_hand = [costs[2].processor / costs[0].processor for costs in rounds if len(costs) == 3]
    cells.append(_format_ratios(by_hand) if by_hand else "–")
    return "| " + " | ".join([*cells, f"{max(costs[1].memory for costs in rounds):.2f}"]) + " |"


def _format_ratios(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.1f}× ({min(ratios):.1f}–{max(ratios):.1f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of times, ratios and memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, nargs="*", default=[1_000_000, 10_000_000, 100_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the log is kept (default: a temporary folder)")
    parser.add_argument("--metrics", choices=SETS, nargs="*", default=[*SETS])
    parser.add_argument("--call", choices=("scan", "sql", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.call:
        _run_action(options.call, options.folder, options.metrics[0])
        return 0
    head = ["events", "metrics", *_TIMES, *(f"processor: {name}" for name in _TIMES)]
    head += ["processor: SQL by hand", "peak GB"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    for events in options.events:
        with TemporaryDirectory(prefix="assay-online-") as scratch:
            folder = Path(options.folder or scratch) / str(events)
            if not (folder / "events.parquet").exists():
                write_log(folder, events)
            for name in options.metrics:
                rounds = [_calls(folder, name) for _ in range(options.rounds)]
                print(_row(events, name, rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
