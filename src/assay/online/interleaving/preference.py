"""Which of two rankers users prefer: the share of the credits of each user, and the test of their mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.core.arrays import Floats
from assay.core.errors import InputError
from assay.core.events import Problem
from assay.core.suggestions import did_you_mean
from assay.online.interleaving.page_credits import PageCredits
from assay.stats import Estimate, paired_tests
from assay.stats.corrections import holm
from assay.stats.intervals import estimate_mean
from assay.stats.paired_differences import subtract

_TESTS: Mapping[str, Callable[..., Floats]] = {
    "wilcoxon": paired_tests.wilcoxon,
    "sign": paired_tests.sign,
    "t": paired_tests.t,
}
TEST_NAMES = tuple(_TESTS)
_SKEWED = "probabilistic"  # its credit has a mean of 0 without a difference, but not a median of 0
_BASELINES = ("baseline", "control")


@dataclass(frozen=True)
class Preference:
    """How much users prefer a candidate to a baseline: from -1 to 1, and 0 if they prefer neither."""

    baseline: str
    candidate: str
    wins: int  # users with more credit for the candidate
    losses: int
    ties: int  # users with equal credit for both
    preference: Estimate  # mean of (candidate - baseline) / (candidate + baseline) of each user
    win_share: Estimate  # mean share of the candidate in the credit of each user
    p_values: Mapping[str, float | None]
    test: str
    values: Floats = field(repr=False, compare=False)  # the preference of each user
    corrected_p: float | None = None  # for all candidates (Holm)

    @property
    def users(self) -> int:
        """How many users have a credit for one of the two."""
        return self.wins + self.losses + self.ties

    @property
    def p(self) -> float | None:
        """p of the chosen test; None: it cannot be computed."""
        return self.p_values[self.test]

    def winner(self) -> str | None:
        """Return the ranker that users are shown to prefer, None if none is."""
        alpha = 1 - self.preference.level
        if self.corrected_p is None or self.corrected_p > alpha or not self.preference.value:
            return None
        return self.candidate if self.preference.value > 0 else self.baseline

    def to_dict(self) -> dict[str, Any]:
        """Return the preference as plain data."""
        return {
            "baseline": self.baseline,
            "candidate": self.candidate,
            "users": self.users,
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "preference": self.preference.to_dict(),
            "win_share": self.win_share.to_dict(),
            "p": self.p,
            "corrected_p": self.corrected_p,
            "test": self.test,
            "tests": dict(self.p_values),
            "winner": self.winner(),
        }


@dataclass(frozen=True)
class Interleaving:
    """The result of an interleaving: the preference of each candidate to the baseline."""

    method: str
    rankers: tuple[str, ...]
    preferences: Sequence[Preference]
    counts: Mapping[str, int]
    problems: Sequence[Problem]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data; the keys of the first candidate are at the top."""
        first = self.preferences[0].to_dict()
        rest = [preference.to_dict() for preference in self.preferences[1:]]
        return {
            "method": self.method,
            "queries": self.counts["queries"],
            **first,
            "rankers": [*self.rankers],
            **({"comparisons": [first, *rest]} if rest else {}),
            "counts": dict(self.counts),
            "problems": [problem.to_dict() for problem in self.problems],
        }


def compare_rankers(
    pages: PageCredits,
    baseline: str | None = None,
    candidate: str | None = None,
    *,
    test: str | None = None,
    level: float = 0.95,
) -> Interleaving:
    """Compare the candidate, or every other ranker, with the baseline.

    Without a name, the baseline is the ranker that is called so (or control), else the first by name.
    """
    tests = tests_of(pages.method)
    test = test or tests[0]
    if test not in tests:
        raise InputError(
            f"expected a test of {', '.join(tests)} for the method {pages.method}, found {test!r}"
        )
    _check_names(pages.rankers, (baseline, candidate))
    if baseline is not None and baseline == candidate:
        raise InputError(f"expected two rankers, found {baseline!r} as baseline and as candidate")
    others = [name for name in pages.rankers if name != candidate]
    base = baseline or next((name for name in others if name.lower() in _BASELINES), others[0])
    candidates = [candidate] if candidate else [name for name in pages.rankers if name != base]
    _, totals = pages.of_users()
    columns = dict(zip(pages.rankers, totals.T, strict=True))
    preferences = [
        measure_preference(base, columns[base], name, columns[name], test, level, tests)
        for name in candidates
    ]
    corrected_ps = holm([preference.p for preference in preferences])
    preferences = [replace(row, corrected_p=p) for row, p in zip(preferences, corrected_ps, strict=True)]
    return Interleaving(pages.method, pages.rankers, preferences, pages.counts, pages.problems)


def tests_of(method: str) -> tuple[str, ...]:
    """Return the tests that hold for the credit of a method, the default first.

    The sign test and Wilcoxon's test need credit that is symmetric without a difference.

    >>> tests_of("team-draft"), tests_of("probabilistic")
    (('wilcoxon', 'sign', 't'), ('t',))
    """
    return ("t",) if _SKEWED in method else TEST_NAMES


def measure_preference(
    baseline: str,
    baseline_credits: Floats,
    candidate: str,
    candidate_credits: Floats,
    test: str = "wilcoxon",
    level: float = 0.95,
    tests: Sequence[str] = TEST_NAMES,
) -> Preference:
    """Return the preference from the credits of users; a user without credit for either has none.

    >>> measure_preference("old", np.array([0.0, 1, 1]), "new", np.array([2.0, 1, 3])).preference.value
    0.5
    """
    totals = baseline_credits + candidate_credits
    has_credit = totals > 0
    differences = subtract(candidate_credits[has_credit], baseline_credits[has_credit])
    values = differences / totals[has_credit]
    p_values = {name: _p_value(_TESTS[name], values) for name in tests}
    estimate = estimate_mean(values, level) if len(values) else Estimate(None, None, None, level, 0)
    return Preference(
        baseline=baseline,
        candidate=candidate,
        wins=int((values > 0).sum()),
        losses=int((values < 0).sum()),
        ties=int((values == 0).sum()),
        preference=estimate,
        win_share=_share(estimate),
        p_values=p_values,
        test=test,
        values=values,
        corrected_p=p_values[test],
    )


def _p_value(test: Callable[..., Floats], values: Floats) -> float | None:
    p = float(test(values[:, None])[0]) if len(values) else float("nan")
    return None if np.isnan(p) else p


def _share(preference: Estimate) -> Estimate:
    value, low, high = (None if end is None else (1 + end) / 2 for end in preference[:3])
    return preference._replace(value=value, low=low, high=high)


def _check_names(rankers: Sequence[str], names: Sequence[str | None]) -> None:
    for name in names:
        if name is not None and name not in rankers:
            hint = did_you_mean(name, rankers)
            found = ", ".join(rankers)
            raise InputError(f"expected a ranker of {found}, found {name!r}{hint and f'; {hint}'}")
    if len(rankers) < 2:
        found = ", ".join(rankers) or "none"
        raise InputError(f"expected the teams of two or more rankers, found {found}")
