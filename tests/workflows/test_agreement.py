"""Agreement from files: several raters, labels that are text, and the scores of runs."""

from pathlib import Path

import pytest

from assay import Run
from assay.core.errors import InputError
from assay.datasets import write
from assay.workflows.agreement import AgreementRequest, AgreementResult, measure_agreement

NYT = ("query_id=topic", "doc_id=document_id", "judge=rater", "grade=relevance")
NYT_LABELS = ("not_relevant=0", "relevant=1", "highly_relevant=2")


@pytest.fixture
def labels(tmp_path: Path) -> str:
    path = tmp_path / "labels.csv"
    path.write_text("query_id,doc_id,ann,bob\nq1,a,2,2\nq1,b,0,1\nq2,a,0,0\nq2,b,1,1\n")
    return str(path)


def measure(*paths: str, **options: object) -> AgreementResult:
    return measure_agreement(AgreementRequest(judgments=paths, **options))  # type: ignore[arg-type]


def test_a_wide_table_has_a_column_for_each_rater(labels: str) -> None:
    found = measure(labels).to_dict()
    assert found["raters"] == ["ann", "bob"]
    assert (found["pairs"][0]["n"], found["pairs"][0]["agreement"]) == (4, 0.75)
    assert found["pairs"][0]["kappa"]["value"] == pytest.approx(1 - 0.25 / (1 - 5 / 16))


def test_two_qrels_are_two_raters(tmp_path: Path, labels: str) -> None:
    for name, grades in (("ann", (2, 0, 0, 1)), ("bob", (2, 1, 0, 1))):
        pairs = zip(("q1 0 a", "q1 0 b", "q2 0 a", "q2 0 b"), grades, strict=True)
        (tmp_path / f"{name}.qrels").write_text("".join(f"{pair} {grade}\n" for pair, grade in pairs))
    found = measure(str(tmp_path / "ann.qrels"), str(tmp_path / "bob.qrels"))
    assert found.to_dict() == measure(labels).to_dict()


def test_labels_that_are_text_have_grades(shared: Path) -> None:
    path = str(shared / "nyt_reviewers" / "reviewers_independent_judgments_deidentified.csv")
    found = measure(path, columns=NYT, labels=NYT_LABELS).to_dict()
    assert found["counts"]["pairs"] == 120
    values = [found["alpha"][metric]["value"] for metric in ("nominal", "ordinal", "interval")]
    assert values == pytest.approx([0.486828, 0.665129, 0.651236], abs=5e-7)


def test_text_of_an_unknown_scale_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("query_id,doc_id,ann,bob\nq,a,keep,drop\nq,b,keep,keep\n")
    with pytest.raises(InputError, match="keep"):
        measure(str(tmp_path / "labels.csv"), columns=["judges=ann,bob"])


def test_a_crowd_of_177_raters_has_all_pairs_of_raters(shared: Path) -> None:
    found = measure(str(shared / "web_crowd" / "web_crowd.txt")).to_dict()
    assert len(found["raters"]) == 177
    assert len(found["pairs"]) == 177 * 176 // 2
    assert found["counts"]["rater_pairs_that_share"] == sum(pair["n"] > 0 for pair in found["pairs"])
    values = [found["alpha"][metric]["value"] for metric in ("nominal", "ordinal", "interval")]
    assert values == pytest.approx([0.210421, 0.382770, 0.386867], abs=5e-7)


def test_runs_are_named_and_ordered_by_each_rater(tmp_path: Path, labels: str) -> None:
    for name, scores in (("up", {"a": 2.0, "b": 1.0}), ("down", {"a": 1.0, "b": 2.0})):
        write(Run({"q1": scores, "q2": scores}, name=name), tmp_path / f"{name}.run")
    runs = [str(tmp_path / "up.run"), str(tmp_path / "down.run")]
    order = measure(labels, runs=runs, names=["first", "second"], measure="RR@10").to_dict()["system_order"]
    assert (order["measure"], order["runs"]) == ("RR@10", ["first", "second"])
    assert order["comparisons"][0]["queries"] == 2


def test_queries_give_slices_and_texts(tmp_path: Path, labels: str) -> None:
    (tmp_path / "queries.csv").write_text("query_id,text,kind\nq1,reset,x\nq2,vpn,y\n")
    found = measure(labels, queries=str(tmp_path / "queries.csv"), by=["kind"]).to_dict()
    assert [(part["value"], part["agreement"]["value"]) for part in found["slices"]] == [
        ("x", 0.5),
        ("y", 1.0),
    ]
    assert found["disagreements"]["worst"][0]["query"] == "reset"


def test_a_wrong_number_of_disagreements_and_a_wrong_measure_are_errors(labels: str) -> None:
    with pytest.raises(InputError, match="--disagreements must be 0 or more, found -1"):
        measure(labels, disagreements=-1)
    with pytest.raises(InputError, match="nDGC"):
        measure(labels, measure="nDGC@10")
