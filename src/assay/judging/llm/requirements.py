"""The thresholds of an owner: a judge may gate only if all of them are shown to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.decisions.checks import Check, check_figure
from assay.decisions.rules import Rule, Rules
from assay.decisions.verdict import Verdict, decide
from assay.stats import Estimate

AT_LEAST = ("kappa", "kappa_linear", "kappa_quadratic", "agreement", "ac1", "tau", "tau_top")
AT_MOST = ("bias", "unlabelled")


def parse_requirements(texts: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules of texts such as kappa=0.4.

    >>> [rule.name for rule in parse_requirements(["kappa=0.4", "bias=0.3"])]
    ['kappa at least 0.4', 'bias at most 0.3']
    """
    return tuple(map(_parse_requirement, texts))


def _parse_requirement(text: str) -> Rule:
    name, _, value = text.partition("=")
    names = (*AT_LEAST, *AT_MOST)
    if name not in names:
        hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
        raise InputError(f"--require expects FIGURE=THRESHOLD such as kappa=0.4, found {text!r}; {hint}")
    try:
        threshold = float(value)
    except ValueError:
        raise InputError(f"--require {name}: expected a number, found {value!r}") from None
    return Rule("figure", name, "at_least" if name in AT_LEAST else "at_most", threshold)


def check_requirements(
    rules: Sequence[Rule], figures: Mapping[str, Estimate], n: int, level: float
) -> Verdict:
    """Return whether all rules hold: each only if the whole interval is on the right side."""
    checks = [_check(rule, figures.get(str(rule.of)), level) for rule in rules]
    return decide(checks, Rules(tuple(rules), level), n)


def _check(rule: Rule, figure: Estimate | None, level: float) -> Check:
    """Check a rule; a figure that is undefined or has no interval decides nothing."""
    if figure is None or figure.value is None or figure.has_no_interval:
        return Check(rule, "all", figure or Estimate(None, None, None, level, 0), None, None)
    return check_figure(rule, figure.to_dict(), level)
