"""assay init: the contents of a folder become an assay.toml that runs."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.cli import call as run
from assay.core.tables import Run
from assay.datasets import Collection, helpcentre, write
from assay.workflows.folder_contents import ENDPOINTS, inspect_folder
from assay.workflows.systems import SearchSystems
from tests.projects import project
from tests.services.search_service import DOCUMENTS as SERVED
from tests.services.search_service import serving

QRELS = "".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(30))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and an environment that names no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def init_folder(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Write the file and return what is printed on standard error."""
    assert run(["init", *argv]) == 0
    out, err = capsys.readouterr()
    assert out.strip().endswith("assay.toml")
    return err


def run_and_list_scored() -> list[str]:
    """Run the project and return the systems that have scores."""
    assert run(["run", "-m", "R@10", "--format", "json", "-o", "runs"]) == 0
    return [
        path.stem
        for path in sorted(Path("runs").glob("*.json"))
        if json.loads(path.read_text()).get("scores")
    ]


def test_an_empty_folder_gets_the_built_in_collection_and_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    err = init_folder(capsys)
    assert "the built-in helpcentre is written next to it" in err
    assert "assay run\n  assay gate" in err
    assert run_and_list_scored() == ["bm25", "hybrid", "vectors"]
    assert run(["gate"]) in (0, 1, 3)  # a verdict, whatever it is


def test_files_of_any_format_are_found_and_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder).unlink()
    err = init_folder(capsys)
    assert "found judgments: qrels.txt\nfound queries: queries.jsonl\nfound documents: documents.jsonl" in err
    assert run_and_list_scored() == ["bm25", "hybrid", "vectors"]


def test_a_collection_in_a_subfolder_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries, qrels, documents = helpcentre()
    write(Collection(queries, qrels, documents), folder / "centre", format="beir")
    assert "found judgments: centre\n" in init_folder(capsys)
    assert 'qrels = "centre"\n\n' in (folder / "assay.toml").read_text()
    assert run(["run", "bm25", "-m", "R@10"]) == 0


def test_the_folder_itself_may_be_a_collection(
    folder: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (shared / "cranfield").iterdir():
        shutil.copy(path, folder)
    (folder / "mine.run").write_text("1 Q0 51 1 1.0 t\n")
    contents = inspect_folder(folder)
    assert (
        contents.qrels,
        contents.queries,
        contents.runs,
        contents.has_queries,
        contents.has_documents,
    ) == (
        ".",
        None,
        ["mine.run"],
        True,
        True,
    )


def test_two_runs_are_enough_for_a_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "results").mkdir()
    for age, name in enumerate(["new", "old"]):
        place = folder / "results" / f"{name}.run"
        place.write_text("".join(f"q{i} Q0 a 1 1.0 t\n" for i in range(30)))
        os.utime(place, (1e9 - age, 1e9 - age))
    err = init_folder(capsys)
    assert "name queries" in err
    text = (folder / "assay.toml").read_text()
    assert text.index("results/old.run") < text.index("results/new.run")
    assert run(["gate"]) == 0
    assert "passed" in capsys.readouterr().out
    assert run(["run"]) == 2  # and says why
    assert "data.queries" in capsys.readouterr().err


def test_a_rule_that_demands_an_improvement_is_an_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init_folder(capsys)
    lines = (folder / "assay.toml").read_text().splitlines()
    assert "not_worse_than = 0.02" in lines
    assert "# better_by = 0.01" in lines


def test_further_tables_of_the_same_kind_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder).unlink()
    shutil.copy(folder / "qrels.txt", folder / "train.txt")
    (folder / "times.jsonl").write_text('{"query_id": "q1", "latency_ms": 3}\n')  # nothing to ask
    (folder / "notes.txt").write_text("reset the router, they say\n")
    init_folder(capsys)
    lines = [line for line in (folder / "assay.toml").read_text().splitlines() if "also found" in line]
    assert lines == ["# also found: train.txt"]


