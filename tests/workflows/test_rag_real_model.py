"""A study with the small real model over real indexes of two families: answers depend on retrieval."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from assay.rag.answers import ANSWERED, FAILED, REFUSED
from assay.rag.contexts import CLOSED_BOOK
from assay.rag.measure_checks import CONTEXT_RECALL
from assay.rag.study import RagStudy
from assay.workflows.handbook_project import HandbookIndex, write_handbook_project
from assay.workflows.language_models import ModelRequest
from assay.workflows.rag_run import RagRunRequest, run_rag
from assay.workflows.rag_searches import SearchRequest
from tests.local_models import SMALL, served_small_model

pytestmark = pytest.mark.xdist_group("local models")
K, QUESTIONS = 2, 8
INDEXES = {
    "hnsw-1": HandbookIndex("hnswlib", {"M": 2, "ef_construction": 4}, {"ef": 1}),
    "hnsw-2": HandbookIndex("hnswlib", {"M": 3, "ef_construction": 6}, {"ef": 2}),
    "hnsw-3": HandbookIndex("hnswlib", {"M": 4, "ef_construction": 8}, {"ef": 8}),
    "ivf-1": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 1}),
    "ivf-2": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 2}),
    "ivf-3": HandbookIndex("faiss.ivfflat", {"nlist": 32}, {"nprobe": 8}),
}


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RagRunRequest]:
    """A study of the served model."""
    folder = tmp_path_factory.mktemp("real")
    with served_small_model() as (url, problem):
        if not url:
            pytest.skip(problem)
        model = ModelRequest(
            endpoint=url, model=SMALL, workers=1, timeout=600, replies=str(folder / "replies")
        )
        searches = SearchRequest(project=write_handbook_project(folder, 400, QUESTIONS, INDEXES))
        yield RagRunRequest(model=model, searches=searches, k=K, removals=(0, 1, 2), max_tokens=24)


@pytest.fixture(scope="module")
def study(request_: RagRunRequest) -> RagStudy:
    study = run_rag(request_).study
    assert study is not None
    return study


def test_the_model_answers_with_documents_and_not_without(study: RagStudy) -> None:
    exact = next(c for c in study.configurations if c.name == "exact")
    without = study.control_accuracy(CLOSED_BOOK)
    assert exact.accuracy.low is not None
    assert without.high is not None
    assert exact.accuracy.low > without.high
    assert exact.bases.keys() == {"documents"}


def test_all_indexes_of_both_families_are_compared(study: RagStudy) -> None:
    compared = [c for c in study.configurations if not c.is_control]
    assert [c.name for c in compared] == list(INDEXES)
    assert {c.family for c in compared} == {"graph", "partition"}
    assert all(c.accuracy.n == QUESTIONS for c in compared)
    assert {p.measure for p in study.predictors} >= {f"R@{K}", f"Robustness-1@{K}", f"nDCG@{K}", f"RR@{K}"}


def test_answers_rest_on_a_page_that_was_retrieved(study: RagStudy) -> None:
    correct = [a for a in study.based_answers if a.contained and a.hops]
    assert correct
    assert {a.basis for a in correct} == {"documents"}


def test_removing_the_true_neighbours_removes_the_answers(study: RagStudy) -> None:
    curve = study.removal_curve
    assert curve is not None
    assert [point.recall for point in curve.points] == [0.0, 0.5, 1.0]
    assert curve.depends_on_recall


def test_the_study_finds_the_delta_and_ranks_the_predictors(study: RagStudy) -> None:
    choice = study.choose_delta(share=0.9)
    assert (choice.problem, choice.delta.n) == ("", QUESTIONS)
    assert choice.delta.value in (0.5, 1.0)  # nothing is right without the page that has the answer
    assert choice.delta.low is not None
    ranked = [predictor for predictor in study.predictors if predictor.r2 is not None]
    shares = [predictor.r2 or 0.0 for predictor in ranked]
    assert len(ranked) >= 4
    assert shares == sorted(shares, reverse=True)
    assert {predictor.pearson.n for predictor in ranked} == {len(INDEXES)}


def test_context_measures_are_separated_where_the_answer_was_retrieved(study: RagStudy) -> None:
    recall = next(check for check in study.measure_checks if check.measure == CONTEXT_RECALL)
    assert (recall.where_true.value, recall.where_false.value, recall.is_separated) == (1.0, 0.0, True)


def test_whatever_the_model_does_as_an_agent_is_recorded(request_: RagRunRequest) -> None:
    agent = replace(request_, mode="agentic", removals=(), questions=1, max_turns=1, max_tokens=64)
    searches = replace(request_.searches, systems=["ivf-3"])
    study = run_rag(replace(agent, searches=searches)).study
    assert study is not None
    answers = list(study.by_configuration["ivf-3"].values())
    assert len(answers) == 1
    assert all(answer.status in (ANSWERED, REFUSED, FAILED) and answer.turns >= 1 for answer in answers)
