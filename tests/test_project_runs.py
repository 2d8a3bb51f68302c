"""Systems that are run: what is left in the folder, and the way on which documents are lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Qrels
from assay.datasets import read
from assay.evaluation import evaluate
from assay.evaluation.losses import FOUND
from assay.project.runs import Ran, run_system
from assay.project.systems import Systems
from assay.project.way import Way
from assay.search.fusion import Fuse
from assay.search.pipeline import Filter, Pipeline, Rerank, Retrieve
from assay.search.running import Options, run
from assay.search.searcher import Answer, Query, Searcher
from projects import MINE, QUERIES, RELEVANT, Lengths, asked, project

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


def ran(folder: Path, name: str, systems: str = HYBRID, **more: Any) -> Ran:
    made = Systems(project(folder, systems))
    try:
        return run_system(made, name, folder / "runs", measures=["R@10"], **more)
    finally:
        made.close()


def test_runs_and_stages_and_figures_are_left_in_the_folder(tmp_path: Path) -> None:
    made = ran(tmp_path, "hybrid")
    there = sorted(path.name for path in (tmp_path / "runs").iterdir() if path.is_file())
    stages = [f"hybrid.{name}.run" for name in ("1-bm25", "2-mine", "3-fusion")]
    assert there == [*stages, "hybrid.figures.json", "hybrid.json", "hybrid.latencies.jsonl", "hybrid.run"]
    again = evaluate(
        read(tmp_path / "qrels.txt", "qrels"), read(tmp_path / "runs/hybrid.run", "run"), ["R@10"]
    )
    assert made.evaluation is not None
    assert again.estimates == made.evaluation.estimates
    told = json.loads((tmp_path / "runs/hybrid.json").read_text())
    assert told == json.loads(json.dumps(made.to_dict()))
    assert (told["queries"], told["configuration"]["retrieve"][1]["function"][-6:]) == (6, "search")


def test_ids_that_a_trec_run_cannot_hold_are_left_as_jsonl_and_scored(tmp_path: Path) -> None:
    systems = Systems(odd_ids(tmp_path, "my file\\n4.txt"))
    made = [run_system(systems, name, tmp_path / "runs", measures=["R@10"]) for name in ("bm25", "hybrid")]
    for one in made:
        assert one.evaluation is not None
        assert one.run is not None
        assert read(tmp_path / f"runs/{one.name}.run", "run").to_dict() == one.run.to_dict()
        assert json.loads((tmp_path / f"runs/{one.name}.json").read_text())["answered"] == 6
        assert any("my file\n4.txt" in found for found in one.run.to_dict().values())
    said = "{} is JSONL: a TREC run cannot hold its ids (blanks, or # at the beginning)"
    assert made[0].outcome.notes == [said.format("bm25.run")]
    there = ["hybrid.run", "hybrid.1-bm25.run", "hybrid.3-fusion.run"]  # the second finds no such document
    assert made[1].outcome.notes == [said.format(name) for name in there]


def odd_ids(folder: Path, name: str) -> Path:
    """A project in which a document has another id, as JSON writes it."""
    path = project(folder, HYBRID)
    documents = (folder / "documents.jsonl").read_text()
    (folder / "documents.jsonl").write_text(documents.replace('"d4"', f'"{name}"'))
    return path


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    first = ran(tmp_path, "mine", MINE)
    systems = Systems(tmp_path / "assay.toml")
    second = run_system(systems, "mine", tmp_path / "runs", measures=["R@10"])
    assert (len(asked(tmp_path)), second.outcome.resumed) == (6, 6)
    assert second.outcome.latencies == first.outcome.latencies
    assert second.run is not None
    assert first.run is not None
    assert second.run.to_dict() == first.run.to_dict()


def test_what_failed_is_no_loss_of_a_stage_and_stands_in_the_figures(tmp_path: Path) -> None:
    made = ran(tmp_path, "mine", FAILS)
    told = json.loads((tmp_path / "runs/mine.json").read_text())
    assert {query: why["kind"] for query, why in told["failed"].items()} == dict.fromkeys(
        ["q3", "q6"], "connection"
    )
    assert (told["empty"], told["answered"]) == ([], 4)
    assert made.losses is not None
    assert (made.losses.query_ids, made.losses.left_out) == (["q1", "q2", "q4", "q5"], 2)
    assert made.evaluation is not None
    assert made.evaluation.counts.missing_from_run == 2


def test_where_nothing_was_returned_there_is_no_run_and_no_score(tmp_path: Path) -> None:
    made = ran(tmp_path, "mine", MINE.replace(":search", ":none"))
    assert (made.run, made.evaluation, made.losses) == (None, None, None)
    assert not (tmp_path / "runs/mine.run").exists()
    assert len(json.loads((tmp_path / "runs/mine.json").read_text())["empty"]) == 6


def test_a_stage_that_never_gives_anything_does_not_hide_the_others(tmp_path: Path) -> None:
    nothing = MINE.replace("mine]", "nothing]").replace(":search", ":none")
    made = ran(tmp_path, "hybrid", HYBRID.replace('"bm25", "mine"', '"nothing", "mine"') + nothing)
    assert made.losses is not None
    assert made.losses.of_query("q6") == {"not in the corpus": 1, FOUND: 1}
    assert not (tmp_path / "runs/hybrid.1-nothing.run").exists()


def test_the_run_is_left_even_if_nothing_can_be_said_of_it(tmp_path: Path) -> None:
    systems = Systems(project(tmp_path))
    systems.data = type(systems.data)(systems.data.queries, Qrels({"other": {"d1": 1}}), None)
    with pytest.raises(UndecidableError):
        run_system(systems, "mine", tmp_path / "runs", measures=["R@10"])
    assert (tmp_path / "runs/mine.run").exists()


def test_a_person_sees_no_more_than_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="shown: expected 1 to 5, the documents asked for, found 6"):
        ran(tmp_path, "mine", options=Options(k=5), shown=6)


def test_without_documents_or_judgments_less_is_told(tmp_path: Path) -> None:
    systems = Systems(project(tmp_path, MINE, '[data]\nqueries = "queries.jsonl"\n'))
    assert run_system(systems, "mine", tmp_path / "runs").evaluation is None
    data = '[data]\nqrels = "qrels.txt"\nqueries = "queries.jsonl"\n'
    made = run_system(Systems(project(tmp_path, MINE, data)), "mine", tmp_path / "more", measures=["R@10"])
    assert made.losses is not None
    assert made.losses.checkpoints == ["retrieval", "shown"]


def test_what_exact_search_would_have_brought_is_asked_once_and_kept(tmp_path: Path) -> None:
    made = ran(tmp_path, "only", INDEX, shown=1)
    assert made.losses is not None
    assert made.losses.checkpoints == ["corpus", "exact search", "retrieval", "shown"]
    kept = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "runs/journals").iterdir())
    assert kept == ["dense-exact", "only"]
    assert (made.outcome.tokens, made.outcome.attempts) == (0, 6)  # the twin is nobody's


def losses_of(folder: Path, steps: list[Any], sources: int = 2, shown: int = 1) -> list[tuple[str, str]]:
    """The checkpoints after retrieval, with how a loss there is told."""
    systems = Systems(project(folder, HYBRID))
    names = ["mine", "bm25"][:sources]
    pipeline = Pipeline("all", [Retrieve(systems.searcher(name), 4) for name in names], None, steps)
    outcome = run(pipeline, systems.data.queries, Options())
    way = Way(systems, pipeline, outcome, Options(), shown)
    made = way.checkpoints({})
    assert systems.data.qrels is not None
    found = way.losses(systems.data.qrels)
    assert {query: sum(found.of_query(query).values()) for query in QUERIES} == {
        query: len(documents) for query, documents in RELEVANT.items()
    }
    return [(checkpoint.name, checkpoint.lost) for checkpoint in made[2:]]


ONLY = Filter(dict.fromkeys(["d1", "d2"], "en"), "language", equals="en")


@pytest.mark.parametrize(
    ("sources", "steps", "way"),
    [
        (1, [], [("shown", "ranked below the first 1")]),
        (2, [], [("shown", "lost in fusion")]),
        (2, [ONLY], [("filter by language", "filtered out"), ("shown", "lost in fusion")]),
        (
            2,
            [Rerank(Lengths(), {}, 3)],
            [
                ("fusion, first 3", "lost in fusion"),
                ("fusion, first 1", "not lifted by the reranker"),
                ("shown", "pushed out by the reranker"),
            ],
        ),
        (
            1,
            [ONLY, Rerank(Lengths(), {}, 3)],
            [
                ("filter by language", "filtered out"),
                ("filter by language, first 3", "ranked below the first 3"),
                ("filter by language, first 1", "not lifted by the reranker"),
                ("shown", "pushed out by the reranker"),
            ],
        ),
    ],
)
def test_a_document_is_cut_off_by_the_order_that_was_made_last(
    tmp_path: Path, sources: int, steps: list[Any], way: list[tuple[str, str]]
) -> None:
    assert losses_of(tmp_path, steps, sources) == way


class Alike(Searcher):
    """Finds two documents that are equally good."""

    name = "alike"

    def ask(self, query: Query, k: int, timeout: float | None = None) -> Answer:
        return Answer([("d1", 1.0), ("d5", 1.0)])


def test_among_equals_the_reranker_saw_those_that_come_first_in_a_run(tmp_path: Path) -> None:
    systems = Systems(project(tmp_path))
    pipeline = Pipeline("all", [Retrieve(Alike())], None, [Rerank(Lengths(), {}, 1)])
    outcome = run(pipeline, systems.data.queries, Options())
    way = Way(systems, pipeline, outcome, Options(), 1).checkpoints({})
    assert way[2].holds == {query: ["d5"] for query in QUERIES}
    assert all([doc for doc, _ in answer.documents] == ["d5", "d1"] for answer in outcome.answers.values())


def test_slices_have_waterfalls_that_add_up(tmp_path: Path) -> None:
    made = ran(tmp_path, "hybrid", by=["kind"])
    assert made.losses is not None
    slices = made.sliced()
    assert list(slices) == ["kind: how", "kind: what"]
    whole = [part.documents for part in made.losses.parts()]
    assert [sum(p.documents for p in parts) for parts in zip(*slices.values(), strict=True)] == whole


def test_fusion_is_as_it_is_written(tmp_path: Path) -> None:
    weighted = HYBRID + 'fuse = { by = "weighted", weights = [1, 0], normalise = "zscore" }\n'
    systems = Systems(project(tmp_path, weighted))
    made = systems.searcher("hybrid")
    assert isinstance(made, Pipeline)
    assert vars(made.fuse) == vars(Fuse("weighted", weights=[1, 0], normalise="zscore"))


def test_documents_that_have_changed_are_searched_again(tmp_path: Path) -> None:
    encoder = (
        '[systems.dense]\nkind = "index"\nencoder = "lsa"\n[systems.lsa]\nkind = "lsa"\ndimensions = 3\n'
    )
    path = project(tmp_path, HYBRID + encoder)
    names = ("bm25", "lsa", "dense", "hybrid")
    for resumed in (0, 6, 0):
        systems = Systems(path)
        made = [run_system(systems, name, tmp_path / "runs", measures=["R@10"]) for name in names]
        systems.close()
        assert [one.outcome.resumed for one in made] == [resumed] * 4
        if resumed:
            documents = (tmp_path / "documents.jsonl").read_text().splitlines()
            (tmp_path / "documents.jsonl").write_text("\n".join(documents[:4]) + "\n")
    assert all("d5" not in docs for one in made[:3] if one.run for docs in one.run.to_dict().values())


def test_a_run_of_an_earlier_time_does_not_stay_beside_a_later_one(tmp_path: Path) -> None:
    runs, fails = tmp_path / "runs", HYBRID.replace(":search", ":fails")
    ran(tmp_path, "hybrid", HYBRID)
    others = ("hybrid-2.run", "hybrid.1-other.run", "hybrid.1-other.1-bm25.run")
    for name in others:
        (runs / name).write_text("of another system\n")
    alone = '\n[systems."hybrid.1-other"]\nkind = "bm25"\n'
    ran(tmp_path, "hybrid", HYBRID.replace('"bm25", "mine"', '"bm25"') + alone)
    left = {path.name for path in runs.glob("*.run")} - set(others)
    assert left == {"hybrid.run", "hybrid.1-bm25.run"}
    ran(tmp_path, "hybrid", fails.replace('"bm25", "mine"', '"mine"').replace(":fails", ":none") + alone)
    assert {path.name for path in runs.glob("*.run")} == set(others)
