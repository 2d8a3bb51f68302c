"""Input files, plain or compressed, read as bytes, chunks of whole lines or lines."""

import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from stat import S_ISFIFO
from typing import BinaryIO, NamedTuple, cast
from weakref import finalize

import numpy as np

from assay.core.arrays import Bytes
from assay.core.errors import FormatError
from assay.core.strings import PAD
from assay.core.unsupported_files import refuse_unsupported

CHUNK_BYTES = 4 << 20
LARGE_FILE_BYTES = 8 << 20
LONGEST_LINE = 1 << 20
LONGEST_TEXT = 16 << 20  # a line of JSON or CSV may contain a whole document
_ENDINGS = (
    *(".gz", ".zst", ".txt", ".run", ".trec", ".tsv", ".csv"),
    *(".json", ".jsonl", ".ndjson", ".parquet", ".arrow"),
)
NOT_UTF8 = "expected UTF-8 text, found other bytes; save the file as UTF-8"
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Whole lines in a buffer with padding at its end."""

    buffer: Bytes
    size: int
    offset: int

    @property
    def data(self) -> Bytes:
        """The bytes of the lines."""
        return self.buffer[: self.size]


class InputFile:
    """A file that can be opened repeatedly: plain, gzip or zstd, or `-` for standard input."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        refuse_unsupported(self.path)
        self._spool: BinaryIO | None = None
        self.label = "standard input" if self.path == "-" else self.path

    @property
    def name(self) -> str:
        """The name of the file without the extensions of formats and compression."""
        name = "stdin" if self.path == "-" else os.path.basename(os.path.abspath(self.path))
        for ending in _ENDINGS:
            name = name.removesuffix(ending) or name
        return name

    def open(self) -> BinaryIO:
        """Open the file and return its decompressed bytes from the beginning."""
        raw = self._open_raw()
        magic = self._read_magic(raw)
        if magic.startswith(_GZIP):
            import gzip

            decompressed = gzip.GzipFile(fileobj=raw)
            decompressed.myfileobj = raw  # type: ignore[assignment]  # so that it is closed, too
            return cast(BinaryIO, decompressed)
        if magic == _ZSTD:
            return cast(BinaryIO, io.BufferedReader(_ZstdReader(raw)))
        return raw

    def _open_raw(self) -> BinaryIO:
        if self._spool is None and self._is_stream():
            self._spool = self._spool_stream()
            finalize(self, self._spool.close)
        if self._spool is not None:
            self._spool.seek(0)
            return os.fdopen(os.dup(self._spool.fileno()), "rb", buffering=0)
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", self.path) from None

    def _read_magic(self, raw: BinaryIO) -> bytes:
        """Return the first bytes, which show the compression."""
        try:
            magic = raw.read(4)
            raw.seek(0)
        except OSError as error:
            raw.close()
            raise FormatError(f"cannot be read: {error.strerror}", self.path) from None
        return magic

    def _is_stream(self) -> bool:
        """Return whether the bytes can be read only once: standard input or a named pipe."""
        return self.path == "-" or (os.path.exists(self.path) and S_ISFIFO(os.stat(self.path).st_mode))

    def _spool_stream(self) -> BinaryIO:
        """Copy the bytes of a stream to a temporary file and return it."""
        import tempfile

        spool = cast(BinaryIO, tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - closed with the source
        with nullcontext(sys.stdin.buffer) if self.path == "-" else open(self.path, "rb") as stream:
            while piece := stream.read(CHUNK_BYTES):
                spool.write(piece)
        return spool

    def is_plain(self) -> bool:
        """Return whether other libraries can read the file by its path: it is not compressed nor a stream."""
        if self._is_stream():
            return False
        with self._open_raw() as raw:
            magic = self._read_magic(raw)
        return not magic.startswith(_GZIP) and magic != _ZSTD

    def is_large(self) -> bool:
        """Return whether reading with Polars saves more time than importing it takes."""
        if not os.path.isfile(self.path):
            return False
        ratio = 5 if self.path.endswith((".gz", ".zst")) else 1  # assumed for compressed files
        return ratio * os.path.getsize(self.path) > LARGE_FILE_BYTES

    def read(self, limit: int = sys.maxsize) -> bytes:
        """Return all decompressed bytes; raise FormatError if there are more than `limit`."""
        parts, size = [], 0
        with self.open() as file:
            while piece := self.read_bytes(file, CHUNK_BYTES):
                size += len(piece)
                if size > limit:
                    problem = f"is larger than {limit >> 20} MiB, too large to be read at once"
                    raise FormatError(f"{problem}; write it as JSONL, one object on each line", self.label)
                parts.append(piece)
        return b"".join(parts).removeprefix(_BOM)

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first decompressed bytes, enough to detect the format."""
        with self.open() as file:
            return self.read_bytes(file, size).removeprefix(_BOM)

    def read_bytes(self, file: BinaryIO, size: int) -> bytes:
        """Return the next bytes of an open file."""
        buffer = bytearray(size)
        return bytes(buffer[: self._fill(file, memoryview(buffer))])

    def _fill(self, file: BinaryIO, buffer: memoryview) -> int:
        """Read the next bytes of an open file into the buffer and return their number."""
        size = 0
        try:
            while size < len(buffer) and (count := file.readinto(buffer[size:])):  # type: ignore[attr-defined]
                size += count
        except EOFError:
            problem = "the file is truncated; download it again"
            raise FormatError(problem, self.label, self._last_readable_line()) from None
        except Exception as error:  # zlib has its own errors
            problem = f"cannot be read: {error}"
            raise FormatError(problem, self.label, self._last_readable_line()) from None
        return size

    def _last_readable_line(self) -> int:
        """Return the number of the line at which a file becomes unreadable."""
        lines = 1
        with self.open() as file, suppress(EOFError, OSError, zlib.error):
            while piece := file.read(1 << 10):
                lines += piece.count(b"\n")
        return lines

    def line_at(self, offset: int) -> int:
        """Return the number of the line with the decompressed byte at this offset."""
        lines = 1
        with self.open() as file:
            while offset > 0 and (piece := file.read(min(offset, 1 << 10))):
                lines, offset = lines + piece.count(b"\n"), offset - len(piece)
        return lines

    def chunks(self, size: int = CHUNK_BYTES, longest: int = LONGEST_LINE) -> Iterator[Chunk]:
        """Yield the decompressed bytes in chunks of whole lines; a missing last newline is added."""
        tail, offset = b"", 0
        _keep_freed_memory()
        with self.open() as file:
            while True:
                buffer = np.empty(len(tail) + size + PAD, np.uint8)
                buffer[: len(tail)] = np.frombuffer(tail, np.uint8)
                free_space = buffer.data[len(tail) : len(tail) + size]
                count = self._fill(file, free_space)
                if not count:
                    break
                skip = len(_BOM) if not offset and buffer[:3].tobytes() == _BOM else 0
                end, offset = len(tail) + count, offset + count
                stop = self._last_newline(buffer, end, offset, longest)
                tail = buffer[stop:end].tobytes()
                if stop > skip:
                    yield Chunk(buffer[skip:], stop - skip, offset - end + skip)
        if offset == len(tail):  # no chunk was yielded
            tail = tail.removeprefix(_BOM)
        if tail:
            rest = np.frombuffer(tail + b"\n" + b"\0" * PAD, np.uint8)
            yield Chunk(rest, len(tail) + 1, offset - len(tail))

    def lines(self, offset: int = 0, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
        """Yield the lines from this offset on, with their numbers."""
        number = self.line_at(offset)
        for chunk in self.chunks(longest=longest):
            data = chunk.data[max(0, offset - chunk.offset) :].tobytes()
            for line in data.split(b"\n")[:-1]:
                yield number, line
                number += 1

    def text_lines(self, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
        """Yield the lines as text, with their numbers; raise FormatError if they are not UTF-8."""
        for number, line in self.lines(longest=longest):
            try:
                yield number, line.decode()
            except UnicodeDecodeError:
                raise FormatError(NOT_UTF8, self.label, number) from None

    def _last_newline(self, buffer: Bytes, end: int, offset: int, longest: int) -> int:
        """Return the position at which the last complete line of the buffer ends."""
        for reach in (1 << 12, longest):
            begin = max(0, end - reach)
            position = buffer[begin:end].tobytes().rfind(b"\n")
            if position >= 0:
                break
        if position < 0 and end > longest:
            begin = buffer[:end].tobytes().rfind(b"\n") + 1
            raise FormatError(
                f"a line is longer than {longest >> 20} MiB, so this is not a file of short lines",
                self.label,
                self.line_at(offset - end + begin),
            )
        return begin + position + 1


def _keep_freed_memory() -> None:
    """Let the C library reuse freed memory, because every chunk allocates columns of the same size.

    glibc returns large blocks to the operating system at once, and allocating them again takes as long as
    the work on them, until a block of 32 MB has been freed (mallopt(3), M_MMAP_THRESHOLD).
    """
    np.empty((32 << 20) - (1 << 12), np.uint8)


_COMPRESSED_READ_BYTES = 1 << 11  # small, because four compressed bytes can become 128 KiB


class _ZstdReader(io.RawIOBase):
    """Reads consecutive Zstandard frames; a truncated frame is an error, not an end."""

    def __init__(self, raw: BinaryIO) -> None:
        from zstandard import ZstdDecompressor

        self._raw, self._new_frame = raw, ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._in_frame, self._pending = False, b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._pending:
            compressed = self._frame.unused_data or self._raw.read(_COMPRESSED_READ_BYTES)
            if self._frame.eof:
                self._frame, self._in_frame = self._new_frame(), False
            if not compressed:
                if self._in_frame:
                    raise EOFError
                return 0
            self._in_frame = True
            self._pending = self._decompress(compressed)
            self._in_frame = not self._frame.eof
        size = min(len(buffer), len(self._pending))
        buffer[:size] = self._pending[:size]
        self._pending = self._pending[size:]
        return size

    def _decompress(self, compressed: bytes) -> bytes:
        from zstandard import ZstdError

        try:
            return self._frame.decompress(compressed)
        except ZstdError as error:
            raise OSError(str(error)) from None
