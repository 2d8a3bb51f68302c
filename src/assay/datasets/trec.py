"""TREC qrels and runs: fields between blanks, one row a line.

A piece of the file is cut into fields by NumPy. That is trusted only where it can be seen to be
right (each line has its fields, each number reads); every other piece is first tidied, and if it is
still wrong it is read line by line to say which line is wrong and why.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from assay.core.errors import FormatError
from assay.core.gather import Piece, gathered
from assay.core.groups import Groups, Scattered
from assay.core.parallel import ordered_map
from assay.core.tables import Qrels, Run
from assay.core.texts import PAD, Bytes, Floats, Ints, Texts
from assay.datasets.formats import Format, Kind
from assay.datasets.numbers import floats, integers
from assay.datasets.sources import Chunk, Source

_BLANKS = np.zeros(256, np.bool_)
_BLANKS[[9, 11, 12, 13, 32]] = True


BLOCK_ROWS = 1 << 17  # whose columns fit the processor's cache


class Layout(NamedTuple):
    """Where the columns of a TREC file stand and how their last one reads."""

    noun: str
    fields: tuple[str, ...]
    value: int
    read: Callable[[Texts], Floats]


def _grades(texts: Texts) -> Floats:
    values, good = integers(texts)
    return np.where(good, values, np.nan)


RUN = Layout("run", ("query", "Q0", "document", "rank", "score", "tag"), 4, floats)
QRELS = Layout("qrels", ("query", "iteration", "document", "grade"), 3, _grades)


def read(source: Source, kind: Kind | None, columns: Mapping[str, str], made: Format) -> Qrels | Run:
    """The judgments or the run of a TREC file, told apart by the number of fields."""
    if kind is None:
        lines = (line.split() for line in source.head().splitlines())
        first = next((fields for fields in lines if fields and fields[0][:1] != b"#"), [])
        kind = "qrels" if len(first) == len(QRELS.fields) else "run"
    if kind == "qrels":
        return Qrels.from_groups(whole(source, QRELS))
    return Run.from_groups(whole(source, RUN), source.name)


class RunFile:
    """A TREC run that is scored while it is read, never held whole unless it has to be."""

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name

    def blocks(self) -> Iterator[Groups]:
        """The run in blocks of whole queries; Scattered when a query comes back."""
        if self._looks_scattered():
            raise Scattered
        return self._checked(_joined(pieces(self.source, RUN)))

    def gathered(self) -> Iterator[Groups]:
        """The blocks of a run whose queries are scattered over the file."""
        return self._checked(gathered(pieces(self.source, RUN)).split(BLOCK_ROWS))

    def _checked(self, blocks: Iterable[Groups]) -> Iterator[Groups]:
        return ordered_map(lambda block: checked(block, self.source, RUN), blocks)

    def _looks_scattered(self) -> bool:
        fields = (line.split(None, 1) for line in self.source.head().splitlines())
        queries = [field[0] for field in fields if field]
        changes = sum(a != b for a, b in itertools.pairwise(queries))
        return changes >= max(2, len(set(queries)))


def whole(source: Source, layout: Layout) -> Groups:
    """All rows of a file in memory."""
    groups = gathered(pieces(source, layout))
    deque(ordered_map(lambda part: checked(part, source, layout), groups.parts), maxlen=0)
    return groups


def checked(groups: Groups, source: Source, layout: Layout) -> Groups:
    """The same groups, unless a document stands twice in a query."""
    if pair := groups.duplicate():
        _refuse_duplicate(source, layout, *pair)
    return groups


def pieces(source: Source, layout: Layout) -> Iterator[Piece]:
    """The rows of the file, in order."""
    empty = True
    for piece in ordered_map(lambda chunk: _parse(chunk, layout), source.chunks()):
        if isinstance(piece, int):
            explain(source, layout, piece)
        if len(piece.ids):
            empty = False
            yield piece
    if empty:
        raise FormatError(f"expected a TREC {layout.noun}, found no rows", source.label)


def _parse(chunk: Chunk, layout: Layout) -> Piece | int:
    """The rows of one chunk, or its offset where one of its lines is wrong."""
    grid = _grid(chunk.data, len(layout.fields))
    if grid is None:
        chunk = _tidied(chunk)
        grid = _grid(chunk.data, len(layout.fields))
    if grid is None or not _is_text(chunk.data):
        return chunk.offset
    lines = np.empty(len(grid), np.int64)
    lines[:1], lines[1:] = 0, grid[:-1, -1] + 1
    query = Texts(chunk.buffer, lines, grid[:, 0] - lines)
    starts = np.flatnonzero(~query.repeats())
    values = layout.read(_column(chunk.buffer, grid, layout.value))
    if np.isnan(values).any():
        return chunk.offset
    return Piece(query.take(starts), starts, _column(chunk.buffer, grid, 2), values)


def _column(buffer: Bytes, grid: Ints, number: int) -> Texts:
    starts = grid[:, number - 1] + 1
    return Texts(buffer, starts, grid[:, number] - starts)


def _grid(data: Bytes, fields: int) -> Ints | None:
    """Where each field of each line ends, or None unless all lines are plain and whole."""
    ends = np.flatnonzero(data <= 32)
    if not len(data):
        return np.zeros((0, fields), np.int64)
    if not len(ends) or len(ends) % fields or ends[0] == 0:
        return None
    found, rows = data[ends], len(ends) // fields
    lines = (found[fields - 1 :: fields] == 10).all() and np.count_nonzero(found == 10) == rows
    if not lines or np.count_nonzero(found == 32) != rows * (fields - 1) or np.diff(ends).min() < 2:
        return None
    grid = ends.reshape(-1, fields)
    comments = data[0] == 35 or (data[grid[:-1, -1] + 1] == 35).any()
    return None if comments else grid


def _is_text(data: Bytes) -> bool:
    """Whether the bytes are UTF-8."""
    if data.max(initial=0) < 128:
        return True
    try:
        data.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _tidied(chunk: Chunk) -> Chunk:
    """The same lines with one blank between fields, and no comments or empty lines."""
    data = chunk.data
    blank = _BLANKS[data]
    gap = blank | (data == 10)
    first = blank.copy()
    first[1:] &= ~gap[:-1]
    first[:1] = False
    data = np.where(blank, np.uint8(32), data)[~blank | first]
    newline = data == 10
    keep = np.ones(len(data), np.bool_)
    keep[:-1] &= ~((data[:-1] == 32) & newline[1:])
    data = data[keep]
    starts = np.concatenate(([0], np.flatnonzero(data == 10) + 1))
    lengths = np.diff(starts)
    dropped = (lengths == 1) | (data[starts[:-1]] == 35)
    data = data[~np.repeat(dropped, lengths)]
    return Chunk(np.append(data, np.zeros(PAD, np.uint8)), len(data), chunk.offset)


def _joined(parts: Iterable[Piece]) -> Iterator[Groups]:
    """Pieces cut where a query ends; Scattered when a query comes back."""
    seen: set[str] = set()
    open_query, open_parts = "", list[tuple[Texts, Floats]]()
    for part in parts:
        names = part.queries.tolist()
        bounds = np.append(part.starts, len(part.ids))
        if open_parts and names[0] == open_query:
            last = int(bounds[1])
            open_parts.append((part.ids.slice(0, last), part.values[:last]))
            names, bounds = names[1:], bounds[1:]
        if not names:
            continue
        if open_parts:
            yield _one_query(open_query, open_parts)
        fresh = len(seen) + len(names)
        seen.update(names)
        if len(seen) != fresh:
            raise Scattered
        first, last, end = int(bounds[0]), int(bounds[-2]), int(bounds[-1])
        if len(names) > 1:
            yield Groups(
                names[:-1], bounds[:-1] - first, part.ids.slice(first, last), part.values[first:last]
            )
        open_query, open_parts = names[-1], [(part.ids.slice(last, end), part.values[last:end])]
    yield _one_query(open_query, open_parts)


def _one_query(query_id: str, parts: list[tuple[Texts, Floats]]) -> Groups:
    ids = parts[0][0] if len(parts) == 1 else Texts.concat([ids for ids, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return Groups([query_id], np.array([0, len(values)]), ids, values)


def explain(source: Source, layout: Layout, offset: int) -> NoReturn:
    """Say which line, from this offset on, is the first that is wrong, and why."""
    for number, line in source.lines(offset):
        if problem := _problem(line, layout):
            raise FormatError(problem, source.label, number)
    raise FormatError(f"is no TREC {layout.noun}", source.label)


def _problem(line: bytes, layout: Layout) -> str | None:
    """What is wrong with a line, if anything is."""
    fields = line.split()
    if not fields or line.lstrip().startswith(b"#"):
        return None
    if any(byte < 32 and byte not in b"\t\r\v\f" for byte in line):
        return f"expected text, found a control character: {shown(line)}"
    try:
        line.decode()
    except UnicodeDecodeError:
        return f"expected UTF-8 text, found other bytes: {shown(line)}"
    if len(fields) != len(layout.fields):
        wanted = " ".join(layout.fields)
        other = {len(RUN.fields): "a run", len(QRELS.fields): "qrels"}.get(len(fields))
        hint = f"; this looks like {other} (the order is QRELS RUN)" if other else ""
        return f"expected {len(layout.fields)} fields ({wanted}), found {len(fields)}: {shown(line)}{hint}"
    return _value_problem(fields[layout.value], layout)


def _value_problem(field: bytes, layout: Layout) -> str | None:
    if not np.isnan(layout.read(Texts.of([field.decode()]))[0]):
        return None
    if layout is QRELS:
        return f"expected a whole number as the grade, found {shown(field)}"
    if field.lower().lstrip(b"+-") == b"nan":
        return "the score is NaN, which has no place in a ranking; give a number or drop the row"
    return f"expected a number as the score, found {shown(field)}"


def shown(text: bytes, most: int = 80) -> str:
    """A piece of a file, short and safe to print."""
    word = repr(text[:most].decode(errors="replace"))
    return word if len(text) <= most else f"{word}… ({len(text):,} bytes)"


def _refuse_duplicate(source: Source, layout: Layout, query_id: str, doc_id: str) -> NoReturn:
    """Say where a document stands a second time."""
    want, first = (query_id.encode(), doc_id.encode()), 0
    for number, line in source.lines():
        fields = line.split()
        if len(fields) > 2 and (fields[0], fields[2]) == want and fields[0][:1] != b"#":
            if first:
                problem = f"document {doc_id!r} stands twice in query {query_id!r} (first on line {first})"
                raise FormatError(f"{problem}; keep one of the two rows", source.label, number)
            first = number
    raise FormatError(f"document {doc_id!r} stands twice in query {query_id!r}", source.label)


def write(found: Qrels | Run, file: BinaryIO, label: str, made: Format) -> None:
    """Judgments or a run as TREC files hold them; scores read back as the same numbers."""
    tag = "_".join(found.name.split()) or "run" if isinstance(found, Run) else ""
    for part in found.groups.parts:
        _check_ids(part, label)
        ids, values, bounds = part.ids.tolist(), part.values.tolist(), part.offsets.tolist()
        for query, first, last in zip(part.query_ids, bounds[:-1], bounds[1:], strict=True):
            docs = zip(values[first:last], ids[first:last], strict=True)
            lines = _run_lines(query, docs, tag) if tag else _qrels_lines(query, docs)
            file.write("".join(lines).encode())


def _run_lines(query: str, docs: Iterable[tuple[float, str]], tag: str) -> Iterator[str]:
    ranked = sorted(docs, reverse=True)  # by score, then by id: code points order as UTF-8 does
    return (f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for rank, (score, doc) in enumerate(ranked, 1))


def _qrels_lines(query: str, docs: Iterable[tuple[float, str]]) -> Iterator[str]:
    return (f"{query} 0 {doc} {int(grade)}\n" for grade, doc in docs)


def _check_ids(part: Groups, label: str) -> None:
    """Refuse ids that would not be one field of a line."""
    bad = next((query for query in part.query_ids if not _is_field(query) or query[0] in "#\ufeff"), None)
    if bad is None and ((part.ids.packed() <= 32).any() or not part.ids.lengths.all()):
        bad = next(doc for doc in part.ids.tolist() if not _is_field(doc))
    if bad is not None:
        problem = f"a TREC file cannot hold the id {bad!r} (blanks, nothing, or # at the beginning)"
        raise FormatError(f"{problem}: write csv, jsonl or parquet instead", label)


def _is_field(text: str) -> bool:
    return bool(text) and min(text) > " "
