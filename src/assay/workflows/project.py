"""The settings of an assay.toml that `assay gate` uses, checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.settings import SettingsReader
from assay.datasets.detection import IR_DATASETS_PREFIX
from assay.decisions.rules import Rules, parse_rules
from assay.evaluation.gate import missing_inputs
from assay.workflows.inputs import TableFiles
from assay.workflows.settings import PROJECT_FILE, read_project_settings, read_settings

TABLES = (
    "data",
    "baseline",
    "candidate",
    "gate",
    "store",
    "models",
    "systems",
    "run",
    "serve",
    "online",
    "rollout",
)


@dataclass(frozen=True)
class SystemFiles:
    """The run of a system, and the files of what was measured with it."""

    run: str | None = None
    config: str | None = None
    latencies: str | None = None
    figures: Mapping[str, Any] | str = field(default_factory=dict)  # or the path of their file

    @cached_property
    def figure_values(self) -> Mapping[str, Any]:
        """The figures by name, read from their file if they have one."""
        return read_settings(self.figures) if isinstance(self.figures, str) else self.figures


@dataclass(frozen=True)
class Project:
    """The data, the two systems and the rules of an assay.toml."""

    path: Path
    files: TableFiles  # with the run of the baseline, if any, and that of the candidate
    baseline: SystemFiles
    candidate: SystemFiles
    rules: Rules

    @property
    def systems(self) -> list[SystemFiles]:
        """The systems that have a run, in the order of `files.runs`."""
        return [self.candidate] if self.baseline.run is None else [self.baseline, self.candidate]

    def check_files(self) -> None:
        """Raise an error that names every missing file and every input that the rules need."""
        problems: dict[str, str] = {}
        if self.candidate.run is None:
            problems["candidate.run"] = "expected the run to decide on, found none (or give --candidate)"
        for setting, path in self._paths():
            if _is_file(path) and not Path(path).exists():
                advice = (
                    " (`assay run` writes the run of a system that returns documents)"
                    if setting.endswith(".run")
                    else ""
                )
                problems[setting] = f"there is no {path}{advice}"
        is_unreadable = "candidate.figures" in problems  # then do not ask for what the file would have
        figures = dict.fromkeys(self.rules.figures, 0) if is_unreadable else self.candidate.figure_values
        problems |= missing_inputs(self.rules, self.baseline.run, self.candidate.latencies, figures)
        if problems:
            raise ConfigurationError(problems, str(self.path))

    def _paths(self) -> list[tuple[str, str]]:
        """Return every path with the name of its setting."""
        paths: dict[str, Any] = {
            "data.qrels": self.files.qrels,
            "data.queries": self.files.queries,
            "data.documents": self.files.documents,
        }
        for name, system in (("baseline", self.baseline), ("candidate", self.candidate)):
            fields = ("run", "config", "latencies", "figures")
            paths |= {f"{name}.{field}": getattr(system, field) for field in fields}
        return [(setting, path) for setting, path in paths.items() if path and isinstance(path, str)]


def open_project(
    path: str | Path = PROJECT_FILE, *, candidate: str | None = None, baseline: str | None = None
) -> Project:
    """Read the project of an assay.toml; `candidate` and `baseline` replace the runs that it names."""
    path = Path(path)
    reader = SettingsReader(read_project_settings(path), "")
    data, folder = reader.table("data"), path.parent
    files = read_table_files(data, folder)
    before = _read_system(reader.table("baseline"), folder, baseline)
    after = _read_system(reader.table("candidate"), folder, candidate)
    rules = parse_rules(reader.table("gate"))
    reader.table("store").text("url")
    reader.names_read.update(TABLES)  # the others are read by `assay run`, `assay serve`, …
    if not files.qrels and "data.qrels" not in reader.problems:
        data.add_problem("qrels", "expected the path of the judgments, found none")
    data.refuse_unknown()
    reader.refuse_unknown()
    if reader.problems:
        raise ConfigurationError(reader.problems, str(path))
    runs = [system.run for system in (before, after) if system.run is not None]
    return Project(path, replace(files, runs=runs), before, after, rules)


def read_table_files(reader: SettingsReader, folder: Path) -> TableFiles:
    """Read where the tables of [data] are; paths are relative to the folder of the project."""
    return TableFiles(
        qrels=_read_path(reader, "qrels", folder),
        queries=_read_path(reader, "queries", folder),
        documents=_read_path(reader, "documents", folder),
        columns=reader.texts("columns", "NAME=COLUMN, or a list of such"),
        formats=reader.texts("from", "KIND=FORMAT, or a list of such"),
    )


def _read_system(reader: SettingsReader, folder: Path, run: str | None) -> SystemFiles:
    """Read one system; `run` replaces the run that it names."""
    paths = {name: _read_path(reader, name, folder) for name in ("run", "config", "latencies")}
    figures = reader.value("figures", "a table, or the path of a TOML or JSON file", _is_figures, {})
    reader.refuse_unknown()
    if isinstance(figures, str):
        figures = str(folder / figures)
    config = None if run else paths["config"]  # it is the configuration of the run named in the file
    return SystemFiles(run or paths["run"], config, paths["latencies"], figures)


def _is_figures(value: Any) -> bool:
    return isinstance(value, Mapping | str)


def _read_path(reader: SettingsReader, name: str, folder: Path) -> str | None:
    """Read a path, which is relative to the folder of the project."""
    path = reader.text(name, "a path")
    return path if path is None or not _is_file(path) else str(folder / path)


def _is_file(path: str) -> bool:
    """Return whether a path names a file or a folder, not standard input or a collection by its id."""
    return path != "-" and not path.startswith(IR_DATASETS_PREFIX)
