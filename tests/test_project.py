"""assay.toml: where the data is, everything wrong with it at once, and the gate it describes."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.errors import AssayError, ConfigurationError, FormatError, InputError
from assay.project.latencies import read_latencies
from assay.project.project import open_project
from assay.project.settings import read_settings

N = 40
FLOOR = '[[gate.rules]]\nmeasure = "RR@10"\nat_least = 0.6\n'
MARGIN = '[[gate.rules]]\nmeasure = "RR@10"\nno_worse_than = 0.02\n'
BUDGETS = """
[[gate.rules]]
latency = "p95"
at_most = 200
[[gate.rules]]
figure = "cost"
at_most = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project's files: the candidate finds first what the baseline finds second."""
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(N)))
    (tmp_path / "new.run").write_text("".join(f"q{i} Q0 a 1 1.0 t\n" for i in range(N)))
    old = "".join(f"q{i} Q0 x 1 1.0 t\nq{i} Q0 a 2 0.5 t\n" for i in range(N))
    (tmp_path / "old.run").write_text(old)
    return tmp_path


def written(
    folder: Path, rules: str = FLOOR, data: str = "", candidate: str = "", baseline: str = ""
) -> Path:
    """An assay.toml with these rules and more fields."""
    path = folder / "assay.toml"
    path.write_text(
        f'[data]\nqrels = "qrels.txt"\n{data}\n[baseline]\n{baseline}\n'
        f'[candidate]\nrun = "new.run"\n{candidate}\n{rules}'
    )
    return path


def problems(path: Path) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        open_project(path).gate()
    return caught.value.problems


