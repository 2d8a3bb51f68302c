"""What each measure is for, and what is recommended for a described use."""

import pytest

from assay.core.errors import InputError, MeasureError
from assay.core.tables import Qrels
from assay.measures import ALIASES, DEFINITIONS, Ranking, measure, parse
from assay.measures.purposes import (
    ADVICE,
    PURPOSES,
    all_definitions,
    find_definition,
    measure_advice,
    trec_eval_names,
)
from assay.measures.recommendations import JUDGMENTS, Recommendation, recommend, summarize_judgments
from assay.measures.uses import DEFAULT_USE, USES, Use, find_cutoff, recognise_uses

DEFAULTS = ["nDCG@10", "R@100", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10"]
TAIL = {"Robustness", "ZeroHit", "Quantile"}
EVERY_USE = [*USES, DEFAULT_USE]


def measures(result: list[Recommendation]) -> list[str]:
    return [r.measure for r in result]


def why(result: list[Recommendation], target: str) -> str:
    return next(r.why for r in result if r.measure == target)


def test_every_measure_of_ours_has_a_purpose_and_says_when_to_use_it() -> None:
    ours = [name for name, d in DEFINITIONS.items() if not hasattr(d.formula, "own")]
    assert list(ADVICE) == ours
    for expected_values in ADVICE.values():
        assert expected_values.purposes
        assert set(expected_values.purposes) <= set(PURPOSES)
        assert expected_values.what
        assert expected_values.use
        assert expected_values.avoid


def test_every_purpose_has_a_measure() -> None:
    assert {purpose for expected_values in ADVICE.values() for purpose in expected_values.purposes} == set(
        PURPOSES
    )


@pytest.mark.parametrize("name", ADVICE)
def test_every_example_reads_as_the_measure_it_is_an_example_of(name: str) -> None:
    expected_values = ADVICE[name]
    assert {parse(text).name for text in (*expected_values.typical.values(), *expected_values.examples)} == {
        name
    }


def test_a_measure_of_ones_own_is_there_without_a_purpose() -> None:
    @measure("ChoosingOwn", cutoff="required")
    def own(ranking: Ranking) -> float:
        """How good it looks to me.

        More about it.
        """
        return 1.0

    expected_values, listed = measure_advice(own.definition), all_definitions()
    del DEFINITIONS["ChoosingOwn"], ALIASES["choosingown"]
    assert own.definition in listed
    assert (expected_values.purposes, expected_values.what, expected_values.examples) == (
        (),
        "How good it looks to me",
        ("ChoosingOwn@10",),
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ndcg", "nDCG"),
        ("MRR", "RR"),
        ("P(rel=2)@10", "P"),
        ("Robustness", "Robustness"),
        ("Robustness-0.3", "Robustness"),
        ("ndcg_cut_10", "nDCG"),
        ("map", "AP"),
        ("ndcg_cut", "nDCG"),
        ("11pt", "11pt"),
        ("Quantile", "Quantile"),
    ],
)
def test_a_measure_is_found_by_any_of_its_names(text: str, name: str) -> None:
    assert find_definition(text).name == name


def test_an_unknown_measure_is_refused_with_the_nearest() -> None:
    with pytest.raises(MeasureError, match=r"did you mean nDCG\?"):
        find_definition("nDGC")


def test_the_names_of_trec_eval_read_back() -> None:
    for name in ADVICE:
        for theirs in trec_eval_names(name):
            assert parse(theirs.replace("_K", "_10").replace("_LEVEL", "_0.10")).name == name


@pytest.mark.parametrize("use", EVERY_USE, ids=lambda use: use.name)
def test_every_recommendation_is_a_measure_for_a_purpose_it_has(use: Use) -> None:
    for pick in use.measures:
        result = parse(pick.measure.replace("{k}", "10"))
        assert pick.purpose in ADVICE[result.name].purposes
        assert pick.why


@pytest.mark.parametrize("use", EVERY_USE, ids=lambda use: use.name)
def test_every_use_has_a_tail_measure_because_an_average_hides_failures(use: Use) -> None:
    assert {parse(pick.measure.replace("{k}", "10")).name for pick in use.measures} & TAIL


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_every_word_of_a_use_is_recognised_as_it(use: Use) -> None:
    for word in use.words:
        assert use in [match.use for match in recognise_uses(f"a {word.replace('*', 's')} thing")]


