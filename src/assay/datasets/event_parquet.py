"""Large logs, normalised to Parquet in bounded memory: each part has all events of its queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from assay.core.errors import FormatError
from assay.core.events import QUERY_SCHEMA, Place, Problem
from assay.datasets.event_records import event_files
from assay.datasets.ubi import RAW_EVENT_SCHEMA, LogFile, collect_rows, join_events, nothing_found
from assay.datasets.ubi_log.joined import count_ordinal_bases, majority_of
from assay.datasets.ubi_log.problem_log import ProblemLog

_PART_BYTES = 128 << 20  # of the log, so that the rows of one part fit in memory
_COMPRESSED = (".gz", ".zst", ".zip", ".parquet")
_RATIO = 6  # how much larger a compressed log is assumed to be
PROBLEMS_FILE = "problems.json"
_EXAMPLES = 100  # places of each problem that are written


def log_size(sources: Iterable[LogFile]) -> int:
    """Return about how many bytes of text logs have."""
    files = [file.path for source in sources for file in event_files(source)]
    sizes = ((path, Path(path).stat().st_size) for path in files if path != "-" and Path(path).is_file())
    return sum(size * (_RATIO if path.endswith(_COMPRESSED) else 1) for path, size in sizes)


def normalise_log(
    sources: Iterable[LogFile], folder: Path, columns: Mapping[str, str] | None = None, parts: int = 0
) -> tuple[Problem, ...]:
    """Write the queries and events of logs as Parquet in `folder`/queries and `folder`/events.

    The rows are first divided by their query into parts, then each part is joined by itself, so that memory
    is bounded by the size of a part. The problems are returned, and written to problems.json.
    """
    sources = list(sources)
    problems = ProblemLog()
    count = parts or 1 + log_size(sources) // _PART_BYTES
    _make_empty(folder)
    with TemporaryDirectory(dir=folder) as scratch:
        raw = {name: _Parts(Path(scratch) / name, count) for name in ("events", "queries")}
        collect_rows(sources, problems, raw["events"].write, raw["queries"].write, columns)
        if not any(part.is_written for part in raw.values()):
            raise nothing_found(problems, sources[0])
        bases = majority_of(pl.concat([count_ordinal_bases(raw["events"].read(n)) for n in range(count)]))
        for number in range(count):
            joined = join_events(raw["events"].read(number), raw["queries"].read(number), problems, bases)
            joined.frame.write_parquet(folder / "events" / f"part-{number:05}.parquet")
            joined.queries.write_parquet(folder / "queries" / f"part-{number:05}.parquet")
    found = problems.problems()
    (folder / PROBLEMS_FILE).write_text(
        json.dumps([_to_json(p) for p in found], ensure_ascii=False, indent=1)
    )
    return found


def _make_empty(folder: Path) -> None:
    """Make the folder; it may hold nothing but an earlier normalised log."""
    others = [p.name for p in folder.iterdir()] if folder.is_dir() else []
    if {*others} - {"events", "queries", PROBLEMS_FILE}:
        raise FormatError(
            "expected an empty folder, or one with a normalised log, found other files", str(folder)
        )
    for name in ("events", "queries"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for file in (folder / name).glob("part-*.parquet"):
            file.unlink()


class _Parts:
    """Rows on disk, divided by their query."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self.schema = RAW_EVENT_SCHEMA if folder.name == "events" else QUERY_SCHEMA
        self.blocks = 0
        for number in range(count):
            (folder / str(number)).mkdir(parents=True)

    @property
    def is_written(self) -> bool:
        return self.blocks > 0

    def write(self, rows: pl.DataFrame) -> None:
        key = pl.coalesce("query_id", "session_id", "client_id", pl.lit("")).hash() % self.count
        for (number,), part in rows.group_by(key.alias("part"), maintain_order=True):
            part.drop("part", strict=False).write_ipc(
                self.folder / str(number) / f"{self.blocks:06}.arrow", compression="lz4"
            )
        self.blocks += 1

    def read(self, number: int) -> pl.DataFrame:
        """Return the rows of a part, in the order of the log."""
        files = sorted((self.folder / str(number)).glob("*.arrow"))
        empty = pl.DataFrame(schema=self.schema)
        return pl.concat([empty, *(pl.read_ipc(file) for file in files)])


def _to_json(problem: Problem) -> dict[str, Any]:
    return {
        "kind": problem.kind,
        "count": problem.count,
        "treatment": problem.treatment,
        "places": [list(place) for place in problem.places[:_EXAMPLES]],
    }


def read_problems(folder: Path) -> tuple[Problem, ...]:
    """Return the problems of a log that `normalise_log` wrote; none if the folder has no such file."""
    file = folder / PROBLEMS_FILE
    if not file.is_file():
        return ()
    try:
        return tuple(
            Problem(p["kind"], p["count"], p["treatment"], [Place(*place) for place in p["places"]])
            for p in json.loads(file.read_text())
        )
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"expected the problems of a normalised log: {error}", str(file)) from None
