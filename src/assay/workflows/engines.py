"""List the engines that indexes can be built with, and their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import InputError
from assay.indexes.hosting.hosted import EngineProcess
from assay.indexes.hosting.worker import EngineDescription
from assay.indexes.registry import ENGINES, Engine, plugins
from assay.views.engines import engines_list, parameters_dict

_DESCRIBE_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class EnginesRequest:
    """The engines whose parameters are wanted; without names, a list of all engines."""

    names: Sequence[str] = ()
    python: str | None = None  # the interpreter in which they are installed


@dataclass(frozen=True)
class EnginesResult:
    """All engines, or the descriptions of those that were named."""

    engines: Mapping[str, Engine] = field(default_factory=dict)
    plugins: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, EngineDescription] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any] | list[dict[str, str]]:
        """The engines as plain data, with the keys that `assay bench engines --format json` prints."""
        if self.descriptions:
            return parameters_dict(self.descriptions)
        return engines_list(self.engines, self.plugins)


def list_engines(request: EnginesRequest) -> EnginesResult:
    """List all engines, or describe the parameters of some."""
    if not request.names:
        if request.python:
            raise InputError(
                "--python names the interpreter of the engines to describe: name them, such as "
                f"assay bench engines faiss.hnsw --python {request.python}"
            )
        return EnginesResult(ENGINES, plugins())
    descriptions = {}
    for name in request.names:
        with EngineProcess(python=request.python, timeout=_DESCRIBE_SECONDS) as process:
            descriptions[name] = process.call("describe", name)
    return EnginesResult(descriptions=descriptions)
