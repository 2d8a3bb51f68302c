"""assay judge estimate, and eval and compare with labels of people and of a model."""

import csv
import io
import json
from pathlib import Path

import pytest

from assay import Qrels, write
from assay.core.tables import Run
from tests.judging.estimate.test_estimates import HUMAN, MODEL, RUNS, Labels, some_pairs, some_queries

from .test_main import call_assay

ARGUMENTS = ("judge", "estimate", "model.qrels", "--human")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, labels in (("model", MODEL), ("queries", some_queries(40)), ("pairs", some_pairs(0.2))):
        write(Qrels(labels), f"{name}.qrels")
    for run in RUNS:
        write(run, f"{run.name}.run")
    lines = ["query_id,kind", *(f"{q},{'odd' if i % 2 else 'even'}" for i, q in enumerate(MODEL))]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_json_has_the_documented_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_assay(
        capsys, *ARGUMENTS, "queries.qrels", "old.run", "new.run", "-m", "nDCG@10", "--format", "json"
    )
    data = json.loads(out)
    first = data["estimates"][0]
    assert (code, err) == (0, "")
    assert [e["run"] for e in data["estimates"]] == ["old", "new"]
    assert {"run", "measure", "combined", "human_only", "model_only", "effective_n"} <= set(first)
    assert set(first["combined"]) == {"value", "low", "high", "n"}
    assert (first["combined"]["n"], first["model_only"]["n"]) == (40, 120)
    assert set(data["judge_next"][0]) >= {"query_id", "doc_id"}
    assert data["differences"][0]["p"] < 0.05


def test_files_may_stand_before_and_after_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders = (
        ["judge", "estimate", "model.qrels", "old.run", "--human", "queries.qrels", "new.run"],
        ["judge", "estimate", "--human", "queries.qrels", "model.qrels", "old.run", "new.run"],
        [*ARGUMENTS, "queries.qrels", "old.run", "new.run"],
    )
    outputs = [call_assay(capsys, *argv) for argv in orders]
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0][0] == 0


def test_the_table_says_what_the_model_adds_and_where_it_misleads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = call_assay(capsys, *ARGUMENTS, "pairs.qrels", "-m", "grade")
    text = " ".join(out.split())
    assert "% narrower than by people alone, as with" in text
    assert "the model alone says" in text
    assert "pairs were drawn from all pairs; the unit is the pair" in text


@pytest.mark.parametrize("style", ["csv", "md", "html", "latex"])
def test_every_format_has_the_value(folder: Path, capsys: pytest.CaptureFixture[str], style: str) -> None:
    argv = [*ARGUMENTS, "queries.qrels", "old.run", "-m", "P@5", "--by", "kind", "--queries", "table.csv"]
    _, plain, _ = call_assay(capsys, *argv, "--format", "json")
    value = json.loads(plain)["estimates"][0]["combined"]["value"]
    code, out, _ = call_assay(capsys, *argv, "--format", style)
    assert code == 0
    assert f"{value:.4f}"[:5] in out
    if style == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert [row["slice"] for row in rows[::3]] == ["", "even", "odd"]


def test_the_pool_of_the_next_labels_is_read_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("next.csv", "next.jsonl"):
        argv = [*ARGUMENTS, "pairs.qrels", "-m", "grade", "--next", "30", "-o", path]
        assert call_assay(capsys, *argv)[0] == 0
        lines = Path(path).read_text().splitlines()
        rows = list(csv.DictReader(lines)) if path.endswith("csv") else [json.loads(line) for line in lines]
        labels: Labels = {}
        for row in rows:
            labels.setdefault(row["query_id"], {})[row["doc_id"]] = HUMAN[row["query_id"]][row["doc_id"]]
        write(Qrels(labels), "more.qrels")
        more = [*ARGUMENTS, "more.qrels", "-m", "grade", "--pairs", path, "--format", "json"]
        code, out, _ = call_assay(capsys, *more)
        assert code == 0
        assert json.loads(out)["estimates"][0]["combined"]["n"] == len(rows)


def test_probabilities_beside_the_human_labels_are_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(q, d, g, 0.9 if g > 1 else 0.3) for q, docs in some_pairs(0.3).items() for d, g in docs.items()]
    lines = ["query_id,doc_id,grade,inclusion_probability", *(",".join(map(str, row)) for row in rows)]
    Path("weighted.csv").write_text("\n".join(lines) + "\n")
    _, out, _ = call_assay(capsys, *ARGUMENTS, "weighted.csv", "-m", "grade", "--format", "json")
    weights = [1 / chance for *_, chance in rows]
    expected = sum(w * row[2] for w, row in zip(weights, rows, strict=True)) / sum(weights)
    assert json.loads(out)["estimates"][0]["human_only"]["value"] == pytest.approx(expected)


