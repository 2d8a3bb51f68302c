"""assay bench report: what trials show beyond their mean recall, as one page with figures."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from assay.cli.parsers import add_format
from assay.core.errors import InputError
from assay.indexes.hits import POLICIES
from assay.indexes.study.findings import findings
from assay.indexes.study.observed import Observed, Study
from assay.indexes.sweeps.plan import MODES
from assay.indexes.sweeps.results import Results
from assay.indexes.trials import Trial
from assay.project.bench_settings import value_of
from assay.project.study import open_study
from assay.views.bench_report import FORMATS, bench_report


def report_options(part: argparse.ArgumentParser) -> None:
    """The options of the report."""
    part.add_argument(
        "trials", metavar="TRIALS", help="the folder of a sweep, or a table of published trials"
    )
    part.add_argument(
        "-k", type=int, metavar="K", help="score hits among the first K (default: that of the last sweep)"
    )
    part.add_argument(
        "--ties", choices=POLICIES, help="what counts as a hit (default: that of the last sweep)"
    )
    part.add_argument("--mode", choices=MODES, help="the way of asking (default: single, where there is any)")
    part.add_argument(
        "--recall",
        type=float,
        default=0.9,
        metavar="R",
        help="the mean recall near which configurations are compared, one of each engine (default: 0.9)",
    )
    part.add_argument(
        "--delta", type=float, default=0.1, metavar="D", help="a query fails below this recall (default: 0.1)"
    )
    part.add_argument(
        "--at-most",
        type=float,
        default=0.3,
        metavar="R",
        help="tell how bad failures are of queries with at most this recall (default: 0.3)",
    )
    add_format(part, FORMATS)


def report(arguments: argparse.Namespace) -> int:
    """Print the report."""
    for name in ("recall", "delta", "at_most"):
        if not 0 <= (given := getattr(arguments, name)) <= 1 or (name == "delta" and not given):
            least = "above 0, at most 1" if name == "delta" else "from 0 to 1"
            raise InputError(f"--{name.replace('_', '-')}: expected a recall {least}, found {given:g}")
    study = open_study(arguments.trials, k=arguments.k, policy=arguments.ties, mode=arguments.mode)
    found = findings(study, arguments.delta, arguments.at_most)
    told = [*bench_commands(study), _report_command(arguments)]
    print(bench_report(study, found, told, arguments.format, arguments.recall))
    return 0


def _report_command(arguments: argparse.Namespace) -> str:
    told = {"-k": arguments.k, "--ties": arguments.ties, "--mode": arguments.mode}
    told |= {"--recall": arguments.recall, "--delta": arguments.delta, "--at-most": arguments.at_most}
    words = ["assay", "bench", "report", arguments.trials, *_options(told), "--format", arguments.format]
    return shlex.join(words) + (" > report.html" if arguments.format == "html" else "")


def bench_commands(study: Study) -> list[str]:
    """The commands that measure the same trials; none where they were measured by others.

    There is one for each way of asking, number of threads and number of neighbours.
    """
    own = [_placed(one, study) for one in study.observed if one.trial.source == "assay" and study.about]
    groups: dict[tuple[str, ...], list[Trial]] = {}
    for one in filter(_can_be_written, own):
        groups.setdefault(tuple(_asked(one, study)), []).append(one.trial)
    return [
        *(
            shlex.join(["assay", "bench", *_data(study), *_indexes(trials), *asked, "-o", study.source])
            for asked, trials in groups.items()
        ),
        *(
            f"# in a file, since options cannot say it: {one.trial.label}"
            for one in own
            if not _can_be_written(one)
        ),
    ]


def _placed(one: Observed, study: Study) -> Observed:
    """A trial whose files are named from the root, as they were found when it was measured."""
    paths = (Results(study.source).trial(one.trial.key) or {}).get("paths", {})
    return replace(one, trial=replace(one.trial, build={**one.trial.build, **paths}))


def _can_be_written(one: Observed) -> bool:
    """Whether options say the same parameters: not with blanks or commas in them, nor what is kept secret."""
    values = [*one.trial.build.values(), *one.trial.search.values()]
    return all(
        value_of(_word(value)) == value and not set(_word(value)) & set(", …\t\n'\"") for value in values
    )


def _data(study: Study) -> list[str]:
    sources, options = study.about["sources"], study.about["options"]
    told = {f"--{name}": sources[name] for name in ("base", "queries", "truth", "limit")}
    told["--metric"] = study.about["data"]["metric"]
    return _options(told | {f"--{name}": options[name] for name in ("repetitions", "warmup")})


def _asked(one: Observed, study: Study) -> list[str]:
    """How a trial was asked."""
    trial, asking = one.trial, one.trial.asking
    k = study.about["data"]["k"] if one.returned is None else one.returned.shape[1]
    told: dict[str, Any] = {"-k": k, "--threads": trial.threads, "--clients": asking.get("clients")}
    told |= {"--seconds": asking.get("seconds"), "--rate": asking.get("rate")}
    if trial.mode == "capacity":
        told["--objective"] = f"p{asking['percentile']:g}={asking['within_ms']:g}"
    if trial.mode in ("single", "batch"):
        told["--mode"] = trial.mode
    return _options(told)


def _options(told: Mapping[str, Any]) -> list[str]:
    return [word for name, value in told.items() if value is not None for word in (name, str(value))]


def _indexes(trials: Iterable[Trial]) -> list[str]:
    """Every index with its searches; values of the last parameter of searching stand together."""
    values: dict[tuple[str, str], list[str]] = {}
    for trial in trials:
        first = " ".join([trial.engine, *_spelled(trial.build)])
        *rest, last = _spelled(trial.search) or [""]
        name, _, value = last.partition("=")
        before = " ".join([first, *["/"] * bool(last), *rest])
        values.setdefault((before, name), []).append(value)
    made = []
    for (before, name), found in values.items():
        made += ["--index", f"{before} {name}={','.join(dict.fromkeys(found))}" if name else before]
    return made


def _spelled(parameters: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in parameters.items()]


def _word(value: Any) -> str:
    """A value as options spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
