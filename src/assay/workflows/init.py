"""Write a first assay.toml for a folder: what `assay init` does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.core.errors import InputError
from assay.core.files import write_atomically
from assay.workflows.folder_contents import BUILT_IN, FolderContents, inspect_folder, write_built_in
from assay.workflows.settings import PROJECT_FILE
from assay.workflows.starter_settings import can_gate, can_run, needs_search, write_settings

__all__ = ["BUILT_IN", "InitRequest", "InitResult", "init_project"]


@dataclass(frozen=True, kw_only=True)
class InitRequest:
    """The folder to inspect, and whether its assay.toml may be overwritten."""

    folder: str | Path = "."
    force: bool = False


@dataclass(frozen=True)
class InitResult:
    """The file that was written, and what it was made from."""

    path: Path
    folder_contents: FolderContents  # of the folder and the environment
    project_contents: FolderContents  # as the file names them: the same, or the built-in collection
    can_run: bool  # `assay run` works without a change
    can_gate: bool  # `assay gate` works now or after `assay run`
    needs_search: bool  # there are queries and nothing to search: the search of the user is to be named


def init_project(request: InitRequest) -> InitResult:
    """Inspect the folder and write its assay.toml; an empty folder gets the built-in collection."""
    folder = Path(request.folder)
    place = folder / PROJECT_FILE
    if place.exists() and not request.force:
        raise InputError(f"there is an {place} already: --force overwrites it")
    folder_contents = project_contents = inspect_folder(folder)
    if not (folder_contents.qrels or folder_contents.has_queries or folder_contents.runs):
        project_contents = write_built_in(folder)
        project_contents.endpoints = folder_contents.endpoints
    with write_atomically(place) as path:
        path.write_text(write_settings(project_contents), encoding="utf-8")
    return InitResult(
        place,
        folder_contents,
        project_contents,
        can_run(project_contents),
        can_gate(project_contents),
        needs_search(project_contents),
    )
