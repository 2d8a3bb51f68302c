"""The geometry of charts in per cent of their box, so that text keeps its size at any width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LINEAR_STEPS = (1, 2, 2.5, 5, 10)
_LOG_STEPS = (1, 2, 5)
_MOST_TICKS = 7


@dataclass(frozen=True)
class Axis:
    """The ends of an axis, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        """Return where a value lies, in per cent, held to the ends.

        >>> Axis(0, 2).place(0.5), Axis(1, 100, is_log=True).place(10)
        (25.0, 50.0)
        """
        low, high, at = (self._scale(number) for number in (self.low, self.high, value))
        return round(min(100.0, max(0.0, 100 * (at - low) / (high - low))), 2)

    def widened(self) -> Axis:
        """Return a linear axis with room above, so that marks at its end are not cut.

        >>> Axis(0.0, 1.0).widened()
        Axis(low=0.0, high=1.01, is_log=False)
        """
        return Axis(self.low, round(self.high + 0.01 * (self.high - self.low), 9), self.is_log)

    def _scale(self, value: float) -> float:
        return math.log10(max(value, 1e-12)) if self.is_log else value

    def ticks(self) -> list[float]:
        """Return round values between the ends.

        >>> Axis(0.6, 1).ticks()
        [0.6, 0.7, 0.8, 0.9, 1.0]
        >>> Axis(1000, 40000, is_log=True).ticks()
        [1000, 2000, 5000, 10000, 20000]
        """
        return self._log_ticks() if self.is_log else self._linear_ticks()

    def _linear_ticks(self) -> list[float]:
        span = self.high - self.low
        power = 10 ** math.floor(math.log10(span / _MOST_TICKS))
        step = next(power * times for times in _LINEAR_STEPS if span / (power * times) <= _MOST_TICKS)
        first = math.ceil(self.low / step - 1e-9)
        count = math.floor(self.high / step + 1e-9) - first + 1
        return [round((first + number) * step, 12) for number in range(count)]

    def _log_ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        ticks = [times * 10**power for power in powers for times in _LOG_STEPS]
        inside = [tick for tick in ticks if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]
        return inside if len(inside) <= _MOST_TICKS else inside[::3]


def linear_axis(values: Sequence[float], high: float) -> Axis:
    """Return an axis up to `high` that begins at a round value below all values.

    >>> linear_axis([0.73, 0.9], 1.0)
    Axis(low=0.7, high=1.0, is_log=False)
    """
    low = min(values)
    step = 0.1 if high - low > 0.25 else 0.05 if high - low > 0.1 else 0.02 if high - low > 0.02 else 0.005
    return Axis(round(min(math.floor(low / step + 1e-9) * step, high - step), 6), high)


def log_axis(values: Sequence[float]) -> Axis:
    """Return a logarithmic axis from the round value below all values to the one above.

    >>> log_axis([2443, 30740])
    Axis(low=2000.0, high=50000.0, is_log=True)
    """
    return Axis(_round_down(min(values)), _round_up(max(values)), is_log=True)


def _round_down(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(times * power for times in _LOG_STEPS if times * power <= value * (1 + 1e-9))


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(times * power for times in (*_LOG_STEPS, 10, 20) if times * power > value)


def format_tick(value: float) -> str:
    """Return a tick as short text.

    >>> [format_tick(value) for value in (0.7, 1.0, 2000, 0.05)]
    ['0.7', '1', '2k', '0.05']
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
