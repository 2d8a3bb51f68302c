"""Numbers as text, in tables and in sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from assay.stats.intervals import Estimate

NO_VALUE = "–"
_ROBUSTNESS = re.compile(r"Robustness\(delta=([\d.]+)\)")
NARROW_MARK = " *"
NARROW_NOTE = "* too few or too skewed values for Student's t: the interval may be too narrow"


def format_estimate(estimate: Estimate, digits: int = 4, interval_digits: int = 3) -> str:
    """A value with its interval; the bounds get as many digits as the value if fewer would exclude it.

    >>> format_estimate(Estimate(0.8964, 0.8923, 0.9008, 0.95, 10))
    '0.8964 (0.892 … 0.901)'
    >>> format_estimate(Estimate(0.99974, 0.99962, 0.99982, 0.95, 10))
    '0.9997 (0.9996 … 0.9998)'
    >>> format_estimate(Estimate(0.3412, 0.2087, 0.4611, 0.95, 10, is_resampled=True))
    '0.3412 (0.21 … 0.46)'
    """
    interval_digits = min(interval_digits, end_digits(estimate))
    if estimate.value is None:
        return NO_VALUE
    value = f"{estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return value
    low, high = f"{estimate.low:.{interval_digits}f}", f"{estimate.high:.{interval_digits}f}"
    if not float(low) <= float(value) <= float(high):
        low, high = f"{estimate.low:.{digits}f}", f"{estimate.high:.{digits}f}"
    return f"{value} ({low} … {high})"


def format_percent(share: Estimate) -> str:
    """A share with its interval, in percent.

    >>> format_percent(Estimate(0.25, 0.1, None, 0.95, 10))
    '25.0 % (10.0 … –)'
    >>> format_percent(Estimate(0.25, None, None, 0.95, 1))
    '25.0 %'
    """
    value, low, high = (NO_VALUE if end is None else f"{100 * end:.1f}" for end in share[:3])
    return f"{value} % ({low} … {high})" if (low, high) != (NO_VALUE, NO_VALUE) else f"{value} %"


def format_ratio(ratio: float) -> str:
    """A ratio with three significant digits, or all digits before the point.

    >>> format_ratio(1.027), format_ratio(35), format_ratio(1234.5)
    ('1.03', '35.0', '1,234')
    """
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"


def format_p(p: float | None) -> str:
    """A p-value for a table.

    >>> format_p(0.04219), format_p(1e-9), format_p(None)
    ('0.042', '<.001', '–')
    """
    return NO_VALUE if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def format_p_sentence(p: float) -> str:
    """A p-value for a sentence.

    >>> format_p_sentence(0.0312), format_p_sentence(0.00001)
    ('p 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def end_digits(estimate: Estimate) -> int:
    """The decimals of the ends of an interval: two if another seed would change the third, else four."""
    return 2 if estimate.is_resampled else 4


def format_signed(value: float, digits: int = 4) -> str:
    """A difference with its sign.

    >>> format_signed(0.02), format_signed(-0.1), format_signed(0.0)
    ('+0.0200', '−0.1000', '0.0000')
    """
    text = f"{abs(value):.{digits}f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


def shorten_measure(name: str) -> str:
    """A measure by the short name of robustness, as the field writes it.

    >>> shorten_measure("Robustness(delta=0.1)@10"), shorten_measure("AP@10")
    ('Robustness-0.1@10', 'AP@10')
    """
    return _ROBUSTNESS.sub(r"Robustness-\1", name)


def format_value(value: float | None) -> str:
    """A value with four decimals, or a dash if there is none.

    >>> format_value(0.5), format_value(None)
    ('0.5000', '–')
    """
    return NO_VALUE if value is None else f"{value:.4f}"


def format_exact(value: float | None) -> str:
    """A value with all its digits, or an empty text if there is none."""
    return "" if value is None else repr(value)


def format_interval(e: Estimate, format_bound: Callable[[float], str] = format_value) -> str:
    """The interval of an estimate, marked if it may be too narrow, or a dash if there is none."""
    if e.has_no_interval:
        return NO_VALUE
    return format_bounds(e.low, e.high, format_bound) + NARROW_MARK * e.is_narrow


def narrow_notes(estimates: Iterable[Estimate]) -> list[str]:
    """What the mark of an interval means, if any is marked."""
    return [NARROW_NOTE] * any(e.is_narrow for e in estimates)


def format_bounds(
    low: float | None, high: float | None, format_bound: Callable[[float], str] = format_value
) -> str:
    """Two bounds, with a dash for one that is unknown.

    >>> format_bounds(0.25, None)
    '0.2500 … –'
    """
    return " … ".join(NO_VALUE if end is None else format_bound(end) for end in (low, high))


def format_short(value: float | None) -> str:
    """A rate or a latency with three significant digits, or all digits before the point.

    >>> format_short(1.2345), format_short(1234.5), format_short(None)
    ('1.23', '1,234', '–')
    """
    return NO_VALUE if value is None else f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def format_count(n: int | None) -> str:
    """A number of things.

    >>> format_count(1200), format_count(None)
    ('1,200', '–')
    """
    return NO_VALUE if n is None else f"{n:,}"
