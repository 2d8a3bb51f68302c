"""A project: what assay.toml says, checked as a whole, and the gate it describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.groups import Blocks
from assay.core.settings import Fields
from assay.evaluation.configuration import differing
from assay.evaluation.gate import Verdict, gate, missing
from assay.evaluation.rules import Rules, rules_in
from assay.project.inputs import Inputs
from assay.project.latencies import read_latencies
from assay.project.settings import read_settings

FILE = "assay.toml"
TABLES = ("data", "baseline", "candidate", "gate", "store", "models", "systems", "run")


@dataclass(frozen=True)
class System:
    """A search that was run: its results and what was measured beside them."""

    run: str | None = None
    config: str | None = None
    latencies: str | None = None
    figures: Mapping[str, Any] | str = field(default_factory=dict)  # or the path of their file

    def read_figures(self) -> Mapping[str, Any]:
        """The figures, from their file where they have one."""
        return read_settings(self.figures) if isinstance(self.figures, str) else self.figures


@dataclass(frozen=True)
class Project:
    """The data, the two systems and the rules of an assay.toml."""

    path: Path
    qrels: str
    queries: str | None
    documents: str | None
    columns: list[str]
    formats: list[str]
    baseline: System
    candidate: System
    rules: Rules

    def inputs(self) -> Inputs:
        """What the project names, opened: the baseline's run, if any, and the candidate's."""
        self._check_files()
        return Inputs.of(_Named(self, [str(system.run) for system in self._systems]))

    @property
    def _systems(self) -> list[System]:
        return [self.candidate] if self.baseline.run is None else [self.baseline, self.candidate]

    def gate(self, inputs: Inputs | None = None, runs: Sequence[Blocks] | None = None) -> Verdict:
        """Hold the rules against the candidate."""
        inputs = inputs or self.inputs()
        runs = runs or inputs.runs
        verdict = gate(
            self.rules,
            inputs.qrels,
            runs[-1],
            runs[0] if len(runs) > 1 else None,
            inputs.queries,
            documents=inputs.documents,
            latencies=None if self.candidate.latencies is None else read_latencies(self.candidate.latencies),
            figures=self.candidate.read_figures(),
        )
        return self._configured(verdict, dict(zip([run.name for run in runs], self._systems, strict=True)))

    def _check_files(self) -> None:
        """Refuse what is not there, all at once."""
        problems: dict[str, str] = {}
        if self.candidate.run is None:
            problems["candidate.run"] = "expected the run to decide on, found none (or give --candidate)"
        for where, name in self._files():
            if name != "-" and not Path(name).exists():
                problems[where] = f"there is no {name}"
        unread = "candidate.figures" in problems  # what a file has that is not there is not asked for
        figures = dict.fromkeys(self.rules.figures, 0) if unread else self.candidate.read_figures()
        problems |= missing(self.rules, self.baseline.run, self.candidate.latencies, figures)
        if problems:
            raise ConfigurationError(problems, str(self.path))

    def _files(self) -> list[tuple[str, str]]:
        """Every file that is named, by its field."""
        named = {"data.qrels": self.qrels, "data.queries": self.queries, "data.documents": self.documents}
        for where, system in (("baseline", self.baseline), ("candidate", self.candidate)):
            fields = ("run", "config", "latencies", "figures")
            named |= {f"{where}.{name}": getattr(system, name) for name in fields}
        return [(where, name) for where, name in named.items() if name and isinstance(name, str)]

    def _configured(self, verdict: Verdict, systems: Mapping[str, System]) -> Verdict:
        """The verdict with what differs between the configurations."""
        if verdict.comparisons is None:
            return verdict
        given = {name: read_settings(s.config) for name, s in systems.items() if s.config}
        return replace(verdict, comparisons=replace(verdict.comparisons, configuration=differing(given)))


@dataclass
class _Named:
    """What a project names, as the inputs ask for it."""

    project: Project
    runs: list[str]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.project, name)


def open_project(
    path: str | Path = FILE, *, candidate: str | None = None, baseline: str | None = None
) -> Project:
    """The project of an assay.toml; other runs may take the place of those it names."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the file in it, such as {path / FILE}")
    if not path.exists():
        raise InputError(f"there is no {path}: write one (see docs/gate.md), or name another with --project")
    fields = Fields(read_settings(path), "")
    data, folder = fields.inner("data"), path.parent
    made = Project(
        path,
        _file(data, "qrels", folder) or "",
        _file(data, "queries", folder),
        _file(data, "documents", folder),
        data.texts("columns", "NAME=COLUMN, or a list of such"),
        data.texts("from", "KIND=FORMAT, or a list of such"),
        _system(fields.inner("baseline"), folder, baseline),
        _system(fields.inner("candidate"), folder, candidate),
        rules_in(fields.inner("gate")),
    )
    fields.inner("store").text("url")
    fields.seen.update(TABLES)  # the last are of `assay run`
    if not made.qrels and "data.qrels" not in fields.problems:
        data.wrong("qrels", "expected the path of the judgments, found none")
    data.done()
    fields.done()
    if fields.problems:
        raise ConfigurationError(fields.problems, str(path))
    return made


def _system(fields: Fields, folder: Path, run: str | None) -> System:
    """One system; a run given elsewhere takes the place of the one that is named."""
    names = {name: _file(fields, name, folder) for name in ("run", "config", "latencies")}
    figures = fields.take("figures", "a table, or the path of a TOML or JSON file", _is_figures, {})
    fields.done()
    if isinstance(figures, str):
        figures = str(folder / figures)
    config = None if run else names["config"]  # it is of the run that is named beside it
    return System(run or names["run"], config, names["latencies"], figures)


def _is_figures(value: Any) -> bool:
    return isinstance(value, Mapping | str)


def _file(fields: Fields, name: str, folder: Path) -> str | None:
    """A path, from the folder of the project on."""
    given = fields.text(name, "a path")
    return None if given is None else given if given == "-" else str(folder / given)
