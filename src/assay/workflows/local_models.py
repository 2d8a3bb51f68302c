"""Language models on this machine: list, fetch and serve them, as `assay models` does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.models.local.catalogue import LOCAL_MODELS, LocalModel, find_local_model, models_folder
from assay.models.local.fetch import FetchProgress, fetch_weights
from assay.models.local.server import LocalServer, ServerSettings


@dataclass(frozen=True)
class LocalModelList:
    """The models that can be had on this machine."""

    models: tuple[LocalModel, ...]
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """Return the models as plain data, as `assay models list --format json` prints them."""
        return {"folder": self.folder, "models": [_model_to_dict(model) for model in self.models]}


def _model_to_dict(model: LocalModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "title": model.title,
        "bytes": model.size,
        "license": model.license,
        "sha256": model.sha256,
        "purpose": model.purpose,
        "packages": list(model.packages),
        "is_present": model.is_present,
        "path": str(model.path),
        "fetch": f"assay models fetch {model.name}",
    }


def list_local_models() -> LocalModelList:
    """Return the models with what is on this machine."""
    return LocalModelList(tuple(LOCAL_MODELS.values()), str(models_folder()))


def fetch_local_model(name: str, progress: FetchProgress | None = None) -> LocalModel:
    """Fetch the weights of a model if they are missing."""
    model = find_local_model(name)
    fetch_weights(model, progress)
    return model


def serve_local_model(
    name: str, settings: ServerSettings, announce: Callable[[str], None], wait: Callable[[], object]
) -> None:
    """Serve a model until `wait` returns; `announce` is told the address."""
    server = LocalServer(find_local_model(name), settings)
    try:
        announce(server.url)
        wait()
    finally:
        server.close()
