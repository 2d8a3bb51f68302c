"""The options of a test that `assay online ab` and `assay online plan` share."""

from __future__ import annotations

import argparse

from assay.cli.event_source import add_event_source, event_source
from assay.online.metrics import MetricSettings
from assay.workflows.ab_inputs import KINDS, ABSource
from assay.workflows.ab_settings import ABOptions


def add_source(part: argparse.ArgumentParser) -> None:
    """Add the data of a test, and what its columns are."""
    add_event_source(part)
    group = part.add_argument_group("data")
    group.add_argument(
        "--from",
        dest="kind",
        choices=KINDS,
        default="auto",
        help="what the data are: events, units (one row each: unit_id, variant, metrics) or sums (JSON); "
        "auto tells by the content",
    )
    group.add_argument("--table", metavar="NAME", help="the table of units in the database of --url")
    group.add_argument("--unit", metavar="COLUMN", help="the unit (default: unit_id; of events client_id)")
    group.add_argument("--variant", metavar="COLUMN", help="the variant of a unit (default: variant)")
    _repeat(group, "--ratio", "METRIC=A/B", "a metric that is the sum of a column over that of another")
    _repeat(
        group,
        "--covariate",
        "METRIC=COLUMN",
        "CUPED: the same measured before the test (COLUMN/COLUMN for a ratio)",
    )
    _repeat(group, "--quantile", "METRIC=COLUMN@95", "a metric that is a percentile of a column")
    group.add_argument(
        "--stratify", metavar="COLUMN", help="compare within its values, known before the test, and weight"
    )
    group.add_argument("--project", metavar="FILE", help="settings with [online.ab] (default: assay.toml)")
    _add_log(part)


def _add_log(part: argparse.ArgumentParser) -> None:
    group = part.add_argument_group("logs of events")
    group.add_argument("--experiment", metavar="ID", help="the experiment_id, if the log has several")
    group.add_argument("--start", metavar="DAY", help="the first day of the test; before it is the past")
    group.add_argument("--cuped", action="store_true", help="use the same metrics before --start (CUPED)")
    group.add_argument(
        "--winsorise", type=float, metavar="Q", help="cut values of queries at this quantile of those above 0"
    )
    group.add_argument(
        "--slo-ms", type=float, default=500.0, metavar="MS", help="the latency objective (default: 500)"
    )


def _repeat(group: argparse._ArgumentGroup, option: str, metavar: str, text: str, *names: str) -> None:
    group.add_argument(
        *names, option, action="append", default=[], metavar=metavar, help=f"{text}; may be repeated"
    )


def add_roles(part: argparse.ArgumentParser) -> None:
    """Add the metrics and what each of them decides."""
    group = part.add_argument_group("metrics")
    _repeat(group, "--metric", "METRIC", "a metric (default: all columns of numbers; of events, ctr)", "-m")
    _repeat(
        group,
        "--goal",
        "METRIC[=MARGIN]",
        "must be shown to be better, by more than a margin such as 0.01 or 2%%",
    )
    _repeat(
        group,
        "--guardrail",
        "METRIC[=MARGIN]",
        "must not be shown to be worse; with a margin, it must be shown to be not worse by more",
    )
    _repeat(group, "--secondary", "METRIC", "is shown, and decides nothing")
    _repeat(group, "--lower", "METRIC", "is better if lower (known of Assay's own metrics)")


def ab_source(arguments: argparse.Namespace) -> ABSource:
    """Return the data that the options name."""
    return ABSource(events=event_source(arguments), table=arguments.table, kind=arguments.kind)


def shared_options(arguments: argparse.Namespace) -> ABOptions:
    """Return the options of the data and of the metrics."""
    return ABOptions(
        metrics=arguments.metric,
        goals=arguments.goal,
        guardrails=arguments.guardrail,
        secondary=arguments.secondary,
        lower=arguments.lower,
        ratios=arguments.ratio,
        covariates=arguments.covariate,
        quantiles=arguments.quantile,
        unit=arguments.unit,
        variant=arguments.variant,
        stratum=arguments.stratify,
    )


def metric_settings(arguments: argparse.Namespace) -> MetricSettings:
    """Return the settings of the metrics of a log."""
    return MetricSettings(winsorise=arguments.winsorise)
