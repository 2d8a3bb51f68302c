"""Fitted click models as tables and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from assay.core.events import Problem
from assay.judging.clicks.evaluation import LEAST_CHANCE, ModelComparison, Prediction
from assay.judging.clicks.harvesting import HarvestedExamination
from assay.judging.clicks.human_labels import HumanAgreement
from assay.judging.clicks.model import FittedModel
from assay.judging.clicks.off_policy import OffPolicyValue
from assay.judging.clicks.pair_table import PairTable
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.numbers import NO_VALUE, format_count, format_estimate, format_short, format_value
from assay.views.sections import Section, render_sections
from assay.views.terminal_tables import fit_to_terminal

FORMATS = ("table", "csv", "md", "html", "latex")
_NAMES = {
    "pbm": "PBM, the position-based model",
    "cm": "CM, the cascade model",
    "dcm": "DCM, the dependent click model",
    "sdbn": "SDBN, the simplified dynamic Bayesian network",
    "dbn": "DBN, the dynamic Bayesian network",
    "ubm": "UBM, the user browsing model",
    "coec": "COEC, clicks over expected clicks",
    "dwell": "clicks with a long dwell",
    "ctr": "CTR of each pair",
    "rctr": "CTR of each rank",
}
_PARAMETERS = {
    "examination_relative": "examination / rank 1",
    "continuation": "goes on after a click",
    "ctr_by_rank": "CTR",
}
_NOT_CONVERGED = 0.01  # of a change in the last iteration of EM
_PROBLEMS_SHOWN = 12


class FittedClicks(Protocol):
    """What `assay judge clicks` computed."""

    @property
    def model(self) -> FittedModel: ...  # noqa: D102
    @property
    def prediction(self) -> Prediction: ...  # noqa: D102
    @property
    def predicted_pages(self) -> str: ...  # noqa: D102
    @property
    def harvested(self) -> HarvestedExamination: ...  # noqa: D102
    @property
    def table(self) -> PairTable | None: ...  # noqa: D102
    @property
    def human(self) -> HumanAgreement | None: ...  # noqa: D102
    @property
    def comparison(self) -> ModelComparison | None: ...  # noqa: D102
    @property
    def problems(self) -> Sequence[Problem]: ...  # noqa: D102


def render_clicks(result: FittedClicks, style: str) -> str:
    """Return a fitted click model in one of the styles; CSV has the ranks."""
    head, rows = _rank_table(result)
    if style == "csv":
        return text.render_csv(head, rows)
    sections = [
        Section("", _fit_notes(result)),
        _comparison_section(result.comparison),
        Section("by rank", _rank_notes(result), head, rows),
        _pair_section(result.table),
        _human_section(result.human),
        problem_section(result.problems),
    ]
    if style == "table":
        sections[-1] = fit_to_terminal(sections[-1], (1, 2, 3))
    return render_sections(f"Clicks: {_NAMES[result.model.name]}", sections, style)


def _fit_notes(result: FittedClicks) -> list[str]:
    prediction, model = result.prediction, result.model
    pages = model.pairs.pages
    notes = [
        f"{_NAMES[model.name]}: {len(pages):,} pages, {len(pages.query_ids):,} queries, "
        f"{len(model.pairs):,} pairs of a query and a document",
        f"log-likelihood {format_estimate(prediction.log_likelihood)} (mean over pages of the mean over "
        f"ranks), perplexity {format_value(prediction.perplexity)} (mean over ranks), on "
        f"{prediction.pages:,} pages: {result.predicted_pages}",
        f"per impression: log-likelihood {format_value(prediction.log_likelihood_per_impression)}, "
        f"perplexity {format_value(prediction.perplexity_per_impression)}",
    ]
    if prediction.impossible:
        notes.append(
            f"{prediction.impossible:,} clicks or non-clicks are impossible under this model; each counts "
            f"as a chance of {LEAST_CHANCE:g}"
        )
    change = float(model.notes().get("last_change", 0.0))
    if change > _NOT_CONVERGED:
        notes.append(
            f"EM has not converged: the last iteration changed a parameter by {change:.3f}; "
            "raise --iterations"
        )
    return notes


def _comparison_section(comparison: ModelComparison | None) -> Section:
    if comparison is None:
        return Section("")
    first = comparison.predictions[0][1]
    rows = [
        [
            name,
            format_value(prediction.log_likelihood.value),
            NO_VALUE if name == comparison.best else format_estimate(prediction.difference(first)),
            format_value(prediction.perplexity),
            format_count(prediction.impossible),
        ]
        for name, prediction in comparison.predictions
    ]
    equal = [name for name in comparison.equally_good if name != comparison.best]
    notes = [f"{comparison.best} predicts best"]
    if equal:
        notes = [f"{comparison.best} predicts best, but not surely better than {', '.join(equal)}"]
    return Section(
        "models", notes, ["model", "log-likelihood", "behind the best", "perplexity", "impossible"], rows
    )


def _rank_notes(result: FittedClicks) -> list[str]:
    notes = []
    if "examination_relative" in result.model.intervals():
        notes.append(
            "clicks determine only ratios of examinations; intervals are of the ratio to rank 1, "
            "clustered by query"
        )
    pairs = result.harvested.pairs
    notes.append(
        f"harvested: from {pairs:,} pairs that were shown at several ranks; it assumes nothing of relevance"
        if pairs
        else "no pair was shown at two ranks, so position bias cannot be harvested"
    )
    return notes


def _rank_table(result: FittedClicks) -> tuple[list[str], list[list[str]]]:
    """Return perplexity, parameters and harvested examination by rank."""
    intervals = result.model.intervals()
    perplexity = result.prediction.perplexity_by_rank
    harvested = result.harvested.relative
    columns: list[Iterable[Estimate]] = [*intervals.values(), harvested]
    names = [_PARAMETERS.get(name, name) for name in intervals]
    head = ["rank", *names, "harvested / rank 1", "perplexity"]
    count = max(len(perplexity), len(harvested))
    cells = [_fill([format_estimate(e) for e in column], count) for column in columns]
    figures = _fill([format_value(None if p != p else float(p)) for p in perplexity], count)
    return head, [list(row) for row in zip(map(str, range(1, count + 1)), *cells, figures, strict=True)]


def _fill(cells: list[str], count: int) -> list[str]:
    return [*cells, *[NO_VALUE] * (count - len(cells))][:count]


def _pair_section(table: PairTable | None) -> Section:
    if table is None:
        return Section("")
    bounds = [0.0, *table.thresholds]
    counts = dict(table.frame["grade"].value_counts().rows())
    rows = [
        [str(grade), f"{low:.4g}" if grade else "", format_count(counts.get(grade, 0))]
        for grade, low in enumerate(bounds)
    ]
    notes = [
        f"{len(table.frame):,} pairs with {table.minimum_impressions} impressions or more, graded by "
        f"{table.rule}; {table.left_out:,} had fewer"
    ]
    return Section("relevance of pairs", notes, ["grade", "relevance from", "pairs"], rows)


def _human_section(human: HumanAgreement | None) -> Section:
    if human is None:
        return Section("")
    notes = [
        f"{human.pairs:,} pairs have a human label",
        f"Spearman ρ {format_estimate(human.spearman)}; AUC {format_estimate(human.auc)} for labels of "
        f"{human.relevant_from:g} or more; κ of the grades {format_estimate(human.kappa)}, quadratic "
        f"{format_estimate(human.kappa_quadratic)}",
    ]
    rows = [[f"{grade:g}", format_estimate(ctr), format_count(ctr.n)] for grade, ctr in human.ctr_by_grade]
    return Section("held against human labels", notes, ["grade", "CTR", "impressions"], rows)


def problem_section(problems: Sequence[Problem]) -> Section:
    """Return the irregularities of a log, the most frequent first."""
    rows = [[format_count(p.count), p.kind, p.treatment, p.example] for p in problems[:_PROBLEMS_SHOWN]]
    return Section("irregularities of the log", [], ["count", "kind", "treatment", "first at"], rows)


def render_off_policy(value: OffPolicyValue, style: str) -> str:
    """Return the value of a policy in one of the styles."""
    head = ["estimate", "value"]
    rows = [["logged policy", format_estimate(value.logged, 5, 5)]]
    if value.is_supported:
        rows += [["IPS", format_estimate(value.ips, 5, 5)], ["SNIPS", format_estimate(value.snips, 5, 5)]]
    rows += [
        ["rows", format_count(value.n)],
        ["effective sample size", f"{value.effective_n:,.1f}"],
        ["mean weight", format_short(value.mean_weight)],
        ["largest weight", format_short(value.largest_weight)],
    ]
    if value.coverage is not None:
        rows.append(["gain of documents in the log", f"{100 * value.coverage:.1f} %"])
    if style == "csv":
        return text.render_csv(head, rows)
    return render_sections("Off-policy value", [Section("", refusal_notes(value), head, rows)], style)


def refusal_notes(value: OffPolicyValue) -> list[str]:
    """Return why the log does not support an estimate, if so."""
    if value.is_supported:
        return []
    return [
        f"refused: {value.n:,} rows have an effective sample size of {value.effective_n:.1f}, and "
        f"{value.least_effective_n:g} are needed; the largest weight is {value.largest_weight:,.0f}. "
        "Log a policy that chooses more like this one, or show it to some users"
    ]
