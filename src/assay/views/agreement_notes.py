"""What the agreement of raters means, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.judging.agreement import AgreementReport
from assay.judging.agreement.copies import SuspiciousPair
from assay.judging.agreement.system_order import OrderComparison
from assay.stats import Estimate
from assay.views.numbers import format_estimate, format_signed

GUIDES_BAR = 0.7
_HIGH_AGREEMENT, _LOW_KAPPA = 0.8, 0.4  # the paradox: raters agree, and κ is low
_MOST_NOTES = 3
_MANY_GRADES = 12


def reliability_notes(report: AgreementReport) -> list[str]:
    """Return what to know before the labels are used."""
    if not report.has_overlap:
        return []
    return [
        *_bar_notes(report),
        *_paradox_notes(report),
        *map(describe_suspicion, report.suspicious[:_MOST_NOTES]),
        *_scale_notes(report),
    ]


def _bar_notes(report: AgreementReport) -> list[str]:
    is_pair = len(report.raters) == 2
    kappa = report.pairs.kappa["none"].estimate(0) if is_pair else report.agreement.fleiss
    name = "κ" if is_pair else "Fleiss κ"
    if kappa.value is None:
        return [f"{name} is undefined: the labels do not vary, so chance alone explains the agreement"]
    notes = [f"{name} {format_estimate(kappa, 3)} {_compare_with_bar(kappa)}"]
    if kappa.value <= GUIDES_BAR and report.system_order is None:
        notes.append(
            "see whether the order of systems survives a change of rater: --run RUN --run RUN -m MEASURE"
        )
    return notes


def _compare_with_bar(kappa: Estimate) -> str:
    """Return on which side of the bar of the guides a κ lies.

    >>> _compare_with_bar(Estimate(0.75, 0.66, 0.83, 0.95, 120))
    'is above 0.7, the bar that guides set, but its interval reaches below'
    """
    bar = f"{GUIDES_BAR:g}, the bar that guides set"
    if kappa.value is None or kappa.value <= GUIDES_BAR:
        reaches = kappa.high is not None and kappa.high > GUIDES_BAR
        return f"is below {bar}" + (
            ", but its interval reaches above" if reaches else "; trained raters often reach 0.60 to 0.68"
        )
    reaches = kappa.low is None or kappa.low <= GUIDES_BAR
    return f"is above {bar}" + (", but its interval reaches below" if reaches else "")


def _paradox_notes(report: AgreementReport) -> list[str]:
    """Return a note on each pair of raters that agree although κ is low, or one on all raters."""
    pairs = report.pairs
    kappa, raw = pairs.kappa["none"].value, pairs.agreement.value
    ac1 = pairs.gwet["none"].value
    with np.errstate(invalid="ignore"):
        is_paradox = (raw >= _HIGH_AGREEMENT) & (kappa < _LOW_KAPPA) & (ac1 - kappa > 0.2) & (pairs.n >= 10)
    rows = np.flatnonzero(is_paradox).tolist()
    top = max(report.prevalence, key=lambda share: share.share)
    notes = [
        f"{' and '.join(pairs.names(row))} agree on {100 * raw[row]:.3g} % of {int(pairs.n[row]):,} pairs, "
        "but κ is "
        f"{format_signed(float(kappa[row]), 2)}: {100 * pairs.chance[row]:.3g} % would agree by chance, "
        "since "
        f"{100 * top.share:.3g} % of all labels are {top.grade:g}. AC1, which prevalence moves less, is "
        f"{ac1[row]:.2f}. Judge more pairs with rare grades before you trust either"
        for row in rows[:_MOST_NOTES]
    ]
    more = len(rows) - _MOST_NOTES
    return notes + [f"the same holds for {more:,} more pairs of raters"] * (more > 0)


def describe_suspicion(pair: SuspiciousPair) -> str:
    """Return why identical labels are suspicious.

    >>> describe_suspicion(SuspiciousPair("ann", "bob", 120, 0.8, 2.3e-12))
    'suspicious: the labels of ann and bob are identical on all 120 pairs that both judged; raters who do
    not copy would agree on about 80 % and be identical with a chance of 2e-12. Check that both judged'
    """
    return (
        f"suspicious: the labels of {pair.first} and {pair.second} are identical on all {pair.n:,} pairs "
        "that both "
        f"judged; raters who do not copy would agree on about {100 * pair.expected:.3g} % and be identical "
        "with a "
        f"chance of {pair.probability:.0e}. Check that both judged"
    )


def _scale_notes(report: AgreementReport) -> list[str]:
    if len(report.prevalence) <= _MANY_GRADES:
        return []
    return [
        f"there are {len(report.prevalence):,} different grades; κ without weights, nominal α and AC1 "
        "count any two as "
        "different: read the linear, quadratic, ordinal and interval coefficients"
    ]


def swap_notes(comparisons: Sequence[OrderComparison]) -> list[str]:
    """Return which systems swap when another rater's labels score them, the first of many."""
    notes = [
        f"{swap.first} − {swap.second} is {_difference(swap.by_first_rater)} by {comparison.first} and "
        f"{_difference(swap.by_second_rater)} by {comparison.second}"
        for comparison in comparisons
        for swap in comparison.swaps
    ]
    more = len(notes) - _MOST_NOTES
    if not notes:
        return ["no two systems swap: the order is the same by each rater"]
    return notes[:_MOST_NOTES] + [f"{more:,} more pairs of systems swap"] * (more > 0)


def _difference(estimate: Estimate) -> str:
    value = format_signed(estimate.value or 0.0)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} ({format_signed(estimate.low)} … {format_signed(estimate.high)})"
