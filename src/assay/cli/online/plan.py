"""assay online plan: sample size, duration and detectable effect of an A/B test."""

from __future__ import annotations

import argparse

from assay.cli.online.ab_options import ab_source, add_roles, add_source, metric_settings, shared_options
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format
from assay.online.ab.design import parse_margin
from assay.online.ab.plan import EFFECTS
from assay.views.ab_plan import FORMATS, render_plan
from assay.workflows.ab_plan import PlanDesign, PlanRequest, plan_ab_test
from assay.workflows.ab_test import ABRequest

EXAMPLES = """  assay online plan events.ndjson --metric ctr --mde 2%
  assay online plan units.csv --goal revenue --covariate revenue=revenue_before --days 14
  assay online plan sums.json --looks 14 --units-per-day 5000
  assay online plan --baseline 0.12 --mde 0.005 --units-per-day 2000
  assay online plan --baseline 4.2 --deviation 9.5 --mde 3% --arms 3 --watch
"""
_UNDECIDED = 3


def _add_options(part: argparse.ArgumentParser) -> None:
    add_source(part)
    add_roles(part)
    group = part.add_argument_group("a typed baseline, in place of past data")
    group.add_argument("--baseline", type=float, metavar="VALUE", help="the mean of a unit, or a share")
    group.add_argument(
        "--deviation", type=float, metavar="SD", help="the standard deviation of units (default: of a share)"
    )
    group = part.add_argument_group("the test")
    group.add_argument(
        "--mde",
        action="append",
        default=[],
        metavar="MARGIN",
        help="a difference that matters, such as 0.01 or 2%%; may be repeated (default: 1, 2, 5 and 10 %%)",
    )
    group.add_argument(
        "--days",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="a duration; may be repeated (default: 7, 14, 21 and 28 days)",
    )
    group.add_argument(
        "--units",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="a number of units of all arms; may be repeated",
    )
    group.add_argument("--units-per-day", type=float, metavar="N", help="new units of a day")
    group.add_argument("--coverage", type=float, default=1.0, metavar="SHARE", help="who takes part")
    group.add_argument("--arms", type=int, default=2, metavar="N", help="arms with the control (default: 2)")
    group.add_argument("--looks", type=int, metavar="N", help="planned looks of a group-sequential test")
    group.add_argument("--watch", action="store_true", help="any number of looks, by always-valid intervals")
    group.add_argument("--power", type=float, default=0.8, metavar="P", help="default: 0.8")
    group.add_argument("--level", type=float, default=0.95, metavar="L", help="default: 0.95")
    add_format(part, FORMATS)


def _plan(arguments: argparse.Namespace) -> int:
    past = _past(arguments) if arguments.events or arguments.url else None
    name = next(iter([*arguments.metric, *arguments.goal]), "metric").partition("=")[0]
    plan = plan_ab_test(
        PlanRequest(
            past=past,
            baseline=arguments.baseline,
            deviation=arguments.deviation,
            name=name,
            design=_design(arguments),
        )
    )
    show_result(plan, arguments.format, lambda style: render_plan(plan, style))
    return 0 if plan.is_decidable else _UNDECIDED


def _past(arguments: argparse.Namespace) -> ABRequest:
    return ABRequest(
        source=ab_source(arguments),
        options=shared_options(arguments),
        experiment=arguments.experiment,
        start=arguments.start,
        uses_past=arguments.cuped,
        settings=metric_settings(arguments),
        slo_ms=arguments.slo_ms,
        project=arguments.project,
    )


def _design(arguments: argparse.Namespace) -> PlanDesign:
    return PlanDesign(
        effects=[parse_margin(text, "--mde") for text in arguments.mde] or EFFECTS,
        days=arguments.days,
        units=arguments.units,
        units_per_day=arguments.units_per_day,
        level=arguments.level,
        power=arguments.power,
        arms=arguments.arms,
        coverage=arguments.coverage,
        looks=arguments.looks,
        is_watched=arguments.watch,
    )


SUBCOMMANDS = {
    "plan": Subcommand(
        _plan,
        _add_options,
        "units and days that an A/B test needs, and the effects that it can show, from past data",
    )
}
