"""The engines there are: what is installed, and what can be set."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from assay.indexes.engines import Engine, Parameter
from assay.indexes.hosting.worker import Described
from assay.views.sections import Section, render

STYLES = ("table", "json", "md", "html")


def engines_view(engines: Mapping[str, Engine], others: Mapping[str, str], style: str) -> str:
    """Every engine, with what it needs and whether that is installed."""
    rows = [_row(name, engine) for name, engine in engines.items()]
    rows += [(name, package, "installed") for name, package in others.items()]
    if style == "json":
        names = ("engine", "needs", "state")
        return json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, indent=1)
    notes = ["parameters of one: assay bench engines NAME"]
    return render("Engines", [Section("", notes, ["engine", "needs", "state"], rows)], style)


def _row(name: str, engine: Engine) -> tuple[str, str, str]:
    if not engine.libraries:
        return name, "a server", "by url"
    found = engine.versions()
    needs = ", ".join(f"{library} {(found or {}).get(library, '')}".strip() for library in engine.libraries)
    return name, needs, "installed" if found else engine.how or f"pip install 'assay[{engine.extra}]'"


def parameters_view(described: Mapping[str, Described], style: str) -> str:
    """The parameters of engines, with their defaults."""
    if style == "json":
        return json.dumps(
            {name: _plain(found) for name, found in described.items()}, ensure_ascii=False, indent=1
        )
    return render("Engines", [_section(name, found) for name, found in described.items()], style)


def _section(name: str, found: Described) -> Section:
    notes = [f"metrics: {', '.join(found.metrics)}"]
    notes += ["exact by design: it goes through all vectors"] * found.exact
    rows = [("build", *_cells(p)) for p in found.build.values()]
    rows += [("search", *_cells(p)) for p in found.search.values()]
    return Section(f"{name} {found.version}".strip(), notes, ["when", "parameter", "type", "default"], rows)


def _cells(parameter: Parameter) -> tuple[str, str, str]:
    needed = parameter.default is inspect.Parameter.empty
    return parameter.name, parameter.expected, "must be given" if needed else str(parameter.default)


def _plain(found: Described) -> dict[str, Any]:
    made = found._asdict()
    for kind in ("build", "search"):
        made[kind] = {
            p.name: dict(zip(("type", "default"), _cells(p)[1:], strict=True)) for p in made[kind].values()
        }
    return made
