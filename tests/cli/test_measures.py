"""assay measures: what it lists, shows and recommends, and its exit codes."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.measures import ALIASES, DEFINITIONS, Ranking, measure, parse
from assay.measures.purposes import ADVICE, PURPOSES
from assay.views import FORMATS

QRELS = "q1 0 a 1\nq1 0 x 0\nq2 0 c 1\n"
KEYS = """name own purposes typical what definition use avoid examples parameters required cutoff
over_queries values better aliases trec_eval"""
RUN = "q1 Q0 a 1 0.9 t\nq2 Q0 x 1 0.9 t\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "RUN").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call_measures(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["measures", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_all_measures_are_listed_by_purpose(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_measures(capsys)
    assert code == 0
    assert all(f"{purpose}\n- {description}" in out for purpose, description in PURPOSES.items())
    assert all(text in out for advice in ADVICE.values() for text in advice.typical.values())
    row = next(line for line in out.splitlines() if line.startswith("ZeroHit@10"))
    assert row.split("  ")[-1] == "lower"
    assert "assay measures --for" in err


def test_lines_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = [
        call_measures(capsys, *argv)[1] for argv in ([], [*ADVICE], ["--for", "RAG"], ["--for", "zebras"])
    ]
    assert max(len(line) for out in outputs for line in out.splitlines()) <= 120


def test_a_user_defined_measure_is_listed_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    @measure("ListedOwn", weight=2)
    def own(ranking: Ranking, weight: int) -> float:
        """What I count."""
        return float(weight)

    try:
        _, out, _ = call_measures(capsys)
        _, full, _ = call_measures(capsys, "ListedOwn")
        _, data, _ = call_measures(capsys, "ListedOwn", "--format", "json")
    finally:
        del DEFINITIONS["ListedOwn"], ALIASES["listedown"]
    assert "ListedOwn" in out.split("your own")[1]
    assert "- for: your own\n" in full
    assert "- parameters: weight = 2\n" in full
    (plain,) = json.loads(data)["measures"]
    assert (plain["own"], plain["purposes"], plain["use"]) == (True, [], None)


def test_one_measure_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_measures(capsys, "ndcg")
    assert code == 0
    assert out.startswith("nDCG\n- definition: DCG over the DCG of the best order")
    for line in (
        "- for: graded ranking, user-facing precision",
        "- when to use it: judgments have grades",
        "- when not to use it: ",
        "- written: nDCG@10, nDCG(gain='exp')@10",
        "- parameters: gain = 'linear'",
        "- cutoff: @k, may be left out",
        "- over queries: mean, Gaffke",
        "- values: 0 … 1; better: higher",
        "- also read as: ndcg, ndcg_cut_K",
    ):
        assert line in out


def test_a_required_parameter_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_measures(capsys, "Robustness-0.3@10")
    assert "- parameters: delta (required), rel = 1" in out


def test_several_measures_are_shown_each_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call_measures(capsys, "MRR", "RR@10", "AP")
    assert [line for line in out.splitlines() if line in ("RR", "AP")] == ["RR", "AP"]


def test_a_described_use_gets_measures_reasons_and_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_measures(capsys, "--for", "search that feeds a reranker")
    assert (code, err) == (0, "")
    assert out.startswith("the stage before a reranker, because of: reranker\n")
    assert "- R@100 (Recall@100), retrieval stage: a reranker orders what it gets" in out
    command = "assay eval QRELS RUN -m R@100 -m nDCG@10 -m 'Robustness(delta=0.9)@100' -m ZeroHit@100"
    assert out.splitlines()[-1] == command


def test_the_command_runs_on_the_judgments_it_was_made_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my qrels.txt").write_text(QRELS)
    _, out, _ = call_measures(capsys, "--for", "retrieval for RAG", "--qrels", "my qrels.txt")
    argv = shlex.split(out.splitlines()[-1])
    assert argv[:4] == ["assay", "eval", "my qrels.txt", "RUN"]
    assert run(argv[1:]) == 0


def test_without_a_match_the_known_words_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_measures(capsys, "--for", "zebras")
    assert code == 0
    assert "nothing was recognised in “zebras”: these measures suit any search" in out
    assert "re-rank…" in out
    assert "-m nDCG@10 -m R@100 -m RR@10 -m 'Robustness(delta=0.3)@10' -m ZeroHit@10" in out


def test_judgments_are_inspected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_measures(capsys, "--for", "RAG", "--qrels", "qrels.txt")
    assert code == 0
    assert "binary judgments of 2 queries, 1.5 judged and 1.0 relevant documents each; 100 % of those" in out
    assert (
        "- Success@10 (HitRate@10), retrieval stage: 100 % of the queries have one relevant document" in out
    )
    assert "(because of: rag, the judgments)" in out


def test_judgments_alone_are_enough(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_measures(capsys, "--qrels", "qrels.txt")
    assert code == 0
    assert out.startswith("no use was described (--for)")
    assert "known words" not in out


def test_judgments_may_have_other_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "q.csv").write_text("who,article,grade\nq1,a,1\n")
    columns = ["--columns", "query_id=who", "--columns", "doc_id=article"]
    code, out, _ = call_measures(capsys, "--qrels", "q.csv", *columns)
    assert (code, "judgments of 1 queries" in out) == (0, True)


def test_a_cutoff_is_filled_in_and_one_from_the_description_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "-m RR@3 -m Success@1" in call_measures(capsys, "--for", "FAQ", "-k", "3")[1]
    _, out, _ = call_measures(capsys, "--for", "RAG that reads the top 20")
    assert "a cutoff of 20, because of: top 20" in out
    assert "-m R@20" in out
    assert "a cutoff of" not in call_measures(capsys, "--for", "RAG that reads the top 20", "-k", "5")[1]


def test_json_lists_measures_under_stable_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_measures(capsys, "--format", "json")
    plain = {row["name"]: row for row in json.loads(out)["measures"]}
    assert (code, err) == (0, "")
    assert set(ADVICE) <= set(plain)
    assert " ".join(plain["Robustness"]) == " ".join(KEYS.split())
    assert plain["Robustness"]["required"] == ["delta"]
    assert plain["ZeroHit"]["better"] == "lower"
    assert plain["AP"]["trec_eval"] == ["map", "map_cut_K"]


def test_json_of_a_recommendation_has_stable_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_measures(capsys, "--for", "RAG", "--qrels", "qrels.txt", "--format", "json")
    plain = json.loads(out)
    assert code == 0
    assert " ".join(plain) == "description recognised known_words judgments recommendations command"
    assert plain["recognised"] == [{"use": "retrieval for a language model", "because": ["rag"]}]
    assert " ".join(plain["judgments"]) == "queries judged_per_query relevant_per_query single graded"
    assert " ".join(plain["recommendations"][0]) == "measure term purpose why because"
    assert all(parse(r["measure"]) for r in plain["recommendations"])


def test_json_without_judgments_has_null(capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(call_measures(capsys, "--for", "zebras", "--format", "json")[1])
    assert (plain["judgments"], plain["recognised"]) == (None, [])


def test_csv_has_a_row_for_each_measure(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(call_measures(capsys, "--format", "csv")[1])))
    purposes = {row["name"]: row["purposes"] for row in rows}
    assert purposes["nDCG"] == "graded ranking; user-facing precision"
    plain = list(csv.DictReader(io.StringIO(call_measures(capsys, "--for", "FAQ", "--format", "csv")[1])))
    assert [row["measure"] for row in plain] == ["RR@10", "Success@1", "ZeroHit@10"]
    assert plain[0]["because"] == "faq"


@pytest.mark.parametrize("style", [*FORMATS, "json"])
@pytest.mark.parametrize("argv", [[], ["nDCG"], ["--for", "RAG"]])
def test_every_format_prints_everything(
    capsys: pytest.CaptureFixture[str], argv: list[str], style: str
) -> None:
    code, out, _ = call_measures(capsys, *argv, "--format", style)
    assert code == 0
    assert ("R@10" if argv[1:] else "nDCG") in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["nDGC"], "did you mean nDCG?"),
        (["zebra"], "known: P, R, RCap"),
        (["nDCG", "--for", "RAG"], "not both"),
        (["-k", "5"], "-k goes with --for or --qrels"),
        (["--for", "RAG", "-k", "0"], "at least 1"),
        (["--qrels", "none.txt"], "none.txt: cannot be read"),
        (["--format", "xml"], "invalid choice"),
    ],
)
def test_wrong_use_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    code, out, err = call_measures(capsys, *argv)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
