"""assay demo: the whole loop on a built-in help centre."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import which

from assay.cli.bench_report import bench_commands
from assay.cli.parsers import make_parser
from assay.core.errors import InputError, MissingExtraError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import Collection, helpcentre, write
from assay.datasets.generate import generate
from assay.datasets.vectors import write_vectors
from assay.evaluation import Evaluation, evaluate
from assay.evaluation.compare import compare
from assay.evaluation.failures import Failures, failures
from assay.indexes.study.findings import findings
from assay.project.bench_settings import bench_in
from assay.project.project import open_project
from assay.project.runs import run_system
from assay.project.settings import read_settings
from assay.project.study import open_study
from assay.project.systems import Systems
from assay.search.embedded import BM25, LSA
from assay.store.saving import experiment_of
from assay.store.store import Store
from assay.store.trends import trend
from assay.views import experiments as views
from assay.views import summary
from assay.views.bench_parts import Told, in_words
from assay.views.bench_report import bench_report
from assay.views.compare import comparison
from assay.views.failures import failing
from assay.views.gate import verdict
from assay.views.losses import Bars, losses_view, lost_at
from assay.views.trials import trials_view

_MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.5)@10")
_DEPTH = 100
_FAILED = 3  # queries whose losses are told
_NIGHTS = (150, 140, 160, 30, 30)  # dimensions
_RULES = """# The rules of `assay gate`; paths are from this file on.
[data]
qrels = "helpcentre"          # a BEIR folder: judgments, queries and documents

[baseline]
run = "bm25.run"

[candidate]
run = "lsa.run"
figures = { cost_per_1k_queries = 0.02 }

[gate]
min_queries = 200             # fewer decide nothing

[[gate.rules]]                # what the change is for
measure = "R@10"
better_by = 0.01

[[gate.rules]]                # nobody may pay for it
measure = "R@10"
no_worse_than = 0.05
by = ["category"]
min_n = 30

[[gate.rules]]                # half of what is relevant, for most queries
measure = "Robustness(delta=0.5)@10"
at_least = 0.55

[[gate.rules]]
figure = "cost_per_1k_queries"
at_most = 0.05
priority = 2
"""
_SYSTEMS = """
# The systems of `assay run`: search by words, search by vectors in a small graph, and both fused.
[systems.words]
kind = "bm25"

[systems.vectors]
kind = "index"
encoder = "lsa"
engine = "faiss.hnsw"
build = { M = 8, efConstruction = 40 }
search = { efSearch = 24 }

[systems.hybrid]
retrieve = ["words", "vectors"]
depth = 50
"""
_BENCH = """# A graph and a partition, of one mean recall at efSearch 72 and nprobe 6; paths are from here on.
[data]
base = "base.fbin"            # 20,000 made-up vectors
queries = "queries.fbin"      # 4,000 from another distribution, as texts are that ask for images
metric = "l2"
k = 10

[run]
modes = ["single"]

[[index]]
engine = "faiss.hnsw"
build = { M = 8, efConstruction = 40 }
search = { efSearch = [32, 72, 160] }

[[index]]
engine = "faiss.ivfflat"
build = { nlist = 256 }
search = { nprobe = [3, 6, 12] }
"""
_NEXT = """
try next:
  {assay} compare {folder}/helpcentre {folder}/bm25.run {folder}/lsa.run --by frequency --by category
  {assay} failures {folder}/helpcentre {folder}/lsa.run --by platform
  {assay} gate --project {folder}/assay.toml --baseline {folder}/lsa.run --candidate {folder}/bm25.run
  {assay} run --project {folder}/assay.toml -o {folder}/runs words hybrid
  {assay} experiments list --store {folder}/store
  {assay} bench {folder}/bench.toml -o {folder}/bench --index 'faiss.flat' --index 'faiss.nsg / search_L=32'
  {assay} bench report {folder}/bench --recall 0.95 --format html > report.html
  {assay} select {folder}/bench --floor recall=0.9 --floor robustness-0.1=0.999
  {assay} eval YOUR_QRELS YOUR_RUN"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "demo",
        "Search a help centre by words and by vectors; score both, compare them, look at what fails, and "
        "decide; look at what was remembered of five nights; then measure two indexes of vectors. The "
        "collection, both runs, the rules, the store, the vectors and reports are left in a folder to play "
        "with.",
        "example:\n  assay demo --folder /tmp/assay-demo",
    )
    made.add_argument(
        "--folder", default="assay-demo", metavar="DIR", help="where to leave the files (default: assay-demo)"
    )
    return made


