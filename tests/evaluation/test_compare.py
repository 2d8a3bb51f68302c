"""A baseline against candidates: the numbers by hand and by scipy, and who is counted."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import assay
from assay.core.arrays import Floats
from assay.core.errors import UndecidableError
from assay.core.tables import Qrels, Run, Scores
from assay.evaluation import evaluate
from assay.evaluation.compare import (
    COMPARISON_MEASURES,
    ComparisonOptions,
    Comparisons,
    SystemPair,
    compare,
    compare_scores,
)
from assay.evaluation.slices import Slice
from assay.stats.comparison import Comparison
from assay.stats.corrections import tukey
from assay.stats.paired_tests import TESTS
from assay.stats.power import assess_size
from assay.views.readings import describe_reading
from tests.evaluation.readings import random_scores

DL2019 = ("bm25base_p", "ICT-BERT2", "p_bert")
QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"d": 1}}
BEFORE = {"q1": ["a"], "q2": ["x", "b"], "q3": ["x"], "q4": ["d"]}
AFTER = {"q1": ["x", "a"], "q2": ["b"], "q3": ["c"], "q4": ["d"]}


@pytest.fixture(scope="module")
def dl2019(shared: Path) -> dict[str, Any]:
    """The qrels and three runs of TREC DL 2019."""
    folder = shared / "trec_dl2019"
    runs = {name: assay.read(folder / f"input.{name}.gz", "run") for name in DL2019}
    return {"qrels": assay.read(folder / "2019qrels-pass.txt", "qrels"), **runs}


@pytest.fixture(scope="module")
def two(dl2019: dict[str, Any]) -> Comparisons:
    return compare(dl2019["qrels"], dl2019["bm25base_p"], dl2019["p_bert"])


@pytest.fixture(scope="module")
def three(dl2019: dict[str, Any]) -> Comparisons:
    return compare(dl2019["qrels"], *many(dl2019), [*COMPARISON_MEASURES, "gmAP", "Quantile(R@10, 0.4)"])


def many(dl2019: dict[str, Any]) -> tuple[Any, list[Any]]:
    return dl2019["bm25base_p"], [dl2019["ICT-BERT2"], dl2019["p_bert"]]


def plain(row: Comparison) -> dict[str, Any]:
    """A comparison as plain data, without its spread."""
    return asdict(replace(row, spread=None))  # type: ignore[arg-type]


# Against numbers from outside


def test_differences_are_those_of_the_queries(dl2019: dict[str, Any], two: Comparisons) -> None:
    before, after = (
        evaluate(dl2019["qrels"], dl2019[name], COMPARISON_MEASURES).scores
        for name in ("bm25base_p", "p_bert")
    )
    for row in two.rows:
        differences = after[row.measure] - before[row.measure]
        assert row.baseline == pytest.approx(before[row.measure].mean())
        assert row.candidate == pytest.approx(after[row.measure].mean())
        assert row.difference.value == pytest.approx(differences.mean(), abs=1e-15)
        ups, downs = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
        better, worse = (downs, ups) if row.measure == "ZeroHit@10" else (ups, downs)
        assert (row.wins, row.ties, row.losses) == (better, 43 - ups - downs, worse)


def test_p_and_interval_are_scipys(two: Comparisons) -> None:
    for measure in ("nDCG@10", "R@10", "P@10", "RR@10"):
        row, scores = two.find(measure), two.scores
        expected = stats.ttest_rel(scores["input.p_bert"][measure], scores["input.bm25base_p"][measure])
        assert row.test == "t"
        assert row.p == pytest.approx(expected.pvalue, rel=1e-9)
        ends = expected.confidence_interval(0.95)
        assert [row.difference.low, row.difference.high] == pytest.approx([ends.low, ends.high])


def test_shares_are_compared_by_mcnemars_test(two: Comparisons) -> None:
    for measure in ("Robustness(delta=0.3)@10", "ZeroHit@10"):
        row = two.find(measure)
        changed = (row.wins or 0) + (row.losses or 0)
        expected = stats.binomtest(row.wins or 0, changed).pvalue if changed else 1.0
        assert row.test == "McNemar"
        assert row.p == pytest.approx(expected)


def test_the_official_means_are_compared(shared: Path, two: Comparisons) -> None:
    official = json.loads((shared / "trec_dl2019" / "official_scores.json").read_text())
    for measure, name in (("nDCG@10", "ndcg_cut_10"), ("P@10", "P_10")):
        before, after = (official[run]["trec_eval"][name] for run in ("bm25base_p", "p_bert"))
        row = two.find(measure)
        assert [row.baseline, row.candidate] == pytest.approx([before, after], abs=6e-5)
        assert row.difference.value == pytest.approx(after - before, abs=1.1e-4)


@pytest.mark.parametrize("test", list(TESTS))
def test_every_test_gives_the_p_of_its_own(dl2019: dict[str, Any], test: str) -> None:
    result = compare(dl2019["qrels"], dl2019["bm25base_p"], dl2019["p_bert"], ["nDCG@10", "RR"], test=test)
    before, after = result.scores.values()
    differences = np.column_stack([after[m] - before[m] for m in ("nDCG@10", "RR")])
    assert [row.p for row in result.rows] == pytest.approx(TESTS[test](differences).tolist(), abs=1e-12)
    assert {row.test for row in result.rows} == {test}


def test_randomisation_gives_the_same_p_for_the_same_seed_and_stays_near_t(dl2019: dict[str, Any]) -> None:
    def ps(test: str, seed: int) -> list[float | None]:
        runs = (dl2019["ICT-BERT2"], dl2019["p_bert"])
        result = compare(dl2019["qrels"], *runs, ["nDCG@10", "R@10", "P@10"], test=test, seed=seed)
        return [row.p for row in result.rows]

    assert ps("randomisation", 1) == ps("randomisation", 1)
    assert ps("randomisation", 1) != ps("randomisation", 2)
    assert ps("randomisation", 1) == pytest.approx(ps("t", 1), abs=0.02)


def test_fewer_permutations_are_taken_where_asked() -> None:
    before, after = random_scores(30, 0, ("R@10",)), random_scores(30, 1, ("R@10",))
    options = ComparisonOptions(test="randomisation", permutations=99)
    p = compare_scores(before, {"c": after}, options=options).rows[0].p or 0
    assert p * 100 == pytest.approx(round(p * 100))


def test_quantiles_and_geometric_means_are_compared(three: Comparisons) -> None:
    before, after = (three.scores[f"input.{name}"] for name in ("bm25base_p", "p_bert"))
    row = three.find("gmAP", "input.p_bert")
    logs = [np.log(np.maximum(scores["gmAP"], 1e-5)) for scores in (before, after)]
    assert row.difference.value == pytest.approx(math.exp(logs[1].mean()) - math.exp(logs[0].mean()))
    assert row.p == pytest.approx(stats.ttest_rel(logs[1], logs[0]).pvalue)
    row = three.find("Quantile(R@10, 0.4)", "input.p_bert")
    ends = [sorted(scores["Quantile(R@10, 0.4)"])[17] for scores in (before, after)]  # 40 % of 43: the 18th
    assert (row.baseline, row.candidate, row.test) == (*ends, "bootstrap")
    assert row.p is not None


def test_comparisons_are_plain_numbers_that_json_can_hold(three: Comparisons) -> None:
    for row in three.rows:
        assert json.loads(json.dumps(plain(row), allow_nan=False))["measure"] == row.measure


def test_a_query_counts_where_both_values_are_defined() -> None:
    before = Scores(["a", "b", "c", "d"], {"RCap@10": np.array([0.5, np.nan, 0.5, 0.5])})
    after = Scores(["a", "b", "c", "d"], {"RCap@10": np.array([1.0, 1.0, np.nan, 0.5])})
    row = compare_scores(before, {"c": after}).rows[0]
    assert (row.difference.n, row.difference.value) == (2, 0.25)
    assert (row.wins, row.ties, row.losses) == (1, 1, 0)


# Who is compared


def test_runs_without_a_name_are_called_by_their_part() -> None:
    item, items = compare(QRELS, BEFORE, AFTER, "RR"), compare(QRELS, BEFORE, [AFTER, BEFORE], "RR")
    assert (item.baseline, item.candidates) == ("baseline", ["candidate"])
    assert (items.baseline, items.candidates) == ("baseline", ["candidate 1", "candidate 2"])
    assert {row.baseline_name for row in items.rows} == {"baseline"}


def test_runs_keep_the_names_they_have() -> None:
    result = compare(QRELS, Run(BEFORE, name="old"), [Run(AFTER, name="new")], "RR")
    assert (result.baseline, result.candidates, list(result.scores)) == ("old", ["new"], ["old", "new"])
    assert list(result.counts) == list(result.unjudged) == ["old", "new"]
    assert list(result.overlaps) == ["new"]


def test_every_candidate_is_compared_as_if_alone_but_for_correction(
    dl2019: dict[str, Any], three: Comparisons
) -> None:
    for name in ("ICT-BERT2", "p_bert"):
        alone = compare(dl2019["qrels"], dl2019["bm25base_p"], dl2019[name], three.measures)
        rows = three.of_candidate(f"input.{name}")
        assert [replace(row, corrected_p=None) for row in rows] == [
            replace(row, corrected_p=None) for row in alone.rows
        ]
        assert three.overlaps[f"input.{name}"] == alone.overlaps[f"input.{name}"]


def test_rows_stand_by_candidate_and_measure_with_the_slices_of_a_measure_together() -> None:
    queries = {"query_id": list(QRELS), "kind": ["x", "x", "y", "y"]}
    result = compare(QRELS, BEFORE, [AFTER, BEFORE], ["RR", "P@1"], queries, ["kind"])
    slices = ["all", "kind: x", "kind: y"]
    assert [(row.candidate_name, row.measure, row.slice) for row in result.rows] == [
        (name, measure, part)
        for name in ("candidate 1", "candidate 2")
        for measure in ("RR", "P@1")
        for part in slices
    ]


def test_a_judged_query_missing_from_a_run_counts_zero() -> None:
    result = compare(QRELS, BEFORE, {"q1": ["a"]}, "RR")
    assert (result.find("RR").candidate, result.find("RR").difference.n, result.excluded_queries) == (
        0.25,
        4,
        0,
    )
    assert result.counts["candidate"].missing_from_run == 3


def test_only_common_compares_the_queries_of_all_runs() -> None:
    first, second = {**BEFORE, "q1": []}, {query: AFTER[query] for query in ("q1", "q2", "q3")}
    queries = {"query_id": list(QRELS), "kind": ["x", "x", "y", "y"]}
    result = compare(QRELS, first, second, ["RR", "P@2"], queries, ["kind"], only_common=True)
    alone = compare({q: QRELS[q] for q in ("q2", "q3")}, first, second, ["RR", "P@2"], queries, ["kind"])
    assert list(result.scores["baseline"].query_ids) == ["q2", "q3"]
    assert result.excluded_queries == 2
    assert [plain(row) for row in result.rows] == [plain(row) for row in alone.rows]
    assert result.unjudged == alone.unjudged
    assert result.overlaps == alone.overlaps


def test_runs_without_a_query_in_common_cannot_be_decided() -> None:
    with pytest.raises(UndecidableError, match="no judged query is in all runs"):
        compare(QRELS, {"q1": ["a"]}, {"q2": ["b"]}, "RR", only_common=True)


def test_the_unjudged_ranges_are_those_of_the_evaluations() -> None:
    result = compare(QRELS, BEFORE, AFTER, ["RR@2", "P@2", "AP"])
    for name, run in (("baseline", BEFORE), ("candidate", AFTER)):
        expected = evaluate(QRELS, run, ["RR@2", "P@2"], unjudged=True).unjudged
        assert result.unjudged[name] == expected  # AP has no top to look at


def test_only_the_settings_that_differ_are_kept() -> None:
    configurations = {"baseline": {"k": 1, "ef": {"build": 40}}, "candidate": {"k": 1, "ef": {"build": 80}}}
    result = compare(QRELS, BEFORE, AFTER, "RR", configurations=configurations)
    assert result.configuration == {"ef.build": {"baseline": 40, "candidate": 80}}


# Scores from elsewhere


def test_scores_of_other_queries_are_left_out_and_the_rest_put_in_order() -> None:
    before = Scores(["a", "b", "c"], {"RR": np.array([0.1, 0.2, 0.3]), "AP": np.ones(3)})
    after = Scores(["z", "c", "b"], {"P@1": np.ones(3), "RR": np.array([0.9, 0.5, 0.6])})
    result = compare_scores(before, {"c": after}, [Slice("kind", "x", [0, 1]), Slice("kind", "y", [2])])
    assert [str(measure) for measure in result.measures] == ["RR"]
    assert (list(result.scores["c"].query_ids), result.excluded_queries) == (["b", "c"], 1)
    assert result.find("RR").difference.value == pytest.approx(0.3)
    x, y = (result.find("RR", column="kind", value=value) for value in "xy")
    assert [x.difference.value, y.difference.value] == pytest.approx([0.4, 0.2])
    assert list(before.query_ids) == ["a", "b", "c"]


def test_the_order_of_the_queries_does_not_matter() -> None:
    before, after = random_scores(50, 0), random_scores(50, 1)
    reversed_values = Scores(
        after.query_ids[::-1], {name: values[::-1] for name, values in after.values.items()}
    )
    first, second = (compare_scores(before, {"c": scores}) for scores in (after, reversed_values))
    assert [plain(row) for row in first.rows] == [plain(row) for row in second.rows]
    assert second.excluded_queries == 0


def test_scores_without_a_query_in_common_cannot_be_decided() -> None:
    with pytest.raises(UndecidableError, match="share no query"):
        compare_scores(random_scores(3, 0), {"c": random_scores(3, 1, prefix="other")})


def test_scores_without_a_measure_in_common_cannot_be_decided() -> None:
    with pytest.raises(UndecidableError, match="share no measure"):
        compare_scores(random_scores(3, 0, ("RR",)), {"c": random_scores(3, 1, ("AP",))})


def test_unpaired_scores_have_queries_of_their_own() -> None:
    before, after = random_scores(40, 0), random_scores(60, 1, prefix="other")
    result = compare_scores(before, {"c": after}, options=ComparisonOptions(paired=False))
    row = result.find("R@10")
    expected = stats.ttest_ind(after["R@10"], before["R@10"], equal_var=False)
    assert row.p == pytest.approx(expected.pvalue)
    assert row.difference.n == 100
    assert (row.wins, row.ties, row.losses, result.excluded_queries) == (None, None, None, 0)
    assert (result.movers(), result.sizes, result.all_pairs) == (([], []), {}, [])


# Slices


def test_a_slice_is_compared_as_its_queries_alone(dl2019: dict[str, Any]) -> None:
    qrels, runs = dl2019["qrels"], (dl2019["bm25base_p"], dl2019["p_bert"])
    kind = {query: "odd" if int(query) % 2 else "even" for query in qrels.query_ids}
    queries = {"query_id": list(kind), "kind": list(kind.values())}
    computed_result = compare(
        qrels, *runs, [*COMPARISON_MEASURES, "gmAP"], queries, ["kind"], correction="none"
    )
    for value in ("odd", "even"):
        values = Qrels({query: docs for query, docs in qrels.to_dict().items() if kind[query] == value})
        for row in compare(values, *runs, computed_result.measures, correction="none").rows:
            result = computed_result.find(row.measure, column="kind", value=value)
            assert result == replace(row, column="kind", value=value)


@pytest.mark.parametrize("test", list(TESTS))
def test_slices_of_no_query_one_and_two_are_undefined_not_nan(test: str) -> None:
    small = [Slice("size", str(n), list(range(n))) for n in range(3)]
    result = compare_scores(
        random_scores(9, 0), {"c": random_scores(9, 1)}, small, options=ComparisonOptions(test=test)
    )
    for row in result.rows:
        json.dumps(plain(row), allow_nan=False)
        few = ("0", "1", "2") if row.measure.startswith("Quantile") else ("0", "1")
        assert (row.p is None) == (row.corrected_p is None) == (row.value in few)
        assert (row.difference.low is None) == (row.value in few)
        assert (row.difference.value is None) == (row.value == "0")
    assert result.readings


@pytest.mark.parametrize(("q", "enough"), [(0.05, 72), (0.1, 36), (0.5, 6)])
def test_a_quantile_is_compared_where_its_own_interval_has_both_ends(q: float, enough: int) -> None:
    for n in (enough - 1, enough):
        before, after = (np.random.default_rng(seed).random(n) for seed in (0, 1))
        ids, name = [str(i) for i in range(n)], f"Quantile(R@10, {q})"
        result = compare_scores(Scores(ids, {name: before}), {"c": Scores(ids, {name: after})})
        assert (result.find(name).p is None) == (n < enough)
        assert (result.find(name).p_above(-0.9) is None) == (n < enough)


def test_scores_may_be_named_as_other_tools_name_them() -> None:
    base, other = ({"ndcg_cut_10": np.ones(4)}, {"nDCG@10": np.zeros(4)})
    result = compare_scores(Scores(list("abcd"), base), {"c": Scores(list("abcd"), other)})
    assert result.find("nDCG@10").difference.value == -1.0


def test_the_rows_of_one_run_are_one_candidate() -> None:
    rows = [{"query_id": "q", "doc_id": doc, "score": -place} for place, doc in enumerate("xab")]
    assert compare({"q": {"a": 1}}, rows, rows, ["RR@10"]).candidates == ["candidate"]


def test_no_slice_is_read_from_queries_that_are_too_few() -> None:
    small = [Slice("frequency", name, rows) for name, rows in (("head", [0]), ("tail", [1]))]
    before, after = np.full(60, 0.5), np.full(60, 0.5)
    after[:2] = 1.0, 0.0
    ids = [f"q{i}" for i in range(60)]
    result = compare_scores(Scores(ids, {"RR": before}), {"c": Scores(ids, {"RR": after})}, small)
    assert {reading.key for reading in result.readings}.isdisjoint({"slices worse", "head over tail"})


# Corrections


def corrections(correction: str) -> tuple[Floats, Floats, Comparisons]:
    """The p of the whole, and those of the slices, before correction."""
    halves = [Slice("kind", "x", list(range(20))), Slice("kind", "y", list(range(20, 50)))]
    candidates = {name: random_scores(50, seed) for name, seed in (("a", 1), ("b", 2))}
    result = compare_scores(
        random_scores(50, 0), candidates, halves, options=ComparisonOptions(correction=correction)
    )
    whole, parts = ([row.p for row in result.rows if bool(row.column) == sliced] for sliced in (False, True))
    return np.array(whole, float), np.array(parts, float), result


def split(result: Comparisons) -> tuple[list[float | None], list[float | None]]:
    whole, parts = (
        [r.corrected_p for r in result.rows if bool(r.column) == sliced] for sliced in (False, True)
    )
    return whole, parts


def test_holm_corrects_the_whole_and_the_slices_each_with_half_of_the_error() -> None:
    whole, parts, computed_result = corrections("holm")
    assert (len(whole), len(parts)) == (10, 20)
    for result, settings in zip(split(computed_result), (whole, parts), strict=True):
        assert result == pytest.approx(np.minimum(1, 2 * multipletests(settings, method="holm")[1]))


def test_holm_without_slices_has_the_whole_error_for_all_measures_and_candidates(three: Comparisons) -> None:
    ps = [row.p for row in three.rows]
    assert len(ps) == 16
    expected = multipletests(np.array(ps, float), method="holm")[1]
    assert [row.corrected_p for row in three.rows] == pytest.approx(expected)


def test_bh_corrects_whole_and_slices_together() -> None:
    whole, parts, result = corrections("bh")
    expected = stats.false_discovery_control([*whole, *parts])
    assert [*split(result)[0], *split(result)[1]] == pytest.approx(expected)


def test_without_correction_p_stays() -> None:
    _, _, result = corrections("none")
    assert all(row.corrected_p == row.p for row in result.rows)


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_an_undefined_p_costs_the_others_nothing(correction: str) -> None:
    halves = [Slice("kind", "x", list(range(20))), Slice("kind", "y", list(range(20, 50)))]
    options = ComparisonOptions(correction=correction)
    before, after = random_scores(50, 0), random_scores(50, 1)
    without = compare_scores(before, {"c": after}, halves, options=options)
    with_empty = compare_scores(before, {"c": after}, [*halves, Slice("kind", "z", [])], options=options)
    assert [row for row in with_empty.rows if row.value != "z"] == without.rows


# Identical runs


def test_identical_runs_differ_by_nothing(dl2019: dict[str, Any]) -> None:
    measures = [*COMPARISON_MEASURES, "gmAP", "Quantile(R@10, 0.4)", "AP"]
    computed_result = compare(dl2019["qrels"], dl2019["p_bert"], dl2019["p_bert"], measures)
    for row in computed_result.rows:
        assert (row.difference.value, row.p, row.corrected_p) == (0.0, 1.0, 1.0)
        assert (row.wins, row.losses, row.ties) == (0, 0, 43)
        json.dumps(plain(row), allow_nan=False)
    (result,) = computed_result.readings
    assert (result.key, result.candidate) == ("same", "candidate")
    assert [e.value for e in computed_result.overlaps["candidate"][1:]] == pytest.approx([1.0] * 4)
    assert computed_result.movers() == ([], [])
    assert describe_reading(result).startswith("every query scores the same: ")
    assert computed_result.sizes["candidate"]["nDCG@10"].detectable_difference is None


@pytest.mark.parametrize("test", list(TESTS))
def test_identical_scores_give_p_one_by_every_test(test: str) -> None:
    scores = random_scores(20, 0)
    options = ComparisonOptions(test=test)
    result = compare_scores(scores, {"c": scores}, [Slice("a", "b", [0, 1])], options=options)
    undefined = [row for row in result.rows if row.p is None]
    assert [(row.measure, row.value) for row in undefined] == [("Quantile(R@10, 0.4)", "b")]  # two queries
    assert {row.p for row in result.rows if row not in undefined} == {1.0}


# Sizes, all pairs


def test_sizes_are_of_all_queries_by_the_spread_of_their_differences(three: Comparisons) -> None:
    assert list(three.sizes) == three.candidates
    for name in three.candidates:
        row = three.find("nDCG@10", name)
        differences = three.scores[name]["nDCG@10"] - three.scores[three.baseline]["nDCG@10"]
        assert row.deviation == pytest.approx(stats.tstd(differences))
        assert three.sizes[name]["nDCG@10"] == assess_size(43, row.deviation or 0, 0.01, 1 - 0.95)


def test_sizes_take_the_margin_and_level_asked_for_and_no_slice() -> None:
    options = ComparisonOptions(margin=0.05, level=0.9)
    half = [Slice("kind", "x", list(range(30)))]
    result = compare_scores(random_scores(60, 0), {"c": random_scores(60, 1)}, half, options=options)
    row = result.find("R@10")
    assert result.sizes["c"]["R@10"] == assess_size(60, row.deviation or 0, 0.05, 1 - 0.9)


def test_all_pairs_are_tukeys_for_three_systems(three: Comparisons) -> None:
    names = [three.baseline, *three.candidates]
    for measure in ("nDCG@10", "R@10"):
        values = np.column_stack([three.scores[name][measure] for name in names])
        expected = [SystemPair(measure, names[p.first], names[p.second], *p[2:]) for p in tukey(values)]
        assert [pair for pair in three.all_pairs if pair.measure == measure] == expected
    pairs = [(pair.first, pair.second) for pair in three.all_pairs if pair.measure == "RR@10"]
    assert pairs == [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    assert {pair.measure for pair in three.all_pairs} == set(
        COMPARISON_MEASURES
    )  # no quantile, no geometric mean


def test_two_systems_have_no_pairs_beside_their_own(two: Comparisons) -> None:
    assert two.all_pairs == []


def test_all_pairs_leave_out_queries_that_one_system_leaves_undefined() -> None:
    scores = [random_scores(12, seed, ("RCap@10",)) for seed in range(3)]
    scores[1].values["RCap@10"][3] = np.nan
    result = compare_scores(scores[0], {"a": scores[1], "b": scores[2]})
    values = np.delete(np.column_stack([s["RCap@10"] for s in scores]), 3, axis=0)
    assert [pair.p for pair in result.all_pairs] == [pair.p for pair in tukey(values)]
