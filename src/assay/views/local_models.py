"""The language models of this machine as a table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.models.local.catalogue import LocalModel
from assay.views import text
from assay.views.sections import Section, render_sections


def render_local_models(models: Sequence[LocalModel], folder: str, style: str) -> str:
    """The models: size, licence, whether they are there and how they are fetched."""
    head = ["model", "weights", "MB", "licence", "use", "here", "fetch with"]
    rows = [_cells(model) for model in models]
    if style == "csv":
        return text.render_csv(head, rows)
    notes = [f"kept in {folder}"]
    return render_sections("Language models", [Section("", notes, head, rows)], style)


def _cells(model: LocalModel) -> list[str]:
    size = f"{model.size / 1e6:,.0f}"
    here, fetch = ("yes", "") if model.is_present else ("no", f"assay models fetch {model.name}")
    return [model.name, model.title, size, model.license, model.purpose, here, fetch]
