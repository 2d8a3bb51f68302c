"""Experiments compared by their stored scores: several candidates, and slices of the stored queries."""

from pathlib import Path

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.workflows.compare_experiments import CompareExperimentsRequest, compare_experiments
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.inputs import TableFiles
from assay.workflows.recording import SaveRequest
from assay.workflows.saving import save

QRELS = "".join(f"q{n} 0 a 1\n" for n in range(8))


@pytest.fixture(autouse=True)
def experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three experiments over eight queries in two categories."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    Path("qrels.txt").write_text(QRELS)
    rows = [f'{{"_id": "q{n}", "text": "t{n}", "category": "{"ab"[n % 2]}"}}\n' for n in range(8)]
    Path("queries.jsonl").write_text("".join(rows))
    for name, rank in (("first", 3), ("second", 1), ("third", 2)):
        lines = [
            f"q{n} Q0 {'a' if place == rank else f'x{place}'} {place} {9 - place} t\n"
            for n in range(8)
            for place in (1, 2, 3)
        ]
        Path(f"{name}.run").write_text("".join(lines))
    for name in ("first", "second", "third"):
        save_run(name)


def save_run(run: str, name: str = "", queries: str | None = "queries.jsonl") -> None:
    files = TableFiles(qrels="qrels.txt", runs=[f"{run}.run"], queries=queries)
    request = EvaluateRequest(files=files, measures=["RR@10"], with_recordings=True)
    save(SaveRequest(name=name or run), evaluate(request).recordings)


def test_several_candidates_are_compared_with_one_baseline() -> None:
    request = CompareExperimentsRequest(baseline="first", candidates=["second", "third"])
    comparisons = compare_experiments(request).comparisons
    differences = [round(row.difference.value or 0, 4) for row in comparisons.rows]
    assert comparisons.candidates == ["second", "third"]
    assert differences == [0.6667, 0.1667]


def test_slices_are_those_of_the_stored_queries() -> None:
    request = CompareExperimentsRequest(baseline="first", candidates=["second"], by=["category"])
    rows = compare_experiments(request).comparisons.rows
    assert [(row.column, row.value, row.difference.n) for row in rows] == [
        ("", "", 8),
        ("category", "a", 4),
        ("category", "b", 4),
    ]


def test_slices_of_an_experiment_without_queries_cannot_be_compared() -> None:
    save_run("second", "bare", queries=None)
    request = CompareExperimentsRequest(baseline="bare", candidates=["first"], by=["category"], anyway=True)
    with pytest.raises(UndecidableError, match=r"the queries of bare .* are not in \.assay"):
        compare_experiments(request)


def test_an_experiment_is_not_compared_with_itself() -> None:
    with pytest.raises(InputError, match="second and second are the same experiment"):
        compare_experiments(CompareExperimentsRequest(baseline="first", candidates=["second", "second"]))
