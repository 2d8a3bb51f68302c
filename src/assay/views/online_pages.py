"""What pages say of stored A/B tests, interleaving and online metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.views.numbers import NO_VALUE, format_count, format_p_sentence, format_signed

Body = Mapping[str, Any]
_ALPHA = 0.05
_STATES = {
    "Ready to ship": "better",
    "Guardrails failing": "worse",
    "Goal failing": "worse",
    "Unhealthy": "failed",
    "No effect shown": "same",
}
FAILING = ("Guardrails failing", "Unhealthy", "Goal failing")
_ADVICE = {
    "Ready to ship": "Every goal and guardrail holds: release the candidate.",
    "Guardrails failing": "Stop the test, or roll the candidate back: a guardrail is shown to be breached.",
    "Goal failing": "Stop the test: the goal is shown to have got worse.",
    "Unhealthy": "Do not read the metrics: find out why units are missing or in both variants, then repeat.",
    "No data": "Check that the log has this test and both variants.",
    "No effect shown": "The planned end is reached: keep the baseline, or plan a larger test.",
}


_RULE_WORDS = {"Ready to ship": "holds", "Guardrails failing": "fails", "Goal failing": "fails"}


def state_of(status: str) -> str:
    """Return how a page marks a status: better, worse, failed, same or open."""
    return _STATES.get(status, "open")


def advice_of(status: str) -> str:
    """Return what to do at a status; empty: go on."""
    return _ADVICE.get(status, "")


def format_share(value: float | None, digits: int = 2) -> str:
    """A relative difference in percent, with its sign.

    >>> format_share(0.0231), format_share(None)
    ('+2.31 %', '–')
    """
    return NO_VALUE if value is None else f"{format_signed(100 * value, digits)} %"


def format_signed_tick(value: float) -> str:
    """A tick of an axis of differences, as short text.

    >>> format_signed_tick(-0.05), format_signed_tick(0.0)
    ('−0.05', '0')
    """
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def format_share_tick(value: float) -> str:
    """A tick of an axis of relative differences, as short text.

    >>> format_share_tick(0.025)
    '+2.5 %'
    """
    return f"{format_signed_tick(round(100 * value, 9))} %" if value else "0"


def format_share_interval(e: Body) -> str:
    """The interval of a relative difference in percent."""
    if e.get("low") is None and e.get("high") is None:
        return NO_VALUE
    return f"{format_share(e.get('low'))} … {format_share(e.get('high'))}"


def goals_of(body: Body) -> list[Body]:
    """Return the rows of the goal metrics."""
    return [row for row in body.get("metrics", ()) if row.get("role") == "goal"]


def describe_goal(row: Body) -> str:
    """Return the relative difference of one metric with its interval and n."""
    relative, n = row.get("relative") or {}, (row.get("difference") or {}).get("n")
    return (
        f"{row['metric']} {format_share(relative.get('value'))} ({format_share_interval(relative)}), "
        f"n {format_count(n)}"
    )


def describe_evidence(body: Body) -> str:
    """Return the goals of a test and the time that is left, as one line."""
    parts = [describe_goal(row) for row in goals_of(body)[:2]]
    progress = body.get("progress") or {}
    if progress.get("units_left"):
        parts.append(f"{format_count(progress['units_left'])} units left")
    return "; ".join(parts)


def describe_reasons(body: Body) -> str:
    """Return the reasons of the status, as one sentence that says whether rules hold, fail or are open."""
    reasons = [str(reason) for reason in body.get("reasons") or ()]
    verdicts = body.get("verdicts") or ()
    rules = {str(check.get("rule")) for verdict in verdicts for check in verdict.get("checks") or ()}
    names = {name for rule in rules for name in (rule, *(f"{v.get('variant')}: {rule}" for v in verdicts))}
    if not reasons:
        return ""
    word = _RULE_WORDS.get(str(body.get("status")), "open") if names.issuperset(reasons) else ""
    return f"{word}{': ' * bool(word)}{'; '.join(reasons)}"


def describe_ratio(srm: Body) -> str:
    """Return whether the variants have the units that were planned."""
    observed, expected = srm.get("observed") or {}, srm.get("expected") or {}
    counts = ", ".join(f"{name} {format_count(round(n))}" for name, n in observed.items())
    if srm.get("p") is None:
        return f"The sample ratio cannot be tested: {srm.get('reason') or 'no units'}"
    p = format_p_sentence(srm["p"])
    if srm.get("is_mismatch"):
        planned = ", ".join(f"{name} {format_count(round(n))}" for name, n in expected.items())
        return f"The sample ratio is wrong: {counts} instead of {planned} ({p}): no difference can be trusted"
    if srm.get("mismatches"):
        names = ", ".join(f"{part['column']} {part['value']}" for part in srm["mismatches"][:5])
        return f"The sample ratio holds over all units ({p}), but not in {names}"
    return f"The sample ratio holds: {counts} ({p})"


def describe_missing(srm: Body) -> list[str]:
    """Return how many units of each variant are missing or too many, against the plan."""
    observed, expected = srm.get("observed") or {}, srm.get("expected") or {}
    sentences = []
    for name, planned in expected.items():
        gap = round(planned - observed.get(name, 0))
        if gap:
            word = "missing" if gap > 0 else "too many"
            share = f" ({100 * abs(gap) / planned:.1f} %)" if planned else ""
            sentences.append(f"{name}: {format_count(abs(gap))} {word}{share}")
    return sentences


def describe_novelty(contrast: Body) -> str:
    """Return whether an effect changes over the days of a test."""
    p = contrast.get("corrected_p", contrast.get("p"))
    if p is None:
        return f"{contrast['metric']}: {contrast.get('reason') or 'too few days to see a change'}"
    ends = [contrast.get(name) for name in ("first", "last")]
    first, last = (format_signed(end or 0.0) for end in ends)
    change = "" if None in ends else f"{first} at first, {last} at the end, "
    words = "is shown to fade" if contrast.get("is_fading") else "is shown to grow"
    is_shown = contrast.get("is_fading") or contrast.get("is_growing")
    verdict = f"the effect {words}" if is_shown else "no change of the effect over the days is shown"
    return f"{contrast['metric']}: {verdict} ({change}{format_p_sentence(p)} corrected)"


def describe_heterogeneity(contrast: Body) -> str:
    """Return whether an effect differs between the values of a column."""
    p = contrast.get("corrected_p", contrast.get("p"))
    name = f"{contrast['metric']} by {contrast.get('column')}"
    if p is None:
        return f"{name}: {contrast.get('reason') or 'cannot be compared'}"
    verdict = "the effect differs" if p < _ALPHA else "no difference of the effect is shown"
    return f"{name}: {verdict} ({format_p_sentence(p)} corrected)"


def describe_tests(tests: Sequence[tuple[str, str]]) -> dict[str, str] | None:
    """Return a banner over all tests, by names and statuses; None without tests."""
    if not tests:
        return None
    failing = [(name, status) for name, status in tests if status in FAILING]
    listing = "; ".join(f"{name}: {status}" for name, status in failing[:5])
    if len(failing) > 1:
        return {"state": "worse", "title": f"{len(failing)} tests need a decision", "evidence": listing}
    if failing:
        return {"state": "worse", "title": listing, "evidence": advice_of(failing[0][1])}
    ready = [name for name, status in tests if status == "Ready to ship"]
    if ready:
        advice = advice_of("Ready to ship")
        return {"state": "better", "title": f"{', '.join(ready[:5])}: Ready to ship", "evidence": advice}
    noun = "test" if len(tests) == 1 else "tests"
    title = f"{len(tests)} {noun}, none of them failing"
    return {"state": "same", "title": title, "evidence": "; ".join(f"{n}: {s}" for n, s in tests[:5])}


def describe_interleaving(body: Body) -> dict[str, str]:
    """Return a banner: which ranker users prefer, with the users for and against."""
    winner, p = body.get("winner"), body.get("p")
    users = f"{format_count(body.get('users'))} users"
    wins, losses, ties = (format_count(body.get(key)) for key in ("wins", "losses", "ties"))
    counts = f"{wins} for {body.get('candidate')}, {losses} for {body.get('baseline')}, {ties} ties"
    evidence = f"{users}: {counts}" + ("" if p is None else f"; {format_p_sentence(p)} ({body.get('test')})")
    if winner is None:
        return {"state": "open", "title": "Users are not shown to prefer one ranker", "evidence": evidence}
    state = "better" if winner == body.get("candidate") else "worse"
    return {"state": state, "title": f"Users prefer {winner}", "evidence": evidence}
