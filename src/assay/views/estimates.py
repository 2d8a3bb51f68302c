"""Values with their intervals, as they are printed in tables and sentences."""

from __future__ import annotations

from assay.stats.intervals import Estimate
from assay.views.fitting import NONE


def with_interval(found: Estimate, digits: int = 4, ends: int = 3) -> str:
    """A value and the ends of its interval, which have as many digits where with fewer they exclude it.

    >>> with_interval(Estimate(0.8964, 0.8923, 0.9008, 0.95, 10))
    '0.8964 (0.892 … 0.901)'
    >>> with_interval(Estimate(0.99974, 0.99962, 0.99982, 0.95, 10))
    '0.9997 (0.9996 … 0.9998)'
    """
    if found.value is None:
        return NONE
    value = f"{found.value:.{digits}f}"
    if found.low is None or found.high is None:
        return value
    low, high = f"{found.low:.{ends}f}", f"{found.high:.{ends}f}"
    if not float(low) <= float(value) <= float(high):
        low, high = f"{found.low:.{digits}f}", f"{found.high:.{digits}f}"
    return f"{value} ({low} … {high})"


def times(ratio: float) -> str:
    """A ratio with three digits, or all before the point.

    >>> times(1.027), times(35), times(1234.5)
    ('1.03', '35.0', '1,234')
    """
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def p_value(p: float | None) -> str:
    """p in a table.

    >>> p_value(0.04219), p_value(1e-9), p_value(None)
    ('0.042', '<.001', '–')
    """
    return NONE if p is None else "<.001" if p < 0.001 else f"{p:.3f}"
