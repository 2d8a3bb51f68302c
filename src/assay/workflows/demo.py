"""The whole loop on a built-in help centre: search, score, explain, decide, record, test, benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.core.errors import InputError, MissingExtraError
from assay.core.rankings import Rankings
from assay.core.recorded_run import first_documents
from assay.core.tables import Run
from assay.datasets import Collection, helpcentre, write
from assay.datasets.generate import generate
from assay.datasets.vectors import write_vectors
from assay.evaluation import Evaluation
from assay.evaluation import evaluate as score_run
from assay.evaluation.failures import Failures
from assay.search.in_memory import BM25Searcher, LSASearcher
from assay.store.evaluations import experiment_from_evaluation
from assay.store.rankings import ShownTables, put_shown_tables
from assay.store.store import Store
from assay.views import render_evaluations
from assay.views.bench_charts import ReportData
from assay.views.bench_report import render_bench_report
from assay.views.compare import render_comparison
from assay.views.demo import (
    DemoStep,
    bench_step,
    comparison_step,
    evaluation_step,
    failure_step,
    gate_step,
    loss_step,
    trend_step,
)
from assay.views.failures import render_failures
from assay.workflows.bench import BenchRequest, bench
from assay.workflows.bench_report import ReportTrialsRequest, report_trials, reproduction_commands
from assay.workflows.compare import CompareRequest, compare
from assay.workflows.demo_answers import answer_questions
from assay.workflows.demo_files import BENCH, GATE, ONLINE, SYSTEMS
from assay.workflows.demo_judging import judge_sample
from assay.workflows.demo_online import measure_traffic
from assay.workflows.evaluate import EvaluateRequest, evaluate
from assay.workflows.experiments import TrendRequest, follow_trend
from assay.workflows.failures import FailuresRequest, find_failures
from assay.workflows.gate import GateRequest, decide_gate
from assay.workflows.inputs import TableFiles
from assay.workflows.system_run import run_system
from assay.workflows.systems import SearchSystems

_MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.5)@10")
_DEPTH = 100
_EXPLAINED_QUERIES = 3  # failing queries whose losses are shown
_NIGHTLY_DIMENSIONS = (150, 140, 160, 30, 30)

StepReport = Callable[[DemoStep], None]


@dataclass(frozen=True, kw_only=True)
class DemoRequest:
    """The folder that the demo writes its files to."""

    folder: str = "assay-demo"


@dataclass(frozen=True)
class DemoResult:
    """The steps of the demo, and the pages that it wrote."""

    folder: Path
    steps: tuple[DemoStep, ...]
    pages: tuple[str, ...]
    missing_extra: str = ""  # why there is no page with charts

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        steps = [step.to_dict() for step in self.steps]
        return {"folder": str(self.folder), "pages": list(self.pages), "steps": steps}


def demo(request: DemoRequest, report: StepReport = lambda step: None) -> DemoResult:
    """Run every step of the demo; `report` is called with each step when it is done."""
    demonstration = _Demo(Path(request.folder), report)
    demonstration.search_and_score()
    demonstration.decide()
    demonstration.judge()
    demonstration.record()
    demonstration.go_online()
    demonstration.benchmark()
    demonstration.answer()
    return DemoResult(
        demonstration.folder,
        tuple(demonstration.steps),
        tuple(demonstration.pages),
        demonstration.missing_extra,
    )


class _Demo:
    """The steps of the demo in one folder."""

    def __init__(self, folder: Path, report: StepReport) -> None:
        self.folder, self._report = folder, report
        self.steps: list[DemoStep] = []
        self.pages: list[str] = []
        self.missing_extra = ""
        self.queries, self.qrels, self.documents = helpcentre()
        self.runs: Sequence[Run] = ()
        self._builds: dict[int, Run] = {}  # by dimensions
        self.evaluations: Sequence[Evaluation] = ()
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"--folder {self.folder}: cannot be made ({error.strerror}); name another"
            ) from None

    def search_and_score(self) -> None:
        """Search by words and by vectors; score, compare and explain."""
        searchers = (BM25Searcher(self.documents), LSASearcher(self.documents))
        self.runs = [searcher.search(self.queries, _DEPTH) for searcher in searchers]
        self._write_inputs(self.runs)
        paths = [str(self.folder / f"{run.name}.run") for run in self.runs]
        files = TableFiles(qrels=str(self.folder / "helpcentre"), runs=paths)
        self.evaluations = evaluate(EvaluateRequest(files=files, measures=_MEASURES)).evaluations
        self._add(evaluation_step(self.evaluations))
        self._write_page("report", render_evaluations(list(self.evaluations), "html"))
        compared = compare(CompareRequest(files=files, measures=_MEASURES, by=["frequency"]))
        self._add(comparison_step(compared.comparisons, compared.texts))
        self._write_page("compare", render_comparison(compared.comparisons, "html", compared.texts))
        failing = find_failures(FailuresRequest(files=replace(files, runs=paths[1:]), by=["category"]))
        self._add(failure_step(failing.failures))
        self._write_page("failures", render_failures(failing.failures, "html"))
        self._find_losses(failing.failures, compared.texts)

    def _write_inputs(self, runs: Sequence[Run]) -> None:
        """Write the collection, the runs and the project."""
        collection = Collection(self.queries, self.qrels, self.documents)
        write(collection, self.folder / "helpcentre", format="beir")
        for run in runs:
            write(run, self.folder / f"{run.name}.run", format="trec")
        (self.folder / "assay.toml").write_text(GATE + SYSTEMS + ONLINE, encoding="utf-8")

    def _find_losses(self, failures: Failures, texts: Mapping[str, str]) -> None:
        """Run a hybrid search, and find at which stage it loses relevant documents."""
        systems = SearchSystems(self.folder / "assay.toml")
        try:
            hybrid = run_system(systems, "hybrid", self.folder / "runs", measures=_MEASURES)
        finally:
            systems.close()
        assert hybrid.losses is not None
        failing = [failure.query_id for failure in failures.failing[:_EXPLAINED_QUERIES]]
        self._add(loss_step("hybrid", hybrid.losses, {query: texts[query] for query in failing}))

    def decide(self) -> None:
        """Decide by the rules of the project."""
        self._add(gate_step(decide_gate(GateRequest(project=self.folder / "assay.toml")).verdict))

    def judge(self) -> None:
        """Build an evaluation set for a sample of the queries, and use it."""
        runs = [self.folder / f"{run.name}.run" for run in self.runs]
        for step in judge_sample(self.folder, runs, self.qrels, self.queries, self.documents):
            self._add(step)

    def record(self) -> None:
        """Record five nights of the search by vectors, which lost most of its dimensions in one of them."""
        location = self.folder / "store"
        with Store(location) as store:
            if not store.list(limit=1):
                self._fill_store(store)
        request = TrendRequest(measure="nDCG@10", name="nightly", store=str(location))
        self._add(trend_step(follow_trend(request).trend))

    def _fill_store(self, store: Store) -> None:
        now = datetime.now(UTC)
        for run in self.runs:
            self._save(store, run.name, self._score(run), run, {}, now)
        for night, dimensions in enumerate(_NIGHTLY_DIMENSIONS):
            run = self._build_night(dimensions)
            at = now - timedelta(days=len(_NIGHTLY_DIMENSIONS) - night)
            self._save(
                store, "nightly", self._score(run), run, {"model": "lsa", "dimensions": dimensions}, at
            )

    def _score(self, run: Run) -> Evaluation:
        """Return the scores of a run, also those of frequent and rare queries."""
        return score_run(self.qrels, run, _MEASURES, self.queries, by=["frequency"])

    def _save(
        self,
        store: Store,
        name: str,
        evaluation: Evaluation,
        run: Run,
        configuration: Mapping[str, Any],
        at: datetime,
    ) -> None:
        """Save an evaluation with what pages show of it."""
        tables = ShownTables(
            rankings=Rankings.from_tops(first_documents(run)),
            qrels=self.qrels,
            queries=self.queries,
            documents=self.documents,
        )
        experiment = experiment_from_evaluation(
            evaluation,
            name,
            qrels=self.qrels,
            queries=self.queries,
            run=run.digest,
            configuration=configuration,
        )
        digests = {**experiment.digests, **put_shown_tables(store, tables)}
        store.put(replace(experiment, at=at, code=None, digests=digests), evaluation.scores)

    def go_online(self) -> None:
        """Simulate users of both searches, and decide by what they do."""
        for step in measure_traffic(self.folder, self.runs, self.qrels, self.queries, self._build_night):
            self._add(step)

    def _build_night(self, dimensions: int) -> Run:
        """Return the run of a nightly build, which is searched once."""
        if dimensions not in self._builds:
            searcher = LSASearcher(self.documents, dimensions=dimensions)
            self._builds[dimensions] = searcher.search(self.queries, _DEPTH)
        return self._builds[dimensions]

    def benchmark(self) -> None:
        """Measure two indexes of the same mean recall, which fail in different ways."""
        data = generate("shifted", 20_000, 48, queries=4_000, seed=0)
        write_vectors(data.base, self.folder / "base.fbin")
        write_vectors(data.queries, self.folder / "queries.fbin")
        (self.folder / "bench.toml").write_text(BENCH, encoding="utf-8")
        out = str(self.folder / "bench")
        bench(BenchRequest(file=str(self.folder / "bench.toml"), out=out))
        report = report_trials(ReportTrialsRequest(trials=out))
        report_data = ReportData(report.study, report.findings, report.planes)
        self._add(bench_step(report_data))
        self.missing_extra = write_charts(report_data, self.folder)
        self.pages += ["bench.html"] * (not self.missing_extra)

    def answer(self) -> None:
        """Have a small language model answer questions, if it is on this machine."""
        self._add(answer_questions(self.folder))

    def _add(self, step: DemoStep) -> None:
        self.steps.append(step)
        self._report(step)

    def _write_page(self, name: str, page: str) -> None:
        (self.folder / f"{name}.html").write_text(page, encoding="utf-8")
        self.pages.append(f"{name}.html")


def write_charts(data: ReportData, folder: Path) -> str:
    """Write the report of the benchmark with its charts; the result is why not, or empty."""
    command = f"assay bench report {folder / 'bench'} --format html > bench.html"
    commands = [*reproduction_commands(data.study), command]
    try:
        page = render_bench_report(data, commands, "html")
    except MissingExtraError as error:
        return str(error)
    (folder / "bench.html").write_text(page, encoding="utf-8")
    return ""
