"""The state of a store at a glance: trends, gates, failing slices, open annotation work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.records import Experiment, Metric
from assay.evaluation.trends import Trend
from assay.judging.annotation.progress import ProjectCounts
from assay.store.annotation import AnnotationProjects
from assay.store.annotation_labels import read_counts
from assay.store.experiment_order import read_experiments
from assay.store.store import Store
from assay.views.trends import trend_dict
from assay.workflows.stores import open_existing_store
from assay.workflows.trends import read_trend

_RECENT = 200  # experiments that are looked at; only those that are shown are read in full
_SHOWN = 10
_TREND_POINTS = 30
_MAX_TRENDS = 8
_MAX_SLICES = 5
_PREFERRED_MEASURES = ("nDCG@10", "R@10")


@dataclass(frozen=True, kw_only=True)
class HomeRequest:
    """The store to summarize."""

    store: str | None = None


@dataclass(frozen=True)
class FailingSlice:
    """A slice of the newest experiment of a system with a low value."""

    name: str
    metric: Metric
    overall: float

    def to_dict(self) -> dict[str, Any]:
        """Return the slice as plain data."""
        return {"name": self.name, **self.metric.to_dict(), "overall": self.overall}


@dataclass(frozen=True)
class Home:
    """The state of a store at a glance."""

    experiments: Sequence[Experiment]  # the newest first
    trends: Sequence[tuple[str, Trend]]  # of the systems with several experiments, by name
    gates: Sequence[Experiment]  # the newest decision about each candidate
    failing_slices: Sequence[FailingSlice]
    projects: Sequence[ProjectCounts]  # open ones

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data."""
        return {
            "experiments": [experiment.to_dict() for experiment in self.experiments],
            "trends": [{"name": name, **trend_dict(trend)} for name, trend in self.trends],
            "gates": [experiment.to_dict() for experiment in self.gates],
            "failing_slices": [part.to_dict() for part in self.failing_slices],
            "projects": [counts.to_dict() for counts in self.projects],
        }


def summarize_store(request: HomeRequest) -> Home:
    """Return the state of a store at a glance."""
    with open_existing_store(request.store) as store:
        recent = store.list(limit=_RECENT, metrics_of=())
        newest, gates = _newest(recent), _newest([e for e in recent if e.kind == "gate"])
        ids = dict.fromkeys(e.id for e in (*recent[:_SHOWN], *newest, *gates))
        full = read_experiments(store, list(ids))
        projects = [read_counts(store.database, p) for p in AnnotationProjects(store).find()]
        return Home(
            _take(full, recent[:_SHOWN]),
            _trends(store, recent, _take(full, newest)),
            _take(full, gates),
            _failing_slices(_take(full, newest)),
            [counts for counts in projects if counts.closed_at is None],
        )


def _take(full: Mapping[str, Experiment], experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return experiments in full, without those that were deleted in between."""
    return [full[experiment.id] for experiment in experiments if experiment.id in full]


def _newest(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Return the newest experiment of each name."""
    newest: dict[str, Experiment] = {}
    for experiment in experiments:
        newest.setdefault(experiment.name, experiment)
    return list(newest.values())


def _trends(
    store: Store, recent: Sequence[Experiment], newest: Sequence[Experiment]
) -> list[tuple[str, Trend]]:
    counts: dict[str, int] = {}
    for experiment in recent:
        counts[experiment.name] = counts.get(experiment.name, 0) + 1
    names = [name for name, count in counts.items() if count > 1][:_MAX_TRENDS]
    measures = {experiment.name: _main_measure(experiment) for experiment in newest}
    return [
        (name, read_trend(store, measure, name=name, limit=_TREND_POINTS))
        for name in names
        if (measure := measures.get(name))
    ]


def _main_measure(experiment: Experiment) -> str:
    """Return the measure by which an experiment is followed; empty if it has none."""
    names = [metric.measure for metric in experiment.metrics if not metric.column]
    return next((name for name in _PREFERRED_MEASURES if name in names), names[0] if names else "")


def main_measures(experiments: Sequence[Experiment], most: int = 3) -> list[str]:
    """Return a few measures of the experiments, those by which experiments are followed first."""
    names = dict.fromkeys(m.measure for e in experiments for m in e.metrics if not m.column)
    preferred = [name for name in _PREFERRED_MEASURES if name in names]
    return list(dict.fromkeys([*preferred, *names]))[:most]


def _failing_slices(experiments: Sequence[Experiment]) -> list[FailingSlice]:
    """Return the slices whose interval lies below the value over all queries, the lowest first."""
    failing = []
    for experiment in experiments:
        measure = _main_measure(experiment)
        overall = next((m.value for m in experiment.metrics if m.measure == measure and not m.column), None)
        for metric in experiment.metrics if overall is not None else ():
            is_low = metric.high is not None and overall is not None and metric.high < overall
            if metric.measure == measure and metric.column and is_low:
                failing.append(FailingSlice(experiment.name, metric, overall or 0.0))
    return sorted(failing, key=lambda part: part.metric.value or 0.0)[:_MAX_SLICES]
