"""Readings of a comparison in sentences, each with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from assay.evaluation.readings import Reading
from assay.stats.comparison import Comparison
from assay.views.numbers import end_digits, format_p_sentence, format_signed
from assay.views.power import describe_size


def describe_reading(reading: Reading) -> str:
    """Return a reading in one sentence that cites its evidence."""
    cited = "; ".join(map(cite_comparison, reading.evidence))
    return f"{_SENTENCES[reading.key](reading)}: {cited}."


def cite_comparison(row: Comparison) -> str:
    """Return a comparison as it is cited: R@10 +0.0397 (+0.0121 … +0.0673), p 0.005, n 280."""
    e = row.difference
    where = f" in {row.slice}" if row.column else ""
    if e.value is None:
        return f"{row.measure}{where} undefined, n {e.n}"
    form = partial(format_signed, digits=end_digits(e))
    ends = "" if e.low is None or e.high is None else f" ({form(e.low)} … {form(e.high)})"
    p = "" if row.corrected_p is None else f", {format_p_sentence(row.corrected_p)}"
    return f"{row.measure}{where} {format_signed(e.value)}{ends}{p}, n {e.n:,}"


def _describe_unmoved(row: Comparison, margin: float) -> str:
    """Return how a measure that is not shown to have moved is described."""
    return f"unchanged (within ±{margin:g})" if row.state(margin) == "same" else "not shown to move"


def _describe_headline(reading: Reading) -> str:
    (row,) = reading.evidence
    if row.wins == row.losses == 0:
        return "every query scores the same"
    if reading.key == "same":
        return f"no difference that matters (none beyond ±{reading.margin:g})"
    return f"{row.candidate_name} is {reading.key} than {row.baseline_name} by {row.measure}"


def _describe_conflict(reading: Reading) -> str:
    first, *others = reading.evidence
    direction = others[0].direction()
    return f"{direction} by {', '.join(row.measure for row in others)}, against {first.measure}"


def _describe_too_few(reading: Reading) -> str:
    size = describe_size(reading.size) if reading.size else ""
    return f"no difference is shown, and one of {reading.margin:g} is not excluded ({size})"


def _describe_lost_to_correction(reading: Reading) -> str:
    (row,) = reading.evidence
    before = format_p_sentence(row.p or 0.0)
    return f"a difference in {row.measure} is not shown after correction ({before} before)"


def _describe_open(reading: Reading) -> str:
    return "neither a difference that matters nor its absence is shown"


def _describe_more_complete(reading: Reading) -> str:
    return f"more complete, but the first hit is {_describe_other(reading)}"


def _describe_first_hit_better(reading: Reading) -> str:
    return f"the first hit is better, but coverage is {_describe_other(reading)}"


def _describe_other(reading: Reading) -> str:
    """Return what became of the measure that did not rise."""
    row = reading.evidence[1]
    fell = row.direction() == "worse" and row.state(reading.margin) != "same"
    return "worse" if fell else _describe_unmoved(row, reading.margin)


def _describe_noise(reading: Reading) -> str:
    return "recall is up and precision is down: more is found, and with it more noise"


def _describe_tail(reading: Reading) -> str:
    mean, *moved_rows = reading.evidence
    outcome = reading.key.removeprefix("tail ")
    rows = [row for row in moved_rows if row.direction() == outcome]
    opposite = [row.measure for row in moved_rows if row.direction() != outcome]
    is_small = all(row.state(reading.margin) == "same" for row in rows)
    small = f" (by less than {reading.margin:g})" if is_small else ""
    others = f" (while {' and '.join(opposite)} moved the other way)" if opposite else ""
    unmoved = _describe_unmoved(mean, reading.margin)
    return f"mean recall ({mean.measure}) is {unmoved}, but the tail is {outcome}{small}{others}"


def _describe_head_over_tail(reading: Reading) -> str:
    p = format_p_sentence(reading.p or 0.0)
    return f"head up and tail down (they differ with {p}): over-fitting to frequent queries"


def _describe_slices_worse(reading: Reading) -> str:
    names = ", ".join(dict.fromkeys(row.slice for row in reading.evidence if row.column))
    return f"worse for {names}, although not over all queries"


def _describe_loss_in_slices(reading: Reading) -> str:
    overall, *worse = reading.evidence
    names = ", ".join(row.slice for row in worse)
    return f"the loss is all in {names}; elsewhere {overall.measure} did not fall"


def _describe_unjudged_range(reading: Reading) -> str:
    row = reading.evidence[0]
    before, after = (f"{low:.4f} … {high:.4f}" for low, high in reading.ranges or ())
    return (
        f"the score moves inside the unjudged range ({row.measure}: {row.baseline_name} {before}, "
        f"{row.candidate_name} {after}): judge the unjudged documents at the top first"
    )


_SENTENCES: dict[str, Callable[[Reading], str]] = {
    "better": _describe_headline,
    "worse": _describe_headline,
    "same": _describe_headline,
    "too few queries": _describe_too_few,
    "not shown after correction": _describe_lost_to_correction,
    "open": _describe_open,
    "torn": _describe_conflict,
    "more complete": _describe_more_complete,
    "first hit better": _describe_first_hit_better,
    "noise": _describe_noise,
    "tail worse": _describe_tail,
    "tail better": _describe_tail,
    "head over tail": _describe_head_over_tail,
    "slices worse": _describe_slices_worse,
    "loss in slices": _describe_loss_in_slices,
    "inside the unjudged range": _describe_unjudged_range,
}
