"""Report what trials show beyond their mean recall, with the commands that measure the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.studies.findings import StudyFindings, collect_findings
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.sweeps.folder import SweepFolder
from assay.bench.trials import Trial
from assay.core.errors import InputError
from assay.workflows.bench_settings import parse_value
from assay.workflows.study import open_study


@dataclass(frozen=True, kw_only=True)
class ReportTrialsRequest:
    """The trials to report, and the thresholds of the report."""

    trials: str  # the folder of a sweep, or a table of published trials
    k: int | None = None
    ties: str | None = None
    mode: str | None = None
    recall: float = 0.9  # mean recall near which configurations are compared
    delta: float = 0.1  # a query fails below this recall
    at_most: float = 0.3  # the severity of queries with at most this recall is shown
    data: str | None = None  # the dataset to report on, or "all"; None: that of the sweep
    format: str = "table"  # of the command that makes the same report

    def __post_init__(self) -> None:
        for name in ("recall", "delta", "at_most"):
            value = getattr(self, name)
            if not 0 <= value <= 1 or (name == "delta" and not value):
                expected = "above 0, at most 1" if name == "delta" else "from 0 to 1"
                option = name.replace("_", "-")
                raise InputError(f"--{option}: expected a recall {expected}, found {value:g}")

    @property
    def command(self) -> str:
        """The command that makes the same report."""
        options: dict[str, Any] = {"-k": self.k, "--ties": self.ties, "--mode": self.mode}
        options |= {"--data": self.data}
        options |= {"--recall": self.recall, "--delta": self.delta, "--at-most": self.at_most}
        words = ["assay", "bench", "report", self.trials, *_option_words(options), "--format", self.format]
        return shlex.join(words) + (" > report.html" if self.format == "html" else "")


@dataclass(frozen=True)
class TrialsReport:
    """A study with its findings, and the commands that produce it."""

    study: Study
    findings: StudyFindings
    commands: tuple[str, ...]
    recall: float = 0.9

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, with the keys that `assay bench report --format json` prints."""
        return {
            "about": dict(self.study.metadata),
            **self.findings.to_dict(),
            "reproduce": list(self.commands),
        }


def report_trials(request: ReportTrialsRequest) -> TrialsReport:
    """Find what the trials of a folder or a table show beyond their mean recall."""
    study = open_study(request.trials, k=request.k, policy=request.ties, mode=request.mode)
    findings = collect_findings(study, request.delta, request.at_most, request.data)
    return TrialsReport(study, findings, (*reproduction_commands(study), request.command), request.recall)


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
