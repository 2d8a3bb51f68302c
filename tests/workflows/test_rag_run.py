"""Studies, with a model that answers correctly exactly when enough of the true context is there."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.rag.answers import BOTH, DOCUMENTS, FAILED, INTERNAL, NEITHER, NOT_ASKED, REFUSED
from assay.rag.contexts import CLOSED_BOOK
from assay.rag.study_file import read_study
from assay.workflows.rag_run import RagResult, run_rag
from tests.chat_doubles import chat_double
from tests.rag.studies import Book

ENOUGH = 3  # of five true neighbours
# Configurations of two families: graphs have all neighbours of most questions and none of some, partitions
# have enough of nearly all, so robustness at .6 orders them otherwise than mean recall does.
HITS: dict[str, Callable[[int], int]] = {
    "hnsw-a": lambda row: 5 if row % 10 < 6 else 1,
    "hnsw-b": lambda row: 5 if row % 10 < 7 else 1,
    "hnsw-c": lambda row: 5 if row % 10 < 8 else 2,
    "ivf-a": lambda row: 3 if row % 10 < 8 else 2,
    "ivf-b": lambda row: 3 if row % 10 < 9 else 2,
    "ivf-c": lambda row: 4 if row % 10 < 9 else 3,
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return Book(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="module")
def result(book: Book) -> Iterator[RagResult]:
    known = [*book.neighbours][:3]
    with chat_double(converse=book.answers_if(ENOUGH, known)) as double:
        request = book.request(double, book.write_runs(HITS), out=str(book.path("study.json")))
        yield run_rag(request)


def test_the_planted_bend_is_recovered(result: RagResult) -> None:
    assert result.study is not None
    choice = result.study.delta
    assert (choice.delta.value, choice.delta.low, choice.delta.high) == (0.6, 0.6, 0.6)
    assert choice.below is not None
    assert choice.below.recall == 0.4


def test_the_planted_predictor_ranks_above_mean_recall(result: RagResult) -> None:
    assert result.study is not None
    predictors = {p.measure: p for p in result.study.predictors}
    assert result.study.predictors[0].measure == "Robustness-0.6@5"
    assert predictors["Robustness-0.6@5"].r2 == pytest.approx(1.0)
    assert (predictors["R@5"].r2 or 0) < 0.5


def test_exact_search_is_a_control_and_no_point_of_the_correlation(result: RagResult) -> None:
    assert result.study is not None
    exact = result.study.configurations[-1]
    assert (exact.name, exact.is_control, exact.recall.value, exact.accuracy.value) == (
        "exact",
        True,
        1.0,
        1.0,
    )
    assert {p.pearson.n for p in result.study.predictors} == {len(HITS)}


def test_planted_internal_knowledge_is_separated(result: RagResult) -> None:
    assert result.study is not None
    study = result.study
    assert study.control_accuracy(CLOSED_BOOK).value == pytest.approx(3 / 30)
    exact = study.configurations[-1]
    assert exact.bases == {BOTH: 3, DOCUMENTS: 27}
    by_basis = {c.name: c.bases for c in study.configurations}
    assert sum(by_basis["hnsw-a"].values()) == round((study.configurations[0].accuracy.value or 0) * 30)
    assert set().union(*by_basis.values()) <= {BOTH, DOCUMENTS, INTERNAL, NEITHER}


def test_accuracy_is_that_of_the_planted_hits(result: RagResult, book: Book) -> None:
    assert result.study is not None
    for configuration in result.study.configurations[:-1]:
        reached = sum(HITS[configuration.name](row) >= ENOUGH or row < 3 for row in range(30))
        assert configuration.accuracy.value == pytest.approx(reached / 30)


def test_equal_contexts_are_asked_once_and_a_second_study_asks_nothing(book: Book) -> None:
    with chat_double(converse=book.answers_if(ENOUGH)) as double:
        runs = book.write_runs({"one": HITS["hnsw-a"], "two": HITS["hnsw-a"]})
        request = book.request(double, runs, removals=())
        request = replace(request, model=replace(request.model, replies=str(book.path("other"))))
        run_rag(request)
        asked = len(double.bodies)
        assert asked == len({str(body["messages"]) for body in double.bodies})
        run_rag(request)
        assert len(double.bodies) == asked


def test_a_study_is_read_as_it_was_written(result: RagResult, book: Book) -> None:
    assert result.study is not None
    study = read_study(book.path("study.json"))
    assert study.result_dict() == result.study.result_dict()


def test_context_recall_and_precision_are_those_of_the_relevant_page(result: RagResult) -> None:
    assert result.study is not None
    exact = result.study.configurations[-1]
    assert exact.means["context_recall"].value == 1.0
    assert exact.means["context_precision"].value == 1.0  # the relevant page is the first neighbour
    assert exact.means["faithfulness"].value is None  # no judge was asked


def test_an_estimate_asks_nothing(book: Book, tmp_path: Path) -> None:
    with chat_double(converse=book.answers_if(ENOUGH)) as double:
        request = book.request(double, [str(book.path("exact.run"))], is_estimate_only=True)
        model = replace(request.model, price_in=1.0, price_out=2.0, replies=str(tmp_path))
        estimate = run_rag(replace(request, model=model)).estimate
        assert not double.bodies
    assert estimate.requests > 60
    assert estimate.cost is not None
    assert estimate.highest_cost is not None
    assert 0 < estimate.cost < estimate.highest_cost


def test_a_budget_stops_the_study_which_goes_on_without_paying_twice(book: Book, tmp_path: Path) -> None:
    with chat_double(converse=book.answers_if(ENOUGH)) as double:
        request = book.request(double, [str(book.path("exact.run"))], removals=(), questions=5)
        model = replace(request.model, price_in=1.0, price_out=1.0, replies=str(tmp_path), workers=1)
        stopped = run_rag(replace(request, model=replace(model, budget=0.002)))
        assert stopped.study is not None
        assert stopped.exit_code == 3
        assert any(answer.status == NOT_ASKED for answer in stopped.study.answers)
        done = run_rag(replace(request, model=model))
        assert done.exit_code == 0
        assert max(double.billed.values()) == 1


@pytest.mark.parametrize(
    ("fault", "status"), [("refuse", REFUSED), ("sorry", REFUSED), ("empty", FAILED), ("hollow", FAILED)]
)
def test_what_is_no_answer_is_recorded_as_such(book: Book, tmp_path: Path, fault: str, status: str) -> None:
    with chat_double(*[fault] * 50, converse=book.answers_if(0)) as double:
        request = book.request(double, [str(book.path("exact.run"))], removals=(), questions=2)
        study = run_rag(replace(request, model=replace(request.model, replies=str(tmp_path)))).study
    assert study is not None
    statuses = {answer.status for answer in study.answers}
    assert statuses == {status}
    assert study.configurations[0].accuracy.value == 0.0


def test_questions_without_answers_are_refused_with_their_file(book: Book, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"query_id": "q", "text": "Which?"}\n')
    with chat_double() as double:
        request = book.request(double, [str(book.path("exact.run"))])
        searches = replace(request.searches, questions=str(path))
        with pytest.raises(InputError, match="a column answers"):
            run_rag(replace(request, searches=searches))
