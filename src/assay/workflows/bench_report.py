"""Report what trials show beyond their mean recall, with the commands that measure the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.selection.floors import name_delta, parse_floor
from assay.bench.selection.tradeoff import TradeoffPlane, tradeoff_planes
from assay.bench.studies.findings import FindingSettings, StudyFindings, collect_findings
from assay.bench.studies.recall_correlation import RECALL_RANGE
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import Trial
from assay.core.errors import InputError
from assay.workflows.bench_settings import parse_value
from assay.workflows.study import open_study

_LOWER_FLOOR = 0.05  # below the recall to compare at, the first floor of recall in the trade-off


@dataclass(frozen=True, kw_only=True)
class ReportTrialsRequest:
    """The trials to report, and the thresholds of the report."""

    trials: str  # the folder of a sweep, or a table of published trials
    others: Sequence[str] = ()  # trials of other data, which are only compared side by side
    k: int | None = None
    other_ks: Sequence[int] = ()  # at which the same trials are only compared side by side
    ties: str | None = None
    mode: str | None = None
    recall: float = 0.9  # mean recall near which configurations are compared
    tolerance: float | None = None  # within which two mean recalls are the same; None: the defaults
    recall_range: tuple[float, float] = RECALL_RANGE  # of the configurations of which r² is computed
    delta: float = 0.1  # a query fails below this recall
    at_most: float = 0.3  # the severity of queries with at most this recall is shown
    floors: Sequence[str] = ()  # of the trade-off; a figure without one gets two
    data: str | None = None  # the dataset to report on, or "all"; None: that of the sweep
    format: str = "table"  # of the command that makes the same report

    def __post_init__(self) -> None:
        for name in ("recall", "delta", "at_most", "tolerance"):
            value = getattr(self, name)
            if value is not None and (not 0 <= value <= 1 or (name == "delta" and not value)):
                expected = "above 0, at most 1" if name == "delta" else "from 0 to 1"
                option = name.replace("_", "-")
                raise InputError(f"--{option}: expected a recall {expected}, found {value:g}")
        low, high = self.recall_range
        if not 0 <= low < high <= 1:
            raise InputError(
                f"--recall-range: expected two recalls, the lower first, found {low:g} and {high:g}"
            )

    @property
    def settings(self) -> FindingSettings:
        """The thresholds of the findings."""
        names = ("delta", "at_most", "recall", "tolerance", "recall_range")
        return FindingSettings(**{name: getattr(self, name) for name in names})

    @property
    def command(self) -> str:
        """The command that makes the same report."""
        options: dict[str, Any] = {"--ties": self.ties, "--mode": self.mode}
        options |= {"--data": self.data}
        options |= {"--recall": self.recall, "--delta": self.delta, "--at-most": self.at_most}
        options |= {"--tolerance": self.tolerance}
        ks = [word for k in (self.k, *self.other_ks) if k is not None for word in ("-k", str(k))]
        floors = [word for floor in self.floors for word in ("--floor", floor)]
        ends = [f"{end:g}" for end in self.recall_range]
        ends = [] if self.recall_range == RECALL_RANGE else ["--recall-range", *ends]
        words = ["assay", "bench", "report", self.trials, *self.others, *ks, *_option_words(options)]
        words += [*ends, *floors, "--format", self.format]
        return shlex.join(words) + (" > report.html" if self.format == "html" else "")


@dataclass(frozen=True)
class TrialsReport:
    """A study with its findings, and the commands that produce it."""

    study: Study
    findings: StudyFindings
    planes: tuple[TradeoffPlane, ...]  # of the trade-off of recall, robustness and throughput
    commands: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, with the keys that `assay bench report --format json` prints."""
        return {
            "about": dict(self.study.metadata),
            **self.findings.to_dict(),
            "tradeoff": [plane.to_dict() for plane in self.planes],
            "reproduce": list(self.commands),
        }


def report_trials(request: ReportTrialsRequest) -> TrialsReport:
    """Find what the trials of a folder or a table show beyond their mean recall."""
    study, *others = [
        open_study(source, k=k, policy=request.ties, mode=request.mode, delta=request.delta)
        for source in (request.trials, *request.others)
        for k in (request.k, *request.other_ks)
    ]
    floors = _tradeoff_floors(request)
    findings = collect_findings(study, request.settings, request.data, others)
    keys = {trial.key for trial in findings.trials}
    comparable = [one for one in study.scored_trials if one.trial.key in keys]
    planes = tuple(tradeoff_planes(comparable, request.delta, floors, defaults=2))
    return TrialsReport(study, findings, planes, (*reproduction_commands(study), request.command))


