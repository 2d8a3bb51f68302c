"""What engines say of themselves before a sweep, each asked in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.errors import AssayError, ConfigurationError, EngineError, InputError
from assay.core.vectors import METRICS
from assay.indexes.hosting.hosted import Process
from assay.indexes.hosting.worker import Described
from assay.indexes.sweeps.plan import Case

Engines = dict[tuple[str, str | None], Described]  # by name and interpreter


class Broken(Described):
    """An engine that failed when it was asked of itself: its trials fail for this reason."""

    reason: str

    @classmethod
    def by(cls, error: EngineError) -> Broken:
        """An engine of which no more is known than its failure."""
        made = cls(METRICS, False, False, False, {}, {}, {}, "")
        made.reason = str(error)
        return made


def describe(cases: Sequence[Case], timeout: float = 120.0) -> Engines:
    """What each engine says of itself; everything wrong with the parameters is said at once."""
    made: Engines = {}
    problems: dict[str, str] = {}
    for name, python in dict.fromkeys((case.build.engine, case.build.python) for case in cases):
        of_it = [case for case in cases if (case.build.engine, case.build.python) == (name, python)]
        try:
            with Process(python=python, timeout=timeout) as process:
                _refuse_other(process, python)
                made[name, python], found = _described(process, name, of_it)
                problems |= found
        except (AssayError, OSError) as error:
            problems[name] = str(error)
    if problems:
        raise ConfigurationError(problems)
    return made


def _refuse_other(process: Process, python: str | None) -> None:
    """Refuse an interpreter that cannot do the least there is to do: it is a wrong setting."""
    try:
        process.ask("cpu")
    except EngineError as error:
        raise InputError(
            f"{python or 'this Python'} cannot host an engine: expected a Python of 3.11 or later with NumPy "
            f"and the engine; found that {error}"
        ) from None


def _described(process: Process, name: str, cases: Sequence[Case]) -> tuple[Described, dict[str, str]]:
    """What an engine says of itself and of the parameters; one that fails costs its own trials only."""
    try:
        made: Described = process.ask("describe", name)
        return made, {field: said for case in cases for field, said in _problems(process, case).items()}
    except EngineError as error:
        return Broken.by(error), {}


def refuse_metrics(described: Engines, metric: str) -> None:
    """Refuse engines that do not have a metric."""
    wrong = {
        name: f"has no metric {metric}; it has {', '.join(found.metrics)}"
        for (name, _), found in described.items()
        if metric not in found.metrics
    }
    if wrong:
        raise ConfigurationError(wrong)


def _problems(process: Process, case: Case) -> dict[str, str]:
    build = case.build
    ends = (
        [case] if case.wanted is None else [case.using(case.wanted[1].least), case.using(case.wanted[1].most)]
    )
    made: dict[str, str] = {}
    for end in ends:
        found = process.ask("problems", build.engine, dict(build.parameters), dict(end.search))
        made |= {f"{build.engine} {field}": said for field, said in found.items()}
    return made
