"""assay init: what lies in a folder becomes an assay.toml, and what it writes runs."""

import json
import os
import shutil
from pathlib import Path

import pytest

from assay.cli import call as run
from assay.datasets import Collection, helpcentre, write
from assay.project.init import ENDPOINTS, look
from assay.project.systems import Systems
from projects import project
from services.search_service import DOCUMENTS as SERVED
from services.search_service import serving

QRELS = "".join(f"q{i} 0 a 1\nq{i} 0 b 0\n" for i in range(30))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and an environment that names no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def made(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """What is said when a file is written."""
    assert run(["init", *argv]) == 0
    out, err = capsys.readouterr()
    assert out.strip().endswith("assay.toml")
    return err


def scored() -> list[str]:
    """Run what was written; the systems that have scores."""
    assert run(["run", "-m", "R@10", "--format", "json", "-o", "runs"]) == 0
    return [
        path.stem
        for path in sorted(Path("runs").glob("*.json"))
        if json.loads(path.read_text()).get("scores")
    ]


def test_an_empty_folder_gets_the_built_in_collection_and_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    err = made(capsys)
    assert "the built-in helpcentre is written beside" in err
    assert "assay run\n  assay gate" in err
    assert scored() == ["bm25", "hybrid", "vectors"]
    assert run(["gate"]) in (0, 1, 3)  # a verdict, whatever it is


def test_files_of_any_format_are_found_and_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder).unlink()
    err = made(capsys)
    assert "found judgments: qrels.txt\nfound queries: queries.jsonl\nfound documents: documents.jsonl" in err
    assert scored() == ["bm25", "hybrid", "vectors"]


def test_a_collection_in_a_folder_is_found_with_all_it_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries, qrels, documents = helpcentre()
    write(Collection(queries, qrels, documents), folder / "centre", format="beir")
    assert "found judgments: centre\n" in made(capsys)
    assert 'qrels = "centre"\n\n' in (folder / "assay.toml").read_text()
    assert run(["run", "bm25", "-m", "R@10"]) == 0


def test_the_folder_itself_may_be_a_collection(
    folder: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (shared / "cranfield").iterdir():
        shutil.copy(path, folder)
    (folder / "mine.run").write_text("1 Q0 51 1 1.0 t\n")
    found = look(folder)
    assert (found.qrels, found.queries, found.runs, found.asked, found.searched) == (
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
    err = made(capsys)
    assert "name queries" in err
    text = (folder / "assay.toml").read_text()
    assert text.index("results/old.run") < text.index("results/new.run")
    assert run(["gate"]) == 0
    assert "passed" in capsys.readouterr().out
    assert run(["run"]) == 2  # and says why
    assert "data.queries" in capsys.readouterr().err


def test_what_would_have_done_as_well_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder).unlink()
    shutil.copy(folder / "qrels.txt", folder / "train.txt")
    (folder / "times.jsonl").write_text('{"query_id": "q1", "latency_ms": 3}\n')  # nothing to ask
    (folder / "notes.txt").write_text("reset the router, they say\n")
    made(capsys)
    told = [line for line in (folder / "assay.toml").read_text().splitlines() if "also found" in line]
    assert told == ["# also found: train.txt"]


def test_what_is_there_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "assay.toml").write_text("# mine\n")
    assert run(["init"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert (folder / "assay.toml").read_text() == "# mine\n"
    made(capsys, "--force")
    assert "[systems.bm25]" in (folder / "assay.toml").read_text()


def test_endpoints_are_named_and_never_written_out(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(folder).unlink()
    for name in ENDPOINTS:
        monkeypatch.setenv(name, f"http://user:hush-{name}@nowhere.example")
    err, text = made(capsys), (folder / "assay.toml").read_text()
    assert "hush" not in err + text
    assert [name for name in ENDPOINTS if f"${{{name}}}" not in text] == []
    assert "\n[systems.opensearch_url]" in text
    assert "\n# [systems.database]" in text  # has to be completed first


def test_an_endpoint_that_is_named_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\treset the router\nq2\tinvoice\n")
    (folder / "qrels.txt").write_text("q1 0 d2 1\nq2 0 7 1\n")
    with serving() as url:
        monkeypatch.setenv("ASSAY_ENDPOINT", f"{url}/ok")
        made(capsys)
        assert scored() == ["assay_endpoint"]
    found = (folder / "runs/assay_endpoint.run").read_text().split()
    assert set(found) & set(SERVED) == {"d1", "d2", "d3", "d4", "7"}


def test_an_endpoint_is_not_asked_about_documents_it_cannot_have(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ENDPOINT", "http://127.0.0.1:9/search")
    made(capsys)
    assert '\n# url = "${ASSAY_ENDPOINT}?q={query}&k={k}"' in (folder / "assay.toml").read_text()
    assert Systems().names == ["bm25", "vectors", "hybrid"]


def test_another_folder_is_named_in_what_to_do_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "assay run --project sub/assay.toml" in made(capsys, "sub")  # it is made
    assert run(["run", "bm25", "hybrid", "--project", "sub/assay.toml", "-m", "R@10"]) == 0
    assert run(["gate", "--project", "sub/assay.toml"]) in (0, 1, 3)  # runs lie where the file looks for them
    assert run(["init", "sub/assay.toml"]) == 2
    assert "expected a folder, found a file" in capsys.readouterr().err


def test_an_endpoint_with_a_query_of_its_own_is_asked_for_ours_as_well(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "queries.tsv").write_text("query_id\ttext\nq1\treset the router\n")
    (folder / "qrels.txt").write_text("q1 0 d2 1\n")
    with serving() as url:
        monkeypatch.setenv("ASSAY_ENDPOINT", f"{url}/ok?index=a")
        made(capsys)
        assert scored() == ["assay_endpoint"]
    assert '"${ASSAY_ENDPOINT}&q={query}&k={k}"' in (folder / "assay.toml").read_text()
    assert "q1 Q0 d2" in (folder / "runs/assay_endpoint.run").read_text()


def test_stages_of_a_pipeline_are_no_runs_to_compare(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(capsys)
    assert scored() == ["bm25", "hybrid", "vectors"]
    (folder / "runs/own.2-may.run").write_text("1 Q0 51 1 1.0 t\n")  # named like one, but nobody's stage
    found = sorted(look(folder).runs)
    assert found == ["runs/bm25.run", "runs/hybrid.run", "runs/own.2-may.run", "runs/vectors.run"]
