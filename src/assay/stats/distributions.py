"""The normal and the beta distribution, without the time that it takes to load scipy."""

from __future__ import annotations

import math
from collections.abc import Callable

_MOST_STEPS = 100  # of the search for a root
_LARGEST_ROOT = 50.0  # its exponential is 5e21
_MOST_TERMS = 100_000  # of a continued fraction


def normal_cdf(z: float) -> float:
    """The share of a standard normal distribution below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(share: float) -> float:
    """The point with this share of a standard normal distribution below it, by Newton's method.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    z = 0.0
    for _ in range(60):
        slope = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        step = max(-1.0, min(1.0, (normal_cdf(z) - share) / max(slope, 1e-300)))
        z -= step
        if abs(step) < 1e-14:
            break
    return z


def find_root(function: Callable[[float], float], guess: float) -> float:
    """The number at which a rising function is 0: by secants, and by halves where these leave the bracket."""
    low, high = -_LARGEST_ROOT, _LARGEST_ROOT
    previous, previous_value = 0.0, function(0.0)
    for _ in range(_MOST_STEPS):
        guess = guess if low < guess < high else (low + high) / 2
        value = function(guess)
        low, high = (guess, high) if value < 0 else (low, guess)
        if abs(value) < 1e-13 or high - low < 1e-13:
            break
        slope = (value - previous_value) / (guess - previous) if guess != previous else 0.0
        previous, previous_value = guess, value
        guess = guess - value / slope if slope > 0 else math.inf
    return guess


def beta_quantile(share: float, a: float, b: float) -> float:
    """The point with this share of the beta distribution below it.

    >>> round(beta_quantile(0.975, 1, 50), 6)
    0.071122
    """

    def excess(logit: float) -> float:
        return _incomplete_beta(*_logistic(logit), a, b) - share

    return _logistic(find_root(excess, math.log(a / b)))[0]


def _logistic(logit: float) -> tuple[float, float]:
    """A share and what is left of 1, both precise also near 0."""
    return 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """The share of the beta distribution below x = 1 - rest, by a continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(rest, x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    numerator, denominator, fraction = 1.0, 0.0, 1.0  # by the method of Lentz
    for place in range(1, _MOST_TERMS):
        m = place // 2
        factor = -(a + m) * (a + b + m) if place % 2 else m * (b - m)
        factor *= x / ((a + place - 1) * (a + place))
        denominator, numerator = 1 / (1 + factor * denominator), 1 + factor / numerator
        fraction *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return math.exp(logarithm) / (a * fraction)
