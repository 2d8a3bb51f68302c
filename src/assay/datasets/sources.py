"""Bytes from a path, however they are packed, in pieces that end where a line ends."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from stat import S_ISFIFO
from typing import BinaryIO, NamedTuple, cast
from weakref import finalize

import numpy as np

from assay.core.errors import FormatError
from assay.core.texts import PAD, Bytes

CHUNK = 4 << 20
LONGEST_LINE = 1 << 20
LONGEST_TEXT = 16 << 20  # a line of JSON or CSV may hold a whole document
_ENDINGS = (
    *(".gz", ".zst", ".txt", ".run", ".trec", ".tsv", ".csv"),
    *(".json", ".jsonl", ".ndjson", ".parquet", ".arrow"),
)
_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"


class Chunk(NamedTuple):
    """Whole lines in a buffer with room to spare at its end."""

    buffer: Bytes
    size: int
    offset: int

    @property
    def data(self) -> Bytes:
        """The bytes of the lines."""
        return self.buffer[: self.size]


class Source:
    """A file that can be opened again: plain, gzip or zstd, or `-` for standard input."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._spool: BinaryIO | None = None
        self.label = "standard input" if self.path == "-" else self.path

    @property
    def name(self) -> str:
        """The file's name without what only says how it is packed or written."""
        name = "stdin" if self.path == "-" else os.path.basename(os.path.abspath(self.path))
        for ending in _ENDINGS:
            name = name.removesuffix(ending) or name
        return name

    def open(self) -> BinaryIO:
        """The unpacked bytes from the beginning."""
        raw = self._raw()
        magic = self._magic(raw)
        if magic.startswith(_GZIP):
            import gzip

            unpacked = gzip.GzipFile(fileobj=raw)
            unpacked.myfileobj = raw  # type: ignore[assignment]  # so that it is closed too
            return cast(BinaryIO, unpacked)
        if magic == _ZSTD:
            return cast(BinaryIO, io.BufferedReader(_Zstd(raw)))
        return raw

    def _raw(self) -> BinaryIO:
        if self._spool is None and self._is_stream():
            self._spool = self._spooled()
            finalize(self, self._spool.close)
        if self._spool is not None:
            self._spool.seek(0)
            return os.fdopen(os.dup(self._spool.fileno()), "rb", buffering=0)
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror}", self.path) from None

    def _magic(self, raw: BinaryIO) -> bytes:
        """The first bytes, which say how the file is packed."""
        try:
            magic = raw.read(4)
            raw.seek(0)
        except OSError as error:
            raw.close()
            raise FormatError(f"cannot be read: {error.strerror}", self.path) from None
        return magic

    def _is_stream(self) -> bool:
        """Whether the bytes come only once: standard input or a named pipe."""
        return self.path == "-" or (os.path.exists(self.path) and S_ISFIFO(os.stat(self.path).st_mode))

    def _spooled(self) -> BinaryIO:
        """The bytes of a stream in a file without a name."""
        import tempfile

        spool = cast(BinaryIO, tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - closed with the source
        with nullcontext(sys.stdin.buffer) if self.path == "-" else open(self.path, "rb") as stream:
            while piece := stream.read(CHUNK):
                spool.write(piece)
        return spool

    def is_plain(self) -> bool:
        """Whether the file can be read as it lies, by its path."""
        if self._is_stream():
            return False
        with self._raw() as raw:
            magic = self._magic(raw)
        return not magic.startswith(_GZIP) and magic != _ZSTD

    def read(self, most: int = sys.maxsize) -> bytes:
        """All unpacked bytes; more than `most` of them are refused."""
        parts, size = [], 0
        with self.open() as file:
            while piece := self.take(file, CHUNK):
                size += len(piece)
                if size > most:
                    problem = f"is larger than {most >> 20} MiB, too large to be read at once"
                    raise FormatError(f"{problem}; write it as JSONL, one object a line", self.label)
                parts.append(piece)
        return b"".join(parts).removeprefix(_BOM)

    def head(self, size: int = 1 << 16) -> bytes:
        """The first unpacked bytes, enough to tell what the file is."""
        with self.open() as file:
            return self.take(file, size).removeprefix(_BOM)

    def take(self, file: BinaryIO, size: int) -> bytes:
        """The next bytes of the opened file."""
        buffer = bytearray(size)
        return bytes(buffer[: self._fill(file, memoryview(buffer))])

    def _fill(self, file: BinaryIO, room: memoryview) -> int:
        """How many bytes of the room the next bytes of the file take."""
        size = 0
        try:
            while size < len(room) and (got := file.readinto(room[size:])):  # type: ignore[attr-defined]
                size += got
        except EOFError:
            problem = "the file is cut short; fetch it again"
            raise FormatError(problem, self.label, self._last_readable_line()) from None
        except Exception as error:  # zlib has errors of its own
            problem = f"cannot be read: {error}"
            raise FormatError(problem, self.label, self._last_readable_line()) from None
        return size

    def _last_readable_line(self) -> int:
        """The number of the line in which an unreadable file breaks."""
        import zlib

        lines = 1
        with self.open() as file, suppress(EOFError, OSError, zlib.error):
            while piece := file.read(1 << 10):
                lines += piece.count(b"\n")
        return lines

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the unpacked byte at this offset."""
        lines = 1
        with self.open() as file:
            while offset > 0 and (piece := file.read(min(offset, 1 << 10))):
                lines, offset = lines + piece.count(b"\n"), offset - len(piece)
        return lines

    def chunks(self, size: int = CHUNK, longest: int = LONGEST_LINE) -> Iterator[Chunk]:
        """The unpacked bytes in pieces of whole lines; a missing last newline is added."""
        tail, offset = b"", 0
        _keep_freed_memory()
        with self.open() as file:
            while True:
                buffer = np.empty(len(tail) + size + PAD, np.uint8)
                buffer[: len(tail)] = np.frombuffer(tail, np.uint8)
                room = buffer.data[len(tail) : len(tail) + size]
                got = self._fill(file, room)
                if not got:
                    break
                skip = len(_BOM) if not offset and buffer[:3].tobytes() == _BOM else 0
                end, offset = len(tail) + got, offset + got
                stop = self._last_newline(buffer, end, offset, longest)
                tail = buffer[stop:end].tobytes()
                if stop > skip:
                    yield Chunk(buffer[skip:], stop - skip, offset - end + skip)
        if offset == len(tail):  # nothing was given out yet
            tail = tail.removeprefix(_BOM)
        if tail:
            rest = np.frombuffer(tail + b"\n" + b"\0" * PAD, np.uint8)
            yield Chunk(rest, len(tail) + 1, offset - len(tail))

    def lines(self, offset: int = 0, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes]]:
        """The lines from this offset on, with their numbers."""
        number = self.line_at(offset)
        for chunk in self.chunks(longest=longest):
            data = chunk.data[max(0, offset - chunk.offset) :].tobytes()
            for line in data.split(b"\n")[:-1]:
                yield number, line
                number += 1

    def _last_newline(self, buffer: Bytes, end: int, offset: int, longest: int) -> int:
        """Where the last whole line of the buffer ends."""
        for reach in (1 << 12, longest):
            begin = max(0, end - reach)
            near = buffer[begin:end].tobytes().rfind(b"\n")
            if near >= 0:
                break
        if near < 0 and end > longest:
            begin = buffer[:end].tobytes().rfind(b"\n") + 1
            raise FormatError(
                f"a line is longer than {longest >> 20} MiB, so this is no file of short lines",
                self.label,
                self.line_at(offset - end + begin),
            )
        return begin + near + 1


def _keep_freed_memory() -> None:
    """Let the C library hold on to what is freed: columns of one chunk are made for the next.

    glibc gives large blocks back at once, and getting them anew costs as much as the work on them,
    until it has seen one of 32 MB freed (mallopt(3), M_MMAP_THRESHOLD).
    """
    np.empty((32 << 20) - (1 << 12), np.uint8)


_SIP = 1 << 11  # packed bytes at a time: four of them can stand for 128 KiB


class _Zstd(io.RawIOBase):
    """Zstandard frames one after the other; a cut frame is an error, not an end."""

    def __init__(self, raw: BinaryIO) -> None:
        from zstandard import ZstdDecompressor

        self._raw, self._make = raw, ZstdDecompressor().decompressobj
        self._frame = self._make()
        self._begun, self._ready = False, b""

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._raw.close()
        super().close()

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            packed = self._frame.unused_data or self._raw.read(_SIP)
            if self._frame.eof:
                self._frame, self._begun = self._make(), False
            if not packed:
                if self._begun:
                    raise EOFError
                return 0
            self._begun = True
            self._ready = self._unpack(packed)
            self._begun = not self._frame.eof
        size = min(len(room), len(self._ready))
        room[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _unpack(self, packed: bytes) -> bytes:
        from zstandard import ZstdError

        try:
            return self._frame.decompress(packed)
        except ZstdError as error:
            raise OSError(str(error)) from None
