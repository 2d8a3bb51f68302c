"""The demo's online evidence: a simulated fortnight of two searches, and A/B tests of nightly builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.online_records import AB_TEST, INTERLEAVING, ONLINE_METRICS
from assay.core.tables import Qrels, Queries, Run
from assay.online.ab.analysis import ABTest
from assay.online.prediction_report import PredictionReport
from assay.online.simulation import TrafficSettings, simulate
from assay.store.store import Store
from assay.views.demo import DemoStep
from assay.views.demo_online import ab_step, interleaving_step, prediction_step
from assay.workflows.ab_inputs import ABSource
from assay.workflows.ab_settings import ABOptions
from assay.workflows.ab_test import ABRequest, analyse_ab_test
from assay.workflows.document_clicks import put_document_clicks
from assay.workflows.event_inputs import EventSource
from assay.workflows.interleave import InterleaveRequest, InterleaveResult, analyse_interleaving
from assay.workflows.online_metrics import MetricsRequest, OnlineMetrics, measure_online_metrics
from assay.workflows.online_saving import SaveOnlineRequest, save_online
from assay.workflows.predict import PredictRequest, predict_online
from assay.workflows.searched_queries import put_searches
from assay.workflows.simulated_traffic import TrafficFiles, TrafficRequest, list_documents, write_traffic

_USERS, _INTERLEAVED_USERS = 4_000, 400
_PAST_USERS, _PAST_DAYS = 1_200, 7  # of each A/B test of a nightly build
_METRICS = ("ctr", "zero_result", "abandonment", "reformulation", "session_success", "mrr", "latency_p95")
_MEASURES = ("nDCG@10", "R@10", "RR@10")


def measure_traffic(
    folder: Path, runs: Sequence[Run], qrels: Qrels, queries: Queries, build: Callable[[int], Run]
) -> list[DemoStep]:
    """Simulate users of both searches, decide by what they do, and compare it with offline differences.

    `build` returns the run of a nightly build, by its dimensions.
    """
    names = (runs[0].name, runs[1].name)
    request = TrafficRequest(
        folder=str(folder / "traffic"), users=_USERS, interleaved_users=_INTERLEAVED_USERS
    )
    files = write_traffic(request, {run.name: run for run in runs})
    metrics, test = _measure_test(folder, files)
    preference = analyse_interleaving(
        InterleaveRequest(events=[str(files.interleaved)], baseline=names[0], beside_ab=[str(files.ab_test)])
    )
    saved = _Evidence(folder, names)
    saved.keep_past_tests(runs[0], build, qrels, queries)
    saved.keep(metrics, test, preference)
    report = saved.predict()
    return [
        ab_step(test, files.counts["ab_test"]),
        interleaving_step(preference),
        prediction_step(report, saved.test_name),
    ]


def _measure_test(folder: Path, files: TrafficFiles) -> tuple[OnlineMetrics, ABTest]:
    """Return the online metrics of the log, and its A/B test by the rules of the project."""
    source, project = EventSource(paths=[str(files.ab_test)]), folder / "assay.toml"
    by = ("day", "variant")
    request = MetricsRequest(source=source, metrics=_METRICS, by=by, project=project, with_searches=True)
    test = ABRequest(source=ABSource(events=source), project=str(project))
    return measure_online_metrics(request), analyse_ab_test(test)


class _Evidence:
    """What is kept in the store of the demo; a second run of the demo keeps nothing twice."""

    def __init__(self, folder: Path, names: tuple[str, str]) -> None:
        self.folder, self.names = folder, names
        self.test_name = f"{names[1]} against {names[0]}"
        with Store(folder / "store") as store:
            self.kept = {record.name for record in store.ab_tests()}
            nightly = store.list(names=["nightly"])[::-1]  # the oldest first
        self.nightly = [(e.id, int(e.configuration["dimensions"])) for e in nightly]

    def keep(self, metrics: OnlineMetrics, test: ABTest, preference: InterleaveResult) -> None:
        """Keep the evidence of the fortnight."""
        if self.test_name not in self.kept:
            self._save(ONLINE_METRICS, "help centre", metrics.to_dict(), (), self._put_tables(metrics))
            self._save(AB_TEST, self.test_name, test.to_dict(), self.names)
            self._save(INTERLEAVING, self.test_name, preference.to_dict(), self.names)

    def keep_past_tests(
        self, baseline: Run, build: Callable[[int], Run], qrels: Qrels, queries: Queries
    ) -> None:
        """Keep an A/B test of each nightly build against the baseline."""
        lists = list_documents(baseline)
        for night, (experiment, dimensions) in enumerate(self.nightly, 1):
            name = f"nightly {night}"
            if name not in self.kept:
                rankings = {self.names[0]: lists, "nightly": list_documents(build(dimensions))}
                settings = TrafficSettings(users=_PAST_USERS, days=_PAST_DAYS, seed=10 + night)
                path = self.folder / "traffic" / f"nightly-{night}.ndjson"
                simulate(rankings, queries, qrels, settings).write(path)
                body = _analyse_past(path, self.names[0]).to_dict()
                self._save(AB_TEST, name, body, (self.names[0], experiment))

    def predict(self) -> PredictionReport:
        """Return whether the offline differences of all tests predicted the online ones."""
        return predict_online(PredictRequest(store=str(self.folder / "store"), measures=_MEASURES))

    def _put_tables(self, metrics: OnlineMetrics) -> dict[str, str]:
        """Keep what users searched for, and which documents they clicked; return the digests by role."""
        place = (str(self.folder / "store"), self.folder / "assay.toml")
        searches = put_searches(metrics.searches, *place)
        return {**searches, **put_document_clicks(metrics.document_clicks, *place)}

    def _save(
        self,
        kind: str,
        name: str,
        body: Mapping[str, Any],
        offline: Sequence[str],
        tables: Mapping[str, str] | None = None,
    ) -> None:
        store = str(self.folder / "store")
        save_online(
            kind, body, SaveOnlineRequest(name=name, offline=offline, store=store, tables=tables or {})
        )


def _analyse_past(path: Path, control: str) -> ABTest:
    source = ABSource(events=EventSource(paths=[str(path)]))
    options = ABOptions(goals=["ctr"], control=control, inference="fixed", planned_days=_PAST_DAYS)
    return analyse_ab_test(ABRequest(source=source, options=options))
