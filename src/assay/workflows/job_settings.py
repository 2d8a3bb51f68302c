"""What pages may start beside systems: the bench files and the language-model judges of [serve]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.settings import SettingsReader, is_number
from assay.workflows.language_models import ModelRequest
from assay.workflows.llm_judge import JudgeLLMRequest
from assay.workflows.settings import PROJECT_FILE, read_settings

_TEXTS = ("endpoint", "model", "pairs", "queries", "documents", "out")
_NUMBERS = ("price_in", "price_out", "budget")


@dataclass(frozen=True)
class JobSettings:
    """The bench files and judges that an admin allowed pages to start."""

    bench: tuple[str, ...] = ()  # paths, relative to the folder of the project
    judges: Mapping[str, JudgeLLMRequest] = field(default_factory=dict)


def read_job_settings(project: str | Path = PROJECT_FILE) -> JobSettings:
    """Return what [serve] allows: `bench`, a list of files, and tables [serve.judges.NAME]."""
    if not Path(project).is_file():
        return JobSettings()
    reader = SettingsReader(read_settings(project), "").table("serve")
    bench = tuple(reader.texts("bench", "the path of a bench file, or a list of such"))
    judges = reader.table("judges")
    requests = {name: _read_judge(judges.table(name), Path(project).parent) for name in judges.settings}
    if reader.problems:
        raise ConfigurationError(reader.problems, str(project))
    return JobSettings(bench, {name: request for name, request in requests.items() if request is not None})


def _read_judge(reader: SettingsReader, folder: Path) -> JudgeLLMRequest | None:
    """Return the judge of a table; None if it has problems, which the reader keeps."""
    values: dict[str, Any] = {name: reader.text(name) for name in _TEXTS}
    for name, value in values.items():
        if value is None and f"{reader.prefix}.{name}" not in reader.problems:
            reader.add_problem(name, "expected text, found none")
    numbers = {name: reader.value(name, "a number", is_number, None) for name in _NUMBERS}
    key, grades = reader.text("key_env", "the name of an environment variable"), reader.text("grades")
    replies = reader.text("replies", "a folder")
    reader.refuse_unknown()
    if reader.problems:
        return None
    paths: dict[str, Any] = {
        name: str(folder / values[name]) for name in ("pairs", "queries", "documents", "out")
    }
    model = ModelRequest(
        endpoint=values["endpoint"],
        model=values["model"],
        key_env=key,
        replies=str(folder / (replies or ModelRequest.replies)),
        **numbers,
    )
    return JudgeLLMRequest(model=model, grades=grades or JudgeLLMRequest.grades, **paths)
