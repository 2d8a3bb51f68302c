"""Estimate the value of a policy or a ranking from logged clicks: what `assay judge off-policy` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.core.arrays import Floats
from assay.core.columns import match_columns, require_columns
from assay.core.errors import FormatError, InputError, TableError, first_line
from assay.core.suggestions import did_you_mean
from assay.core.tables import Run
from assay.datasets import read
from assay.datasets.input_files import InputFile
from assay.datasets.result_pages import read_pages
from assay.judging.clicks.off_policy import LEAST_EFFECTIVE_N, OffPolicyValue, estimate_policy
from assay.judging.clicks.ranking_value import parse_gain, weigh_ranking

DEFAULT_LEAST = LEAST_EFFECTIVE_N
_SHOWN_COLUMNS = 10  # in an error message
_ALIASES = {
    "reward": ("click", "clicked", "clicks"),
    "propensity": ("propensity_score", "pscore", "logged_propensity"),
    "action": ("item_id", "doc_id", "object_id", "arm"),
}


@dataclass(frozen=True, kw_only=True)
class OffPolicyRequest:
    """The log of one policy, and the policy to value on it."""

    log: str
    target: str = "uniform"  # or a column
    actions: int | None = None
    columns: Sequence[str] = ()
    run: str | None = None  # then the log is one of result pages
    examination: str | None = None
    gain: str = "clicks"
    least_effective_n: float = DEFAULT_LEAST
    level: float = 0.95

    def __post_init__(self) -> None:
        if (self.run is None) != (self.examination is None):
            raise InputError("--run and --examination belong together: a ranking is valued by examinations")
        if self.actions is not None and self.actions < 1:
            raise InputError(f"--actions expects 1 or more, found {self.actions}")
        if self.least_effective_n < 1:
            raise InputError(f"--least-effective-n expects 1 or more, found {self.least_effective_n:g}")
        if not 0 < self.level < 1:
            raise InputError(f"--level expects a number between 0 and 1, found {self.level:g}")


def value_policy(request: OffPolicyRequest) -> OffPolicyValue:
    """Return the value of a policy on a log of choices, or of a run on a log of result pages."""
    if request.run is not None and request.examination is not None:
        run = read(request.run, "run")
        assert isinstance(run, Run)
        examination = _read_examination(request.examination)
        ranking = weigh_ranking(read_pages(request.log), run, examination, parse_gain(request.gain))
        value = estimate_policy(ranking.rewards, ranking.weights, request.level, request.least_effective_n)
        return ranking.scale(value)
    rewards, weights = _weigh_choices(request)
    return estimate_policy(rewards, weights, request.level, request.least_effective_n)


def _weigh_choices(request: OffPolicyRequest) -> tuple[Floats, Floats]:
    """Return the reward of each row, and the propensity of the target divided by that of the log."""
    frame = _read_table(request.log)
    columns = dict(option.partition("=")[::2] for option in request.columns)
    try:
        sources = {target: name for name, target in match_columns(frame.columns, _ALIASES, columns).items()}
        require_columns(("reward", "propensity"), sources, frame.columns)
        rewards = _numbers(frame, sources["reward"])
        propensities = _numbers(frame, sources["propensity"])
        target = _target(request, frame, sources.get("action"))
    except TableError as error:
        raise FormatError(str(error), request.log) from None
    wrong = np.flatnonzero(~((propensities > 0) & (propensities <= 1)))
    if len(wrong):
        raise FormatError(
            f"column {sources['propensity']} must lie above 0 and not above 1, found "
            f"{propensities[wrong[0]]:g} in row {wrong[0] + 1}",
            request.log,
        )
    return rewards, target / propensities


def _target(request: OffPolicyRequest, frame: pl.DataFrame, action: str | None) -> Floats:
    """Return the propensity of the target policy in each row."""
    if request.target != "uniform":
        if request.target not in frame.columns:
            names = [name for name in frame.columns if name]
            hint = did_you_mean(request.target, names)
            shown = ", ".join(names[:_SHOWN_COLUMNS]) + (", …" if len(names) > _SHOWN_COLUMNS else "")
            raise TableError(f"there is no column {request.target!r} among {shown}{hint and f'; {hint}'}")
        return _numbers(frame, request.target)
    if request.actions is None and action is None:
        raise TableError("a uniform policy needs --actions N, or a column of actions (--columns action=…)")
    count = request.actions or frame[str(action)].n_unique()
    return np.full(len(frame), 1 / count)


def _numbers(frame: pl.DataFrame, name: str) -> Floats:
    values = frame[name].cast(pl.Float64, strict=False)
    wrong = (values.is_null() | values.is_nan()).arg_true()
    if len(wrong):
        raise TableError(
            f"column {name} must be numbers, found {frame[name][int(wrong[0])]!r} in row {wrong[0] + 1}"
        )
    return values.to_numpy()


def _read_table(path: str) -> pl.DataFrame:
    source = InputFile(path)
    data = source.read()
    try:
        if data.startswith(b"PAR1"):
            frame = pl.read_parquet(data)
        elif data[:1] == b"{":
            frame = pl.read_ndjson(data, infer_schema_length=None)
        else:
            separator = "\t" if b"\t" in data.split(b"\n", 1)[0] else ","
            frame = pl.read_csv(data, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise FormatError(f"expected a table of choices, found {first_line(error)}", source.label) from None
    if frame.is_empty():
        raise FormatError("expected rows of choices, found none", source.label)
    return frame


def _read_examination(path: str) -> Floats:
    """Return the examination of each rank of the JSON of a fitted model."""
    source = InputFile(path)
    try:
        values = json.loads(source.read())["parameters"]["examination"]
        examination = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (ValueError, KeyError, TypeError):
        raise FormatError(
            'expected the JSON of `assay judge clicks --model pbm --format json` with {"parameters": '
            '{"examination": [0.8, …]}}, found something else',
            source.label,
        ) from None
    return examination
