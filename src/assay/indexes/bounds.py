"""Parameters that are too small: engines crash on them, never end, or take them for something else."""

from __future__ import annotations

from assay.core.errors import InputError


def at_least(least: int, **given: float) -> None:
    """Refuse parameters below what makes sense.

    >>> at_least(1, ef=0)
    Traceback (most recent call last):
    assay.core.errors.InputError: ef is 1 or more, found 0
    """
    for name, value in given.items():
        if value < least:
            raise InputError(f"{name} is {least} or more, found {value}")
