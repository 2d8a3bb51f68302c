"""What stored labels say, in sentences: agreement, a model against people, and what experiments used."""

from __future__ import annotations

from collections.abc import Sequence

from assay.judging.agreement import AgreementReport
from assay.judging.agreement.coefficients import Agreement
from assay.judging.dataset_diff import DatasetDiff
from assay.stats import Estimate
from assay.views.agreement_notes import GUIDES_BAR
from assay.views.numbers import format_estimate, format_percent, format_signed

COEFFICIENTS = (
    "agreement",
    "Fleiss κ",
    "α nominal",
    "α ordinal",
    "α interval",
    "AC1",
    "AC2 linear",
    "AC2 quadratic",
)


_NOUNS = {"queries": "queries", "qrels": "labels", "documents": "documents", "judgments": "judgments"}


def list_coefficients(agreement: Agreement) -> list[tuple[str, Estimate]]:
    """Return the coefficients of all raters together, each with its name."""
    estimates = [
        agreement.agreement,
        agreement.fleiss,
        *agreement.alpha.values(),
        agreement.ac1,
        *agreement.ac2.values(),
    ]
    return list(zip(COEFFICIENTS, estimates, strict=True))


def main_kappa(report: AgreementReport) -> Estimate:
    """Return Cohen's κ of two raters, or Fleiss' κ of more."""
    if len(report.raters) == 2 and report.has_overlap:
        return report.pairs.kappa["none"].estimate(0)
    return report.agreement.fleiss


def judge_kappa(kappa: Estimate) -> str:
    """Return on which side of the bar of the guides a κ is shown to lie: passed, failed or open.

    >>> judge_kappa(Estimate(0.75, 0.66, 0.83, 0.95, 120)), judge_kappa(Estimate(0.2, 0.1, 0.3, 0.95, 120))
    ('open', 'failed')
    """
    if kappa.low is not None and kappa.low > GUIDES_BAR:
        return "passed"
    return "failed" if kappa.high is not None and kappa.high <= GUIDES_BAR else "open"


def title_agreement(report: AgreementReport) -> str:
    """Return how far raters agree, in a few words."""
    words = {
        "passed": "The raters agree",
        "failed": "The raters differ more than guides allow",
        "open": "It is open whether the raters agree as well as guides ask",
    }
    if not report.has_overlap:
        return "No two raters labelled the same pair"
    return words[judge_kappa(main_kappa(report))]


def describe_model_labels(report: AgreementReport) -> str:
    """Return how far the labels of a model are those of people, in one sentence."""
    raw, kappa = report.pairs.agreement.estimate(0), report.pairs.kappa["none"].estimate(0)
    bias = report.rater_summaries[0].bias
    sentence = f"The model gives the grade of people on {format_percent(raw)} of {raw.n:,} pairs"
    sentence += "; κ is undefined" if kappa.value is None else f"; κ {format_estimate(kappa, 3)}"
    if bias.value is None or bias.low is None or bias.high is None:
        return f"{sentence}."
    ends = f"{format_signed(bias.low, 3)} … {format_signed(bias.high, 3)}"
    return f"{sentence}. Its grades lie {format_signed(bias.value, 3)} from those of people ({ends})."


def title_model_labels(report: AgreementReport) -> str:
    """Return whether a model agrees with people, and in which direction it errs, in a few words."""
    bias = report.rater_summaries[0].bias
    start = {"passed": "The model agrees with people", "failed": "The model differs from people"}.get(
        judge_kappa(main_kappa(report)), "It is open whether the model agrees with people"
    )
    if bias.low is not None and bias.low > 0:
        return f"{start}; it grades higher"
    if bias.high is not None and bias.high < 0:
        return f"{start}; it grades lower"
    return start


def describe_changes(diff: DatasetDiff) -> str:
    """Return which tables of an evaluation set differ, in one sentence.

    >>> from assay.judging.dataset_diff import TableDiff
    >>> describe_changes({"qrels": TableDiff([("q", "d")], [], [], 3), "queries": TableDiff([], [], [], 2)})
    'Labels: 1 added; the rest is the same'
    """
    parts = []
    for role, table in diff.items():
        counts = table.to_dict(0)["counts"]
        shown = [f"{counts[kind]:,} {kind}" for kind in ("added", "dropped", "changed") if counts[kind]]
        parts += [f"{_NOUNS[role]}: {', '.join(shown)}"] * bool(shown)
    if not parts:
        return "Both versions have the same content"
    rest = ["the rest is the same"] * (len(parts) < len(diff))
    sentence = "; ".join([*parts, *rest])
    return sentence[:1].upper() + sentence[1:]


def describe_coverage(label: str, versions: Sequence[str | None]) -> str:
    """Return how many experiments used a version.

    >>> describe_coverage("shop@1f", ["shop@1f", "shop@0a", None])
    '1 of 3 experiments was scored by shop@1f, 1 by another version, 1 by other judgments'
    """
    own = sum(version == label for version in versions)
    other = sum(version not in (label, None) for version in versions)
    rest = sum(version is None for version in versions)
    parts = [f"{own} of {len(versions)} experiments {'was' if own == 1 else 'were'} scored by {label}"]
    parts += [f"{other} by another version"] * bool(other)
    parts += [f"{rest} by other judgments"] * bool(rest)
    return ", ".join(parts)
