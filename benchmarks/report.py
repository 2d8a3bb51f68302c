"""What was measured, as Markdown tables."""

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
    """One timing: seconds to the values, seconds of the whole process, and its peak memory in MB."""

    section: str
    load: str
    tool: str
    way: str
    rep: int
    first: float
    process: float
    again: list[float] = field(default_factory=list)
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


def first(sample: Sample) -> float:
    return sample.first


def process(sample: Sample) -> float:
    return sample.process


def again(sample: Sample) -> float:
    return median(sample.again)


def machine() -> dict[str, str]:
    """Where the numbers come from."""
    info = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in info.open() if line.startswith("model name")]
    made = {"CPU": models[0] if models else platform.processor(), "cores": str(os.cpu_count())}
    made |= {"system": platform.platform(), "load at the start": f"{os.getloadavg()[0]:.1f}"}
    return made | {"Python": platform.python_version()} | dict(map(_version, PACKAGES))


def _version(package: str) -> tuple[str, str]:
    try:
        return package, version(package)
    except PackageNotFoundError:
        return package, "not installed"


LEGEND = (
    "Median (least–most) of the repetitions, seconds; a ratio is the other tool's time over Assay's in the "
    "same repetition. Values of all queries agree within 1e-6 unless it says otherwise."
)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["tool", "s"], [["assay", "1"]]))
    | tool | s |
    |---|---|
    | assay | 1 |
    """
    lines = [head, ["---"] * len(head), *rows]
    joined = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([joined[0], joined[1].replace(" ", ""), *joined[2:]])


def spread(values: Sequence[float], unit: str = "") -> str:
    """The median, and the least and the most.

    >>> spread([1.0, 3.0, 2.0], "×")
    '2.00× (1.00–3.00)'
    """
    if not values:
        return "–"
    shown = [number(value) for value in (median(values), min(values), max(values))]
    return f"{shown[0]}{unit} ({shown[1]}–{shown[2]})"


def number(value: float) -> str:
    """Three digits that mean something.

    >>> [number(value) for value in (1234.5, 56.78, 0.98765, 0.00123456)]
    ['1234', '56.8', '0.99', '0.00123']
    """
    if value < 0.1:
        return f"{value:.3g}"
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def split(samples: Samples, pick: Callable[[Sample], str]) -> dict[str, list[Sample]]:
    """The samples by the value of a field, in the order they came."""
    made: dict[str, list[Sample]] = {}
    for sample in samples:
        made.setdefault(pick(sample), []).append(sample)
    return made


def ratio(over: Samples, under: Samples, pick: Pick) -> str:
    """One ratio for each repetition in which both were timed, if both can be believed."""
    if max((sample.off for sample in [*over, *under]), default=0.0) > TOLERANCE:
        return "–"
    base = {sample.rep: pick(sample) for sample in under}
    return spread([pick(sample) / base[sample.rep] for sample in over if sample.rep in base], "×")


def taken(samples: Samples, pick: Pick) -> str:
    """The time a tool took, unless its values are wrong."""
    off = max((sample.off for sample in samples), default=0.0)
    return f"values differ by {off:.2g}" if off > TOLERANCE else spread([pick(sample) for sample in samples])


def middle(samples: Samples, pick: Pick) -> str:
    return number(median(map(pick, samples)))


def peak(sample: Sample) -> float:
    return sample.peak


def cpu(sample: Sample) -> float:
    return sample.cpu


def beside(title: str, head: Sequence[str], row: Row) -> Table:
    """One table for each load, with a row for each tool beside Assay's."""

    def made(samples: Samples) -> str:
        parts = []
        for load, here in split(samples, lambda sample: sample.load).items():
            tools = split(here, lambda sample: sample.tool)
            rows = [[tool, *row(theirs, tools.get("assay", []))] for tool, theirs in tools.items()]
            parts.append(f"## {title}: {load}\n\n" + table(["tool", *head], rows))
        return "\n\n".join(parts)

    return made


