"""Templates: autoescaped Jinja with the numbers of `views`."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from assay.views.experiments import format_time
from assay.views.numbers import format_count, format_p, format_short, format_signed, format_value
from assay.views.online_pages import format_share, format_share_tick, format_signed_tick
from assay.views.rag_failures import mark_answers
from assay.views.rollouts import format_coverage

SYSTEM_SHAPES = 6  # systems have one of six colours, each with its own shape
_AXIS_MARGIN = 0.02


@cache
def environment() -> Environment:
    """Return the environment of the templates; every value is escaped."""
    templates = Environment(
        loader=PackageLoader("assay.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        number=_number,
        signed=format_signed,
        p=format_p,
        short=format_short,
        count=format_count,
        time=format_time,
        query=_query,
        share=format_share,
        coverage=format_coverage,
        tick_share=format_share_tick,
        tick_signed=format_signed_tick,
    )
    templates.globals.update(position=position, axis_of=axis_of, mark_answers=mark_answers)
    return templates


def render(template: str, **values: Any) -> str:
    """Return a template with its values."""
    return environment().get_template(template).render(**values)


def _number(value: float | None) -> str:
    """Return a value with the sign that differences have.

    >>> _number(-0.5), _number(None)
    ('−0.5000', '–')
    """
    return format_value(value).replace("-", "−")


def _query(values: dict[str, Any]) -> str:
    """Return parameters as the query of an address; empty ones are left out.

    >>> _query({"where": "a > 1", "sort": "", "tag": ["x", "y"]})
    'where=a+%3E+1&tag=x&tag=y'
    """
    return urlencode({key: value for key, value in values.items() if value not in ("", None, [])}, True)


def position(value: float, axis: tuple[float, float]) -> float:
    """Return where a value lies on an axis, in per cent, held to its ends.

    >>> position(0.5, (0.0, 2.0)), position(9.0, (0.0, 2.0))
    (25.0, 100.0)
    """
    low, high = axis
    return round(min(100.0, max(0.0, 100 * (value - low) / (high - low))), 2)


def axis_of(values: list[float | None], around_zero: bool = False) -> tuple[float, float]:
    """Return the ends of an axis for values; `around_zero` has zero in the middle.

    >>> axis_of([0.2, None, 0.4])
    (0.196, 0.404)
    >>> axis_of([0.1, -0.3], around_zero=True)
    (-0.3, 0.3)
    """
    known = [value for value in values if value is not None]
    if not known:
        return (-1.0, 1.0) if around_zero else (0.0, 1.0)
    if around_zero:
        end = max(map(abs, known)) or 1.0
        return -end, end
    low, high = min(known), max(known)
    margin = _AXIS_MARGIN * ((high - low) or 1.0)
    return low - margin, high + margin
