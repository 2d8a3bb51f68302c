"""The benchmark of samples of judgments estimates what all judgments say."""

from pathlib import Path
from typing import Any

import numpy as np

from assay.judging.pooling import build_pool_frame

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sampling.py"


def small_pool() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    tops = {r: {f"q{q}": [f"d{d}" for d in rng.permutation(30)] for q in range(3)} for r in ("a", "b")}
    frame = build_pool_frame(tops, 20)
    return frame, rng.integers(0, 4, len(frame)).astype(np.float64), tops


def test_a_line_for_each_measure_names_the_value_of_all_judgments(benchmark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(benchmark, "DRAWS", 2)
    lines = benchmark.estimate_all(*small_pool(), 0.5)
    assert [line.split()[1] for line in lines] == list(benchmark.MEASURES)
    assert all("weighted" in line for line in lines)


def test_every_method_labels_as_many_pairs(benchmark: Any) -> None:
    frame, grades, _ = small_pool()
    lines = benchmark.adaptive_lines(frame, grades, 40)
    assert len(lines) == 5
    assert all(line.endswith("relevant in 40 pairs") for line in lines)
