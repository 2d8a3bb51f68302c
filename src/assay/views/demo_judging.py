"""The steps of the demo that build an evaluation set and use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from assay.judging.agreement.report import AgreementReport
from assay.judging.checks.finding import Finding
from assay.judging.estimate.estimates import LabelEstimates
from assay.judging.pool_coverage import DepthCost
from assay.judging.topic_set_size import TopicSetSize
from assay.views.demo import DemoStep
from assay.views.numbers import format_estimate, format_value

_KAPPA = 0.7  # the least agreement that guides ask for


class JudgedSet(NamedTuple):
    """What is known of the evaluation set of the demo."""

    agreement: AgreementReport
    findings: Sequence[Finding]
    version: str
    estimates: LabelEstimates


class Sample(Protocol):
    """A sample of queries with its plan."""

    @property
    def plan(self) -> TopicSetSize:
        """How precise a mean over the sample is."""


class CountedPool(Protocol):
    """The costs of a pool."""

    @property
    def depths(self) -> tuple[DepthCost, ...]:
        """The pairs and hours that each depth costs."""

    @property
    def rate(self) -> float:
        """How many pairs are judged in an hour."""


def pool_step(sample: Sample, pool: CountedPool) -> DemoStep:
    """Which queries and pairs must be judged, and how precise the result will be."""
    plan, deepest = sample.plan, pool.depths[-1]
    width, difference = plan.width or 0.0, plan.difference or 0.0
    costs = ", ".join(f"depth {cost.depth}: {cost.pairs:,}" for cost in pool.depths)
    return DemoStep(
        "Which queries and documents must people judge?",
        "assay dataset sample, pool",
        f"{plan.n:,} sampled queries and the first {deepest.depth} documents of both searches: "
        f"{deepest.pairs:,} pairs, {deepest.hours:.1f} hours at {pool.rate:g} an hour",
        f"they will give means ± {width / 2:.3f} and detect a difference of {difference:.3f} "
        f"(scores are assumed to deviate by {plan.spread.scores:g})",
        [f"pairs by depth: {costs}"],
    )


def label_step(judged: JudgedSet) -> DemoStep:
    """How far two raters agree, what is wrong with the set, and what few labels with a model are worth."""
    kappa = judged.agreement.agreement.fleiss
    first = judged.estimates.estimates[0]
    run, powered = first.target.run, first.estimate
    problems = [finding for finding in judged.findings if finding.severity != "info"]
    kinds = ", ".join(finding.kind.replace("_", " ") for finding in problems) or "none"
    return DemoStep(
        "Can the labels be trusted, and what are few of them worth?",
        "assay judge agreement, qrels, estimate",
        f"two simulated raters agree on {100 * (judged.agreement.agreement.agreement.value or 0):.0f} % of "
        f"{kappa.n:,} pairs: κ {format_estimate(kappa)}, "
        f"{'above' if (kappa.value or 0) > _KAPPA else 'below'} the {_KAPPA:g} that guides ask for",
        f"nDCG@10 of {run} is {format_estimate(powered.combined)} by the labels of people and a model; the "
        f"model alone says {format_value(powered.model_only.value)}",
        [
            f"by people alone {format_estimate(powered.human_only)}; together as good as "
            f"{powered.effective_n or 0:.0f} labelled queries in place of {powered.human_only.n}",
            f"assay dataset check: {len(problems)} warnings ({kinds})",
            f"kept as version {judged.version}, with the recipe of the sample and the rule dawid-skene",
        ],
    )
