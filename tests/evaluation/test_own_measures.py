"""A measure of the user's own: one decorated function, or an entry point of another package."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from assay.core.errors import MeasureError
from assay.evaluation import evaluate
from assay.measures import ALIASES, DEFINITIONS, Measure, Ranking, measure, parse
from tests.reference_measures import QrelsAndRun, qrels_and_runs, quick, reference_value

QRELS = {"q1": {"a": 2, "b": 0, "n": -1}, "q2": {"c": 1}, "q3": {"c": 1}}
RUN = {"q1": {"x": 4.0, "a": 3.0, "b": 2.0, "n": 1.0}, "q2": {"d": 1.0}}
PLUGIN = '''
from assay.measures import measure

@measure("Spread", share=0.5)
def spread(ranking, share):
    """How much of the list is judged."""
    return share * len([grade for grade in ranking.grades if grade is not None])
'''


@pytest.fixture(autouse=True)
def _measures_of_this_test_only() -> Iterator[None]:
    """Forget what a test defines."""
    before = set(DEFINITIONS)
    yield
    for name in set(DEFINITIONS) - before:
        del DEFINITIONS[name], ALIASES[name.lower()]


def seen_by(cutoff: int | None = None) -> list[Ranking]:
    """The rankings as a measure of one's own sees them."""
    seen: list[Ranking] = []

    @measure("Seen")
    def see(ranking: Ranking) -> float:
        seen.append(ranking)
        return 0.0

    evaluate(QRELS, RUN, see if cutoff is None else see @ cutoff)
    return seen


def test_a_function_of_one_ranking_is_a_measure() -> None:
    @measure("FirstGrade")
    def first_grade(ranking: Ranking) -> float | None:
        """The grade of the first judged document."""
        return next((float(grade) for grade in ranking.grades if grade is not None), None)

    result = evaluate(QRELS, RUN, ["FirstGrade", "RR", first_grade @ 1])
    assert result.scores.to_dict()["q1"] == {"FirstGrade": 2.0, "RR": 0.5, "FirstGrade@1": None}
    assert result.estimates["FirstGrade"].n == 1
    assert DEFINITIONS["FirstGrade"].text == "The grade of the first judged document."


def test_a_ranking_shows_grades_best_first_and_none_where_nobody_judged() -> None:
    first, second, missing = seen_by()
    assert (first.grades, first.judged) == ((None, 2, 0, None), (2, 0))
    assert (second.grades, second.judged) == ((None,), (1,))
    assert (missing.grades, missing.judged) == ((), (1,))


def test_a_ranking_is_cut_at_the_cutoff() -> None:
    assert [ranking.grades for ranking in seen_by(2)] == [(None, 2), (None,), ()]


@quick
@given(qrels_and_runs(lowest=-1))
def test_precision_written_by_a_user_is_precision(qrels_and_run: QrelsAndRun) -> None:
    @measure("MyP", cutoff="required", rel=1)
    def my_p(ranking: Ranking, rel: int) -> float:
        return sum((grade or 0) >= rel for grade in ranking.grades) / 3

    result = evaluate(*qrels_and_run, ["MyP@3", "MyP(rel=2)@3"])
    for query, scores in result.scores.to_dict().items():
        assert scores["MyP@3"] == pytest.approx(reference_value("P@3", *qrels_and_run, query))
        assert scores["MyP(rel=2)@3"] == pytest.approx(reference_value("P(rel=2)@3", *qrels_and_run, query))


def test_its_parameters_print_and_read_back_whatever_they_are() -> None:
    @measure("Own", flag=False, shift=0, word="x", weights=(1, 2))
    def own(ranking: Ranking, flag: bool, shift: int, word: str, weights: tuple[int, ...]) -> float:
        return float(shift if flag else len(word) + sum(weights))

    result = own(flag=True, shift=-2, word="it's", weights=(0, -1)) @ 5
    assert parse(str(result)) == result
    assert str(result) == """Own(flag=True, shift=-2, word="it's", weights=(0, -1))@5"""
    assert evaluate(QRELS, RUN, [result, "own"]).scores.to_dict()["q2"] == {str(result): -2.0, "Own": 4.0}


def test_it_is_summed_up_as_it_says() -> None:
    @measure("Any", kind="share")
    def any_hit(ranking: Ranking) -> float:
        return float(any((grade or 0) > 0 for grade in ranking.grades))

    estimates = evaluate(QRELS, RUN, [any_hit, "Success@100", "Quantile(Any, 0.9)"]).estimates
    assert estimates["Any"] == estimates["Success@100"]
    assert estimates["Quantile(Any, 0.9)"].value == 1.0


def test_it_has_a_range_for_the_unjudged_too() -> None:
    @measure("Mine", cutoff="required")
    def mine(ranking: Ranking) -> float:
        return float(sum((grade or 0) > 0 for grade in ranking.grades))

    assert evaluate(QRELS, RUN, mine @ 2, unjudged=True).unjudged == {"Mine@2": (1 / 3, 1.0)}


@pytest.mark.parametrize("name", ["nDCG", "ndcg", "MAP", "p", "hitrate"])
def test_it_cannot_take_the_place_of_one_of_ours(name: str) -> None:
    with pytest.raises(MeasureError, match="is one of Assay's measures; choose another name"):
        measure(name)(lambda ranking: 0.0)
    assert parse("MAP").name == "AP"


@pytest.mark.parametrize("name", ["two words", "a-b", "", "1st", "lambda"])
def test_a_name_that_could_not_be_read_back_is_refused(name: str) -> None:
    with pytest.raises(MeasureError, match="a measure's name must be a word"):
        measure(name)(lambda ranking: 0.0)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        MeasureError, match="Odd: kind must be one of mean, share, geometric, quantile, found"
    ):
        measure("Odd", kind="median")(lambda ranking: 0.0)  # type: ignore[arg-type]


def test_it_may_be_defined_again_by_its_author() -> None:
    for answer in (1.0, 2.0):
        result = measure("Again")(lambda ranking, answer=answer: answer)
    assert isinstance(result, Measure)
    assert evaluate(QRELS, RUN, "Again").estimates["Again"].value == 2.0


def test_it_is_found_at_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny_plugin.py").write_text(PLUGIN)
    folder = tmp_path / "tiny_plugin-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-plugin\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[assay.measures]\nSpread = tiny_plugin:spread\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys.modules["assay.measures.measure"], "_PLUGINS_LOADED", False)
    assert evaluate(QRELS, RUN, "Spread(share=0.25)").scores["Spread(share=0.25)"].tolist() == [0.5, 0.0, 0.0]
    assert parse("spread@3").name == "Spread"


@pytest.mark.parametrize("given", [float("inf"), -float("inf"), "high", [1]])
def test_a_value_that_is_no_finite_number_is_refused(given: object) -> None:
    measure("Odd")(lambda ranking: given)  # type: ignore[arg-type,return-value]
    with pytest.raises(MeasureError, match="Odd must return a finite number, or None if it is undefined"):
        evaluate(QRELS, RUN, "Odd")
