"""assay online ab: an A/B test."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.cli import print_notes
from assay.cli.online.ab_options import (
    ab_source,
    add_roles,
    add_source,
    metric_settings,
    shared_options,
)
from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.errors import InputError
from assay.core.online_records import AB_TEST
from assay.online.ab.design import SEQUENTIAL_METHODS
from assay.stats.corrections import CORRECTIONS
from assay.views.ab_test import FORMATS, render_ab_test
from assay.workflows.ab_settings import ABOptions
from assay.workflows.ab_test import ABRequest, analyse_ab_test

if TYPE_CHECKING:
    from assay.workflows.online_saving import SaveOnlineRequest

EXAMPLES = """  assay online ab events.ndjson --goal ctr --guardrail latency_p95=5% --by device
  assay online ab units.csv --goal revenue --covariate revenue=revenue_before
  assay online ab sums.json --control main --shares main=50,branch=50
  assay online ab events.parquet --start 2026-01-08 --cuped --watch
  assay online ab units.parquet --looks 14 --planned-days 14 --format json
  assay online ab events.ndjson --save branch --offline main branch
"""


def _add_options(part: argparse.ArgumentParser) -> None:
    add_source(part)
    add_roles(part)
    part.add_argument("--control", metavar="VARIANT", help="the variant that the others are compared with")
    part.add_argument(
        "--shares",
        action="append",
        default=[],
        metavar="[DAY:]VARIANT=SHARE,…",
        help="the planned shares (default: equal); repeat with the day from which other shares held",
    )
    part.add_argument("--day", metavar="COLUMN", help="the day of a unit's first query (default: day)")
    part.add_argument("--phase", metavar="COLUMN", help="compare within the phases of this column only")
    part.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also compare in each slice of a column; may be repeated",
    )
    _add_plan(part)
    group = part.add_argument_group("recording")
    group.add_argument("--save", metavar="NAME", help="keep the result in the store under this name")
    group.add_argument(
        "--offline",
        nargs=2,
        default=[],
        metavar=("BASELINE", "CANDIDATE"),
        help="the experiments of the two searches, to see later whether they predicted the result",
    )
    add_store(group)
    add_format(part, FORMATS)


def _add_plan(part: argparse.ArgumentParser) -> None:
    group = part.add_argument_group("how the test is looked at")
    group.add_argument(
        "--inference",
        choices=SEQUENTIAL_METHODS,
        help="one look at the planned end, looks before a planned end, or any number of looks",
    )
    group.add_argument("--watch", action="store_true", help="the same as --inference always-valid")
    group.add_argument("--looks", type=int, metavar="N", help="planned looks of a group-sequential test")
    group.add_argument("--planned-days", type=int, metavar="N", help="the planned days")
    group.add_argument("--planned-n", type=int, metavar="N", help="the planned units of all variants")
    group.add_argument("--days", type=int, metavar="N", help="the days that the data cover")
    group.add_argument(
        "--mde", metavar="MARGIN", help="the smallest difference that matters, such as 2%%, for the days left"
    )
    group.add_argument("--power", type=float, metavar="P", help="the chance to find it (default: 0.8)")
    group.add_argument("--level", type=float, metavar="L", help="level of the intervals (default: 0.95)")
    group.add_argument(
        "--correction", choices=CORRECTIONS, help="of p for several metrics and variants (default: holm)"
    )
    group.add_argument(
        "--min-n", type=int, metavar="N", help="units of each variant to decide anything (default: 100)"
    )


def _ab(arguments: argparse.Namespace) -> int:
    saving = _save_request(arguments)
    test = analyse_ab_test(
        ABRequest(
            source=ab_source(arguments),
            options=_options(arguments),
            experiment=arguments.experiment,
            start=arguments.start,
            uses_past=arguments.cuped,
            settings=metric_settings(arguments),
            slo_ms=arguments.slo_ms,
            project=arguments.project,
        )
    )
    show_result(test, arguments.format, lambda style: render_ab_test(test, style))
    if saving is not None:
        from assay.workflows.online_saving import save_online

        saved = save_online(AB_TEST, test.to_dict(), saving)
        print_notes([f"saved {saved.name} as {saved.id} in {saved.store}"])
    return test.exit_code


def _options(arguments: argparse.Namespace) -> ABOptions:
    if arguments.watch and arguments.inference not in (None, "always-valid"):
        raise InputError(f"expected --watch or --inference {arguments.inference}, found both")
    inference = "always-valid" if arguments.watch else arguments.inference
    if arguments.looks and inference is None:
        inference = "group-sequential"
    return replace(
        shared_options(arguments),
        control=arguments.control,
        shares=arguments.shares,
        day=arguments.day,
        phase=arguments.phase,
        by=arguments.by,
        level=arguments.level,
        correction=arguments.correction,
        inference=inference,
        looks=arguments.looks,
        planned_days=arguments.planned_days,
        planned_n=arguments.planned_n,
        days=arguments.days,
        mde=arguments.mde,
        power=arguments.power,
        min_n=arguments.min_n,
    )


def _save_request(arguments: argparse.Namespace) -> SaveOnlineRequest | None:
    """Return what the options say to keep; what could not be saved is refused before anything is read."""
    if arguments.save is None:
        if arguments.offline:
            raise InputError("--offline expects --save NAME: it links the saved result to experiments")
        return None
    from assay.workflows.online_saving import SaveOnlineRequest, check_online_saving  # loads the store

    request = SaveOnlineRequest(name=arguments.save, offline=arguments.offline, store=arguments.store)
    check_online_saving(request)
    return request


SUBCOMMANDS = {
    "ab": Subcommand(
        _ab,
        _add_options,
        "an A/B test from events, units or sums: differences, sample ratio, guardrails and status",
    )
}
