"""Runs against a real server that is slow, fails and limits the rate; interrupted and continued."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from assay.core.tables import Queries
from assay.search.query_results import QueryResults
from assay.search.run_queries import RunOptions, run_queries
from assay.search.searchers.http import HttpSearcher
from tests.services.search_service import serving

OPTIONS = RunOptions(k=5, concurrency=4, timeout=60, backoff=0.01)
ENDS = {  # path: the kind of its failure, and the number of attempts
    "ok": (None, 1),
    "slow": (None, 1),
    "flaky": ("status", 3),
    "reset": ("connection", 3),
    "cut": ("connection", 3),
    "malformed": ("malformed", 1),
    "wrong-type": ("malformed", 1),
    "huge": ("too large", 1),
    "hang": ("timeout", 3),
    "nowhere": ("status", 1),
}
OTHER_PROCESS = """
import signal, sys
from tests.search.test_run_queries_live import at, numbered_queries
from assay.search.run_queries import RunOptions, run_queries
signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the tests run in the background
with at(sys.argv[1]) as searcher:
    queries = numbered_queries(240, "slow")
    run_queries(searcher, queries, RunOptions(k=5, concurrency=4), sys.argv[2])
"""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def fresh(service: str) -> str:
    urlopen(f"{service}/forget").close()
    return service


def at(url: str) -> closing[HttpSearcher]:
    """Return a searcher of the path that a query names."""
    url_template = f"{url}/{{way}}?q={{query}}&k={{k}}&ms=30&mb=2&rate=20"
    ids, scores = "$.hits[*].id", "$.hits[*].score"
    return closing(HttpSearcher("service", url=url_template, ids=ids, scores=scores, max_bytes=1_000_000))


def numbered_queries(n: int, *ways: str) -> Queries:
    texts = [f"{'reset ' * (1 + i % 3)}{'router' if i % 2 else 'password'} {i}" for i in range(n)]
    return Queries(
        {
            "query_id": [f"q{i}" for i in range(n)],
            "text": texts,
            "way": [ways[i % len(ways)] for i in range(n)],
        }
    )


def counts(url: str) -> dict[str, dict[str, int]]:
    """Return how often the service received each query, by its own count."""
    with urlopen(f"{url}/stats") as answer:
        results: dict[str, dict[str, int]] = json.load(answer)
    return results


def whole(
    url: str, queries: Queries, options: RunOptions = OPTIONS, folder: Path | None = None
) -> QueryResults:
    with at(url) as searcher:
        return run_queries(searcher, queries, options, folder)


@pytest.mark.parametrize("hangs", [False, True])
def test_every_kind_of_failure_is_recorded_with_the_right_attempts(
    fresh: str, tmp_path: Path, hangs: bool
) -> None:
    ways = [way for way in ENDS if (way == "hang") == hangs]
    queries, options = numbered_queries(3 * len(ways), *ways), replace(OPTIONS, timeout=1 if hangs else 60)
    results = whole(fresh, queries, options, tmp_path)
    url_template = counts(fresh)
    for query, text, way in zip(
        *(queries.columns[name] for name in ("query_id", "text", "way")), strict=True
    ):
        failure = results.failures.get(query)
        assert (failure and failure.kind, url_template[f"/{way}"][text]) == ENDS[way], (way, failure)
        assert results.queries[query].attempts == ENDS[way][1]
    again = whole(fresh, queries, options, tmp_path)
    assert counts(fresh) == url_template
    assert again.queries == results.queries


def test_a_service_with_a_rate_limit_is_called_more_slowly(fresh: str) -> None:
    results = whole(
        fresh, numbered_queries(45, "limited"), RunOptions(k=5, concurrency=8, retries=4, backoff=0.01)
    )
    assert not results.failures
    assert results.attempts > 45
    assert results.run().digest == whole(fresh, numbered_queries(45, "ok")).run().digest


@pytest.mark.parametrize(("end", "twice"), [(signal.SIGKILL, 8), (signal.SIGINT, 0)])
def test_a_killed_or_interrupted_run_continues_to_the_same_result(
    fresh: str, tmp_path: Path, end: signal.Signals, twice: int
) -> None:
    before = stopped(fresh, tmp_path, end)
    results = whole(fresh, numbered_queries(240, "slow"), folder=tmp_path)
    url_template = counts(fresh)["/slow"]
    assert results.resumed_count == len(before) < 240
    assert sum(url_template.values()) - 240 <= twice
    assert max(url_template.values()) <= 2
    assert all(url_template[text] == 1 for text in before)
    assert results.run().digest == whole(fresh, numbered_queries(240, "ok")).run().digest
    assert len(results.sessions) == 2


def stopped(url: str, folder: Path, end: signal.Signals) -> list[str]:
    """Return the texts that were finished when a run in another process was killed."""
    command, here = [sys.executable, "-c", OTHER_PROCESS, url, str(folder)], Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=here, stderr=subprocess.DEVNULL) as process:
        while len(finished(folder)) < 8:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(end)
        assert process.wait(120) == -end
    queries = numbered_queries(240, "slow")
    return [queries.columns["text"][queries.row_by_id[row["query_id"]]] for row in finished(folder)]


def finished(folder: Path) -> list[dict[str, Any]]:
    """Return the complete lines of the journal that are of a query."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return [row for row in rows if "query_id" in row]