def test_paths_are_from_the_folder_of_the_project_on(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    verdict = open_project(written(folder)).gate()
    assert (verdict.status, verdict.queries, list(verdict.counts)) == ("passed", N, ["new"])


def test_other_runs_take_the_place_of_those_that_are_named(folder: Path) -> None:
    path = written(folder, MARGIN, baseline='run = "old.run"')
    assert open_project(path).gate().status == "passed"
    swapped = open_project(path, candidate=str(folder / "old.run"), baseline=str(folder / "new.run")).gate()
    assert (swapped.status, list(swapped.counts)) == ("failed", ["new", "old"])


def test_slices_formats_and_columns_are_those_that_are_named(folder: Path) -> None:
    rows = "".join(f"q{i},{'ab'[i % 2]}\n" for i in range(N))
    (folder / "queries.csv").write_text("who,team\n" + rows)
    data = 'queries = "queries.csv"\ncolumns = ["queries:query_id=who"]\nfrom = ["run=trec"]'
    verdict = open_project(written(folder, FLOOR + 'by = "team"\n', data)).gate()
    assert [check.slice for check in verdict.checks] == ["all", "team: a", "team: b"]


def test_latencies_and_figures_are_read_beside_the_run(folder: Path) -> None:
    (folder / "ms.csv").write_text("query_id,latency_ms\n" + "q,120.5\n" * 200)
    (folder / "figures.json").write_text('{"cost": 0.8}')
    path = written(folder, BUDGETS, candidate='latencies = "ms.csv"\nfigures = "figures.json"')
    verdict = open_project(path).gate()
    assert [(check.status, check.value.value) for check in verdict.checks] == [
        ("passed", 120.5),
        ("passed", 0.8),
    ]


def test_what_differs_between_the_configurations_is_shown_with_the_verdict(folder: Path) -> None:
    (folder / "old.toml").write_text('model = "small"\nk = 10\n')
    (folder / "new.json").write_text('{"model": "large", "k": 10}')
    path = written(folder, MARGIN, "", 'config = "new.json"', 'run = "old.run"\nconfig = "old.toml"')
    comparisons = open_project(path).gate().comparisons
    assert comparisons is not None
    assert comparisons.configuration == {"model": {"old": "small", "new": "large"}}


def test_everything_wrong_with_a_project_is_said_at_once_by_field(folder: Path) -> None:
    path = folder / "assay.toml"
    path.write_text(
        '[data]\nqrel = "qrels.txt"\n[candidat]\nrun = "x"\n[baseline]\nrun = 5\nfigures = 3\n'
        '[gate]\nlevel = 95\n[[gate.rules]]\nmeasure = "nDGC@10"\nat_least = 0.4\n'
    )
    with pytest.raises(ConfigurationError) as caught:
        open_project(path)
    assert str(caught.value).startswith(f"{path}: 7 settings are wrong\n")
    found = caught.value.problems
    assert found["data.qrel"] == "there is no such setting; did you mean qrels?"
    assert found["candidat"] == "there is no such setting; did you mean candidate?"
    assert found.keys() >= {"data.qrels", "baseline.run", "baseline.figures", "gate.level"}
    assert "did you mean nDCG?" in found["gate.rules[1].measure"]


def test_every_missing_file_is_named_at_once(folder: Path) -> None:
    path = written(
        folder,
        MARGIN,
        'queries = "queries.tsv"\ndocuments = "docs.tsv"',
        'latencies = "ms.csv"',
        'run = "gone.run"\nconfig = "gone.toml"',
    )
    assert problems(path) == {
        field: f"there is no {folder / name}"
        for field, name in {
            "data.queries": "queries.tsv",
            "data.documents": "docs.tsv",
            "baseline.run": "gone.run",
            "baseline.config": "gone.toml",
            "candidate.latencies": "ms.csv",
        }.items()
    }


def test_all_that_the_rules_need_is_asked_for_at_once(folder: Path) -> None:
    path = written(folder, MARGIN + BUDGETS)
    path.write_text(path.read_text().replace('run = "new.run"', ""))
    found = problems(path)
    assert list(found) == ["candidate.run", "baseline.run", "candidate.latencies", "candidate.figures.cost"]
    assert "--candidate" in found["candidate.run"]
    assert "--baseline" in found["baseline.run"]


def test_a_figure_that_is_no_number_is_refused_by_its_field(folder: Path) -> None:
    path = written(folder, candidate='figures = { cost = "low", p = { value = 1, low = 2 } }')
    assert list(problems(path)) == ["candidate.figures.cost", "candidate.figures.p"]


def test_a_file_of_figures_that_is_not_there_is_one_of_the_problems(folder: Path) -> None:
    path = written(folder, MARGIN + BUDGETS, 'queries = "gone.csv"', 'figures = "gone.json"')
    found = problems(path)
    assert found["candidate.figures"] == f"there is no {folder / 'gone.json'}"
    assert sorted(found) == ["baseline.run", "candidate.figures", "candidate.latencies", "data.queries"]


def test_a_file_that_does_not_parse_is_named_with_its_line(folder: Path) -> None:
    path = folder / "assay.toml"
    path.write_text('[data]\nqrels = "qrels.txt"\nqueries =\n')
    with pytest.raises(FormatError, match=r"assay\.toml: expected settings in TOML: .*line 3"):
        open_project(path)


def test_a_project_that_is_not_there_says_how_to_make_one(folder: Path) -> None:
    with pytest.raises(InputError, match=r"there is no .*assay\.toml: write one .*--project"):
        open_project(folder / "assay.toml")


def test_settings_are_tables_by_name(folder: Path) -> None:
    (folder / "list.json").write_text("[1]")
    with pytest.raises(FormatError, match="expected settings by name, found list"):
        read_settings(folder / "list.json")


def test_settings_that_are_no_text_are_refused(folder: Path) -> None:
    (folder / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"x\.toml: expected settings in TOML, found no text"):
        read_settings(folder / "x.toml")


# Latencies


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ms.csv", "latency_ms\n12.5\n80\n"),
        ("ms.csv", "query_id,latency_ms\nq1,12.5\nq2,80\n"),
        ("ms.tsv", "latency_ms\tquery_id\n12.5\tq1\n80\tq2\n"),
        ("ms.txt", "12.5\n80\n"),
        ("ms.json", "[12.5, 80]"),
        ("ms.json", '[{"latency_ms": 12.5}, {"latency_ms": 80}]'),
        ("ms.jsonl", '{"latency_ms": 12.5}\n{"latency_ms": 80}\n'),
    ],
)
def test_latencies_are_a_column_or_a_number_a_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_latencies(str(tmp_path / name)).tolist() == [12.5, 80.0]


def test_latencies_are_read_from_columnar_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "latency_ms": [12.5, 80.0]})
    frame.write_parquet(tmp_path / "ms.parquet")
    frame.write_ipc(tmp_path / "ms.arrow")
    for name in ("ms.parquet", "ms.arrow"):
        assert np.array_equal(read_latencies(str(tmp_path / name)), [12.5, 80.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "expected a column latency_ms, found a, b"),
        ("latency_s\n0.5\n", "expected a column latency_ms, found latency_s"),
        ("latency_ms\n12\nfast\n", "found 'fast' in row 2"),
        ("latency_ms\n-3\n", "found '-3' in row 1"),
        ("latency_ms\ninf\n", "found 'inf' in row 1"),
        ("latency_ms\n", "found none"),
        ("", "expected latencies"),
    ],
)
def test_latencies_that_cannot_be_are_refused_with_their_row(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "ms.csv").write_text(text)
    with pytest.raises(FormatError, match=words):
        read_latencies(str(tmp_path / "ms.csv"))


def test_a_bad_file_of_latencies_is_bad_input_of_the_gate(folder: Path) -> None:
    (folder / "ms.csv").write_text("latency_ms\nfast\n")
    (folder / "figures.json").write_text(json.dumps({"cost": 1}))
    path = written(folder, BUDGETS, candidate='latencies = "ms.csv"\nfigures = "figures.json"')
    with pytest.raises(AssayError) as caught:
        open_project(path).gate()
    assert caught.value.exit_code == 2
