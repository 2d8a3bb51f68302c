"""Lower bounds of parameters, checked here because engines crash, hang or ignore values below them."""

from __future__ import annotations

from assay.core.errors import InputError


def require_at_least(minimum: int, **values: float) -> None:
    """Raise an error for the first value that is below the minimum.

    >>> require_at_least(1, ef=0)
    Traceback (most recent call last):
    assay.core.errors.InputError: ef must be 1 or more, found 0
    """
    for name, value in values.items():
        if value < minimum:
            raise InputError(f"{name} must be {minimum} or more, found {value}")
