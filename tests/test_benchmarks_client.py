"""The benchmark of asking over HTTP runs, and says what does not hold."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from assay.search.searcher import Query

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "client.py"


def test_it_runs_and_tells_both_clients() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "overhead"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stderr.count("clients, assay") == 2, done.stderr
    assert "## A run beside http.client: 10 ms a search, 100 hits" in done.stdout
    rows = [line.strip("|").split("|") for line in done.stdout.splitlines() if line.startswith("|")][2:]
    assert [(row[0].strip(), len(row)) for row in rows] == [("1", 7), ("8", 7)]
    assert all(float(cell.split()[0].strip("×")) > 0 for row in rows for cell in row)
    verdict = done.stdout.splitlines()[-1]
    assert verdict == "All of it holds." or verdict.startswith("Does not hold: ")
    assert done.returncode == (verdict != "All of it holds."), done.stderr


@pytest.mark.parametrize(
    ("qps", "p50", "ratios", "problems"),
    [
        (95.0, 10.5, ["0.95× (0.95–0.95)", "1.05× (1.05–1.05)"], 0),
        (50.0, 20.0, ["0.50× (0.50–0.50)", "2.00× (2.00–2.00)"], 4),
    ],
)
def test_the_table_and_the_verdict_are_of_what_was_measured(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, qps: float, p50: float, ratios: list[str], problems: int
) -> None:
    clients = {"bare": lambda *_: (100.0, 10.0), "assay": lambda *_: (qps, p50)}
    monkeypatch.setattr(benchmark, "CLIENTS", clients)
    text, missed = benchmark.overhead(10.0, 1, 2)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()[4:]]
    assert [[row[0], row[2], row[4]] for row in rows] == [["1", *ratios], ["8", *ratios]]
    assert len(missed) == problems


def test_both_clients_are_given_the_same_answers(benchmark: Any) -> None:
    with benchmark.serving(0, 0, 0) as url, benchmark.searcher(url) as searcher:
        with urlopen(f"{url}/search?q=how&k=100") as answer:
            hits = [(hit["id"], hit["score"]) for hit in json.load(answer)["hits"]]
        assert searcher.ask(Query("q1", "how"), benchmark.HITS).documents == hits
    assert len(hits) == benchmark.HITS


def test_what_was_promised_and_does_not_hold_is_said(benchmark: Any) -> None:
    assert benchmark.missed(8, [0.95, 0.91, 0.7], [1.02, 1.09, 1.3]) == []
    assert benchmark.missed(8, [0.8, 0.8, 0.95], [1.2, 1.2, 1.0]) == [
        "8 clients: 0.80 of the bare QPS, not 0.9",
        "8 clients: 1.20 of the bare median latency, not 1.1",
    ]
