"""Values of experiments by name: a measure, a percentile of the latency, a figure or a setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.core.errors import InputError, MeasureError
from assay.core.records import Experiment
from assay.evaluation.configuration import flatten_settings
from assay.measures import parse

_SPACES = ("metrics", "latency", "figures", "params")  # as in filters


class ExperimentField(NamedTuple):
    """A value that experiments have: `metrics.nDCG@10`, `latency.p95_ms`, `figures.qps`, `params.ef`."""

    space: str
    key: str

    @classmethod
    def parse(cls, text: str) -> ExperimentField:
        """Return the field of a text; a text without one of the spaces is a measure.

        >>> ExperimentField.parse("Recall@10"), ExperimentField.parse("latency.p95_ms")
        (ExperimentField(space='metrics', key='R@10'), ExperimentField(space='latency', key='p95_ms'))
        """
        space, _, key = text.partition(".")
        if space in _SPACES[1:] and key:
            return cls(space, key)
        try:
            return cls("metrics", str(parse(text.removeprefix("metrics."))))
        except MeasureError as error:
            expected = "a measure, latency.KEY, figures.KEY or params.KEY, such as latency.p95_ms"
            raise InputError(f"expected {expected}; found {text!r} ({error})") from None

    def value(self, experiment: Experiment) -> Any:
        """Return the value of an experiment; None if it has none."""
        if self.space == "metrics":
            metric = experiment.metric(self.key)
            return metric.value if metric else None
        return _values(experiment, self.space).get(self.key)

    @property
    def is_better_if_less(self) -> bool:
        """Whether the least value comes first in a sorted list: of a latency or a figure, such as a cost."""
        return self.space in ("latency", "figures")

    def __str__(self) -> str:
        return self.key if self.space == "metrics" else f"{self.space}.{self.key}"


def default_measures(experiments: Sequence[Experiment]) -> list[ExperimentField]:
    """Return the measures that a list shows unless others are chosen."""
    names = dict.fromkeys(name for e in experiments for name in _values(e, "metrics"))
    preferred = [name for name in _PREFERRED_MEASURES if name in names] or list(names)[:2]
    return [ExperimentField("metrics", name) for name in preferred]


def default_columns(experiments: Sequence[Experiment]) -> list[ExperimentField]:
    """Return the latency and the cost that a list shows unless others are chosen, if there are any."""
    return [field for field in _PREFERRED_FIELDS if any(field.value(e) is not None for e in experiments)]


def sort_experiments(
    experiments: Sequence[Experiment], field: ExperimentField, reverse: bool = False
) -> list[Experiment]:
    """Return experiments with the best value first, or the worst; those without the value are last.

    Of equal values, the order stays as it is. Text comes after numbers.
    """
    having = [e for e in experiments if field.value(e) is not None]
    if experiments and not having:
        raise InputError(f"no experiment has {field}; there are {_list_fields(experiments)}")
    lacking = [e for e in experiments if field.value(e) is None]
    descending = reverse == (field.is_better_if_less or field.space == "params")
    return [*sorted(having, key=lambda e: _sort_key(field.value(e)), reverse=descending), *lacking]


_PREFERRED_MEASURES = ("nDCG@10", "R@10")
_PREFERRED_FIELDS = (
    ExperimentField("latency", "p95_ms"),
    ExperimentField("figures", "cost_per_1k_queries"),
)


def _sort_key(value: Any) -> tuple[bool, float, str]:
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, "" if is_number else str(value)


def _list_fields(experiments: Iterable[Experiment]) -> str:
    """Return the names of all fields that any of the experiments has, without settings."""
    fields = {
        str(ExperimentField(space, key)): None
        for e in experiments
        for space in _SPACES[:3]
        for key in _values(e, space)
    }
    return ", ".join(fields) or "none"


def _values(experiment: Experiment, space: str) -> Mapping[str, Any]:
    if space == "metrics":
        return {m.measure: m.value for m in experiment.metrics if not m.column}
    values = {
        "latency": experiment.latency,
        "figures": experiment.figures,
        "params": experiment.configuration,
    }
    return flatten_settings(values[space])
