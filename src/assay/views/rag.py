"""Studies of answers against retrieval, as sections and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from assay.rag.accuracy_curve import AccuracyCurve
from assay.rag.answers import BOTH, DOCUMENTS, FAILED, INTERNAL, NEITHER, NOT_ASKED, REFUSED
from assay.rag.asking import RagEstimate
from assay.rag.contexts import CLOSED_BOOK, PLACEHOLDERS
from assay.rag.delta import (
    NO_BEND,
    NO_GAIN,
    NOT_REACHED,
    OBSERVED_CURVE,
    SHARE,
    TOO_FEW_LEVELS,
    DeltaChoice,
)
from assay.rag.measure_checks import (
    CONTEXT_PRECISION,
    CONTEXT_RECALL,
    FAITHFULNESS,
    REFUSAL,
    MeasureCheck,
)
from assay.rag.predictors import Predictor, best_predictor
from assay.rag.published_table import ScenarioPredictors, TablePredictors
from assay.rag.study import DELTAS, ConfigurationResult, RagStudy
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.numbers import NO_VALUE, format_estimate, format_percent, format_short, format_signed
from assay.views.rag_failures import cause_section
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_TITLE = "Answers against retrieval"
_CORRECT = {
    "contained": "an accepted answer stands in the reply",
    "exact": "the reply is an accepted answer",
    "f1": "F1 of the words of the reply",
    "judge": "the judge calls the reply correct",
}
_PROBLEMS = {
    TOO_FEW_LEVELS: "the answers are at fewer than three levels of recall: a bend needs more",
    NO_GAIN: "accuracy is not shown to rise with recall: the interval of the gain includes 0",
    NO_BEND: "accuracy rises evenly with recall, without a bend: give the --share of the best accuracy "
    "that is needed",
    NOT_REACHED: "no level of recall reaches the share",
}
_MEANS = (CONTEXT_RECALL, CONTEXT_PRECISION, FAITHFULNESS)
_HAS_ANSWER = ("where a passage has the answer", "where none has it")
_CLAIMS = {
    CONTEXT_RECALL: _HAS_ANSWER,
    CONTEXT_PRECISION: _HAS_ANSWER,
    FAITHFULNESS: ("of right answers that a passage has", "of answers where no passage has one"),
    REFUSAL: _HAS_ANSWER[::-1],
}
_MEASURED = 2  # digits of a correlation


def describe_rag_estimate(estimate: RagEstimate) -> str:
    """Return how much will be asked and what it will cost, in one sentence.

    >>> describe_rag_estimate(RagEstimate(300, 100, 0.5, 2.0, most_judge_requests=40))
    '200 of 300 requests to send, cost about 0.5, at most 2; besides up to 40 of the judge, not in the cost'
    """
    new = estimate.requests - estimate.known
    head = f"{new:,} of {estimate.requests:,} requests to send"
    if estimate.cost is None:
        cost = ", no prices given"
    else:
        most = format_short(estimate.highest_cost)
        cost = f", cost about {format_short(estimate.cost)}, at most {most}"
    counts = {"the agent": estimate.most_agent_requests, "the judge": estimate.most_judge_requests}
    others = " and ".join(f"up to {n:,} of {name}" for name, n in counts.items() if n)
    unpriced = ", not in the cost" if others and estimate.cost is not None else ""
    return f"{head}{cost}" + (f"; besides {others}{unpriced}" if others else "")


def render_study(study: RagStudy, style: str, choice: DeltaChoice | None = None) -> str:
    """Return a study in one of the styles."""
    if style == "csv":
        return text.render_csv(*configuration_rows(study))
    return render_sections(_TITLE, study_sections(study, choice), style)


def study_sections(study: RagStudy, choice: DeltaChoice | None = None) -> list[Section]:
    """Return what the study found: the answer first, then its evidence."""
    return [
        Section("", [describe_delta(choice or study.delta, study.k), *describe_predictors(study.predictors)]),
        _configuration_section(study),
        Section("what the model knew", describe_controls(study)),
        Section("what correct answers rest on", (), *_bases(study)),
        cause_section(study),
        _measure_section(study),
        *_curve_sections(study),
        _predictor_section("which measure predicts the accuracy", study.predictors, _left_out(study)),
        Section("searches and cost", (), *_effort(study)),
        Section("how it was measured", _describe_settings(study)),
    ]


def render_delta(study: RagStudy, style: str, choice: DeltaChoice | None = None) -> str:
    """Return the choice of δ in one of the styles."""
    sections = [
        Section("", [describe_delta(choice or study.delta, study.k), *describe_predictors(study.predictors)]),
        *_curve_sections(study),
        _predictor_section("which measure predicts the accuracy", study.predictors, _left_out(study)),
    ]
    if style == "csv":
        chosen = (choice or study.delta).curve
        return text.render_csv(*_curve_rows(study.curves.get(chosen)))
    return render_sections("The recall that answers need", sections, style)


def configuration_rows(study: RagStudy) -> tuple[list[str], list[list[str]]]:
    """Return the head and a row for each configuration."""
    deltas = [d for d in DELTAS if d in (0.1, 0.3, 0.5, 0.9, study.delta.delta.value)]
    head = ["configuration", "n", "accuracy", f"R@{study.k}", *(f"Robustness-{d:g}" for d in deltas)]
    rows = []
    for c in study.configurations:
        robustness = [_value(c.robustness[d]) for d in deltas]
        name = f"{c.name} (control)" if c.is_control and c.name != "exact" else c.name
        rows.append([name, str(c.accuracy.n), format_estimate(c.accuracy), _value(c.recall), *robustness])
    return head, rows


def _configuration_section(study: RagStudy) -> Section:
    head, rows = configuration_rows(study)
    spans = [(c.accuracy.value, c.accuracy.low, c.accuracy.high) for c in study.configurations]
    notes = [f"accuracy: {_CORRECT[study.correctness]}; a question without an answer counts as wrong"]
    return Section("configurations", notes, head, rows, spans)


def _value(estimate: Estimate) -> str:
    return NO_VALUE if estimate.value is None else f"{estimate.value:.4f}"


def describe_delta(choice: DeltaChoice, k: int) -> str:
    """Return the δ with its interval and why, in one sentence, or why there is none."""
    if choice.delta.value is None or choice.at is None:
        return f"No δ can be chosen: {_PROBLEMS.get(choice.problem, choice.problem)}."
    interval = format_interval(choice.delta)
    reached = _relative(choice.at.relative)
    before = ""
    if choice.below is not None:
        before = f", {_relative(choice.below.relative)} at recall {choice.below.recall:g}"
    rule = (
        f"the least recall with {100 * (choice.share or 0):g} % of the best accuracy"
        if choice.rule == SHARE
        else "where accuracy bends"
    )
    return (
        f"δ = {choice.delta.value:g}{interval}: {rule}. Of the accuracy at the highest recall, answers have "
        f"{reached} at recall {choice.at.recall:g}{before} "
        f"({choice.delta.n:,} questions{_by_curve(choice)}). "
        f"Judge indexes by Robustness-{choice.delta.value:g}@{k}."
    )


def _by_curve(choice: DeltaChoice) -> str:
    return ", by the recall that the configurations had" if choice.curve == OBSERVED_CURVE else ""


def format_interval(estimate: Estimate) -> str:
    """Return the interval of a δ in brackets, empty without one."""
    return "" if estimate.low is None else f" ({estimate.low:g} … {estimate.high:g})"


def _relative(estimate: Estimate) -> str:
    return format_percent(estimate)


def describe_predictors(predictors: Sequence[Predictor]) -> list[str]:
    """Return which measure the accuracy follows most closely, in one sentence, none if it is undefined."""
    best = best_predictor(predictors)
    recall = next((p for p in predictors if p.measure.startswith("R@")), None)
    if best is None or best.r2 is None:
        return []
    sentence = (
        f"Across {best.pearson.n} configurations, accuracy follows {best.measure} most closely "
        f"(r² {best.r2:.2f})"
    )
    if recall is not None and recall is not best and recall.r2 is not None:
        sentence += f"; mean recall has r² {recall.r2:.2f}"
    return [f"{sentence}."]


def describe_controls(study: RagStudy) -> list[str]:
    """Return how accurate the answers without documents are."""
    words = {CLOSED_BOOK: "without any document", PLACEHOLDERS: "with placeholders for documents"}
    sentences = []
    for control, phrase in words.items():
        accuracy = study.control_accuracy(control)
        if accuracy.n:
            sentences.append(f"{phrase}: {format_percent(accuracy)} of {accuracy.n:,} questions are correct")
    return sentences


def _bases(study: RagStudy) -> tuple[list[str], list[list[str]]]:
    names = (DOCUMENTS, INTERNAL, BOTH, NEITHER)
    rows = [[c.name, *(str(c.bases.get(name, 0)) for name in names)] for c in study.configurations]
    return ["configuration", *names], rows


def _curve_sections(study: RagStudy) -> list[Section]:
    removed = "accuracy against recall, true neighbours removed at random"
    observed = "accuracy against recall, as the configurations had it"
    notes = [
        "questions that are hard to search may be hard to answer: this is not the effect of recall alone"
    ]
    sections = []
    for title, curve, remarks in (
        (removed, study.removal_curve, []),
        (observed, study.observed_curve, notes),
    ):
        if curve is not None:
            sections.append(Section(title, remarks, *_curve_rows(curve)))
    return sections


def _curve_rows(curve: AccuracyCurve | None) -> tuple[list[str], list[list[str]]]:
    head = ["recall", "n", "accuracy", "isotonic fit", "of the best"]
    rows = [
        [
            f"{point.recall:g}",
            str(point.accuracy.n),
            format_estimate(point.accuracy),
            format_estimate(point.fitted),
            format_percent(point.relative),
        ]
        for point in (curve.points if curve else ())
    ]
    return head, rows


def _left_out(study: RagStudy) -> list[str]:
    names = [c.name for c in study.configurations if c.is_control]
    return [f"left out as controls: {', '.join(names)}"] if names else []


def _predictor_section(title: str, predictors: Sequence[Predictor], notes: Sequence[str]) -> Section:
    head = ["measure", "n", "Pearson r", "interval", "Spearman ρ", "interval", "r²", "family error"]
    rows = [
        [
            p.measure,
            str(p.pearson.n),
            _correlation(p.pearson.value),
            _bounds(p.pearson),
            _correlation(p.spearman.value),
            _bounds(p.spearman),
            NO_VALUE if p.r2 is None else f"{p.r2:.{_MEASURED}f}",
            NO_VALUE if p.family_error is None else f"{p.family_error:.3f}",
        ]
        for p in predictors
    ]
    meaning = "family error: mean error for each family by a line fitted to the other families"
    return Section(title, [*notes, meaning] if rows else [], head, rows)


def _correlation(value: float | None) -> str:
    return NO_VALUE if value is None else format_signed(value, _MEASURED)


def _bounds(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"{format_signed(estimate.low, _MEASURED)} … {format_signed(estimate.high, _MEASURED)}"


def _measure_section(study: RagStudy) -> Section:
    """Return the means of the measures of context and answers, and what they are where they should differ."""
    head = ["measure", *(c.name for c in study.configurations)]
    means = {name: [c.means[name.replace(" ", "_")] for c in study.configurations] for name in _MEANS}
    rows = [[name, *map(_value, values)] for name, values in means.items()]
    notes = [
        f"{check.measure} {_claim(check)}"
        for check in study.measure_checks
        if check.where_true.n or check.where_false.n
    ]
    return Section("context and faithfulness", notes, head, rows)


def _claim(check: MeasureCheck) -> str:
    true, false = (format_estimate(e) for e in (check.where_true, check.where_false))
    words = _CLAIMS[check.measure]
    return f"is {true} {words[0]} ({check.where_true.n} questions), {false} {words[1]}"


def _effort(study: RagStudy) -> tuple[list[str], list[list[str]]]:
    head = ["configuration", "searches", "failed", "retries", "refused", "no answer", "tokens", "cost"]
    return head, [_effort_row(c) for c in study.configurations]


def _effort_row(c: ConfigurationResult) -> list[str]:
    tokens = c.sums["prompt_tokens"] + c.sums["completion_tokens"]
    lost = c.counts[FAILED] + c.counts[NOT_ASKED]
    numbers = [c.sums["hops"], c.sums["failed_hops"], c.sums["retries"], c.counts[REFUSED], lost, tokens]
    return [c.name, *(f"{int(n):,}" for n in numbers), format_short(c.sums["cost"])]


def _describe_settings(study: RagStudy) -> list[str]:
    s = study.settings
    sentences = [
        f"model {s['model']}, {s['mode']}, {s['k']} documents a search, seed {s['seed']}",
        "a search failed if it has no relevant document (without judgments: none with an accepted answer)",
    ]
    if s.get("judge"):
        sentences.append(f"answers judged by {s['judge']}; a reply that is no label is left out")
    return sentences


def render_table_predictors(result: TablePredictors, style: str) -> str:
    """Return which of recall and robustness predicts the accuracy of a published table."""
    if style == "csv":
        return text.render_csv(*_table_rows(result))
    sections = [_scenario_section(scenario) for scenario in result.scenarios]
    return render_sections("Which measure predicts the accuracy", sections, style)


def _scenario_section(scenario: ScenarioPredictors) -> Section:
    notes = describe_predictors(scenario.predictors)
    if scenario.controls:
        notes.append(f"left out as controls: {', '.join(scenario.controls)}")
    if len(scenario.ks) > 1:
        notes.append(f"rows of k = {', '.join(map(str, scenario.ks))} are compared together")
    if not notes or best_predictor(scenario.predictors) is None:
        notes.append(f"{scenario.configurations} configurations: a correlation needs 3 that differ")
    return _predictor_section(scenario.scenario, scenario.predictors, notes)


def _table_rows(result: TablePredictors) -> tuple[list[str], list[list[str]]]:
    head = ["scenario", "measure", "n", "pearson", "spearman", "r2", "family_error"]
    rows = []
    for scenario in result.scenarios:
        for p in scenario.predictors:
            values = (p.pearson.value, p.spearman.value, p.r2, p.family_error)
            cells = ["" if value is None else repr(value) for value in values]
            rows.append([scenario.scenario, p.measure, str(p.pearson.n), *cells])
    return head, rows
