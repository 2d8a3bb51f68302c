"""The benchmark of the dashboard runs, and reports missed targets."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dashboard.py"


def test_every_page_of_a_store_is_answered(benchmark: Any, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--tiny", "--only", "pages", "--folder", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stdout + process.stderr
    for name in benchmark.PAGES:
        assert f"| {name} | " in process.stdout
    assert process.stdout.endswith("All targets are met.\n")


def test_load_is_compared_with_the_bare_route(benchmark: Any) -> None:
    bare = benchmark.Answers([0.01] * 10, 60, 0, 0.1)
    slow = benchmark.Answers([0.02] * 10, 60, 1, 0.2)
    assert benchmark._load_row("home", slow, bare)[1:] == ["10", "1", "50.0", "0.500×", "20.0", "2.0×"]


def test_a_page_that_is_not_there_is_an_error(benchmark: Any, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    with benchmark.run_server(tmp_path / "store") as server:
        answers = benchmark.request_page(server.port, "/no-such-page", 2, 5.0)
    assert answers.errors == 2


def test_a_page_that_is_painted_late_misses_the_target(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = {benchmark.PAGES["home"]: [60.0], benchmark.EMPTY_PATH: [10.0]}
    monkeypatch.setattr(benchmark, "measure_paints", lambda *_: paths)
    (size,) = benchmark.TINY_SIZES[:1]
    (tmp_path / "store").mkdir()
    _, problems = benchmark.paint_section({size: tmp_path / "store"}, benchmark.Work(painted=["home"]))
    assert problems == ["home is painted after 6.0× the empty page"]