def test_an_existing_file_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "assay.toml").write_text("# mine\n")
    assert run(["init"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert (folder / "assay.toml").read_text() == "# mine\n"
    init_folder(capsys, "--force")
    assert "[systems.bm25]" in (folder / "assay.toml").read_text()


def test_endpoints_are_written_as_variables_and_never_as_urls(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(folder).unlink()
    for name in ENDPOINTS:
        monkeypatch.setenv(name, f"http://user:hush-{name}@nowhere.example")
    err, text = init_folder(capsys), (folder / "assay.toml").read_text()
    assert "hush" not in err + text
    assert [name for name in ENDPOINTS if f"${{{name}}}" not in text] == []
    assert "\n[systems.opensearch_url]" in text
    assert "\n# [systems.database]" in text  # has to be completed first


def test_an_endpoint_of_the_environment_is_searched(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\treset the router\nq2\tinvoice\n")
    (folder / "qrels.txt").write_text("q1 0 d2 1\nq2 0 7 1\n")
    with serving() as url:
        monkeypatch.setenv("ASSAY_ENDPOINT", f"{url}/ok")
        init_folder(capsys)
        assert run_and_list_scored() == ["assay_endpoint"]
    contents = (folder / "runs/assay_endpoint.run").read_text().split()
    assert set(contents) & set(SERVED) == {"d1", "d2", "d3", "d4", "7"}


def test_an_endpoint_is_not_used_with_the_built_in_collection(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ENDPOINT", "http://127.0.0.1:9/search")
    init_folder(capsys)
    assert '\n# url = "${ASSAY_ENDPOINT}?q={query}&k={k}"' in (folder / "assay.toml").read_text()
    assert SearchSystems().names == ["bm25", "vectors", "hybrid"]


def test_another_folder_is_named_in_the_next_steps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "assay run --project sub/assay.toml" in init_folder(capsys, "sub")  # it is made
    assert run(["run", "bm25", "hybrid", "--project", "sub/assay.toml", "-m", "R@10"]) == 0
    assert run(["gate", "--project", "sub/assay.toml"]) in (0, 1, 3)  # runs lie where the file looks for them
    assert run(["init", "sub/assay.toml"]) == 2
    assert "expected a folder, found a file" in capsys.readouterr().err


def test_parameters_are_appended_to_an_endpoint_that_has_a_query(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\treset the router\n")
    (folder / "qrels.txt").write_text("q1 0 d2 1\n")
    with serving() as url:
        monkeypatch.setenv("ASSAY_ENDPOINT", f"{url}/ok?index=a")
        init_folder(capsys)
        assert run_and_list_scored() == ["assay_endpoint"]
    assert '"${ASSAY_ENDPOINT}&q={query}&k={k}"' in (folder / "assay.toml").read_text()
    assert "q1 Q0 d2" in (folder / "runs/assay_endpoint.run").read_text()


def test_stages_of_a_pipeline_are_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init_folder(capsys)
    assert run_and_list_scored() == ["bm25", "hybrid", "vectors"]
    (folder / "runs/own.2-may.run").write_text("1 Q0 51 1 1.0 t\n")  # named like one, but nobody's stage
    contents = sorted(inspect_folder(folder).runs)
    assert contents == ["runs/bm25.run", "runs/hybrid.run", "runs/own.2-may.run", "runs/vectors.run"]


def write_guide(folder: Path) -> None:
    queries, qrels, _ = helpcentre()
    write(Collection(queries, qrels), folder / "guide.json", format="guide")


def write_guide_with_documents(folder: Path) -> None:
    write_guide(folder)
    write(helpcentre()[2], folder / "documents.jsonl")


def write_guide_with_runs(folder: Path) -> None:
    write_guide(folder)
    _, qrels, _ = helpcentre()
    for name in ("old", "new"):
        write(Run({query: list(docs) for query, docs in qrels.to_dict().items()}), folder / f"{name}.run")


def write_trec(folder: Path) -> None:
    queries, qrels, documents = helpcentre()
    write(qrels, folder / "qrels.txt")
    write(queries, folder / "queries.tsv")
    write(documents, folder / "documents.jsonl")


def write_beir(folder: Path) -> None:
    queries, qrels, documents = helpcentre()
    write(Collection(queries, qrels, documents), folder, format="beir")


def write_csv(folder: Path) -> None:
    queries, qrels, documents = helpcentre()
    for name, table in (("queries", queries), ("qrels", qrels), ("documents", documents)):
        write(table, folder / f"{name}.csv")


@pytest.mark.parametrize(
    ("write_files", "codes"),
    [
        (write_guide_with_documents, (0, 0)),
        (write_guide_with_runs, (3, 0)),  # the search is still to be named, and the runs are there
        (write_guide, (3, 2)),  # there is nothing to search, and so nothing to decide on
        (write_trec, (0, 0)),
        (write_beir, (0, 0)),
        (write_csv, (0, 0)),
    ],
)
def test_the_file_runs_for_every_kind_of_input(
    folder: Path, capsys: pytest.CaptureFixture[str], write_files: Any, codes: tuple[int, int]
) -> None:
    write_files(folder)
    err = init_folder(capsys)
    assert ("  assay gate" in err) == (codes[1] == 0)
    assert (run(["run", "-m", "nDCG@10"]), run(["gate"])) == codes, capsys.readouterr().err


def test_queries_without_anything_to_search_get_a_system_to_complete(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_guide(folder)
    assert "name documents, or your search as [systems.mine], in it, then: assay run" in init_folder(capsys)
    assert run(["run", "-m", "R@10"]) == 3
    assert "mine returned no document for any of 280 queries" in capsys.readouterr().err
    assert run(["gate"]) == 2
    assert "candidate.run: there is no runs/mine.run (`assay run` writes" in capsys.readouterr().err


def test_one_run_is_checked_against_a_floor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "mine.run").write_text("".join(f"q{i} Q0 a 1 1.0 t\n" for i in range(30)))
    assert "  assay gate" in init_folder(capsys)
    assert run(["gate"]) == 0
    assert "ZeroHit@10 at most 0.5" in capsys.readouterr().out
    text = (folder / "assay.toml").read_text()
    assert '# [baseline]\n# run = "runs/old.run"\n' in text
    assert " \n" not in text


@pytest.mark.parametrize("command", ["run", "gate"])
def test_a_missing_file_is_named_with_the_command_that_writes_it(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run([command]) == 2
    assert (
        f"assay {command}: there is no assay.toml: `assay init` writes an assay.toml"
        in capsys.readouterr().err
    )


def test_files_that_look_like_tables_and_cannot_be_read_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "qrels.txt").write_text("q1 0 a 1\nq1 0 a 1\n")
    (folder / "queries.csv").write_bytes("query_id,text\nq1,caf\xe9\n".encode("latin-1"))
    (folder / "notes.txt").write_text("nothing of interest\n")
    assert run(["init", str(folder)]) == 0
    err = capsys.readouterr().err
    assert "not used: " in err
    assert "qrels.txt:2: document 'a' appears twice" in err
    assert "queries.csv:2: expected UTF-8 text" in err
    assert "notes.txt" not in err
