"""Files written whole or not at all: beside their place first, then moved there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from assay.core.errors import FormatError
from assay.core.files import disk_error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to; `.gz` and `.zst` are packed. Nothing is left behind when writing fails."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    raw = _opened(beside, target)
    try:
        with raw, _packer(raw, target.suffix.lower()) as file:
            yield file
        os.replace(beside, target)
    except Exception as error:
        said = disk_error(error)
        if said is None:
            raise
        raise FormatError(f"cannot be written: {said}", str(target)) from None
    finally:
        beside.unlink(missing_ok=True)


def _opened(beside: Path, target: Path) -> BinaryIO:
    if not target.parent.is_dir():
        raise FormatError(f"there is no folder {str(target.parent)!r}; make it first", str(target))
    if target.is_dir():
        raise FormatError("is a folder; name a file in it", str(target))
    try:
        return open(beside, "wb")
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror}", str(target)) from None


def _packer(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        import gzip

        return cast(BinaryIO, gzip.GzipFile("", "wb", 6, raw, mtime=0))
    if suffix == ".zst":
        from zstandard import ZstdCompressor

        return cast(BinaryIO, ZstdCompressor().stream_writer(raw, closefd=False))
    return raw


def folder(path: str | os.PathLike[str], *inner: str) -> Path:
    """A folder to write into, made if only its last steps are missing."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise FormatError("is a file, and a collection is written as a folder", str(target))
    if not target.parent.is_dir():
        raise FormatError(f"there is no folder {str(target.parent)!r}; make it first", str(target))
    try:
        target.joinpath(*inner).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror}", str(target)) from None
    return target
