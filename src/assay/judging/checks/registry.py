"""The checks of evaluation sets: every module of `faults` is one, with a function `find`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from assay.judging.checks import faults
from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import SEVERITIES, Finding

Check = Callable[[EvaluationSet], Iterable[Finding]]


def list_checks() -> dict[str, Check]:
    """Return the checks by the names of their modules.

    >>> "unit_mismatch" in list_checks()
    True
    """
    names = sorted(module.name for module in iter_modules(faults.__path__))
    return {name: import_module(f"{faults.__name__}.{name}").find for name in names}


def check_evaluation_set(data: EvaluationSet) -> list[Finding]:
    """Return what all checks found in an evaluation set, the most severe first."""
    findings = [finding for check in list_checks().values() for finding in check(data)]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def check_each(data: EvaluationSet) -> Iterator[tuple[str, list[Finding]]]:
    """Yield the name of each check with what it found, so that progress can be shown."""
    for name, check in list_checks().items():
        yield name, list(check(data))
