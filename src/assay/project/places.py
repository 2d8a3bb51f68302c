"""Where experiments are kept."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.errors import InputError
from assay.project.project import FILE
from assay.project.settings import read_settings

DEFAULT = ".assay"


def store_url(given: str | None = None, project: str | Path = FILE) -> str:
    """The store: as given, else ASSAY_STORE, else [store] url in assay.toml, else the folder .assay."""
    found = given or os.environ.get("ASSAY_STORE")
    if found or not Path(project).is_file():
        return found or DEFAULT
    url = read_settings(project).get("store", {}).get("url", DEFAULT)
    if not isinstance(url, str) or not url:
        raise InputError(f"{project}: store.url must be a folder or a URL, found {url!r}")
    return url if "://" in url else str(Path(project).parent / url)
