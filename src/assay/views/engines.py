"""The engines: which are installed, and their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from assay.core.parameters import Parameter
from assay.indexes.hosting.worker import EngineDescription
from assay.indexes.registry import Engine
from assay.views.numbers import NO_VALUE
from assay.views.sections import Section, render_sections

STYLES = ("table", "md", "html", "latex")
_CELL_NAMES = ("type", "default", "range", "meaning")
_JSON_KEYS = {"can_load": "loads", "smallest_search": "least", "file_parameters": "files"}


def render_engines(engines: Mapping[str, Engine], others: Mapping[str, str], style: str) -> str:
    """All engines, with what they need and whether it is installed."""
    rows = _rows(engines, others)
    notes = ["parameters of an engine: assay bench engines NAME"]
    return render_sections("Engines", [Section("", notes, ["engine", "needs", "state"], rows)], style)


def engines_list(engines: Mapping[str, Engine], others: Mapping[str, str]) -> list[dict[str, str]]:
    """The JSON of all engines."""
    names = ("engine", "needs", "state")
    return [dict(zip(names, row, strict=True)) for row in _rows(engines, others)]


def _rows(engines: Mapping[str, Engine], others: Mapping[str, str]) -> list[tuple[str, str, str]]:
    rows = [_row(name, engine) for name, engine in engines.items()]
    return rows + [(name, package, "installed") for name, package in others.items()]


def _row(name: str, engine: Engine) -> tuple[str, str, str]:
    if not engine.libraries:
        return name, "a server", "by url"
    versions = engine.versions()
    needs = ", ".join(
        f"{library} {(versions or {}).get(library, '')}".strip() for library in engine.libraries
    )
    return (
        name,
        needs,
        "installed" if versions else engine.install_hint or f"pip install 'assay-search[{engine.extra}]'",
    )


def render_parameters(engines: Mapping[str, EngineDescription], style: str) -> str:
    """The parameters of engines, with their defaults."""
    return render_sections("Engines", [_section(name, engine) for name, engine in engines.items()], style)


def parameters_dict(engines: Mapping[str, EngineDescription]) -> dict[str, Any]:
    """The JSON of the parameters of engines."""
    return {name: _engine_dict(engine) for name, engine in engines.items()}


def _section(name: str, engine: EngineDescription) -> Section:
    notes = [f"metrics: {', '.join(engine.metrics)}"]
    notes += ["exact by design: it scans all vectors"] * engine.exact
    notes += [f"family: {engine.family}"] * bool(engine.family)
    rows = [("build", *_cells(p)) for p in engine.build.values()]
    rows += [("search", *_cells(p)) for p in engine.search.values()]
    return Section(f"{name} {engine.version}".strip(), notes, ["when", "parameter", *_CELL_NAMES], rows)


def _cells(parameter: Parameter) -> tuple[str, str, str, str, str]:
    meaning = parameter.meaning
    return (
        parameter.name,
        parameter.type_names,
        _format_default(parameter),
        meaning.range_text or NO_VALUE,
        meaning.text or NO_VALUE,
    )


def _format_default(parameter: Parameter) -> str:
    """The default of a parameter; for None, the value that stands for it."""
    if parameter.default is inspect.Parameter.empty:
        return "required"
    return parameter.meaning.unset or "none" if parameter.default is None else str(parameter.default)


def _engine_dict(engine: EngineDescription) -> dict[str, Any]:
    plain = {_JSON_KEYS.get(name, name): value for name, value in engine._asdict().items()}
    for kind in ("build", "search"):
        plain[kind] = {
            p.name: dict(zip(_CELL_NAMES, _cells(p)[1:], strict=True)) for p in plain[kind].values()
        }
    return plain
