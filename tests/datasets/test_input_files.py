"""Input files, plain and compressed."""

import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from assay.core.errors import FormatError
from assay.datasets import input_files
from assay.datasets.input_files import InputFile
from tests.datasets.strategies import quick

LINES = b"one\ntwo\nthree\n"
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "zst": ZstdCompressor().compress,
}


@pytest.mark.parametrize("packing", PACKERS)
def test_the_bytes_do_not_depend_on_the_compression(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACKERS[packing](LINES))
    source = InputFile(path)
    assert source.read() == source.head() == LINES
    assert list(source.lines()) == [(1, b"one"), (2, b"two"), (3, b"three")]
    assert source.is_plain() == (packing == "plain")


@pytest.mark.parametrize("packing", PACKERS)
def test_concatenated_compressed_parts_are_read(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACKERS[packing](b"a\n") + PACKERS[packing](b"b\n"))
    assert InputFile(path).read() == b"a\nb\n"


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nb", b"\xef\xbb\xbfa"])
def test_a_byte_order_mark_is_skipped(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(text)
    first = next(iter(InputFile(path).lines()))
    assert first == (1, b"a")
    assert InputFile(path).head().startswith(b"a")
    assert InputFile(path).read().startswith(b"a")


@quick
@given(st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"")), min_size=1), st.integers(1, 20))
def test_chunks_of_any_size_have_whole_lines(lines: list[bytes], size: int) -> None:
    text = b"x" + b"\n".join(lines)
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"assay-chunks-{os.getpid()}"
    path.write_bytes(text)
    try:
        chunks = [chunk.data.tobytes() for chunk in InputFile(path).chunks(size)]
    finally:
        path.unlink()
    assert b"".join(chunks) == text + (b"" if text.endswith(b"\n") else b"\n")
    assert all(chunk.endswith(b"\n") for chunk in chunks)


@pytest.mark.parametrize("packing", ["gz", "zst"])
def test_a_truncated_compressed_file_is_refused_with_the_line(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"cut.{packing}"
    text = b"".join(b"%d\n" % (7919 * number % 100_003) for number in range(50_000))
    packed = PACKERS[packing](text)
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match="truncated") as caught:
        list(InputFile(path).lines())
    assert caught.value.path == str(path)
    assert caught.value.line is not None


def test_a_corrupt_compressed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    packed = bytearray(gzip.compress(os.urandom(10_000)))
    packed[3000:3100] = b"\xff" * 100
    path.write_bytes(packed)
    with pytest.raises(FormatError, match=r"bad\.gz.*cannot be read"):
        InputFile(path).read()


def test_a_corrupt_zstd_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\xff" * 50)
    with pytest.raises(FormatError, match="cannot be read"):
        InputFile(path).read()


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        InputFile(tmp_path / "none").head()


def test_a_line_without_end_is_refused_after_a_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"short\n" + b"x" * (6 << 20))
    with pytest.raises(FormatError, match=r"long:2: a line is longer than 1 MiB"):
        list(InputFile(path).lines())


def test_reading_at_once_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (3 << 20))
    with pytest.raises(FormatError, match="larger than 2 MiB"):
        InputFile(path).read(2 << 20)


@pytest.mark.parametrize("packing", PACKERS)
def test_standard_input_can_be_read_again(packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given_bytes = io.BytesIO(PACKERS[packing](LINES))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given_bytes))
    source = InputFile("-")
    assert source.head() == source.read() == source.read() == LINES
    assert (source.name, source.label) == ("stdin", "standard input")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_named_pipe_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(LINES,))
    writer.start()
    source = InputFile(path)
    assert source.head() == source.read() == LINES
    writer.join()


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/bm25.run.gz", "bm25"), ("x.jsonl", "x"), ("input.p_bert.gz", "input.p_bert"), (".csv", ".csv")],
)
def test_the_name_of_a_source_has_no_extensions(path: str, name: str) -> None:
    assert InputFile(path).name == name


_PEAK = """
import sys
from assay.core.errors import FormatError
from assay.datasets import read
try:
    read(sys.argv[1], sys.argv[2], format=sys.argv[3] or None)
except FormatError as error:
    print(error)
print(next(int(line.split()[1]) >> 10 for line in open('/proc/self/status') if line.startswith('VmHWM')))
"""


@pytest.fixture(scope="module")
def endless() -> bytes:
    """Write a gigabyte without a newline, compressed."""
    packed = io.BytesIO()
    with ZstdCompressor(level=1).stream_writer(packed, closefd=False) as file:
        for _ in range(256):
            file.write(b"x" * (4 << 20))
    return packed.getvalue()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("start", "kind", "format_name"),
    [
        (b"q1 Q0 d 1 0.5 t\n", "run", "trec"),
        (b"q1 Q0 d 1 0.5 t\n", "run", ""),
        (b"", "qrels", "trec"),
        (b"", "run", ""),
        (b'{"query_id": "', "queries", ""),
        (b"query_id,text\n", "queries", ""),
        (b"query_id\ttext\n", "queries", ""),
        (b'query_id,text\nq1,"', "queries", ""),
        (b'[{"query": "', "queries", ""),
        (b".I 1\n.W\n", "documents", ""),
    ],
)
def test_a_line_of_a_gigabyte_is_refused_in_little_memory(
    start: bytes, kind: str, format_name: str, endless: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "endless.zst"
    path.write_bytes(PACKERS["zst"](start) + endless)
    process = subprocess.run(
        [sys.executable, "-c", _PEAK, str(path), kind, format_name],
        capture_output=True,
        text=True,
        check=True,
    )
    message, peak = process.stdout.strip().rsplit("\n", 1)
    assert "endless.zst" in message
    assert "MiB" in message or "the format is unknown" in message
    assert int(peak) < 500


def test_lines_are_decoded_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("één\ntwee\n", encoding="utf-8")
    assert list(InputFile(path).text_lines()) == [(1, "één"), (2, "twee")]


def test_a_line_that_is_not_utf8_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(FormatError, match=r"a\.txt:2: expected UTF-8 text"):
        list(InputFile(path).text_lines())


def test_a_file_is_large_by_its_estimated_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "LARGE_FILE_BYTES", 10)
    for name, size, is_large in (("a", 10, False), ("a", 11, True), ("a.gz", 3, True), ("a.gz", 2, False)):
        (tmp_path / name).write_bytes(bytes(size))
        assert InputFile(tmp_path / name).is_large() is is_large
    assert not InputFile("-").is_large()