@pytest.mark.parametrize(
    ("description", "wanted", "unwanted"),
    [
        ("retrieval for RAG", {"R@10", "P@10", "Robustness(delta=0.3)@10", "ZeroHit@10"}, {"RR@10"}),
        ("search that feeds a reranker", {"R@100", "nDCG@10", "Robustness(delta=0.9)@100"}, {"P@10"}),
        ("FAQ", {"RR@10", "Success@1", "ZeroHit@10"}, {"R@100"}),
        ("known-item search", {"RR@10", "Success@1"}, {"R@100"}),
        ("navigational lookup", {"RR@10", "Success@1"}, {"R@100"}),
        ("e-commerce product search", {"nDCG@10", "P@10", "ZeroHit@10"}, {"R@100"}),
        ("legal search", {"R@1000", "AP", "Robustness(delta=0.9)@1000"}, {"P@10"}),
        ("patents", {"R@1000", "Robustness(delta=0.9)@1000"}, {"RR@10"}),
        ("e-discovery", {"R@1000", "Quantile(R@1000, 0.05)"}, {"RR@10"}),
        ("must not miss anything", {"R@1000", "Robustness(delta=0.9)@1000"}, {"RR@10"}),
        ("autocomplete", {"Success@1", "RR@5", "ZeroHit@5"}, {"R@100"}),
        ("one answer", {"Success@1", "RR@5"}, {"nDCG@10"}),
        ("voice", {"Success@1", "RR@5"}, {"nDCG@10"}),
        ("ANN index benchmark", {"R@10", "Robustness(delta=0.3)@10", "Robustness(delta=0.9)@10"}, {"AP"}),
        (
            "support search with long tail",
            {"RR@10", "nDCG@10", "Robustness(delta=0.3)@10", "Quantile(nDCG@10, 0.05)"},
            {"R@100"},
        ),
        ("ads", {"P@10", "nDCG@10", "ZeroHit@10"}, {"R@100"}),
        ("the first page", {"P@10", "nDCG@10"}, {"R@100"}),
        ("recommendation list", {"nDCG@10", "R@10", "Robustness(delta=0.3)@10"}, {"AP"}),
        ("graded relevance", {"nDCG@10", "ERR@10"}, {"R@100"}),
        ("few judgments", {"bpref", "Judged@10"}, {"R@100"}),
    ],
)
def test_a_described_use_gets_its_measures(description: str, wanted: set[str], unwanted: set[str]) -> None:
    result = recommend(description)
    assert wanted <= set(measures(result))
    assert not unwanted & set(measures(result))
    assert all(r.because for r in result)


def test_why_a_delta_was_chosen_is_said() -> None:
    assert "δ is 0.3 because some of the evidence" in why(recommend("RAG"), "Robustness(delta=0.3)@10")
    assert "δ is 0.9 because all of it matters" in why(recommend("patents"), "Robustness(delta=0.9)@1000")


def test_the_words_that_decided_are_said() -> None:
    assert {r.because for r in recommend("Search that feeds a Re-Ranker")} == {("re-ranker",)}


def test_several_uses_are_joined_and_each_measure_stands_once() -> None:
    result = recommend("RAG over support tickets, k known: top 10")
    assert len(set(measures(result))) == len(result)
    robust = next(r for r in result if r.measure == "Robustness(delta=0.3)@10")
    assert robust.because == ("rag", "support tickets")


@pytest.mark.parametrize("words", ["e-commerce", "E Commerce", "ecommerce", "e‑commerce"])
def test_hyphens_and_capitals_do_not_matter(words: str) -> None:
    assert [match.use.name for match in recognise_uses(words)] == ["product search"]


@pytest.mark.parametrize("text", ["drag and drop", "planning", "lawn", "production", "loads", "branch"])
def test_a_part_of_a_word_is_not_the_word(text: str) -> None:
    assert recognise_uses(text) == []


@pytest.mark.parametrize(
    "text", ["no reranker", "without a reranker", "it is not for RAG", "does not feed a reranker"]
)
def test_what_comes_after_a_no_is_not_meant(text: str) -> None:
    assert recognise_uses(text) == []


def test_nothing_recognised_gives_what_is_safe_for_any_search() -> None:
    result = recommend("zebras")
    assert measures(result) == DEFAULTS
    assert {r.because for r in result} == {()}


