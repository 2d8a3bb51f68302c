"""trec_eval 10's own output on hand-written cases, and NIST's scores of submitted runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import FormatError
from assay.core.groups import RunBlocks
from assay.core.score_order import ScoreOrder
from assay.core.tables import Qrels
from assay.datasets import open_run, read
from assay.evaluation import Evaluation, evaluate
from assay.measures import parse
from tests.reference_measures import rank_documents

CASES = (
    *("01_simple", "02_ties_docid_desc", "04_ties_at_cutoff", "05_rank_column_ignored", "07_unjudged"),
    *("09_negative_relevance", "10_query_missing_in_run", "11_query_missing_in_run_c"),
    *("12_query_missing_in_qrels", "15_graded_0_3", "17_graded_exponential", "18_single_doc"),
    *("24_more_rel_than_k", "29_qid_order", "36_bpref_classic", "40_graded_multi_query"),
)
REFUSED = ("13_duplicate_docs_run", "20_nan_inf", "21_empty_run", "26_whitespace")
CUT = "32_M10_mrr10"
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
AT_CUTOFF = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "relative_P": "RCap"}
OURS = {
    "map": "AP",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "11pt_avg": "11pt",
    "ndcg": "nDCG",
    "set_P": "P",
    "set_recall": "R",
    "set_F": "F",
    "rbp": "RBP",
    "rbp_resid": "RBPResidual",
    "gm_map": "gmAP",
    **{f"{theirs}_{k}": f"{ours}@{k}" for theirs, ours in AT_CUTOFF.items() for k in CUTOFFS},
    **{f"success_{k}": f"Success@{k}" for k in (1, 5, 10)},
    **{f"iprec_at_recall_{level / 10:.2f}": f"IPrec@{level / 10}" for level in range(11)},
}
Line = tuple[str, str, float]  # our measure, the query (or "all"), the value


def lines(path: Path) -> Iterator[Line]:
    """The lines of an output that name a measure of ours."""
    for line in path.read_text().splitlines():
        name, query, text = line.split(maxsplit=2)
        if name in OURS and (name != "gm_map" or query == "all"):
            yield OURS[name], query, float(text)


def files(folder: Path, case: str) -> tuple[Qrels, RunBlocks]:
    qrels = read(folder / f"{case}.qrels", "qrels")
    return qrels, open_run(folder / f"{case}.run")


def assert_equal(result: Evaluation, expected: list[Line]) -> None:
    """Every value to 1e-9. RCap, ours, is undefined without relevant documents; trec_eval says 0."""
    scores = result.scores.to_dict()
    undefined = {measure for docs in scores.values() for measure, v in docs.items() if v is None}
    assert len(expected) > 60
    for measure, query, target in expected:
        if query == "all" and measure in undefined:
            continue
        match_result = result.estimates[measure].value if query == "all" else scores[query][measure]
        match_result = 0.0 if match_result is None and measure.startswith("RCap") else match_result
        assert match_result == pytest.approx(target, abs=1e-9), (measure, query)


@pytest.fixture(scope="module")
def oracle(shared: Path) -> Path:
    return shared / "trec_eval_oracle"


def test_every_case_of_the_oracle_is_tried(oracle: Path) -> None:
    index = json.loads((oracle / "index.json").read_text())
    assert {case["case"] for case in index} == {*CASES, *REFUSED, CUT}


@pytest.mark.parametrize("case", CASES)
def test_missing_queries_count_zero_as_with_c(oracle: Path, case: str) -> None:
    result = evaluate(*files(oracle, case), OURS.values())
    assert_equal(result, list(lines(oracle / f"{case}.v10c.hp.out")))


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith(("10_", "11_"))])
def test_only_common_queries_count_as_without_c(oracle: Path, case: str) -> None:
    result = evaluate(*files(oracle, case), OURS.values(), only_common=True)
    assert_equal(result, list(lines(oracle / f"{case}.v10.hp.out")))


def test_the_case_with_the_flag_c_is_our_default(oracle: Path) -> None:
    case = "11_query_missing_in_run_c"
    result = evaluate(*files(oracle, case), OURS.values())
    assert_equal(result, list(lines(oracle / f"{case}.v10.hp.out")))


def test_missing_queries_left_out_are_trec_eval_9_without_c(oracle: Path) -> None:
    case = "10_query_missing_in_run"
    result = evaluate(*files(oracle, case), ["AP", "RR", "nDCG", "P@5"], only_common=True)
    for measure, query, target in lines(oracle / f"{case}.v908.out"):
        if query == "all" and measure in result.estimates:
            assert result.estimates[measure].value == pytest.approx(target, abs=5e-5)


@pytest.mark.parametrize("output", ["v10.hp.out", "v10c.hp.out"])
def test_a_run_cut_at_ten_documents_is_the_flag_m(oracle: Path, output: str) -> None:
    qrels, _ = files(oracle, CUT)
    docs = read(oracle / f"{CUT}.run", "run").to_dict()
    cut = {query: {doc: docs[query][doc] for doc in rank_documents(docs[query])[:10]} for query in docs}
    assert_equal(evaluate(qrels, cut, OURS.values()), list(lines(oracle / f"{CUT}.{output}")))


@pytest.mark.parametrize("output", ["v10.hp.out", "v10c.hp.out"])
def test_the_cutoff_ten_is_the_flag_m(oracle: Path, output: str) -> None:
    expected = {(m, query): v for m, query, v in lines(oracle / f"{CUT}.{output}")}
    result = evaluate(*files(oracle, CUT), ["RR@10", "AP@10", "nDCG@10", "R@10", "P@10", "Success@10"])
    for query, scores in result.scores.to_dict().items():
        for ours, theirs in (("RR@10", "RR"), ("AP@10", "AP"), ("nDCG@10", "nDCG"), ("R@10", "R")):
            assert scores[ours] == pytest.approx(expected[theirs, query], abs=1e-9)
        assert scores["P@10"] == pytest.approx(expected["P@10", query], abs=1e-9)


def test_exp_gain_is_linear_gain_on_the_grades_two_to_the_grade_less_one(oracle: Path) -> None:
    result = evaluate(*files(oracle, "15_graded_0_3"), ["nDCG(gain='exp')", "nDCG(gain='exp')@5"])
    mapped = {(m, q): v for m, q, v in lines(oracle / "17_graded_exponential.v10.hp.out")}
    for query, scores in result.scores.to_dict().items():
        assert scores["nDCG(gain='exp')"] == pytest.approx(mapped["nDCG", query], abs=1e-9)
        assert scores["nDCG(gain='exp')@5"] == pytest.approx(mapped["nDCG@5", query], abs=1e-9)


@pytest.mark.parametrize(
    ("case", "line", "reason"),
    [
        ("13_duplicate_docs_run", 3, "document 'd1' appears twice in query 'q1' (first on line 1)"),
        ("20_nan_inf", 5, "the score is NaN"),
        ("21_empty_run", None, "the file is empty; expected a run"),
        ("26_whitespace", 4, "expected 6 fields (query Q0 document rank score tag), found 8"),
    ],
)
def test_a_run_that_cannot_be_trusted_is_refused(
    oracle: Path, case: str, line: int | None, reason: str
) -> None:
    with pytest.raises(FormatError) as caught:
        evaluate(*files(oracle, case), ["AP"])
    assert caught.value.line == line
    assert caught.value.path.endswith(f"{case}.run")
    assert reason in str(caught.value)


@pytest.mark.parametrize("output", ["v10.hp.out", "v10c.hp.out"])
def test_blanks_tabs_and_line_ends_of_any_kind_are_read(oracle: Path, tmp_path: Path, output: str) -> None:
    qrels, _ = files(oracle, "26_whitespace")
    run = tmp_path / "tidy.run"
    run.write_bytes((oracle / "26_whitespace.run").read_bytes().replace(b" extra fields", b""))
    result = evaluate(qrels, open_run(run), OURS.values())
    assert_equal(result, list(lines(oracle / f"26_whitespace.{output}")))


def test_infinite_scores_stand_first_and_last(oracle: Path, tmp_path: Path) -> None:
    qrels, _ = files(oracle, "20_nan_inf")
    run = tmp_path / "inf.run"
    rows = (oracle / "20_nan_inf.run").read_text().splitlines()
    run.write_text("\n".join(row for row in rows if row.startswith("q1")))
    result = evaluate(qrels, open_run(run), OURS.values(), only_common=True)
    expected = [line for line in lines(oracle / "20_nan_inf.v10.hp.out") if line[1] == "q1"]
    assert_equal(result, expected)


@pytest.mark.parametrize("run", ["bm25base_p", "p_bert", "ICT-BERT2"])
@pytest.mark.parametrize(("kind", "rel"), [("trec_eval", 1), ("passages-eval", 2)])
def test_the_official_scores_of_trec_dl_2019(shared: Path, run: str, kind: str, rel: int) -> None:
    folder = shared / "trec_dl2019"
    official = json.loads((folder / "official_scores.json").read_text())[run][kind]
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    names = {theirs: str(parse(_at_level(OURS[theirs], rel))) for theirs in official}
    path, single = folder / f"input.{run}.gz", ScoreOrder(single_precision=True)
    result = evaluate(qrels, open_run(path), names.values())
    single_result = evaluate(qrels, open_run(path), names.values(), order=single)
    assert {
        theirs: round(single_result.estimates[n].value or 0, 4) for theirs, n in names.items()
    } == official
    match_result = {theirs: result.estimates[name].value for theirs, name in names.items()}
    assert {name: round(v or 0, 4) for name, v in match_result.items()} == official
    assert result.counts.judged_queries == 43
    assert result.counts.unjudged_in_run == 157


def _at_level(measure: str, rel: int) -> str:
    """The measure with this grade as the least that is relevant, where it has such a grade."""
    name, _, cutoff = measure.partition("@")
    return measure if name == "nDCG" else f"{name}(rel={rel})" + (f"@{cutoff}" if cutoff else "")
