"""Markdown tables of the measurements, and the end of a benchmark: which targets were missed."""

import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import NoReturn

TOLERANCE = 1e-6
PACKAGES = ("assay", "numpy", "polars", "pytrec_eval-terrier", "ranx", "numba", "ir_measures")


@dataclass(frozen=True)
class Sample:
    """One timing: seconds until the values, seconds of the whole process, and its peak memory in MB."""

    section: str
    load: str  # the name of the workload
    tool: str
    way: str  # files, dicts, preloaded or process
    rep: int
    first: float
    process: float
    again: list[float] = field(default_factory=list)  # seconds of the repeated calls of a preloaded run
    cpu: float = 0.0
    peak: float = 0.0
    off: float = 0.0  # the largest difference from the values of pytrec_eval
    variant: str = ""
    rows: int = 0
    megabytes: float = 0.0


Samples = Sequence[Sample]
Pick = Callable[[Sample], float]
Row = Callable[[Samples, Samples], list[str]]
Table = Callable[[Samples], str]


def first_seconds(sample: Sample) -> float:
    return sample.first


def process_seconds(sample: Sample) -> float:
    return sample.process


def repeat_seconds(sample: Sample) -> float:
    return median(sample.again)


def describe_machine() -> dict[str, str]:
    """The machine and the package versions that the numbers were measured with."""
    info = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in info.open() if line.startswith("model name")]
    description = {"CPU": models[0] if models else platform.processor(), "cores": str(os.cpu_count())}
    description |= {"system": platform.platform(), "load at the start": f"{os.getloadavg()[0]:.1f}"}
    return description | {"Python": platform.python_version()} | dict(map(package_version, PACKAGES))


def package_version(package: str) -> tuple[str, str]:
    try:
        return package, version("assay-search" if package == "assay" else package)
    except PackageNotFoundError:
        return package, "not installed"


def machine_heading(packages: Iterable[str]) -> str:
    """Return the machine and package versions in one line, with a warning if other work is running."""
    machine = describe_machine()
    names = ("CPU", "cores", "system", "load at the start", "Python")
    parts = {name: machine[name] for name in names} | dict(map(package_version, packages))
    warning = " · **other work is running: compare the ratios only**" if os.getloadavg()[0] > 0.7 else ""
    return " · ".join(f"{name} {value}" for name, value in parts.items()) + warning


LEGEND = (
    "A cell is the median (minimum–maximum) of the repetitions in seconds; a ratio is the time of the other "
    "tool divided by that of Assay in the same repetition. The values of all queries agree within 1e-6 "
    "unless stated otherwise."
)


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table.

    >>> print(format_table(["tool", "s"], [["assay", "1"]]))
    | tool | s |
    |---|---|
    | assay | 1 |
    """
    lines = [head, ["---"] * len(head), *rows]
    joined = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([joined[0], joined[1].replace(" ", ""), *joined[2:]])


def format_spread(values: Sequence[float], unit: str = "") -> str:
    """Return the median with the minimum and the maximum.

    >>> format_spread([1.0, 3.0, 2.0], "×")
    '2.00× (1.00–3.00)'
    """
    if not values:
        return "–"
    texts = [format_number(value) for value in (median(values), min(values), max(values))]
    return f"{texts[0]}{unit} ({texts[1]}–{texts[2]})"


def format_number(value: float) -> str:
    """Return a number with about three significant digits.

    >>> [format_number(value) for value in (1234.5, 56.78, 0.98765, 0.00123456)]
    ['1234', '56.8', '0.99', '0.00123']
    """
    if value < 0.1:
        return f"{value:.3g}"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def group_by(samples: Samples, key: Callable[[Sample], str]) -> dict[str, list[Sample]]:
    """Group the samples by the value of a field, in order of first appearance."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return groups


def format_ratio(numerator: Samples, denominator: Samples, pick: Pick) -> str:
    """Return the ratios in the repetitions in which both were timed, if the values of both are correct."""
    if max((sample.off for sample in [*numerator, *denominator]), default=0.0) > TOLERANCE:
        return "–"
    divisors = {sample.rep: pick(sample) for sample in denominator}
    return format_spread(
        [pick(sample) / divisors[sample.rep] for sample in numerator if sample.rep in divisors], "×"
    )


def format_seconds(samples: Samples, pick: Pick) -> str:
    """Return the time of a tool, or by how much its values differ."""
    off = max((sample.off for sample in samples), default=0.0)
    return (
        f"values differ by {off:.2g}"
        if off > TOLERANCE
        else format_spread([pick(sample) for sample in samples])
    )


def format_median(samples: Samples, pick: Pick) -> str:
    return format_number(median(map(pick, samples)))


def peak_megabytes(sample: Sample) -> float:
    return sample.peak


def cpu_seconds(sample: Sample) -> float:
    return sample.cpu


