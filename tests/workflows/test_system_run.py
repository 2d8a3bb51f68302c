"""run_system: one system run and scored, and the files it leaves in a folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Qrels
from assay.datasets import read
from assay.evaluation import evaluate
from assay.evaluation.stage_losses import FOUND
from assay.search.fusion import Fusion
from assay.search.pipeline import Pipeline
from assay.search.run_queries import RunOptions
from assay.workflows.system_run import SystemRun, run_system
from assay.workflows.systems import SearchSystems
from tests.projects import MINE, project, sent_queries

HYBRID = MINE + '[systems.bm25]\nkind = "bm25"\n[systems.hybrid]\nretrieve = ["bm25", "mine"]\ndepth = 3\n'
FAILS = MINE.replace(":search", ":fails") + "[run]\nretries = 0\n"
INDEX = """
[systems.dense]
kind = "index"
encoder = "lsa"
engine = "faiss.hnsw"
[systems.only]
retrieve = ["dense"]
depth = 2
"""


def run_one(folder: Path, name: str, systems: str = HYBRID, **more: Any) -> SystemRun:
    search_systems = SearchSystems(project(folder, systems))
    try:
        return run_system(search_systems, name, folder / "runs", measures=["R@10"], **more)
    finally:
        search_systems.close()


def test_runs_stages_and_figures_are_written_to_the_folder(tmp_path: Path) -> None:
    system = run_one(tmp_path, "hybrid")
    names = sorted(path.name for path in (tmp_path / "runs").iterdir() if path.is_file())
    stages = [f"hybrid.{name}.run" for name in ("1-bm25", "2-mine", "3-fusion")]
    assert names == [*stages, "hybrid.figures.json", "hybrid.json", "hybrid.latencies.jsonl", "hybrid.run"]
    rescored = evaluate(
        read(tmp_path / "qrels.txt", "qrels"), read(tmp_path / "runs/hybrid.run", "run"), ["R@10"]
    )
    assert system.evaluation is not None
    assert rescored.estimates == system.evaluation.estimates
    plain = json.loads((tmp_path / "runs/hybrid.json").read_text())
    assert plain == json.loads(json.dumps(system.to_dict()))
    assert (plain["queries"], plain["configuration"]["retrieve"][1]["function"][-6:]) == (6, "search")


def test_a_run_is_scored_in_the_order_in_which_tied_documents_were_returned(tmp_path: Path) -> None:
    path = project(tmp_path, MINE.replace("{module}", "tied_search"))
    (tmp_path / "tied_search.py").write_text("def search(text, k):\n    return [('d1', 1.0), ('d9', 1.0)]\n")
    system = run_system(SearchSystems(path), "mine", tmp_path / "runs", measures=["RR"])
    qrels, run = read(tmp_path / "qrels.txt", "qrels"), read(tmp_path / "runs/mine.run", "run")
    rescored = evaluate(qrels, run, ["RR"])
    assert system.evaluation is not None
    values = [
        dict(zip(e.scores.query_ids, e.scores["RR"], strict=True)) for e in (system.evaluation, rescored)
    ]
    assert values == [{"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0, "q5": 0.0, "q6": 0.5}] * 2


def test_ids_that_a_trec_run_cannot_hold_are_written_as_jsonl_and_scored(tmp_path: Path) -> None:
    systems = SearchSystems(odd_ids(tmp_path, "my file\\n4.txt"))
    runs = [run_system(systems, name, tmp_path / "runs", measures=["R@10"]) for name in ("bm25", "hybrid")]
    for system in runs:
        assert system.evaluation is not None
        assert system.run is not None
        assert read(tmp_path / f"runs/{system.name}.run", "run").to_dict() == system.run.to_dict()
        assert json.loads((tmp_path / f"runs/{system.name}.json").read_text())["answered"] == 6
        assert any("my file\n4.txt" in documents for documents in system.run.to_dict().values())
    remark = "{} is JSONL: a TREC run cannot hold its ids (blanks, or # at the beginning)"
    assert runs[0].results.remarks == [remark.format("bm25.run")]
    names = ["hybrid.run", "hybrid.1-bm25.run", "hybrid.3-fusion.run"]  # the second finds no such document
    assert runs[1].results.remarks == [remark.format(name) for name in names]


def odd_ids(folder: Path, name: str) -> Path:
    """A project in which a document has another id, as JSON writes it."""
    path = project(folder, HYBRID)
    documents = (folder / "documents.jsonl").read_text()
    (folder / "documents.jsonl").write_text(documents.replace('"d4"', f'"{name}"'))
    return path


def test_finished_queries_are_not_sent_again(tmp_path: Path) -> None:
    first = run_one(tmp_path, "mine", MINE)
    systems = SearchSystems(tmp_path / "assay.toml")
    second = run_system(systems, "mine", tmp_path / "runs", measures=["R@10"])
    assert (len(sent_queries(tmp_path)), second.results.resumed_count) == (6, 6)
    assert second.results.latencies == first.results.latencies
    assert second.run is not None
    assert first.run is not None
    assert second.run.to_dict() == first.run.to_dict()


def test_a_failed_query_is_no_loss_of_a_stage_and_is_counted_in_the_figures(tmp_path: Path) -> None:
    system = run_one(tmp_path, "mine", FAILS)
    plain = json.loads((tmp_path / "runs/mine.json").read_text())
    assert {query: why["kind"] for query, why in plain["failed"].items()} == dict.fromkeys(
        ["q3", "q6"], "connection"
    )
    assert (plain["empty"], plain["answered"]) == ([], 4)
    assert system.losses is not None
    assert (system.losses.query_ids, system.losses.excluded_queries) == (["q1", "q2", "q4", "q5"], 2)
    assert system.evaluation is not None
    assert system.evaluation.counts.missing_from_run == 2


def test_without_any_document_there_is_no_run_and_no_score(tmp_path: Path) -> None:
    system = run_one(tmp_path, "mine", MINE.replace(":search", ":none"))
    assert (system.run, system.evaluation, system.losses) == (None, None, None)
    assert not (tmp_path / "runs/mine.run").exists()
    assert len(json.loads((tmp_path / "runs/mine.json").read_text())["empty"]) == 6


def test_an_empty_stage_does_not_hide_the_others(tmp_path: Path) -> None:
    nothing = MINE.replace("mine]", "nothing]").replace(":search", ":none")
    system = run_one(tmp_path, "hybrid", HYBRID.replace('"bm25", "mine"', '"nothing", "mine"') + nothing)
    assert system.losses is not None
    assert system.losses.of_query("q6") == {"not in the corpus": 1, FOUND: 1}
    assert not (tmp_path / "runs/hybrid.1-nothing.run").exists()


def test_the_run_is_written_even_if_it_cannot_be_scored(tmp_path: Path) -> None:
    systems = SearchSystems(project(tmp_path))
    systems.data = type(systems.data)(systems.data.queries, Qrels({"other": {"d1": 1}}), None)
    with pytest.raises(UndecidableError):
        run_system(systems, "mine", tmp_path / "runs", measures=["R@10"])
    assert (tmp_path / "runs/mine.run").exists()


def test_no_more_documents_are_shown_than_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shown: expected 1 to 5, the documents asked for, found 6"):
        run_one(tmp_path, "mine", options=RunOptions(k=5), shown=6)


def test_without_documents_or_judgments_there_are_fewer_checkpoints(tmp_path: Path) -> None:
    systems = SearchSystems(project(tmp_path, MINE, '[data]\nqueries = "queries.jsonl"\n'))
    assert run_system(systems, "mine", tmp_path / "runs").evaluation is None
    data = '[data]\nqrels = "qrels.txt"\nqueries = "queries.jsonl"\n'
    system = run_system(
        SearchSystems(project(tmp_path, MINE, data)), "mine", tmp_path / "more", measures=["R@10"]
    )
    assert system.losses is not None
    assert system.losses.checkpoints == ["retrieval", "shown"]


def test_exact_search_is_run_once_and_has_its_own_journal(tmp_path: Path) -> None:
    system = run_one(tmp_path, "only", INDEX, shown=1)
    assert system.losses is not None
    assert system.losses.checkpoints == ["corpus", "exact search", "retrieval", "shown"]
    journals = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "runs/journals").iterdir())
    assert journals == ["dense-exact", "only"]
    assert (system.results.tokens, system.results.attempts) == (0, 6)  # the twin is nobody's


def test_slices_have_waterfalls_that_add_up(tmp_path: Path) -> None:
    system = run_one(tmp_path, "hybrid", by=["kind"])
    assert system.losses is not None
    slices = system.slice_losses
    assert list(slices) == ["kind: how", "kind: what"]
    whole = [part.documents for part in system.losses.parts()]
    assert [sum(p.documents for p in parts) for parts in zip(*slices.values(), strict=True)] == whole


def test_fusion_has_the_settings_of_the_project(tmp_path: Path) -> None:
    weighted = HYBRID + 'fuse = { by = "weighted", weights = [1, 0], normalise = "zscore" }\n'
    systems = SearchSystems(project(tmp_path, weighted))
    pipeline = systems.searcher("hybrid")
    assert isinstance(pipeline, Pipeline)
    assert vars(pipeline.fuse) == vars(Fusion("weighted", weights=[1, 0], normalise="zscore"))


def test_documents_that_have_changed_are_searched_again(tmp_path: Path) -> None:
    encoder = (
        '[systems.dense]\nkind = "index"\nencoder = "lsa"\n[systems.lsa]\nkind = "lsa"\ndimensions = 3\n'
    )
    path = project(tmp_path, HYBRID + encoder)
    names = ("bm25", "lsa", "dense", "hybrid")
    for resumed in (0, 6, 0):
        systems = SearchSystems(path)
        runs = [run_system(systems, name, tmp_path / "runs", measures=["R@10"]) for name in names]
        systems.close()
        assert [system.results.resumed_count for system in runs] == [resumed] * 4
        if resumed:
            documents = (tmp_path / "documents.jsonl").read_text().splitlines()
            (tmp_path / "documents.jsonl").write_text("\n".join(documents[:4]) + "\n")
    answers = [system.run.to_dict() for system in runs[:3] if system.run]
    assert all("d5" not in docs for run in answers for docs in run.values())


def test_the_files_of_an_earlier_run_are_deleted(tmp_path: Path) -> None:
    runs, fails = tmp_path / "runs", HYBRID.replace(":search", ":fails")
    run_one(tmp_path, "hybrid", HYBRID)
    others = ("hybrid-2.run", "hybrid.1-other.run", "hybrid.1-other.1-bm25.run")
    for name in others:
        (runs / name).write_text("of another system\n")
    alone = '\n[systems."hybrid.1-other"]\nkind = "bm25"\n'
    run_one(tmp_path, "hybrid", HYBRID.replace('"bm25", "mine"', '"bm25"') + alone)
    remaining = {path.name for path in runs.glob("*.run")} - set(others)
    assert remaining == {"hybrid.run", "hybrid.1-bm25.run"}
    run_one(tmp_path, "hybrid", fails.replace('"bm25", "mine"', '"mine"').replace(":fails", ":none") + alone)
    assert {path.name for path in runs.glob("*.run")} == set(others)
