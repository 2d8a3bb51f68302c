"""Settings files: TOML or JSON."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError

PROJECT_FILE = "assay.toml"


def read_project_settings(path: str | Path) -> Mapping[str, Any]:
    """Read the settings of an assay.toml; if there is none, the error says how to get one."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the file in it, such as {path / PROJECT_FILE}")
    if not path.exists():
        raise InputError(
            f"there is no {path}: `assay init` writes an {PROJECT_FILE}, or name another file with --project"
        )
    return read_settings(path)


def read_settings(path: str | Path) -> Mapping[str, Any]:
    """Read the settings of a TOML or JSON file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FormatError(f"expected settings in {_language(path)}, found no text", str(path)) from None
    try:
        settings = json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(f"expected settings in {_language(path)}: {error}", str(path)) from None
    if not isinstance(settings, dict):
        raise FormatError(f"expected settings by name, found {type(settings).__name__}", str(path))
    return settings


def _language(path: str | Path) -> str:
    return "JSON" if str(path).endswith(".json") else "TOML"
