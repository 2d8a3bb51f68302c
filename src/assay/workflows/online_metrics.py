"""Compute the online metrics of a log: what `assay online metrics` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.core.errors import ConfigurationError, InputError
from assay.core.settings import SettingsReader
from assay.core.suggestions import did_you_mean
from assay.online.document_clicks import count_document_clicks
from assay.online.event_tables import EventTables
from assay.online.measured_metrics import OnlineMetrics, Report, measure_metrics
from assay.online.metrics import METRICS, Metric, MetricSettings, parse_metric
from assay.online.metrics.built_in import SLO_MS
from assay.online.metrics.metric import DEFAULT_SETTINGS
from assay.online.metrics.own_metrics import OwnMetric, read_own_metrics
from assay.online.searched_queries import count_searches
from assay.online.units import UNIT
from assay.workflows.event_inputs import EventSource, open_event_tables
from assay.workflows.settings import PROJECT_FILE, read_settings

__all__ = ["MetricsRequest", "OnlineMetrics", "measure_online_metrics", "select_metrics"]


@dataclass(frozen=True, kw_only=True)
class MetricsRequest:
    """The log, the metrics and how to compute them."""

    source: EventSource
    metrics: Sequence[str] = ()  # none: all that Assay and the project have
    by: Sequence[str] = ()
    unit: str = UNIT
    slo_ms: float = SLO_MS
    settings: MetricSettings = DEFAULT_SETTINGS
    level: float = 0.95
    project: str | Path = PROJECT_FILE  # may define metrics of its own
    with_searches: bool = False  # count what users searched for and clicked, to be kept beside the metrics

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"--level must be between 0 and 1, found {self.level:g}")
        if not self.slo_ms > 0:
            raise InputError(f"--slo-ms must be greater than 0, found {self.slo_ms:g}")


def measure_online_metrics(request: MetricsRequest, report: Report = lambda step: None) -> OnlineMetrics:
    """Compute the metrics of a log; `report` receives what is done next."""
    own = read_project_metrics(request.project)
    for name in request.metrics:  # before the log is read
        _check_name(name, own, request.slo_ms)
    report("reading the log")
    with open_event_tables(request.source) as tables:
        metrics = measure_metrics(
            tables,
            select_metrics(request.metrics, tables, own, request.slo_ms),
            request.by,
            unit=request.unit,
            settings=request.settings,
            level=request.level,
            report=report,
        )
        if not request.with_searches:
            return metrics
        report("counting the clicks of documents")
        clicks = count_document_clicks(tables, request.settings.clicks)
        return replace(metrics, searches=count_searches(tables), document_clicks=clicks)


def select_metrics(
    names: Sequence[str],
    tables: EventTables,
    own: Mapping[str, OwnMetric] | None = None,
    slo_ms: float = SLO_MS,
) -> list[Metric]:
    """Return the metrics of these names over a log; without names, all that Assay and a project have."""
    own = own or {}
    selected = [own[name].on(tables) if name in own else parse_metric(name, slo_ms) for name in names]
    if not names:
        selected = [parse_metric(name, slo_ms) for name in METRICS] + [m.on(tables) for m in own.values()]
    return list({metric.name: metric for metric in selected}.values())


def _check_name(name: str, own: Mapping[str, OwnMetric], slo_ms: float) -> None:
    if name in own:
        return
    hint = did_you_mean(name, own, 0.8)
    if hint and name not in METRICS:
        raise InputError(f"there is no online metric {name}; {hint}")
    parse_metric(name, slo_ms)


def read_project_metrics(path: str | Path = PROJECT_FILE) -> dict[str, OwnMetric]:
    """Return the metrics under [online.metrics] of an assay.toml; none if the default file is absent."""
    if not Path(path).exists() and str(path) == PROJECT_FILE:
        return {}
    settings = read_settings(path).get("online", {})
    tables = settings.get("metrics", {}) if isinstance(settings, Mapping) else {}
    if not isinstance(tables, Mapping):
        raise ConfigurationError({"online.metrics": f"expected tables by name, found {tables!r}"}, str(path))
    reader = SettingsReader(tables, "online.metrics")
    metrics = read_own_metrics(reader)
    if reader.problems:
        raise ConfigurationError(reader.problems, str(path))
    return metrics