def test_a_cutoff_is_taken_from_the_call_or_else_from_the_words() -> None:
    assert measures(recommend("RAG", k=7))[0] == "R@7"
    assert measures(recommend("RAG that reads the top 20"))[0] == "R@20"
    assert measures(recommend("RAG that reads the top 20", k=7))[0] == "R@7"
    assert find_cutoff("the first time") is None


def test_a_cutoff_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="k must be a whole number of at least 1, found 0"):
        recommend("RAG", k=0)


def test_the_terms_of_the_guides_are_given() -> None:
    assert [r.term for r in recommend("RAG")] == [
        "Recall@10",
        "Precision@10",
        "Robustness-0.3@10",
        "ZeroHit@10",
    ]
    assert [r.term for r in recommend("FAQ")] == ["MRR@10", "HitRate@1", "ZeroHit@10"]
    assert "MAP" in [r.term for r in recommend("patents")]


def test_one_relevant_document_per_query_asks_for_the_first_hit_instead_of_recall() -> None:
    result = recommend("RAG", single=0.9)
    assert measures(result) == ["Success@10", "RR@10", "ZeroHit@10"]
    assert "90 % of the queries have one relevant document" in result[0].why
    assert result[0].because == ("rag", JUDGMENTS)
    assert measures(recommend("patents", single=1.0))[:2] == ["Success@1000", "RR@10"]


def test_some_queries_with_one_relevant_document_change_nothing() -> None:
    assert recommend("RAG", single=0.3) == recommend("RAG")


def test_more_relevant_documents_than_the_cutoff_ask_for_capped_recall() -> None:
    result = recommend("RAG", relevant_per_query=40.0)
    assert measures(result) == ["RCap@10", "P@10", "Quantile(RCap@10, 0.05)", "ZeroHit@10"]
    assert "40.0 relevant documents on average" in result[0].why
    assert measures(recommend("RAG", relevant_per_query=20.0))[2] == "Robustness(delta=0.3)@10"


def test_graded_judgments_ask_for_ndcg_once() -> None:
    assert measures(recommend("RAG", graded=True))[-1] == "nDCG@10"
    assert measures(recommend("ads", graded=True)) == measures(recommend("ads"))


def test_binary_judgments_are_said_beside_ndcg() -> None:
    assert "the judgments are binary" in why(recommend("ads", graded=False), "nDCG@10")
    assert "RR is plainer" in why(recommend("graded", graded=False), "ERR@10")


def test_few_judgments_bring_judged_and_bpref() -> None:
    assert measures(recommend("ads", judged_per_query=4.0))[-2:] == ["Judged@10", "bpref"]
    assert measures(recommend("ads", judged_per_query=40.0)) == measures(recommend("ads"))


def test_bpref_is_left_out_where_nothing_irrelevant_was_judged() -> None:
    result = recommend("ads", judged_per_query=2.0, relevant_per_query=2.0)
    assert result[-1].measure == "Judged@10"
    assert "bpref is of no use" in result[-1].why


@pytest.mark.parametrize("single", [None, 1.0])
@pytest.mark.parametrize("graded", [None, True, False])
@pytest.mark.parametrize("relevant", [None, 1.0, 5000.0])
def test_whatever_is_known_every_recommendation_parses_and_has_a_tail(
    single: float | None, graded: bool | None, relevant: float | None
) -> None:
    for use in EVERY_USE:
        description = use.words[0] if use.words else ""
        expected_values = {"single": single, "relevant_per_query": relevant, "judged_per_query": relevant}
        result = recommend(description, graded=graded, k=3, **expected_values)
        assert all(r.purpose in ADVICE[parse(r.measure).name].purposes for r in result)
        assert {parse(r.measure).name for r in result} & TAIL
        assert len({r.measure for r in result}) == len(result)


def test_judgments_are_looked_at_without_those_that_were_only_pooled() -> None:
    result = summarize_judgments(
        Qrels({"q1": {"a": 1, "b": -1}, "q2": {"c": 0}, "q3": {"d": 1, "e": 1, "f": 0}})
    )
    assert result == (3, 5 / 3, 1.0, 0.5, False)


def test_judgments_without_anything_relevant_have_no_share_of_single_ones() -> None:
    assert summarize_judgments(Qrels({"q1": {"a": 0}})).single is None


def test_one_grade_above_zero_is_binary_whatever_the_number() -> None:
    assert not summarize_judgments(Qrels({"q1": {"a": 3, "b": 0}})).graded
    assert summarize_judgments(Qrels({"q1": {"a": 3, "b": 1}})).graded
