"""Digests that identify trials and builds, and the machine they were measured on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from assay.core.digests import digest_of


def content_key(content: Mapping[str, Any]) -> str:
    """Return a digest of settings that distinguishes 0.1 from [0, 1] and 1 from "1"."""
    return digest_of(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())


def file_digests(parameters: Mapping[str, Any], files: Sequence[str]) -> dict[str, str]:
    """Return the digests of the existing files that these parameters name."""
    paths = {name: Path(parameters[name]) for name in files if parameters.get(name)}
    stats = {name: path.stat() for name, path in paths.items() if path.is_file()}
    return {name: _file_digest(paths[name], stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


@cache
def _file_digest(path: Path, size: int, modified_ns: int) -> str:
    """Return the digest of a file; the file is read again only after it has changed."""
    with open(path, "rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


def describe_machine() -> dict[str, Any]:
    """Return a description of this machine."""
    return {
        "processor": _processor_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
