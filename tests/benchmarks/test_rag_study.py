"""The benchmark of answers asks every question with every index; a double of the model answers."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from assay.rag.study_file import read_study
from tests.chat_doubles import chat_double

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "rag_study.py"


def test_indexes_of_both_families_are_asked(benchmark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    chosen = {name: benchmark.INDEXES[name] for name in ("hnsw-a", "ivf-a")}
    monkeypatch.setattr(benchmark, "INDEXES", chosen)
    figure = tmp_path / "figure.png"
    asked = {"model": "double", "pages": 80, "questions": 3, "k": 2, "order": "best-last"}
    options = Namespace(**asked, folder=str(tmp_path / "study"), figure=figure, delta=0.5)
    with chat_double(converse=lambda messages: {"content": "2618"}) as double:
        text = benchmark.run_study(options, double.url)
    assert "which measure predicts the accuracy" in text
    assert figure.read_bytes().startswith(b"\x89PNG")
    study = read_study(tmp_path / "study" / "double.json")
    assert [c.name for c in study.configurations] == [*benchmark.INDEXES, "exact"]
    assert {c.family for c in study.configurations} == {"graph", "partition", "exact"}
    assert {c.accuracy.n for c in study.configurations} == {3}
