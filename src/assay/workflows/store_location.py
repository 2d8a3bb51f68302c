"""The location of the store of experiments."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.errors import InputError
from assay.workflows.settings import PROJECT_FILE, read_settings

DEFAULT_STORE = ".assay"


def store_url(url: str | None = None, project: str | Path = PROJECT_FILE) -> str:
    """Return the URL given, else ASSAY_STORE, else [store] url of the project, else the folder .assay."""
    url = url or os.environ.get("ASSAY_STORE")
    if url or not Path(project).is_file():
        return url or DEFAULT_STORE
    setting = read_settings(project).get("store", {}).get("url", DEFAULT_STORE)
    if not isinstance(setting, str) or not setting:
        raise InputError(f"{project}: store.url must be a folder or a URL, found {setting!r}")
    return setting if "://" in setting else str(Path(project).parent / setting)