def tables_by_workload(title: str, head: Sequence[str], row: Row) -> Table:
    """Return a function that makes a table for each workload, with a row for each tool."""

    def make_tables(samples: Samples) -> str:
        parts = []
        for load, group in group_by(samples, lambda sample: sample.load).items():
            tools = group_by(group, lambda sample: sample.tool)
            rows = [[tool, *row(theirs, tools.get("assay", []))] for tool, theirs in tools.items()]
            parts.append(f"## {title}: {load}\n\n" + format_table(["tool", *head], rows))
        return "\n\n".join(parts)

    return make_tables


def time_cells(*picks: Pick) -> Row:
    """Return a function that makes two cells for each kind of time: the time and its ratio to Assay's."""

    def row(theirs: Samples, ours: Samples) -> list[str]:
        cells = []
        for pick in picks:
            cells += [
                format_seconds(theirs, pick),
                "" if theirs[0].tool == "assay" else format_ratio(theirs, ours, pick),
            ]
        return cells

    return row


def file_cells(theirs: Samples, ours: Samples) -> list[str]:
    return [
        *time_cells(first_seconds, process_seconds)(theirs, ours),
        format_median(theirs, cpu_seconds),
        format_median(theirs, peak_megabytes),
    ]


def variants_table(samples: Samples) -> str:
    """Return the times of other forms of one run, compared with the sorted file and with pytrec_eval."""
    tools = group_by(samples, lambda sample: sample.tool)
    theirs = group_by(tools.get("pytrec_eval", []), lambda sample: sample.variant)
    ours = group_by(tools.get("assay", []), lambda sample: sample.variant)
    rows = []
    for name, timings in ours.items():
        row = [
            name,
            format_number(timings[0].megabytes),
            format_seconds(timings, first_seconds),
            format_ratio(timings, ours["sorted"], first_seconds),
        ]
        peers = theirs.get(name, [])
        rows.append(
            [
                *row,
                format_median(timings, cpu_seconds),
                format_median(timings, peak_megabytes),
                format_seconds(peers, first_seconds),
                format_ratio(peers, timings, first_seconds),
            ]
        )
    head = ["file", "MB", "assay, s", "over sorted", "CPU, s", "peak, MB", "pytrec_eval, s", "ratio"]
    return "## The same run in other forms\n\n" + format_table(head, rows)


def growth_table(samples: Samples) -> str:
    """Return the times of Assay on runs of increasing size."""
    rows = []
    for group in group_by(samples, lambda sample: sample.load).values():
        millions = group[0].rows / 1e6
        row = [
            format_number(millions),
            format_number(group[0].megabytes),
            format_seconds(group, first_seconds),
        ]
        each = format_spread([sample.first / millions for sample in group])
        rows.append([*row, each, format_median(group, peak_megabytes)])
    head = ["million rows", "MB", "assay, s", "s for a million rows", "peak, MB"]
    return "## More rows\n\n" + format_table(head, rows)


def small_files_table(samples: Samples) -> str:
    """Return the times of whole processes on small files."""
    parts = []
    for load, group in group_by(samples, lambda sample: sample.load).items():
        tools = group_by(group, lambda sample: sample.tool)
        script = tools.get("pytrec_eval script", [])
        rows = [
            [tool, format_seconds(timings, process_seconds), format_ratio(timings, script, process_seconds)]
            for tool, timings in tools.items()
        ]
        head = ["command", "whole process, s", "over the pytrec_eval script"]
        parts.append(f"## Small file: {load}\n\n" + format_table(head, rows))
    return "\n\n".join(parts)


_FILES = ["files → values, s", "ratio", "whole process, s", "ratio", "CPU, s", "peak, MB"]
TABLES: dict[str, Table] = {
    "files": tables_by_workload("From files", _FILES, file_cells),
    "dicts": tables_by_workload(
        "From dictionaries", ["dicts → values, s", "ratio"], time_cells(first_seconds)
    ),
    "preloaded": tables_by_workload(
        "Preloaded",
        ["first call, s", "ratio", "once more, s", "ratio"],
        time_cells(first_seconds, repeat_seconds),
    ),
    "variants": variants_table,
    "growth": growth_table,
    "small": small_files_table,
}


def render_report(samples: Samples, machine: dict[str, str]) -> str:
    """Return all tables, with the machine above them."""
    parts = [" · ".join(f"{name} {value}" for name, value in machine.items()), LEGEND]
    sections = group_by(samples, lambda sample: sample.section)
    return "\n\n".join(parts + [TABLES[name](sections[name]) for name in TABLES if name in sections])


def print_progress(text: str) -> None:
    """Print a line of progress to standard error, so that standard output has only the tables."""
    print(text, file=sys.stderr, flush=True)


def print_sections(sections: Iterable[Callable[[], tuple[str, list[str]]]]) -> NoReturn:
    """Print each section when it is complete, then the missed targets; exit with 1 if there are any."""
    problems: list[str] = []
    for make_section in sections:
        text, missed_targets = make_section()
        print(f"\n{text}", flush=True)
        problems += missed_targets
    print("\n" + ("Targets missed: " + "; ".join(problems) if problems else "All targets are met."))
    sys.exit(bool(problems))
