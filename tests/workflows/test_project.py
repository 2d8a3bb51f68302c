"""The settings of an assay.toml: everything wrong with them is reported at once."""

from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError, FormatError, InputError
from assay.workflows.project import open_project
from tests.workflows.gate_project import BUDGETS, MARGIN, write_project, write_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_runs(tmp_path)


def problems(path: Path) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        open_project(path).check_files()
    return caught.value.problems


def test_all_problems_of_a_project_are_reported_at_once_by_setting(folder: Path) -> None:
    path = folder / "assay.toml"
    path.write_text(
        '[data]\nqrel = "qrels.txt"\n[candidat]\nrun = "x"\n[baseline]\nrun = 5\nfigures = 3\n'
        '[gate]\nlevel = 95\n[[gate.rules]]\nmeasure = "nDGC@10"\nat_least = 0.4\n'
    )
    with pytest.raises(ConfigurationError) as caught:
        open_project(path)
    assert str(caught.value).startswith(f"{path}: 7 settings are wrong\n")
    settings_problems = caught.value.problems
    assert settings_problems["data.qrel"] == "there is no such setting; did you mean qrels?"
    assert settings_problems["candidat"] == "there is no such setting; did you mean candidate?"
    assert settings_problems.keys() >= {"data.qrels", "baseline.run", "baseline.figures", "gate.level"}
    assert "did you mean nDCG?" in settings_problems["gate.rules[1].measure"]


def test_every_missing_file_is_named_at_once(folder: Path) -> None:
    path = write_project(
        folder,
        MARGIN,
        'queries = "queries.tsv"\ndocuments = "docs.tsv"',
        'latencies = "ms.csv"',
        'run = "gone.run"\nconfig = "gone.toml"',
    )
    found = problems(path)
    advice = " (`assay run` writes the run of a system that returns documents)"
    assert found.pop("baseline.run") == f"there is no {folder / 'gone.run'}{advice}"
    assert found == {
        field: f"there is no {folder / name}"
        for field, name in {
            "data.queries": "queries.tsv",
            "data.documents": "docs.tsv",
            "baseline.config": "gone.toml",
            "candidate.latencies": "ms.csv",
        }.items()
    }


def test_all_inputs_that_the_rules_need_are_reported_at_once(folder: Path) -> None:
    path = write_project(folder, MARGIN + BUDGETS)
    path.write_text(path.read_text().replace('run = "new.run"', ""))
    settings_problems = problems(path)
    assert list(settings_problems) == [
        "candidate.run",
        "baseline.run",
        "candidate.latencies",
        "candidate.figures.cost",
    ]
    assert "--candidate" in settings_problems["candidate.run"]
    assert "--baseline" in settings_problems["baseline.run"]


def test_a_figure_that_is_no_number_is_refused(folder: Path) -> None:
    path = write_project(folder, candidate='figures = { cost = "low", p = { value = 1, low = 2 } }')
    assert list(problems(path)) == ["candidate.figures.cost", "candidate.figures.p"]


def test_a_missing_file_of_figures_is_one_of_the_problems(folder: Path) -> None:
    path = write_project(folder, MARGIN + BUDGETS, 'queries = "gone.csv"', 'figures = "gone.json"')
    settings_problems = problems(path)
    assert settings_problems["candidate.figures"] == f"there is no {folder / 'gone.json'}"
    assert sorted(settings_problems) == [
        "baseline.run",
        "candidate.figures",
        "candidate.latencies",
        "data.queries",
    ]


def test_a_file_that_does_not_parse_is_named_with_its_line(folder: Path) -> None:
    path = folder / "assay.toml"
    path.write_text('[data]\nqrels = "qrels.txt"\nqueries =\n')
    with pytest.raises(FormatError, match=r"assay\.toml: expected settings in TOML: .*line 3"):
        open_project(path)


def test_a_missing_project_says_how_to_write_one(folder: Path) -> None:
    with pytest.raises(
        InputError, match=r"there is no .*assay\.toml: `assay init` writes an assay\.toml, .*--project"
    ):
        open_project(folder / "assay.toml")


def test_the_id_of_a_collection_is_not_a_path_in_the_folder_of_the_project(folder: Path) -> None:
    path = folder / "assay.toml"
    path.write_text(
        '[data]\nqrels = "ir_datasets:vaswani"\n[candidate]\nrun = "missing.run"\n'
        '[[gate.rules]]\nmeasure = "RR"\nat_least = 0.4\n'
    )
    assert open_project(path).files.qrels == "ir_datasets:vaswani"
    assert problems(path).keys() == {"candidate.run"}
