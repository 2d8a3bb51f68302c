"""A run against a server process that is slow, flaky, limiting and worse; stopped and gone on with."""

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
from assay.search.outcome import Outcome
from assay.search.running import Options, run
from assay.search.systems.http import Http
from services.search_service import serving

OPTIONS = Options(k=5, concurrency=4, timeout=60, backoff=0.01)
ENDS = {  # the way a path goes: the kind of its failure, and how often it is asked
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
APART = """
import signal, sys
from test_search_running_live import at, some
from assay.search.running import Options, run
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background
with at(sys.argv[1]) as searcher:
    run(searcher, some(240, "slow"), Options(k=5, concurrency=4), sys.argv[2])
"""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving() as url:
        yield url


@pytest.fixture
def fresh(service: str) -> str:
    urlopen(f"{service}/forget").close()
    return service


def at(url: str) -> closing[Http]:
    """A search at the path that a query names; its text is told apart by its number."""
    asked = f"{url}/{{way}}?q={{query}}&k={{k}}&ms=30&mb=2&rate=20"
    ids, scores = "$.hits[*].id", "$.hits[*].score"
    return closing(Http("service", url=asked, ids=ids, scores=scores, max_bytes=1_000_000))


def some(n: int, *ways: str) -> Queries:
    texts = [f"{'reset ' * (1 + i % 3)}{'router' if i % 2 else 'password'} {i}" for i in range(n)]
    return Queries(
        {
            "query_id": [f"q{i}" for i in range(n)],
            "text": texts,
            "way": [ways[i % len(ways)] for i in range(n)],
        }
    )


def counts(url: str) -> dict[str, dict[str, int]]:
    """How often the service was asked what, by its own count."""
    with urlopen(f"{url}/stats") as answer:
        found: dict[str, dict[str, int]] = json.load(answer)
    return found


def whole(url: str, queries: Queries, options: Options = OPTIONS, folder: Path | None = None) -> Outcome:
    with at(url) as searcher:
        return run(searcher, queries, options, folder)


@pytest.mark.parametrize("hangs", [False, True])
def test_every_way_to_fail_is_recorded_and_nothing_is_asked_too_often(
    fresh: str, tmp_path: Path, hangs: bool
) -> None:
    ways = [way for way in ENDS if (way == "hang") == hangs]
    queries, options = some(3 * len(ways), *ways), replace(OPTIONS, timeout=1 if hangs else 60)
    found = whole(fresh, queries, options, tmp_path)
    asked = counts(fresh)
    for query, text, way in zip(
        *(queries.columns[name] for name in ("query_id", "text", "way")), strict=True
    ):
        failure = found.failed.get(query)
        assert (failure and failure.kind, asked[f"/{way}"][text]) == ENDS[way], (way, failure)
        assert found.finished[query].attempts == ENDS[way][1]
    again = whole(fresh, queries, options, tmp_path)
    assert counts(fresh) == asked
    assert again.finished == found.finished


def test_a_service_that_limits_is_asked_more_slowly_until_all_is_answered(fresh: str) -> None:
    found = whole(fresh, some(45, "limited"), Options(k=5, concurrency=8, retries=4, backoff=0.01))
    assert not found.failed
    assert found.attempts > 45
    assert found.run().digest == whole(fresh, some(45, "ok")).run().digest


@pytest.mark.parametrize(("end", "twice"), [(signal.SIGKILL, 8), (signal.SIGINT, 0)])
def test_a_run_that_is_killed_or_interrupted_goes_on_to_the_same_result(
    fresh: str, tmp_path: Path, end: signal.Signals, twice: int
) -> None:
    before = stopped(fresh, tmp_path, end)
    found = whole(fresh, some(240, "slow"), folder=tmp_path)
    asked = counts(fresh)["/slow"]
    assert found.resumed == len(before) < 240
    assert sum(asked.values()) - 240 <= twice
    assert max(asked.values()) <= 2
    assert all(asked[text] == 1 for text in before)
    assert found.run().digest == whole(fresh, some(240, "ok")).run().digest
    assert len(found.sittings) == 2


def stopped(url: str, folder: Path, end: signal.Signals) -> list[str]:
    """The texts that were finished when a run in another process was ended."""
    command, here = [sys.executable, "-c", APART, url, str(folder)], Path(__file__).parent
    with subprocess.Popen(command, cwd=here, stderr=subprocess.DEVNULL) as process:
        while len(finished(folder)) < 8:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(end)
        assert process.wait(120) == -end
    queries = some(240, "slow")
    return [queries.columns["text"][queries.row[row["query_id"]]] for row in finished(folder)]


def finished(folder: Path) -> list[dict[str, Any]]:
    """The whole lines of the journal that are of a query."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return [row for row in rows if "query_id" in row]