def _tradeoff_floors(request: ReportTrialsRequest) -> dict[str, list[float]]:
    """The floors of the trade-off by figure; `robustness` is that at δ."""
    floors: dict[str, list[float]] = {}
    for text in request.floors:
        floor = parse_floor(name_delta(text, request.delta))
        floors.setdefault(floor.figure.name, []).append(floor.value)
    floors.setdefault("recall", [max(0.0, round(request.recall - _LOWER_FLOOR, 6)), request.recall])
    return floors


def reproduction_commands(study: Study) -> list[str]:
    """The commands that measure the same trials; none for trials that others measured.

    There is one for each request mode, number of threads and number of neighbours.
    """
    own = [
        _with_absolute_paths(scored_trial, study)
        for scored_trial in study.scored_trials
        if scored_trial.trial.source == "assay" and study.metadata
    ]
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for scored_trial in filter(_can_be_written, own):
        groups.setdefault(tuple(_request_options(scored_trial, study)), []).append(scored_trial.trial)
    return [
        *(
            shlex.join(
                [
                    "assay",
                    "bench",
                    *_data_options(study),
                    *_index_options(trials),
                    *options,
                    "-o",
                    study.source,
                ]
            )
            for options, trials in groups.items()
        ),
        *(
            f"# needs a file, because options cannot express it: {scored_trial.trial.label}"
            for scored_trial in own
            if not _can_be_written(scored_trial)
        ),
    ]


def _with_absolute_paths(scored_trial: ScoredTrial, study: Study) -> ScoredTrial:
    """A trial whose files have the absolute paths they had when it was measured."""
    paths = (SweepFolder(study.source).trial_record(scored_trial.trial.key) or {}).get("paths", {})
    return replace(
        scored_trial, trial=replace(scored_trial.trial, build={**scored_trial.trial.build, **paths})
    )


def _can_be_written(scored_trial: ScoredTrial) -> bool:
    """Whether options can express the parameters: no spaces, commas or quotes, and nothing redacted."""
    values = [*scored_trial.trial.build.values(), *scored_trial.trial.search.values()]
    return all(
        parse_value(_format_value(value)) == value and not set(_format_value(value)) & set(", …\t\n'\"")
        for value in values
    )


def _data_options(study: Study) -> list[str]:
    sources, options = study.metadata["sources"], study.metadata["options"]
    values = {f"--{name}": sources[name] for name in ("base", "queries", "truth", "limit")}
    values["--metric"] = study.metadata["data"]["metric"]
    return _option_words(values | {f"--{name}": options[name] for name in ("repetitions", "warmup")})


def _request_options(scored_trial: ScoredTrial, study: Study) -> list[str]:
    """The options of how the queries of a trial were sent."""
    trial, request = scored_trial.trial, scored_trial.trial.request
    k = (
        study.metadata["data"]["k"]
        if scored_trial.returned_ids is None
        else scored_trial.returned_ids.shape[1]
    )
    values: dict[str, Any] = {"-k": k, "--threads": trial.threads, "--clients": request.get("clients")}
    values |= {"--seconds": request.get("seconds"), "--rate": request.get("rate")}
    if trial.mode == "capacity":
        values["--objective"] = f"p{request['percentile']:g}={request['within_ms']:g}"
    if trial.mode in ("single", "batch"):
        values["--mode"] = trial.mode
    return _option_words(values)


def _option_words(values: Mapping[str, Any]) -> list[str]:
    return [word for name, value in values.items() if value is not None for word in (name, str(value))]


def _index_options(trials: Iterable[Trial]) -> list[str]:
    """Every index with its searches; the values of the last search parameter are one list."""
    values: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        build = " ".join([trial.engine, *_format_parameters(trial.build)])
        *rest, last = _format_parameters(trial.search) or [""]
        name, _, value = last.partition("=")
        prefix = " ".join([build, *["/"] * bool(last), *rest])
        values.setdefault((prefix, name), []).append(value)
    words = []
    for (prefix, name), texts in values.items():
        words += ["--index", f"{prefix} {name}={','.join(dict.fromkeys(texts))}" if name else prefix]
    return words


def _format_parameters(parameters: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_format_value(value)}" for name, value in parameters.items()]


def _format_value(value: Any) -> str:
    """A value as options spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
