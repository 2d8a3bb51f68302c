"""The descriptions of engines before a sweep, each read in its own process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.bench.sweeps.cases import TrialCase
from assay.core.errors import AssayError, ConfigurationError, EngineError, InputError
from assay.core.vectors import METRICS
from assay.indexes.hosting.hosted import EngineProcess
from assay.indexes.hosting.worker import EngineDescription

EngineDescriptions = dict[tuple[str, str | None], EngineDescription]  # by engine name and interpreter


class BrokenEngine(EngineDescription):
    """An engine whose description could not be read: its trials fail for this reason."""

    reason: str

    @classmethod
    def from_error(cls, error: EngineError) -> BrokenEngine:
        """Return an engine of which only the failure is known."""
        engine = cls(METRICS, False, False, False, {}, {}, {}, "")
        engine.reason = str(error)
        return engine


def engine_facts(engine: EngineDescription) -> dict[str, Any]:
    """Return the version of an engine and the default values of its parameters."""
    defaults = {
        kind: {p.name: p.default for p in parameters.values() if isinstance(p.default, str | int | float)}
        for kind, parameters in (("build", engine.build), ("search", engine.search))
    }
    return {"version": engine.version, **defaults}


def describe_engines(cases: Sequence[TrialCase], timeout: float = 120.0) -> EngineDescriptions:
    """Return the description of each engine; raise one error with all problems of the parameters."""
    engines: EngineDescriptions = {}
    problems: dict[str, str] = {}
    for name, python in dict.fromkeys((case.build.engine, case.build.python) for case in cases):
        engine_cases = [case for case in cases if (case.build.engine, case.build.python) == (name, python)]
        try:
            with EngineProcess(python=python, timeout=timeout) as process:
                _refuse_interpreter(process, python)
                engines[name, python], engine_problems = _describe_engine(process, name, engine_cases)
                problems |= engine_problems
        except (AssayError, OSError) as error:
            problems[name] = str(error)
    if problems:
        raise ConfigurationError(problems)
    return engines


def _refuse_interpreter(process: EngineProcess, python: str | None) -> None:
    """Refuse an interpreter that cannot run an engine process at all: the setting is wrong."""
    try:
        process.call("cpu_seconds")
    except EngineError as error:
        raise InputError(
            f"{python or 'this Python'} cannot run an engine: expected Python 3.11 or later with NumPy "
            f"and the engine; found: {error}"
        ) from None


def _describe_engine(
    process: EngineProcess, name: str, cases: Sequence[TrialCase]
) -> tuple[EngineDescription, dict[str, str]]:
    """Return the description of an engine and the problems of its parameters; a failure affects only it."""
    try:
        engine: EngineDescription = process.call("describe", name)
        problems: dict[str, str] = {}
        for case in cases:
            problems |= _parameter_problems(process, case)
        return engine, problems
    except EngineError as error:
        return BrokenEngine.from_error(error), {}


def refuse_metrics(engines: EngineDescriptions, metric: str) -> None:
    """Refuse engines that do not support a metric."""
    problems = {
        name: f"does not support the metric {metric}; it supports {', '.join(engine.metrics)}"
        for (name, _), engine in engines.items()
        if metric not in engine.metrics
    }
    if problems:
        raise ConfigurationError(problems)


def _parameter_problems(process: EngineProcess, case: TrialCase) -> dict[str, str]:
    build, ends = case.build, [case]
    if case.range_parameter is not None:
        _, value_range = case.range_parameter
        ends = [case.with_value(value_range.low), case.with_value(value_range.high)]
    problems: dict[str, str] = {}
    for end in ends:
        answers = process.call("problems", build.engine, dict(build.parameters), dict(end.search))
        problems |= {f"{build.engine} {field}": problem for field, problem in answers.items()}
    return problems
