"""What a sweep will do: engines × build parameters × search parameters × ways of asking."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from assay.core.digests import digest_of
from assay.core.errors import InputError
from assay.indexes.trials import label, robustness_name

MODES = ("single", "batch", "open", "capacity")
Parameters = Mapping[str, Any]
_SECRET = ("key", "password", "pwd", "secret", "token")  # a part of a name


@dataclass(frozen=True)
class Range:
    """Whole numbers, of which the one to be used is looked for."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}..{self.most}"


class Goal(NamedTuple):
    """What a search must reach on average: a recall, or a share of queries whose recall reaches δ."""

    least: float
    delta: float | None = None  # None: the recall
    near: bool = False  # to be come near to, from either side, rather than reached

    def measure(self, k: int) -> str:
        """What it is about, as it is written everywhere.

        >>> Goal(0.9).measure(10), Goal(0.99, 0.1).measure(10)
        ('R@10', 'Robustness(delta=0.1)@10')
        """
        return f"R@{k}" if self.delta is None else robustness_name(self.delta, k)


Goals = tuple[Goal, ...]


@dataclass(frozen=True)
class Build:
    """An index to be built."""

    engine: str
    parameters: Parameters
    threads: int = 1
    python: str | None = None  # the interpreter in which the engine is installed; None: this one

    def identity(self) -> dict[str, Any]:
        """What makes it this index and no other."""
        return {"engine": self.engine, "build": told(self.parameters), "threads": self.threads}


@dataclass(frozen=True)
class Asking:
    """How queries are sent."""

    mode: str = "single"
    clients: int = 1
    rate: float | None = None  # queries per second that are offered in an open loop
    seconds: float = 10.0  # how long an open loop lasts
    percentile: float | None = None  # the objective that a capacity meets
    within_ms: float | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"a mode is one of {', '.join(MODES)}, found {self.mode!r}")

    def identity(self) -> dict[str, Any]:
        """What was chosen; what does not concern the mode is left out."""
        made: dict[str, Any] = {"mode": self.mode}
        if self.mode != "batch":
            made["clients"] = self.clients
        if self.mode in ("open", "capacity"):
            made["seconds"] = self.seconds
        if self.mode == "open":
            made["rate"] = self.rate
        if self.mode == "capacity":
            made |= {"percentile": self.percentile, "within_ms": self.within_ms}
        return made


@dataclass(frozen=True)
class Case:
    """One index configuration to be measured in one way."""

    build: Build
    search: Parameters
    asking: Asking
    goals: Goals = ()  # that the value in a range is to reach
    note: str = ""  # how the value was found

    @property
    def wanted(self) -> tuple[str, Range] | None:
        """The parameter of searching whose value is still to be found, and where."""
        return next(((name, v) for name, v in self.search.items() if isinstance(v, Range)), None)

    def using(self, value: Any, note: str = "") -> Case:
        """The trial with this value for the parameter that was to be found."""
        assert self.wanted is not None
        return replace(self, search={**self.search, self.wanted[0]: value}, goals=(), note=note)

    @property
    def label(self) -> str:
        """The configuration in one line."""
        return label(self.build.engine, told(self.build.parameters), self.search)

    def identity(self) -> dict[str, Any]:
        """What makes it this trial and no other."""
        search = {name: str(v) if isinstance(v, Range) else v for name, v in self.search.items()}
        goals = {"goals": [list(goal) for goal in self.goals]} if self.goals else {}
        return {**self.build.identity(), "search": search, **self.asking.identity(), **goals}


@dataclass(frozen=True)
class Entry:
    """An engine with the values that each of its parameters takes, as a person wrote them down."""

    engine: str
    build: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    search: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    threads: int = 1
    python: str | None = None

    def builds(self) -> Iterator[Build]:
        """Every index of the engine."""
        for parameters in crossed(self.build):
            yield Build(self.engine, parameters, self.threads, self.python)