def test_what_cannot_be_estimated_exits_with_3(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_assay(capsys, *ARGUMENTS, "pairs.qrels", "old.run", "-m", "nDCG@10")
    assert (code, out) == (3, "")
    assert "label whole queries, use P@k or DCG@k" in err
    write(Qrels({"q1": {"none": 1}}), "other.qrels")
    assert call_assay(capsys, *ARGUMENTS, "other.qrels")[0] == 3


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--next", "-1"], "--next must be 0 or more"),
        (["-m", "nDCG@10"], "nDCG@10 needs a run"),
        (["--pairs", "table.csv"], "table.csv:2: expected a column doc_id"),
        (["--unit", "document"], "invalid choice: 'document'"),
    ],
)
def test_wrong_use_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str
) -> None:
    code, out, err = call_assay(capsys, *ARGUMENTS, "pairs.qrels", *argv)
    assert (code, out) == (2, "")
    assert words in err


def test_eval_takes_labels_of_people_and_of_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["-m", "nDCG@10", "--format", "json"]
    ways = (
        ["eval", "--human", "queries.qrels", "--model", "model.qrels", "old.run", *options],
        ["eval", "model.qrels", "old.run", "--human", "queries.qrels", *options],
        ["eval", "queries.qrels", "old.run", "--model", "model.qrels", *options],
        ["eval", "queries.qrels", "old.run", "--human", "queries.qrels", "--model", "model.qrels", *options],
    )
    results = [json.loads(call_assay(capsys, *argv)[1]) for argv in ways]
    assert all(result == results[0] for result in results)
    (run,) = results[0]["runs"]
    assert run["mean"]["nDCG@10"] == results[0]["estimates"][0]["combined"]
    code, _, err = call_assay(capsys, *ways[0], "--save", "x")
    assert (code, "--save needs one set of judgments" in err) == (2, True)
    code, _, err = call_assay(
        capsys, "eval", "--human", "queries.qrels", "--model", "model.qrels", "model.qrels"
    )
    assert (code, "expected one run or more" in err) == (2, True)


def test_compare_takes_labels_of_people_and_of_a_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["--human", "queries.qrels", "--model", "model.qrels"]
    code, out, _ = call_assay(
        capsys, "compare", *labels, "old.run", "new.run", "-m", "nDCG@10", "--format", "json"
    )
    result = json.loads(out)
    (comparison,) = result["candidates"][0]["comparisons"]
    assert (code, result["baseline"], result["candidates"][0]["name"]) == (0, "old", "new")
    assert comparison["difference"] == result["differences"][0]["combined"]
    assert comparison["p"] < 0.05
    assert call_assay(capsys, "compare", "model.qrels", "old.run")[0] == 2


def test_runs_keep_the_names_they_are_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(Run(RUNS[0].to_dict()), "third.run")
    argv = [*ARGUMENTS, "queries.qrels", "third.run", "--name", "mine", "--format", "json"]
    assert json.loads(call_assay(capsys, *argv)[1])["estimates"][0]["run"] == "mine"


def test_one_labelled_query_and_all_of_them_are_described(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Qrels({"q7": HUMAN["q7"]}), "one.qrels")
    write(Qrels(HUMAN), "all.qrels")
    one, everything = (
        " ".join(call_assay(capsys, *ARGUMENTS, name, "old.run")[1].split())
        for name in ("one.qrels", "all.qrels")
    )
    assert "from 1 query that people labelled" in one
    assert "no interval: an interval needs 2 human labels or more, found 1" in one
    assert "the same as by people alone: people labelled all of them" in everything
    assert "label next" not in everything


def test_the_human_labels_are_not_replaced_by_the_pairs_to_label_next(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("pairs.qrels").read_text()
    code, _, err = call_assay(capsys, *ARGUMENTS, "pairs.qrels", "--next", "3", "-o", "pairs.qrels")
    assert (code, "pairs.qrels is also read, and would be lost" in err) == (2, True)
    assert Path("pairs.qrels").read_text() == before


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_labels_of_people_alone_say_that_those_of_a_model_are_missing(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    runs = [f"{run.name}.run" for run in RUNS][: 1 if command == "eval" else 2]
    code, _, err = call_assay(capsys, command, "--human", "queries.qrels", *runs)
    assert code == 2
    assert "expected the labels of a model (--model FILE, or the first file) and a run" in err
