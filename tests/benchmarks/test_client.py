"""The benchmark of HTTP requests runs, and reports missed targets."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from assay.search.searcher import Query

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "client.py"


def test_it_runs_and_prints_both_clients() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "overhead"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.stderr.count("clients, assay") == 2, process.stderr
    assert "## A run compared with http.client: 10 ms per search, 100 hits" in process.stdout
    rows = [line.strip("|").split("|") for line in process.stdout.splitlines() if line.startswith("|")][2:]
    assert [(row[0].strip(), len(row)) for row in rows] == [("1", 7), ("8", 7)]
    assert all(float(cell.split()[0].strip("×")) > 0 for row in rows for cell in row)
    verdict = process.stdout.splitlines()[-1]
    assert verdict == "All targets are met." or verdict.startswith("Targets missed: ")
    assert process.returncode == (verdict != "All targets are met."), process.stderr


@pytest.mark.parametrize(
    ("qps", "p50", "ratios", "problems"),
    [
        (95.0, 10.5, ["0.95× (0.95–0.95)", "1.05× (1.05–1.05)"], 0),
        (50.0, 20.0, ["0.50× (0.50–0.50)", "2.00× (2.00–2.00)"], 4),
    ],
)
def test_the_table_and_the_verdict_follow_from_the_measurements(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, qps: float, p50: float, ratios: list[str], problems: int
) -> None:
    clients = {"bare": lambda *_: (100.0, 10.0), "assay": lambda *_: (qps, p50)}
    monkeypatch.setattr(benchmark, "CLIENTS", clients)
    text, missed_targets = benchmark.overhead_section(10.0, 1, 2)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()[4:]]
    assert [[row[0], row[2], row[4]] for row in rows] == [["1", *ratios], ["8", *ratios]]
    assert len(missed_targets) == problems


def test_both_clients_receive_the_same_answers(benchmark: Any) -> None:
    with benchmark.start_server(0, 0, 0) as url, benchmark.open_searcher(url) as searcher:
        with urlopen(f"{url}/search?q=how&k=100") as answer:
            hits = [(hit["id"], hit["score"]) for hit in json.load(answer)["hits"]]
        assert searcher.ask(Query("q1", "how"), benchmark.HITS).documents == hits
    assert len(hits) == benchmark.HITS


def test_missed_targets_are_reported(benchmark: Any) -> None:
    assert benchmark.missed_targets(8, [0.95, 0.91, 0.7], [1.02, 1.09, 1.3]) == []
    assert benchmark.missed_targets(8, [0.8, 0.8, 0.95], [1.2, 1.2, 1.0]) == [
        "8 clients: 0.80 of the bare QPS, expected at least 0.9",
        "8 clients: 1.20 of the bare median latency, expected at most 1.1",
    ]
