"""What a sweep will do: engines × build parameters × search parameters × ways of asking."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from assay.core.digests import digest_of
from assay.core.errors import InputError
from assay.indexes.trials import label

MODES = ("single", "batch", "open", "capacity")
Parameters = Mapping[str, Any]
_SECRET = ("key", "password", "pwd", "secret", "token")  # a part of a name


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

    @property
    def label(self) -> str:
        """The configuration in one line."""
        return label(self.build.engine, told(self.build.parameters), self.search)

    def identity(self) -> dict[str, Any]:
        """What makes it this trial and no other."""
        return {**self.build.identity(), "search": dict(self.search), **self.asking.identity()}


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


def cases(entries: Sequence[Entry], askings: Sequence[Asking]) -> list[Case]:
    """Every trial of a sweep; one that is named twice is made once."""
    made: dict[str, Case] = {}
    for entry in entries:
        for build, search, asking in product(entry.builds(), crossed(entry.search), askings):
            case = Case(build, search, asking)
            made.setdefault(name_of(case.identity() | {"python": build.python}), case)
    return list(made.values())


def name_of(content: Mapping[str, Any]) -> str:
    """A name for settings by their content: 0.1 and [0, 1], 1 and "1" are told apart."""
    return digest_of(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())


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
