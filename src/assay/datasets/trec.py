"""TREC qrels and runs: fields separated by blanks, one row on each line.

NumPy splits each chunk of the file into fields. The result is used only if it is certain to be right
(each line has all its fields, each number can be parsed); otherwise the blanks of the chunk are normalized,
and if it is still wrong, it is read line by line to report which line is wrong and why.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from assay.core.arrays import Bytes, Floats, Ints
from assay.core.errors import FormatError
from assay.core.group_rows import RowBatch, group_rows
from assay.core.groups import Groups, ScatteredQueryError, ScoreChanges
from assay.core.parallel import ordered_map
from assay.core.strings import PAD, StringColumn
from assay.core.tables import GRADE_LIMIT, Qrels, Run, duplicate_problem
from assay.datasets.formats import Format, Kind
from assay.datasets.input_files import Chunk, InputFile
from assay.datasets.numbers import parse_floats, parse_integers

_IS_BLANK = np.zeros(256, np.bool_)
_IS_BLANK[[9, 11, 12, 13, 32]] = True


_PLAIN_NAMES = {  # of files that do not say which run they hold
    *("run", "runs", "input", "output", "out", "result", "results", "ranking", "rankings"),
    *("res", "submission", "predictions", "top1000", "trec"),
}
BLOCK_ROWS = 1 << 17  # the columns of so many rows fit the processor's cache


class TrecLayout(NamedTuple):
    """The fields of a TREC file, the position of its value, and how values are parsed."""

    noun: str
    fields: tuple[str, ...]
    value: int
    read: Callable[[StringColumn], Floats]


def _parse_grades(texts: StringColumn) -> Floats:
    """Return whole numbers, also those written as 1. or 1.0; NaN for any other text."""
    values, is_valid = parse_integers(texts)
    grades: Floats = np.where(is_valid, values, np.nan)
    others = np.flatnonzero(~is_valid)
    if len(others):
        numbers = parse_floats(texts.take(others))
        is_whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < GRADE_LIMIT)
        grades[others] = np.where(is_whole, numbers, np.nan)
    return grades


RUN = TrecLayout("run", ("query", "Q0", "document", "rank", "score", "tag"), 4, parse_floats)
RANKED_RUN = RUN._replace(value=3, read=lambda texts: -parse_floats(texts))  # the rank in place of the score
QRELS = TrecLayout("qrels", ("query", "iteration", "document", "grade"), 3, _parse_grades)


def read(
    source: InputFile, kind: Kind | None, columns: Mapping[str, str], file_format: Format
) -> Qrels | Run:
    """Return the qrels or the run of a TREC file, distinguished by the number of fields."""
    if kind is None:
        lines = (line.split() for line in source.head().splitlines())
        first = next((fields for fields in lines if fields and fields[0][:1] != b"#"), [])
        kind = "qrels" if len(first) == len(QRELS.fields) else "run"
    if kind == "qrels":
        return Qrels.from_groups(read_groups(source, QRELS))
    return Run.from_groups(read_groups(source, _run_layout(columns)), RunFile(source, columns).name)


def _run_layout(columns: Mapping[str, str]) -> TrecLayout:
    """Return the layout of a run; `rank` among the columns says that the ranks order the documents."""
    return RANKED_RUN if "rank" in columns else RUN


class RunFile:
    """A TREC run that is read block by block, and only if its queries are scattered at once."""

    def __init__(self, source: InputFile, columns: Mapping[str, str]) -> None:
        self.source, self._layout = source, _run_layout(columns)
        self.name = self.tag if source.name.lower() in _PLAIN_NAMES and self.tag else source.name

    @cached_property
    def tag(self) -> str:
        """The last field of the first row, by which a system names its run."""
        rows = (line.split() for line in self.source.head().splitlines())
        row = next((fields for fields in rows if fields and fields[0][:1] != b"#"), [])
        return row[-1].decode(errors="replace") if len(row) == len(RUN.fields) else ""

    @cached_property
    def rank_changes(self) -> ScoreChanges:
        """How the scores of the first rows change from rank to rank."""
        if self._layout is RANKED_RUN:
            return ScoreChanges()
        pairs = itertools.pairwise(sorted(self._first_ranks()))
        scores = [(a[2], b[2]) for a, b in pairs if a[0] == b[0] and a[1] < b[1]]
        return ScoreChanges(rises=sum(a < b for a, b in scores), falls=sum(a > b for a, b in scores))

    def _first_ranks(self) -> Iterator[tuple[bytes, float, float]]:
        """Yield the query, the rank and the score of the first rows."""
        for line in self.source.head().splitlines():
            fields = line.split()
            with suppress(ValueError, IndexError):  # a wrong line is reported when it is read
                yield fields[0], float(fields[3]), float(fields[4])

    def blocks(self) -> Iterator[Groups]:
        """Return the blocks of complete queries; raise ScatteredQueryError if a query appears again."""
        if self._looks_scattered():
            raise ScatteredQueryError
        return self._check_blocks(_join_batches(read_batches(self.source, self._layout)))

    def blocks_in_memory(self) -> Iterator[Groups]:
        """Return the blocks of a run whose queries are scattered over the file."""
        return self._check_blocks(group_rows(read_batches(self.source, self._layout)).split(BLOCK_ROWS))

    def _check_blocks(self, blocks: Iterable[Groups]) -> Iterator[Groups]:
        return ordered_map(lambda block: refuse_duplicates(block, self.source, self._layout), blocks)

    def _looks_scattered(self) -> bool:
        fields = (line.split(None, 1) for line in self.source.head().splitlines())
        queries = [field[0] for field in fields if field]
        changes = sum(a != b for a, b in itertools.pairwise(queries))
        return changes >= max(2, len(set(queries)))


def read_groups(source: InputFile, layout: TrecLayout) -> Groups:
    """Return all rows of a file in memory."""
    groups = group_rows(read_batches(source, layout))
    deque(ordered_map(lambda part: refuse_duplicates(part, source, layout), groups.parts), maxlen=0)
    return groups


def refuse_duplicates(groups: Groups, source: InputFile, layout: TrecLayout) -> Groups:
    """Return the same groups; raise FormatError if a document appears twice in a query."""
    if pair := groups.find_duplicate():
        _refuse_duplicate(source, layout, *pair)
    return groups


def read_batches(source: InputFile, layout: TrecLayout) -> Iterator[RowBatch]:
    """Yield the rows of the file, in order."""
    empty = True
    for batch in ordered_map(lambda chunk: _parse_chunk(chunk, layout), source.chunks()):
        if isinstance(batch, int):
            raise_line_error(source, layout, batch)
        if len(batch.ids):
            empty = False
            yield batch
    if empty:
        raise FormatError(f"expected a TREC {layout.noun}, found no rows", source.label)


def _parse_chunk(chunk: Chunk, layout: TrecLayout) -> RowBatch | int:
    """Return the rows of one chunk, or its offset if one of its lines is wrong."""
    grid = _field_ends(chunk.data, len(layout.fields))
    if grid is None:
        chunk = _normalize_chunk(chunk)
        grid = _field_ends(chunk.data, len(layout.fields))
    if grid is None or not _is_text(chunk.data):
        return chunk.offset
    lines = np.empty(len(grid), np.int64)
    lines[:1], lines[1:] = 0, grid[:-1, -1] + 1
    query = StringColumn(chunk.buffer, lines, grid[:, 0] - lines)
    starts = np.flatnonzero(~query.equals_previous())
    values = layout.read(_column(chunk.buffer, grid, layout.value))
    if np.isnan(values).any():
        return chunk.offset
    return RowBatch(query.take(starts), starts, _column(chunk.buffer, grid, 2), values)


def _column(buffer: Bytes, grid: Ints, number: int) -> StringColumn:
    starts = grid[:, number - 1] + 1
    return StringColumn(buffer, starts, grid[:, number] - starts)


def _field_ends(data: Bytes, fields: int) -> Ints | None:
    """Return the end of each field of each line, or None unless all lines are regular and complete."""
    ends = np.flatnonzero(data <= 32)
    if not len(data):
        return np.zeros((0, fields), np.int64)
    if not len(ends) or len(ends) % fields or ends[0] == 0:
        return None
    separators, rows = data[ends], len(ends) // fields
    lines = (separators[fields - 1 :: fields] == 10).all() and np.count_nonzero(separators == 10) == rows
    if not lines or np.count_nonzero(separators == 32) != rows * (fields - 1) or np.diff(ends).min() < 2:
        return None
    grid = ends.reshape(-1, fields)
    comments = data[0] == 35 or (data[grid[:-1, -1] + 1] == 35).any()
    return None if comments else grid


def _is_text(data: Bytes) -> bool:
    """Return whether the bytes are UTF-8."""
    if data.max(initial=0) < 128:
        return True
    try:
        data.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _normalize_chunk(chunk: Chunk) -> Chunk:
    """Return the same lines with one blank between fields, without comments and empty lines."""
    data = chunk.data
    is_blank = _IS_BLANK[data]
    is_gap = is_blank | (data == 10)
    is_first_blank = is_blank.copy()
    is_first_blank[1:] &= ~is_gap[:-1]
    is_first_blank[:1] = False
    data = np.where(is_blank, np.uint8(32), data)[~is_blank | is_first_blank]
    is_newline = data == 10
    keep = np.ones(len(data), np.bool_)
    keep[:-1] &= ~((data[:-1] == 32) & is_newline[1:])
    data = data[keep]
    starts = np.concatenate(([0], np.flatnonzero(data == 10) + 1))
    lengths = np.diff(starts)
    is_dropped = (lengths == 1) | (data[starts[:-1]] == 35)
    data = data[~np.repeat(is_dropped, lengths)]
    return Chunk(np.append(data, np.zeros(PAD, np.uint8)), len(data), chunk.offset)


def _join_batches(batches: Iterable[RowBatch]) -> Iterator[Groups]:
    """Yield batches that end with a complete query; raise ScatteredQueryError if a query appears again."""
    query_ids: set[str] = set()
    open_query, open_parts = "", list[tuple[StringColumn, Floats]]()
    for batch in batches:
        names = batch.queries.tolist()
        bounds = np.append(batch.starts, len(batch.ids))
        if open_parts and names[0] == open_query:
            last = int(bounds[1])
            open_parts.append((batch.ids.slice(0, last), batch.values[:last]))
            names, bounds = names[1:], bounds[1:]
        if not names:
            continue
        if open_parts:
            yield _query_groups(open_query, open_parts)
        expected_count = len(query_ids) + len(names)
        query_ids.update(names)
        if len(query_ids) != expected_count:
            raise ScatteredQueryError
        first, last, end = int(bounds[0]), int(bounds[-2]), int(bounds[-1])
        if len(names) > 1:
            yield Groups(
                names[:-1], bounds[:-1] - first, batch.ids.slice(first, last), batch.values[first:last]
            )
        open_query, open_parts = names[-1], [(batch.ids.slice(last, end), batch.values[last:end])]
    yield _query_groups(open_query, open_parts)


def _query_groups(query_id: str, parts: list[tuple[StringColumn, Floats]]) -> Groups:
    ids = parts[0][0] if len(parts) == 1 else StringColumn.concat([ids for ids, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return Groups([query_id], np.array([0, len(values)]), ids, values)


def raise_line_error(source: InputFile, layout: TrecLayout, offset: int) -> NoReturn:
    """Raise FormatError for the first wrong line from this offset on."""
    for number, line in source.lines(offset):
        if problem := _line_problem(line, layout):
            raise FormatError(problem, source.label, number)
    raise FormatError(f"is not a TREC {layout.noun} file", source.label)


def _line_problem(line: bytes, layout: TrecLayout) -> str | None:
    """Return the problem of a line, None if it is right."""
    fields = line.split()
    if not fields or line.lstrip().startswith(b"#"):
        return None
    if any(byte < 32 and byte not in b"\t\r\v\f" for byte in line):
        return f"expected text, found a control character: {quote_bytes(line)}"
    try:
        line.decode()
    except UnicodeDecodeError:
        return f"expected UTF-8 text, found other bytes: {quote_bytes(line)}"
    if len(fields) != len(layout.fields):
        field_names = " ".join(layout.fields)
        other = {len(RUN.fields): "a run", len(QRELS.fields): "qrels"}.get(len(fields))
        hint = f"; this looks like {other} (where both are given, QRELS is the first)" if other else ""
        expected = f"expected {len(layout.fields)} fields ({field_names})"
        return f"{expected}, found {len(fields)}: {quote_bytes(line)}{hint}"
    return _value_problem(fields[layout.value], layout)


def _value_problem(field: bytes, layout: TrecLayout) -> str | None:
    if not np.isnan(layout.read(StringColumn.from_strings([field.decode()]))[0]):
        return None
    if layout is QRELS:
        limit = " below 10^8" if field.lstrip(b"+-").isdigit() else ""
        return f"expected a whole number as the grade{limit}, found {quote_bytes(field)}"
    noun = layout.fields[layout.value]
    if field.lower().lstrip(b"+-") == b"nan":
        return f"the {noun} is NaN, which cannot be ranked; give a number or remove the row"
    return f"expected a number as the {noun}, found {quote_bytes(field)}"


def quote_bytes(text: bytes, limit: int = 80) -> str:
    """Return some bytes of a file in quotes, short and safe to print."""
    word = repr(text[:limit].decode(errors="replace"))
    return word if len(text) <= limit else f"{word}… ({len(text):,} bytes)"


def _refuse_duplicate(source: InputFile, layout: TrecLayout, query_id: str, doc_id: str) -> NoReturn:
    """Raise FormatError with the line on which a document appears again."""
    pair, first = (query_id.encode(), doc_id.encode()), 0
    for number, line in source.lines():
        fields = line.split()
        if len(fields) > 2 and (fields[0], fields[2]) == pair and fields[0][:1] != b"#":
            if first:
                raise FormatError(duplicate_problem(query_id, doc_id, first), source.label, number)
            first = number
    raise FormatError(duplicate_problem(query_id, doc_id), source.label)


def write(table: Qrels | Run, file: BinaryIO, label: str, file_format: Format) -> None:
    """Write qrels or a run as TREC; scores are written so that the same numbers are read again."""
    tag = "_".join(table.name.split()) or "run" if isinstance(table, Run) else ""
    for part in table.groups.parts:
        _check_ids(part, label)
        ids, values, bounds = part.ids.tolist(), part.values.tolist(), part.offsets.tolist()
        for query, first, last in zip(part.query_ids, bounds[:-1], bounds[1:], strict=True):
            docs = zip(values[first:last], ids[first:last], strict=True)
            lines = _run_lines(query, docs, tag) if tag else _qrels_lines(query, docs)
            file.write("".join(lines).encode())


def _run_lines(query: str, docs: Iterable[tuple[float, str]], tag: str) -> Iterator[str]:
    ranked = sorted(docs, reverse=True)  # by score, then by id: code points sort as UTF-8 bytes do
    return (f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for rank, (score, doc) in enumerate(ranked, 1))


def _qrels_lines(query: str, docs: Iterable[tuple[float, str]]) -> Iterator[str]:
    return (f"{query} 0 {doc} {int(grade)}\n" for grade, doc in docs)


def _check_ids(part: Groups, label: str) -> None:
    """Raise FormatError for ids that would not be one field of a line."""
    bad_id = next((query for query in part.query_ids if not _is_field(query) or query[0] in "#\ufeff"), None)
    if bad_id is None and ((part.ids.joined_bytes() <= 32).any() or not part.ids.lengths.all()):
        bad_id = next(doc for doc in part.ids.tolist() if not _is_field(doc))
    if bad_id is not None:
        problem = (
            f"a TREC file cannot hold the id {bad_id!r} (empty, with blanks, or with # at the beginning)"
        )
        raise FormatError(f"{problem}: write csv, jsonl or parquet instead", label)


def _is_field(text: str) -> bool:
    return bool(text) and min(text) > " "