def crossed(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every choice of one value for each name.

    >>> crossed({"M": [16, 32], "ef": [5]})
    [{'M': 16, 'ef': 5}, {'M': 32, 'ef': 5}]
    """
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def cases(entries: Sequence[Entry], askings: Sequence[Asking], targets: Sequence[Goals] = ()) -> list[Case]:
    """Every trial of a sweep, one for each target of a range; one that is named twice is made once."""
    _refuse_ranges(entries, targets)
    made: dict[str, Case] = {}
    for entry in entries:
        for goals in targets if ranges(entry.search) else [()]:
            for build, search, asking in product(entry.builds(), crossed(entry.search), askings):
                case = Case(build, search, asking)
                case = replace(case, goals=goals) if case.wanted else case
                made.setdefault(name_of(case.identity() | {"python": build.python}), case)
    return list(made.values())


def ranges(values: Mapping[str, Sequence[Any]]) -> list[str]:
    """The parameters that are given as a range.

    >>> ranges({"M": [16, 32], "ef": [Range(8, 512)]})
    ['ef']
    """
    return [name for name, some in values.items() for value in some if isinstance(value, Range)]


def _refuse_ranges(entries: Sequence[Entry], targets: Sequence[Goals]) -> None:
    """Refuse a range where it says nothing, and a target that nothing is looked for."""
    for entry in entries:
        if ranges(entry.build):
            raise InputError(
                f"{entry.engine}: {ranges(entry.build)[0]} is a range, and an index is built with a value: "
                "give some (8,16,32), or have them looked for by `assay tune`"
            )
        if len(ranges(entry.search)) > 1:
            raise InputError(
                f"{entry.engine}: one range can be searched for a target, found {len(ranges(entry.search))} "
                f"({', '.join(ranges(entry.search))}): give values to the others"
            )
    found = [entry.engine for entry in entries if ranges(entry.search)]
    if found and not targets:
        raise InputError(
            f"{found[0]}: a range is searched for the value that comes nearest to a recall: give it "
            "(--recall 0.9, or recall = 0.9 in [run])"
        )
    if targets and not found:
        raise InputError(
            "a recall to be reached (--recall) needs a parameter of searching whose value is looked for: "
            "a range of whole numbers after the slash, such as efSearch=8..512"
        )


def name_of(content: Mapping[str, Any]) -> str:
    """A name for settings by their content: 0.1 and [0, 1], 1 and "1" are told apart."""
    return digest_of(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())


def contents(parameters: Parameters, files: Sequence[str]) -> dict[str, str]:
    """The digests of the files that some parameters name; one that is not there has none."""
    paths = {name: Path(parameters[name]) for name in files if parameters.get(name)}
    found = {name: path.stat() for name, path in paths.items() if path.is_file()}
    return {name: _content(paths[name], at.st_size, at.st_mtime_ns) for name, at in found.items()}


@cache
def _content(path: Path, size: int, changed: int) -> str:
    """The digest of a file, read once for each time that it was changed."""
    from hashlib import blake2b, file_digest

    with open(path, "rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def told(parameters: Parameters) -> dict[str, Any]:
    """Parameters as they may be written down: without keys and passwords.

    >>> told({"url": "https://me:secret@host/x", "api_key": "secret", "m": 16})
    {'url': 'https://me@host/x', 'api_key': '…', 'm': 16}
    """
    made = {
        name: "…" if value and any(part in name for part in _SECRET) else value
        for name, value in parameters.items()
    }
    return {
        name: _without_password(value) if isinstance(value, str) else value for name, value in made.items()
    }


def _without_password(text: str) -> str:
    text = re.sub(r"(://[^/:@]*):[^\s]*@", r"\1@", text)
    return re.sub(r"(?i)((?:password|token|secret|api_key|pwd)\s*=\s*)[^\s&;]+", r"\1…", text)


def machine() -> dict[str, Any]:
    """The machine that times were taken on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
