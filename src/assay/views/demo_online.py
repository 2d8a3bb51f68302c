"""The steps of the demo that show what users did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from assay.online.ab.analysis import ABTest
from assay.online.interleaving.preference import Interleaving
from assay.online.interleaving.sensitivity import Sensitivity
from assay.online.prediction_report import PredictionReport
from assay.views.ab_test import render_ab_test
from assay.views.demo import DemoStep
from assay.views.numbers import format_count, format_interval, format_signed
from assay.views.online_pages import (
    describe_goal,
    describe_interleaving,
    describe_ratio,
    format_share,
    goals_of,
)
from assay.views.predict import describe_measure, describe_shortage, render_prediction


class ComparedPreference(Protocol):
    """An interleaving beside an A/B test."""

    @property
    def interleaving(self) -> Interleaving:
        """The preferences of users."""

    @property
    def sensitivity(self) -> Sensitivity | None:
        """The users that both need."""


def ab_step(test: ABTest, counts: Mapping[str, int]) -> DemoStep:
    """Whether users do better with the candidate, and whether the test can be trusted."""
    body = test.to_dict()
    guardrails = [result for result in test.metrics if result.role.role == "guardrail"]
    return DemoStep(
        "What do users do with it?",
        "assay online metrics, ab",
        f"a simulated fortnight of {counts['users']:,} users and {counts['queries']:,} queries: "
        + "; ".join(describe_goal(row) for row in goals_of(body)),
        f"{test.status.label}: {'; '.join(test.status.reasons)}",
        [
            describe_ratio(body["srm"]),
            "guardrails, always valid: "
            + "; ".join(
                f"{r.metric} {format_share(r.relative.estimate.value)} "
                f"({format_interval(r.relative.estimate, format_share)})"
                for r in guardrails
            ),
        ],
        render_ab_test(test, "table"),
    )


def interleaving_step(result: ComparedPreference) -> DemoStep:
    """Which search users prefer if they see both, and how many users that takes."""
    banner = describe_interleaving(result.interleaving.to_dict())
    facts = []
    if result.sensitivity is not None and result.sensitivity.metrics:
        first, needed = result.sensitivity.metrics[0], result.sensitivity.interleaving
        facts.append(
            f"users needed: {_users(needed.value)} by interleaving, "
            f"{_users(first.users_needed.value)} by an A/B test of {first.metric}"
        )
    return DemoStep(
        "Which one do users prefer if they see both?",
        "assay online interleave",
        banner["evidence"],
        banner["title"],
        facts,
    )


def _users(n: float | None) -> str:
    return "more than can be had" if n is None else format_count(round(n))


def prediction_step(report: PredictionReport, test: str) -> DemoStep:
    """Whether the offline differences of all tests predicted the online ones."""
    prediction = report.prediction
    own = [pair for pair in prediction.pairs if pair.test == test]
    found = sorted(prediction.measures, key=lambda m: -(m.spearman.value or -2.0))
    return DemoStep(
        "Did offline predict it?",
        "assay online predict",
        f"{len(prediction.tests)} A/B tests with offline experiments: this one, and the nightly builds",
        describe_measure(found[0]) if prediction.is_decidable else describe_shortage(prediction),
        [
            f"this test: {', '.join(f'{p.measure} {format_signed(p.offline.value or 0.0)}' for p in own)} "
            f"offline, {format_share(own[0].online.value)} online"
        ]
        if own
        else [],
        render_prediction(report, "table"),
    )
