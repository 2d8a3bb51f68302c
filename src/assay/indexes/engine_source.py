"""A digest of the source of an engine, so that trials of a changed engine are measured again."""

from __future__ import annotations

import sys
from hashlib import blake2b
from pathlib import Path

_SUFFIXES = (".py", ".so", ".pyd")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def source_digest(engine: type) -> str:
    """Return a digest of the files of the package of a class, or of its module and those loaded beside it."""
    hash_ = blake2b(digest_size=16)
    for path in sorted(_source_files(engine)):
        hash_.update(path.name.encode())
        hash_.update(path.read_bytes())
    return hash_.hexdigest()


def _source_files(engine: type) -> list[Path]:
    package = sys.modules.get(engine.__module__.partition(".")[0])
    package_file = getattr(package, "__file__", None)
    if package_file and hasattr(package, "__path__"):
        return [path for path in Path(package_file).parent.rglob("*") if path.suffix in _SUFFIXES]
    module_file = getattr(sys.modules.get(engine.__module__), "__file__", None)
    return _loaded_beside(Path(module_file)) if module_file else []


def _loaded_beside(path: Path) -> list[Path]:
    """Return a file and those of the loaded modules in its folder, unless all packages are there."""
    if path.parent.name in _PACKAGE_FOLDERS:
        return [path]
    loaded_files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {path, *(Path(file) for file in loaded_files if file)}
    return [other for other in paths if other.parent == path.parent]