def timed(*picks: Pick) -> Row:
    """For each kind of time: what the tool took, and how often Assay fits into it."""

    def row(theirs: Samples, ours: Samples) -> list[str]:
        made = []
        for pick in picks:
            made += [taken(theirs, pick), "" if theirs[0].tool == "assay" else ratio(theirs, ours, pick)]
        return made

    return row


def from_files(theirs: Samples, ours: Samples) -> list[str]:
    return [*timed(first, process)(theirs, ours), middle(theirs, cpu), middle(theirs, peak)]


def variants(samples: Samples) -> str:
    """Assay on the same run written otherwise, beside the sorted file and beside pytrec_eval."""
    tools = split(samples, lambda sample: sample.tool)
    theirs = split(tools.get("pytrec_eval", []), lambda sample: sample.variant)
    ours = split(tools.get("assay", []), lambda sample: sample.variant)
    rows = []
    for name, mine in ours.items():
        row = [name, number(mine[0].megabytes), taken(mine, first), ratio(mine, ours["sorted"], first)]
        rival = theirs.get(name, [])
        rows.append(
            [*row, middle(mine, cpu), middle(mine, peak), taken(rival, first), ratio(rival, mine, first)]
        )
    head = ["file", "MB", "assay, s", "over sorted", "CPU, s", "peak, MB", "pytrec_eval, s", "ratio"]
    return "## The same run, written otherwise\n\n" + table(head, rows)


def growth(samples: Samples) -> str:
    """Assay on more and more rows."""
    rows = []
    for mine in split(samples, lambda sample: sample.load).values():
        millions = mine[0].rows / 1e6
        row = [number(millions), number(mine[0].megabytes), taken(mine, first)]
        each = spread([sample.first / millions for sample in mine])
        rows.append([*row, each, middle(mine, peak)])
    head = ["million rows", "MB", "assay, s", "s for a million rows", "peak, MB"]
    return "## More rows\n\n" + table(head, rows)


def small(samples: Samples) -> str:
    """Whole processes on small files."""
    parts = []
    for load, here in split(samples, lambda sample: sample.load).items():
        tools = split(here, lambda sample: sample.tool)
        script = tools.get("pytrec_eval script", [])
        rows = [[tool, taken(mine, process), ratio(mine, script, process)] for tool, mine in tools.items()]
        head = ["command", "whole process, s", "over the pytrec_eval script"]
        parts.append(f"## Small file: {load}\n\n" + table(head, rows))
    return "\n\n".join(parts)


_FILES = ["files → values, s", "ratio", "whole process, s", "ratio", "CPU, s", "peak, MB"]
TABLES: dict[str, Table] = {
    "files": beside("From files", _FILES, from_files),
    "dicts": beside("From dictionaries", ["dicts → values, s", "ratio"], timed(first)),
    "preloaded": beside(
        "Preloaded", ["first call, s", "ratio", "once more, s", "ratio"], timed(first, again)
    ),
    "variants": variants,
    "growth": growth,
    "small": small,
}


def markdown(samples: Samples, described: dict[str, str]) -> str:
    """All tables of what was measured, with the machine above them."""
    parts = [" · ".join(f"{name} {value}" for name, value in described.items()), LEGEND]
    sections = split(samples, lambda sample: sample.section)
    return "\n\n".join(parts + [TABLES[name](sections[name]) for name in TABLES if name in sections])


def shown(parts: Iterable[Callable[[], tuple[str, list[str]]]]) -> NoReturn:
    """Print each part as it is made, then what of it does not hold: leave with 1 where something does not."""
    problems: list[str] = []
    for make in parts:
        text, wrong = make()
        print(f"\n{text}", flush=True)
        problems += wrong
    print("\n" + ("Does not hold: " + "; ".join(problems) if problems else "All of it holds."))
    sys.exit(bool(problems))
