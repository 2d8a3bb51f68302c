"""assay rag: studies, the choice of delta, and predictors of published tables, from the command line."""

import json
from pathlib import Path

import pytest

from assay.cli import call
from tests.chat_doubles import chat_double
from tests.rag.saved_studies import NAME, save_small_study
from tests.rag.studies import Book, write_published_table

from .test_main import call_assay

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    book = Book(tmp_path_factory.mktemp("book"))
    runs = book.write_runs({"hnsw": lambda row: 5 if row % 3 else 1, "ivf": lambda row: 3})
    with chat_double(converse=book.answers_if(3)) as double:
        options = [("--run", run) for run in runs]
        names = {"exact": "exact.run", "questions": "questions.jsonl", "documents": "corpus.jsonl"}
        options += [(f"--{name}", str(book.path(file))) for name, file in names.items()]
        options += [
            ("--endpoint", double.url),
            ("--model", "double"),
            ("--replies", str(book.path("replies"))),
        ]
        words = [word for option in options for word in option]
        assert call(["rag", "run", *words, "-k", "5", "-o", str(book.path("study.json"))]) == 0
    return str(book.path("study.json"))


def test_the_study_names_its_delta_first(study: str, capsys: Output) -> None:
    code, out, _ = call_assay(capsys, "rag", "show", study)
    assert code == 0
    assert out.startswith("δ = 0.6 (0.6 … 0.6): where accuracy bends.")
    assert "left out as controls: exact" in out


def test_json_of_a_study_has_the_documented_keys(study: str, capsys: Output) -> None:
    code, out, _ = call_assay(capsys, "rag", "delta", study, "--format", "json")
    value = json.loads(out)
    assert code == 0
    assert {"value": 0.6, "low": 0.6, "high": 0.6}.items() <= value["delta"].items()
    configuration = value["configurations"][0]
    assert {"name", "accuracy", "recall", "robustness", "without_retrieval"} <= configuration.keys()
    assert configuration["robustness"]["0.5"].keys() == {"value", "low", "high", "n"}
    assert {"measure", "pearson", "spearman", "r2"} <= value["predictors"][0].keys()


def test_a_saved_study_is_read_by_its_name(tmp_path: Path, capsys: Output) -> None:
    store = str(save_small_study(tmp_path))
    code, out, _ = call_assay(capsys, "rag", "delta", NAME, "--store", store)
    assert code == 0
    assert out.startswith("δ = 0.6")
    code, _, err = call_assay(capsys, "rag", "show", "none", "--store", store)
    assert code == 2
    assert "none is no file that can be read, and no saved study" in err
    assert "save one with `assay rag run --save`" in err


def test_a_study_that_cannot_be_saved_is_refused_before_anything_is_asked(
    study: str, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "file").touch()
    folder = Path(study).parent
    with chat_double() as double:
        words = ["--run", str(folder / "hnsw.run"), "--questions", str(folder / "questions.jsonl")]
        words += ["--documents", str(folder / "corpus.jsonl"), "--endpoint", double.url, "--model", "double"]
        words += ["--save", "study", "--store", str(tmp_path / "file")]
        assert call_assay(capsys, "rag", "run", *words)[0] == 2
        assert not double.bodies


@pytest.mark.parametrize("style", ["csv", "md", "html", "latex"])
@pytest.mark.parametrize("command", ["show", "delta"])
def test_every_format_has_the_levels_or_the_configurations(
    study: str, capsys: Output, command: str, style: str
) -> None:
    code, out, _ = call_assay(capsys, "rag", command, study, "--format", style)
    assert code == 0
    assert "recall" in out or "hnsw" in out


def test_a_share_outside_its_bounds_is_refused(study: str, capsys: Output) -> None:
    code, _, err = call_assay(capsys, "rag", "delta", study, "--share", "2")
    assert code == 2
    assert "--share expects a share above 0 and up to 1, found 2" in err


def test_what_is_no_study_is_refused_by_name(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    code, _, err = call_assay(capsys, "rag", "show", str(path))
    assert code == 2
    assert "other.json" in err
    assert "expected a study that `assay rag run -o FILE` wrote" in err


def test_predict_has_the_documented_keys(tmp_path: Path, capsys: Output) -> None:
    path = write_published_table(tmp_path / "table.csv")
    code, out, _ = call_assay(capsys, "rag", "predict", path, "--format", "json")
    assert code == 0
    scenario = json.loads(out)["scenarios"][0]
    assert {"scenario", "n", "controls", "predictors"} <= scenario.keys()
    assert {"measure", "pearson", "spearman", "r2", "family_error"} <= scenario["predictors"][0].keys()


def test_two_configurations_decide_nothing(tmp_path: Path, capsys: Output) -> None:
    path = write_published_table(tmp_path / "table.csv", rows=3)
    assert call_assay(capsys, "rag", "predict", path)[0] == 3


def test_an_index_is_chosen_by_the_delta_of_a_study(study: str, tmp_path: Path, capsys: Output) -> None:
    table = tmp_path / "published.csv"
    rows = ["algorithm,recall,robustness_0.6,qps", "graph,0.95,0.90,900", "cells,0.94,0.99,700"]
    table.write_text("\n".join(rows) + "\n")
    words = ("select", str(table), "--floor", "robustness=0.95", "--delta-from", study, "--format", "json")
    code, out, _ = call_assay(capsys, *words)
    chosen = json.loads(out)
    assert (code, chosen["winner"]) == (0, "cells")
    assert "robustness-0.6" in json.dumps(chosen["floors"])


def test_a_delta_without_a_figure_to_use_it_is_refused(study: str, tmp_path: Path, capsys: Output) -> None:
    table = tmp_path / "published.csv"
    table.write_text("algorithm,recall,qps\ngraph,0.95,900\n")
    words = ("select", str(table), "--floor", "recall=0.9", "--delta-from", study)
    code, _, err = call_assay(capsys, *words)
    assert code == 2
    assert "such as --floor robustness=0.99" in err
