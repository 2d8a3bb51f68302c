"""Output files, which are written completely or not at all."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from assay.core.errors import FormatError, InputError
from assay.core.files import disk_error, replace_file


@contextmanager
def open_for_writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a file to write to; `.gz` and `.zst` are compressed. If writing fails, no file is left."""
    target = Path(path)
    check_target(target)
    try:
        with (
            replace_file(target) as partial,
            open(partial, "wb") as raw,
            _compress(raw, target.suffix.lower()) as file,
        ):
            yield file
    except Exception as error:
        reason = disk_error(error)
        if reason is None:
            raise
        raise FormatError(f"cannot be written: {reason}", str(target)) from None


def refuse_inputs_as_outputs(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Refuse to write a file that is also read, as `PATH` or `NAME=PATH`: it would be lost."""
    sources = [path for source in inputs if source for path in (source, source.partition("=")[2])]
    for output in filter(None, outputs):
        if any(_is_same_file(output, source) for source in sources):
            raise InputError(f"{output} is also read, and would be lost: write to another file")


def _is_same_file(one: str, other: str) -> bool:
    return os.path.isfile(one) and os.path.isfile(other) and os.path.samefile(one, other)


def check_target(target: Path) -> None:
    """Refuse a path to which no file can be written."""
    if not target.parent.is_dir():
        raise FormatError(f"there is no folder {str(target.parent)!r}; create it first", str(target))
    if target.is_dir():
        raise FormatError("is a folder; give a file in it", str(target))


def _compress(raw: BinaryIO, suffix: str) -> BinaryIO:
    if suffix == ".gz":
        import gzip

        return cast(BinaryIO, gzip.GzipFile("", "wb", 6, raw, mtime=0))
    if suffix == ".zst":
        from zstandard import ZstdCompressor

        return cast(BinaryIO, ZstdCompressor().stream_writer(raw, closefd=False))
    return raw


def make_folder(path: str | os.PathLike[str], *inner: str) -> Path:
    """Return a folder to write into; it is created if its parent exists."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise FormatError("is a file, but a collection is written as a folder", str(target))
    if not target.parent.is_dir():
        raise FormatError(f"there is no folder {str(target.parent)!r}; create it first", str(target))
    try:
        target.joinpath(*inner).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot be written: {error.strerror}", str(target)) from None
    return target
