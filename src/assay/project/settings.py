"""Settings in a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError


def read_settings(path: str | Path) -> Mapping[str, Any]:
    """The settings in a TOML or JSON file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise FormatError(f"expected settings in {_language(path)}, found no text", str(path)) from None
    try:
        made = json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(f"expected settings in {_language(path)}: {error}", str(path)) from None
    if not isinstance(made, dict):
        raise FormatError(f"expected settings by name, found {type(made).__name__}", str(path))
    return made


def _language(path: str | Path) -> str:
    return "JSON" if str(path).endswith(".json") else "TOML"
