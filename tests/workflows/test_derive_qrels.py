"""Qrels by a rule, from files to files."""

import json
from pathlib import Path

import polars as pl
import pytest

from assay.cli import call
from assay.core.errors import InputError
from assay.core.tables import Qrels
from assay.datasets import read
from assay.judging.aggregation import Rule
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.derive_qrels import DeriveQrelsRequest, derive_qrels

LABELS = "query_id,doc_id,ann,bob,cy\nq1,a,2,2,0\nq1,b,0,1,\nq2,a,1,1,1\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(LABELS)
    return tmp_path


def derive(rule: str = "majority", ties: str = "lower", **files: str) -> dict[str, object]:
    request = DeriveQrelsRequest(judgments=["labels.csv"], rule=Rule(rule, ties), **files)
    return derive_qrels(request).to_dict()


def test_qrels_pairs_and_the_recipe_are_written() -> None:
    result = derive("dawid-skene", ties="", output="qrels.txt", pairs="pairs.csv")
    assert result["files"] == {"qrels": "qrels.txt", "pairs": "pairs.csv", "recipe": "qrels.recipe.json"}
    assert read("qrels.txt", "qrels").to_dict()["q2"] == {"a": 1}
    pairs = pl.read_csv("pairs.csv")
    assert pairs.columns[:4] == ["query_id", "doc_id", "grade", "confidence"]
    assert pairs.select(pl.sum_horizontal("p_0", "p_1", "p_2")).to_series().to_list() == pytest.approx(
        [1] * 3
    )
    recipe = json.loads(Path("qrels.recipe.json").read_text())["labels"]
    assert (recipe["rule"], recipe["judges"]) == ("dawid-skene", ["ann", "bob", "cy"])


def test_a_version_of_an_evaluation_set_has_the_rule_and_the_judgments() -> None:
    derive(output="qrels.txt", recipe="labels.json")
    request = ImportDatasetRequest(
        name="shop", source="qrels.txt", judgments="labels.csv", recipes=["labels.json"], store="store"
    )
    version = import_dataset(request).version
    assert version.recipe["labels"]["rule"] == "majority"
    assert version.counts == {"labels": 3, "judgments": 8}
    again = DeriveQrelsRequest(judgments=["dataset:shop"], rule=Rule("majority", "lower"), store="store")
    assert derive_qrels(again).aggregation.qrels() == Qrels({"q1": {"a": 2, "b": 0}, "q2": {"a": 1}})


def test_files_of_the_same_name_are_refused() -> None:
    with pytest.raises(InputError, match="must be different files"):
        derive(output="x.csv", pairs="x.csv")
    with pytest.raises(InputError, match="--pairs expects a file name with"):
        derive(pairs="x.txt")


@pytest.mark.parametrize("style", ["table", "md", "html", "latex"])
def test_every_format_says_what_the_rule_decided(style: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "qrels", "labels.csv", "--rule", "dawid-skene", "--format", style]) == 0
    shown = capsys.readouterr().out
    assert "converged after" in shown
    assert "says 2" in shown


def test_the_command_prints_json_and_csv_of_the_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "qrels", "labels.csv", "--ties", "none", "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["rule"], result["ties"], result["grades"]) == ("majority", "none", {"1": 1, "2": 1})
    assert result["counts"]["unlabelled"] == 1
    assert call(["judge", "qrels", "labels.csv", "--ties", "none", "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "q1,b,,,,2,0,true,"


def test_the_table_says_how_ties_were_decided(capsys: pytest.CaptureFixture[str]) -> None:
    call(["judge", "qrels", "labels.csv"])
    assert "1 pairs (33.3%) have tied votes; these get one of the tied grades" in capsys.readouterr().out
    command = ["judge", "qrels", "labels.csv", "--rule", "mean", "--ties"]
    for ties, words in {"lower": "rounded down", "higher": "rounded up", "none": "no label"}.items():
        call([*command, ties])
        assert "1 pairs (33.3%) have halves" in (shown := capsys.readouterr().out)
        assert words in shown


def test_data_that_decide_nothing_and_wrong_input_have_their_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("one.csv").write_text("query_id,doc_id,ann\nq1,a,2\n")
    assert call(["judge", "qrels", "one.csv", "--rule", "dawid-skene"]) == 3
    assert call(["judge", "qrels", "missing.csv"]) == 2
    assert "missing.csv" in capsys.readouterr().err


def test_the_labels_are_not_replaced_by_the_qrels() -> None:
    for files in (
        {"output": "labels.csv"},
        {"pairs": "labels.csv"},
        {"output": "q.txt", "recipe": "labels.csv"},
    ):
        with pytest.raises(InputError, match=r"labels.csv is also read, and would be lost"):
            derive(**files)
    with pytest.raises(InputError, match="also read"):
        derive_qrels(
            DeriveQrelsRequest(judgments=["ann=labels.csv"], rule=Rule("majority"), output="labels.csv")
        )
    assert Path("labels.csv").read_text() == LABELS