def command(arguments: argparse.Namespace) -> None:
    """Search the help centre twice, score, compare, explain, decide, and say what to try next."""
    folder = Path(arguments.folder)
    _make(folder)
    queries, qrels, documents = helpcentre()
    _say(f"a help centre: {len(documents)} articles, {len(queries)} queries, {len(qrels):,} judgments")
    runs = [searcher.search(queries, _DEPTH) for searcher in (BM25(documents), LSA(documents))]
    _leave(folder, Collection(queries, qrels, documents), runs)
    _say("searched by words (bm25) and by vectors (lsa)")
    evaluations = [evaluate(qrels, run, _MEASURES, queries) for run in runs]
    _show("how good are they? (assay eval)", summary(evaluations, "table"))
    made = compare(qrels, runs[0], runs[1], _MEASURES, queries, ["frequency"])
    texts = dict(zip(queries.ids, queries.columns["text"], strict=True))
    _show("is the change real, and for whom? (assay compare)", comparison(made, "table", texts, movers=2))
    found = failures(qrels, runs[1], "R@10", 0.5, queries, ["category"], documents=documents)
    _show("what fails, and why? (assay failures)", failing(found, "table", show=2))
    _show("at which stage were they lost? (assay run)", _lost(folder, found, texts))
    decided = open_project(folder / "assay.toml").gate()
    _show("may it ship? (assay gate)", verdict(decided, "table"))
    _show(
        "since when? (assay experiments trend)", _remembered(folder, evaluations, qrels, queries, documents)
    )
    _show("which index, and what does its mean recall hide? (assay bench)", _measured(folder))
    pages = {"report": summary(evaluations, "html"), "compare": comparison(made, "html", texts)}
    pages["failures"] = failing(found, "html")
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    _say(f"\nthe same with drawn intervals: report.html, compare.html and failures.html in {folder}")
    if (folder / "bench.html").exists():
        _say(f"what the mean recall of an index hides, in figures: bench.html in {folder}")
    _say(_NEXT.format(assay=_program(), folder=folder))


def _lost(folder: Path, found: Failures, texts: dict[str, str]) -> str:
    """Where a hybrid search loses relevant documents, and those of queries that failed before."""
    systems = Systems(folder / "assay.toml")
    try:
        ran = run_system(systems, "hybrid", folder / "runs", measures=_MEASURES)
    finally:
        systems.close()
    assert ran.losses is not None
    failed = [one.query_id for one in found.failing[:_FAILED]]
    told = [f"{query} “{texts[query]}”: {lost_at(ran.losses, query)}" for query in failed]
    return "\n".join([losses_view({"hybrid": Bars(ran.losses)}, "table"), "", *told])


def _remembered(
    folder: Path, evaluations: list[Evaluation], qrels: Qrels, queries: Queries, documents: Documents
) -> str:
    """Five nights of the search by vectors, one of which lost most of its dimensions, and what came of it."""
    with Store(folder / "store") as store:
        if not store.list(limit=1):
            for made in evaluations:
                store.put(experiment_of(made, made.name, qrels=qrels, queries=queries), made.scores)
            for night, dimensions in enumerate(_NIGHTS):
                run = LSA(documents, dimensions=dimensions).search(queries, _DEPTH)
                made = evaluate(qrels, run, _MEASURES, queries)
                experiment = experiment_of(
                    made,
                    "nightly",
                    qrels=qrels,
                    queries=queries,
                    run=run.digest,
                    configuration={"model": "lsa", "dimensions": dimensions},
                )
                at = datetime.now(UTC) - timedelta(days=len(_NIGHTS) - night)
                store.put(replace(experiment, at=at, code=None), made.scores)
        return views.trend(trend(store, "nDCG@10", name="nightly"), "table")


def _measured(folder: Path) -> str:
    """Two indexes of the same mean recall, which fail in different ways; a page has the figures."""
    made = generate("shifted", 20_000, 48, queries=4_000, seed=0)
    write_vectors(made.base, folder / "base.fbin")
    write_vectors(made.queries, folder / "queries.fbin")
    (folder / "bench.toml").write_text(_BENCH, encoding="utf-8")
    bench_in(read_settings(folder / "bench.toml"), folder).sweep(folder / "bench").run()
    study = open_study(folder / "bench")
    told = Told(study, findings(study))
    draw(told, folder)
    return "\n".join([trials_view([one.trial for one in told.near], "table"), "", *in_words(told)])


def draw(told: Told, folder: Path) -> None:
    """Leave a page with the figures, if the library that draws them is installed."""
    again = [*bench_commands(told.study), f"assay bench report {folder / 'bench'} --format html > bench.html"]
    try:
        page = bench_report(told.study, told.found, again, "html")
    except MissingExtraError as error:
        _say(f"no figures: {error}")
        return
    (folder / "bench.html").write_text(page, encoding="utf-8")


def _leave(folder: Path, collection: Collection, runs: list[Run]) -> None:
    """Write what the demo is about, to play with."""
    write(collection, folder / "helpcentre", format="beir")
    for run in runs:
        write(run, folder / f"{run.name}.run", format="trec")
    (folder / "assay.toml").write_text(_RULES + _SYSTEMS, encoding="utf-8")


def _show(question: str, answer: str) -> None:
    """A result under the question it answers."""
    _say(f"\n── {question}\n")
    print(answer, flush=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--folder {folder}: cannot be made ({error.strerror}); name another") from None


def _program() -> str:
    """How this program is called from here."""
    return "assay" if which("assay") else os.path.relpath(sys.argv[0])


def _say(text: str) -> None:
    print(text, file=sys.stderr)
