"""The benchmark of asking over HTTP runs, and says what does not hold."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "client.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return import_module("client")


def test_it_runs_and_tells_both_clients() -> None:
    command = [sys.executable, str(SCRIPT), "--quick", "--only", "overhead"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stderr.count("clients, assay") == 2, done.stderr
    assert "## A run beside http.client: 10 ms a search, 100 hits" in done.stdout
    assert "All of it holds." in done.stdout or "Does not hold: " in done.stdout


def test_what_was_promised_and_does_not_hold_is_said(benchmark: Any) -> None:
    assert benchmark.missed(8, [0.95, 0.91, 0.7], [1.02, 1.09, 1.3]) == []
    assert benchmark.missed(8, [0.8, 0.8, 0.95], [1.2, 1.2, 1.0]) == [
        "8 clients: 0.80 of the bare QPS, not 0.9",
        "8 clients: 1.20 of the bare median latency, not 1.1",
    ]
