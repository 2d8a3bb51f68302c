"""Analyse an A/B test: what `assay online ab` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from assay.core.errors import InputError
from assay.core.events import Problem
from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.cells import TestSums, plain_sums
from assay.online.ab.design import CONTROL_NAMES, ABDesign, MetricRole
from assay.online.ab.event_sums import LoggedTest, sum_events
from assay.online.event_tables import EventTables, load_ibis
from assay.online.measured_metrics import Report
from assay.online.metrics import Metric, MetricSettings, parse_metric
from assay.online.metrics.built_in import SLO_MS
from assay.online.metrics.metric import DEFAULT_SETTINGS
from assay.online.units import UNIT
from assay.workflows.ab_inputs import ABSource, copy_standard_input, open_sums, open_units, read_units
from assay.workflows.ab_settings import ABOptions, ABSettings, read_ab_settings
from assay.workflows.event_inputs import open_event_tables
from assay.workflows.online_metrics import read_project_metrics, select_metrics
from assay.workflows.settings import PROJECT_FILE

__all__ = ["ABRequest", "SummedTest", "analyse_ab_test", "plain_sums", "read_test_sums"]
EVENT_GOAL = "ctr"
EVENT_METRICS = (
    EVENT_GOAL,
    "zero_result",
    "abandonment",
    "reformulation",
    "session_success",
    "mrr",
    "latency_p95",
)
_UNITS_ONLY = {
    "ratios": "--ratio",
    "covariates": "--covariate",
    "quantiles": "--quantile",
    "phase": "--phase",
}


@dataclass(frozen=True, kw_only=True)
class ABRequest:
    """The data of a test, its design, and how a log of events has it."""

    source: ABSource
    options: ABOptions = field(default_factory=ABOptions)
    experiment: str | None = None
    start: str | None = None
    uses_past: bool = False
    settings: MetricSettings = DEFAULT_SETTINGS
    slo_ms: float = SLO_MS
    is_past: bool = False  # traffic before a test: variants are not told apart
    project: str | None = None  # None: the assay.toml of this folder, if there is one


@dataclass(frozen=True)
class SummedTest:
    """The sums of a test, its design, and the problems of its log."""

    sums: TestSums
    design: ABDesign
    problems: Sequence[Problem] = ()


def analyse_ab_test(request: ABRequest, report: Report = lambda step: None) -> ABTest:
    """Analyse a test from events, from a table of units, or from a table of sums."""
    summed = read_test_sums(request, report)
    report("comparing the variants")
    try:
        test = analyse_sums(summed.sums, summed.design)
    except InputError as error:
        raise InputError(f"{request.source.name}: {error}") from None
    return replace(test, problems=summed.problems)


def read_test_sums(request: ABRequest, report: Report = lambda step: None) -> SummedTest:
    """Return the sums of a test, whatever its data are."""
    settings = read_ab_settings(request.options, request.project)
    if not request.source.events.paths and request.source.events.url is None:
        raise InputError(
            "expected a log of events, a table of units (unit_id, variant, METRIC…) or a table of sums (JSON)"
        )
    with ExitStack() as stack:
        if list(request.source.events.paths) == ["-"]:
            path = copy_standard_input()
            stack.callback(os.unlink, path)
            events = replace(request.source.events, paths=[path])
            request = replace(request, source=replace(request.source, events=events))
        report("reading the sums of the units")
        sums = open_sums(request.source)
        if sums is not None:
            _check_sums_options(request)
            return SummedTest(*_name_control(sums, settings.design))
        table = stack.enter_context(open_units(request.source, settings.columns))
        if table is not None:
            _refuse_event_options(request)
            if request.is_past:
                table = table.mutate(**{settings.columns.variant: load_ibis().literal("all")})
            level = settings.design.level
            return SummedTest(
                read_units(table, settings.columns, request.source.name, level), settings.design
            )
        return _sum_log(request, settings, report)


def _check_sums_options(request: ABRequest) -> None:
    """Refuse options that choose columns: a table of sums has none."""
    _refuse_event_options(request)
    named = _said(request.options)
    if named:
        raise InputError(
            f"{request.source.name}: {', '.join(named)} chooses columns, which a table of sums does not "
            "have; give a table of units, or sums by day or stratum"
        )


def _name_control(sums: TestSums, design: ABDesign) -> tuple[TestSums, ABDesign]:
    """Return the design with the first variant of a table of sums as control, if none is named so."""
    names = list(dict.fromkeys(cell.variant for cell in sums.cells))
    if design.control is not None or len(names) < 2 or any(n.casefold() in CONTROL_NAMES for n in names):
        return sums, design
    note = f"the control is {names[0]}, the first variant of the table (--control VARIANT names another)"
    return replace(sums, notes=[*sums.notes, note]), replace(design, control=names[0])


def _said(options: ABOptions) -> list[str]:
    """Return the options of columns that the command itself has, not the project."""
    names = {"by": "--by", "day": "--day", "stratum": "--stratify", **_UNITS_ONLY}
    return [option for name, option in names.items() if getattr(options, name)]


def _refuse_event_options(request: ABRequest) -> None:
    given = {
        "--experiment": request.experiment,
        "--start": request.start,
        "--cuped": request.uses_past,
        "--winsorise": request.settings.winsorise,
    }
    named = [option for option, value in given.items() if value]
    if named:
        raise InputError(
            f"{request.source.name}: {', '.join(named)} is for a log of events, found a table; a table of "
            "units takes its covariate by --covariate METRIC=COLUMN"
        )


def _sum_log(request: ABRequest, settings: ABSettings, report: Report) -> SummedTest:
    """Return the sums of a test in a log of events."""
    said = [option for option in _said(request.options) if option in _UNITS_ONLY.values()]
    if said:
        raise InputError(f"{', '.join(said)} is for a table of units, found a log of events")
    report("reading the log")
    with open_event_tables(request.source.events) as tables:
        return _sum_tables(request, settings, tables, report)


def _sum_tables(request: ABRequest, settings: ABSettings, tables: EventTables, report: Report) -> SummedTest:
    if request.is_past:
        null = load_ibis().null("string")
        everyone = tables.queries.mutate(variant=load_ibis().literal("all"), experiment_id=null)
        tables = replace(tables, queries=everyone)
    metrics = _choose_metrics(request, settings, tables)
    design = _design_of_log(settings, metrics)
    report("summing the metrics of each unit")
    columns = settings.columns
    test = LoggedTest(
        metrics=metrics,
        experiment=request.experiment,
        start=request.start,
        uses_past=request.uses_past,
        stratum=columns.stratum,
        by=columns.by,
        unit=UNIT if columns.unit == "unit_id" else columns.unit,
        settings=request.settings,
        level=design.level,
    )
    return SummedTest(sum_events(tables, test), design, tables.problems)


def _choose_metrics(request: ABRequest, settings: ABSettings, tables: EventTables) -> list[Metric]:
    """Return the named metrics; without names, the usual ones and those of the project."""
    own = read_project_metrics(request.project or PROJECT_FILE)
    names = list(settings.metrics) or [*EVENT_METRICS, *own]
    try:
        return select_metrics(names, tables, own, request.slo_ms)
    except InputError as error:
        raise InputError(f"{request.source.name}: {error}") from None


def _design_of_log(settings: ABSettings, metrics: Sequence[Metric]) -> ABDesign:
    """Return the design with the direction of each metric; if none is named, the CTR is the goal."""
    given = {_canonical_name(name, metrics): role for name, role in settings.design.roles.items()}
    design = replace(settings.design, roles=given)
    roles = {}
    for metric in metrics:
        role = given.get(metric.name)
        if role is None and not settings.metrics:
            role = MetricRole("goal" if metric.name == EVENT_GOAL else "secondary")
        role = role or design.role_of(metric.name)
        is_lower = role.lower_is_better or bool(metric.lower_is_better)
        roles[metric.name] = replace(role, lower_is_better=is_lower)
    return replace(design, roles=roles)


def _canonical_name(name: str, metrics: Sequence[Metric]) -> str:
    """Return the name of a metric that may have been named otherwise, such as click_mrr."""
    return name if any(metric.name == name for metric in metrics) else parse_metric(name).name
