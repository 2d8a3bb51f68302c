"""The labels of a language model, what they cost and what they are worth, as sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.decisions.verdict import Verdict
from assay.judging.llm.judge_pairs import LLMLabels, WorkEstimate
from assay.judging.llm.worth import JudgeWorth, LabelAgreement, SystemOrder
from assay.stats import Estimate
from assay.views.numbers import NO_VALUE, format_estimate, format_short
from assay.views.sections import Section, render_sections

_FIGURES = {
    "agreement": "raw agreement",
    "kappa": "κ",
    "kappa_linear": "κ, linear weights",
    "kappa_quadratic": "κ, quadratic weights",
    "ac1": "AC1",
    "bias": "bias (model − people)",
}
_STATUS = {
    "passed": "holds",
    "failed": "does not hold",
    "undecided": "is not shown to hold: the threshold lies within the interval, or the figure is undefined",
}
_NO_BETTER_THAN_CHANCE = "the labels agree with people no better than chance: do not use them"
_ORDER_ONLY = "exact grades agree with people no better than chance; high and low grades do (weighted κ)"
_COMBINE = (
    "a mean of these labels alone is biased and its interval is wrong: combine them with labels of people "
    "(assay judge estimate)"
)


def describe_estimate(estimate: WorkEstimate) -> str:
    """Return how much will be asked and what it will cost, in one sentence.

    >>> describe_estimate(WorkEstimate(100, 100, 40, 30000, 0.01, 0.05))
    '100 pairs: 60 of 100 requests to send, about 30,000 tokens of prompts, cost about 0.01, at most 0.05'
    """
    new = estimate.requests - estimate.known
    cost = "no prices given" if estimate.cost is None else _costs(estimate)
    tokens = f"about {estimate.prompt_tokens:,} tokens of prompts"
    return f"{estimate.pairs:,} pairs: {new:,} of {estimate.requests:,} requests to send, {tokens}, {cost}"


def _costs(estimate: WorkEstimate) -> str:
    return f"cost about {format_short(estimate.cost)}, at most {format_short(estimate.highest_cost)}"


def render_llm_labels(
    labels: LLMLabels, worth: JudgeWorth | None, verdict: Verdict | None, style: str
) -> str:
    """The labels, the cost and the worth of a judge."""
    sections = [_labels_section(labels), _spent_section(labels)]
    if worth is not None:
        sections += worth_sections(worth)
    if verdict is not None:
        sections.append(_verdict_section(verdict))
    return render_sections(f"Labels of {labels.judge.name}", sections, style)


def render_worth(worth: JudgeWorth, verdict: Verdict | None, style: str) -> str:
    """The worth of labels that exist."""
    sections = worth_sections(worth)
    if verdict is not None:
        sections.append(_verdict_section(verdict))
    return render_sections("Worth of labels", sections, style)


def _labels_section(labels: LLMLabels) -> Section:
    labelled = sum(pair.grade is not None for pair in labels.pairs)
    notes = [f"{labelled:,} of {labels.asked:,} pairs have a label"]
    notes += [
        f"{count:,} replies {_problem_text(problem)}: no label, the reply is kept as evidence"
        for problem, count in labels.problem_counts().items()
        if count
    ]
    if labels.missing:
        notes.append(f"{labels.missing:,} pairs have no reply: {_missing_reason(labels)}")
    consistency = labels.self_consistency()
    if consistency.value is not None:
        share = format_estimate(consistency, 3)
        notes.append(
            f"two draws of one pair give the same grade with probability {share}, n {consistency.n:,}"
        )
    counts = labels.grade_counts()
    if labelled > 1 and max(counts.values()) == labelled:
        notes.append("every pair has the same grade: the model does not tell documents apart")
    rows = [[str(grade), f"{n:,}", _share(n, labelled)] for grade, n in counts.items()]
    return Section("labels", notes, ["grade", "pairs", "share"], rows)


def _problem_text(problem: str) -> str:
    return {"unreadable": "do not say one grade", "refused": "refuse"}[problem]


def _missing_reason(labels: LLMLabels) -> str:
    stopped_by = labels.replies.stopped_by
    if stopped_by == "budget":
        return "the budget does not cover the highest cost of another request; raise --budget to continue"
    reason = stopped_by or str(next(iter(labels.replies.failures.values()), "they were not asked"))
    return f"{reason}; the same command continues"


def _share(n: int, total: int) -> str:
    return f"{n / total:.3f}" if total else NO_VALUE


def _spent_section(labels: LLMLabels) -> Section:
    replies = labels.replies
    per_second = replies.asked / replies.seconds if replies.seconds else 0.0
    notes = [
        f"{replies.asked:,} requests in {replies.seconds:,.1f} s ({format_short(per_second)}/s), "
        f"{replies.reused:,} replies reused",
        f"{replies.prompt_tokens:,} tokens of prompts, {replies.completion_tokens:,} of replies",
    ]
    if labels.judge.model.prices.are_known:
        notes.append(
            f"cost {format_short(replies.cost)} now, {format_short(replies.total_cost)} in all sessions"
        )
    else:
        notes.append("cost unknown: give --price-in and --price-out")
    if replies.possible_cost or replies.unanswered:
        most = f"at most {format_short(replies.possible_cost)} more" * labels.judge.model.prices.are_known
        notes.append(
            f"{most or 'some more'} for requests without a recorded reply, which may have been billed "
            f"({replies.unanswered:,} were cut off by the end of a process)"
        )
    if any(not recorded.reply.is_usage_reported for recorded in replies.replies.values()):
        notes.append("some responses report no usage: their tokens are an upper bound")
    return Section("spent", notes)


def worth_sections(worth: JudgeWorth) -> list[Section]:
    """The worth of labels: agreement, confusion, slices, order of systems."""
    sections = [_agreement_section(worth), _confusion_section(worth)]
    if worth.slices:
        sections.append(_slice_section(worth))
    return sections + [_order_section(order) for order in worth.orders]


def _agreement_section(worth: JudgeWorth) -> Section:
    agreement = worth.agreement
    rows = [[name, *_cells(getattr(agreement, key))] for key, name in _FIGURES.items()]
    rows.append(["pairs without a label", *_cells(worth.unlabelled)])
    notes = [f"compared with labels of people on {agreement.n:,} pairs", *_warnings(worth)]
    return Section("worth", notes, ["figure", "value", "interval", "n"], rows)


def _warnings(worth: JudgeWorth) -> list[str]:
    agreement, warnings = worth.agreement, []
    kappas = (agreement.kappa, agreement.kappa_linear, agreement.kappa_quadratic)
    if agreement.kappa.value is None:
        warnings.append("κ is undefined: the labels of the model, or those of people, do not vary")
    elif not any(map(_is_above_chance, kappas)):
        warnings.append(_NO_BETTER_THAN_CHANCE)
    elif not _is_above_chance(agreement.kappa):
        warnings.append(_ORDER_ONLY)
    if agreement.kappa.value is not None and agreement.kappa.value < 0.4:
        warnings.append(_COMBINE)
    for name, family in worth.shared_families.items():
        warnings.append(
            f"warning: the judge and the judged model {name} are of one family ({family}): a judge favours "
            "its own family, so its order of systems is no evidence"
        )
    return warnings


def _is_above_chance(kappa: Estimate) -> bool:
    return kappa.low is not None and kappa.low > 0


def _cells(estimate: Estimate) -> list[str]:
    if estimate.value is None:
        return [NO_VALUE, NO_VALUE, f"{estimate.n:,}"]
    ends = [NO_VALUE if end is None else f"{end:.3f}" for end in (estimate.low, estimate.high)]
    interval = NO_VALUE if estimate.has_no_interval else " … ".join(ends)
    return [f"{estimate.value:.3f}", interval, f"{estimate.n:,}"]


def _confusion_section(worth: JudgeWorth) -> Section:
    cells = {(human, model): n for human, model, n in worth.confusion}
    humans, models = (sorted({key[side] for key in cells}) for side in (0, 1))
    rows = [[str(h), *(f"{cells.get((h, m), 0):,}" for m in models)] for h in humans]
    return Section("labels of people (rows) and of the model", (), ["people", *map(str, models)], rows)


def _slice_section(worth: JudgeWorth) -> Section:
    rows = [
        [part.column, part.value, *_slice_cells(part.agreement)]
        for part in sorted(worth.slices, key=lambda part: part.column)
    ]
    return Section("worth by slice", (), ["column", "slice", "pairs", "agreement", "κ", "bias"], rows)


def _slice_cells(agreement: LabelAgreement) -> list[str]:
    figures = (agreement.agreement, agreement.kappa, agreement.bias)
    return [f"{agreement.n:,}", *(format_estimate(figure, 3) for figure in figures)]


def _order_section(order: SystemOrder) -> Section:
    count = len(order.comparison.scores)
    notes = [
        f"Kendall τ over {count} systems {format_estimate(order.tau, 3)}, n {order.tau.n:,} queries",
    ]
    if len(order.top) < count:
        notes.append(
            f"τ among the top {len(order.top)} systems {format_estimate(order.tau_top, 3)}, "
            f"n {order.tau_top.n:,} queries"
        )
    rows = [
        [name, *(format_estimate(score) for score in scores)]
        for name, scores in _sorted_by_people(order.comparison.scores)
    ]
    title = f"order of systems by {order.measure}"
    return Section(title, notes, ["system", "by people", "by the model"], rows)


def _sorted_by_people(
    scores: Mapping[str, tuple[Estimate, Estimate]],
) -> Sequence[tuple[str, tuple[Estimate, Estimate]]]:
    return sorted(scores.items(), key=lambda item: -(item[1][0].value or 0.0))


def _verdict_section(verdict: Verdict) -> Section:
    may_gate = verdict.status == "passed"
    head = "the judge meets the thresholds: it may gate" if may_gate else "the judge must not gate"
    notes = [head, *(f"{check.rule.name} {_STATUS[check.status]}" for check in verdict.checks)]
    return Section("thresholds", notes)
