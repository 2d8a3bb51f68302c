"""A first assay.toml, made of what lies in a folder and what the environment names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.core.errors import AssayError, InputError
from assay.core.tables import Queries, Run
from assay.datasets import Collection, helpcentre, read, write
from assay.datasets.formats import kind_of_table
from assay.project.project import FILE

BUILT_IN = "helpcentre"  # the folder of the collection that comes with Assay
_TABLES = ("qrels", "queries", "documents")  # judgments first: what lies with them need not be named
_MOST = 200  # files that are looked at
_LARGEST = 256 << 20  # bytes of one
_SKIPPED = ("node_modules", "journals", "embeddings", "__pycache__")


@dataclass
class Found:
    """What lies in a folder: paths from there on; and the names of the environment that lead to a search."""

    qrels: str | None = None
    queries: str | None = None  # None: they lie with the judgments, or nowhere
    documents: str | None = None
    runs: list[str] = field(default_factory=list)  # the oldest first
    others: list[str] = field(default_factory=list)  # that would have done as well
    endpoints: list[str] = field(default_factory=list)
    asked: bool = False  # there are queries with texts
    searched: bool = False  # there are documents
    built_in: bool = False  # all of it came with Assay, so no endpoint has these documents

    def put(self, path: str, tables: Collection | Run) -> None:
        """Take up what a file or a folder has, unless there is the like already."""
        if isinstance(tables, Run):
            self.runs.append(path)
            return
        there = [name for name in _TABLES if getattr(tables, name) is not None]
        if not [name for name in there if self._take(name, path)]:
            self.others.append(path)

    def _take(self, name: str, path: str) -> bool:
        known = {"qrels": bool(self.qrels), "queries": self.asked, "documents": self.searched}
        if known[name]:
            return False
        self.asked |= name == "queries"
        self.searched |= name == "documents"
        if path != self.qrels:
            setattr(self, name, path)
        return True


def look(folder: str | Path) -> Found:
    """What lies in a folder and in the folders in it, and which endpoints the environment names."""
    folder, made = Path(folder), Found()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, found a file")
    made.endpoints = [name for name in ENDPOINTS if os.environ.get(name)]
    places = sorted(_folders(folder), key=lambda place: place != folder)
    whole = [place for place in places if _judged(place)]
    for place in whole[:1]:
        made.put(place.relative_to(folder).as_posix(), _tables(place) or Collection())
    files = [path for place in places for path in sorted(place.iterdir()) if _is_readable(path)]
    for path in [path for path in files if not _is_stage(path)][:_MOST]:
        tables = _tables(path)
        if isinstance(tables, Run) or (tables is not None and path.parent not in whole):
            made.put(path.relative_to(folder).as_posix(), tables)
    made.runs.sort(key=lambda name: ((folder / name).stat().st_mtime, name))
    return made


def _is_stage(path: Path) -> bool:
    """Whether a run is but a stage of a pipeline, as `assay run` leaves them beside its figures."""
    found = re.fullmatch(r"(.+)\.\d+-[\w.-]+\.run", path.name)
    return found is not None and path.with_name(f"{found[1]}.figures.json").exists()


def _folders(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    yield folder
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.name.startswith(".") and path.name not in _SKIPPED:
            yield path


def _is_readable(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and path.stat().st_size <= _LARGEST


def _judged(place: Path) -> bool:
    """Whether a folder is a collection with queries and judgments."""
    tables = _tables(place)
    return isinstance(tables, Collection) and None not in (tables.queries, tables.qrels)


def _tables(path: Path) -> Collection | Run | None:
    """What a file or a folder has; None where it is nothing of ours."""
    try:
        found = read(path)
    except (AssayError, OSError):
        return None
    if isinstance(found, Collection | Run):
        return found
    if isinstance(found, Queries) and "text" not in found.columns:
        return None  # there is nothing to ask
    return Collection(**{kind_of_table(found): found})  # type: ignore[arg-type]


def write_built_in(folder: str | Path) -> Found:
    """Write the collection that comes with Assay into a folder in which nothing was found."""
    queries, qrels, documents = helpcentre()
    Path(folder).mkdir(parents=True, exist_ok=True)
    write(Collection(queries, qrels, documents), Path(folder) / BUILT_IN, format="beir")
    return Found(qrels=BUILT_IN, asked=True, searched=True, built_in=True)


def settings(found: Found) -> str:
    """The text of the assay.toml."""
    systems = _systems(found)
    return "\n".join(
        [_HEAD, _data(found), *systems.values(), *_others(found), _RUN, _gate(found, list(systems))]
    )


def runs_at_once(found: Found) -> bool:
    """Whether `assay run` has something to run."""
    return bool(_systems(found))


def gates(found: Found) -> bool:
    """Whether `assay gate` has two runs, now or once `assay run` has left them."""
    return _pair(found, list(_systems(found))) is not None


def _data(found: Found) -> str:
    named = {name: getattr(found, name) for name in _TABLES}
    lines = ["[data]", *(f"{name} = {json.dumps(path)}" for name, path in named.items() if path)]
    lines += [f"# also found: {name}" for name in found.others]
    return "\n".join(lines) + "\n"


def _systems(found: Found) -> dict[str, str]:
    """The systems that can be run as they are, by name."""
    made = dict(_OWN) if found.asked and found.searched else {}
    ready = [name for name in found.endpoints if ENDPOINTS[name][1] and found.asked and not found.built_in]
    return made | {name.lower(): _endpoint(name) for name in ready}


def _endpoint(name: str) -> str:
    """What to write for an endpoint; where its address has a query already, ours goes on from there."""
    text = ENDPOINTS[name][0]
    return text.replace("}?", "}&") if "?" in os.environ.get(name, "") else text


def _others(found: Found) -> list[str]:
    """What has to be completed first, as comments."""
    there = _systems(found)
    texts = [_endpoint(name) for name in found.endpoints if name.lower() not in there]
    return [
        _commented(text) for text in [*texts, *(text for name, text in _OWN.items() if name not in there)]
    ]


def _commented(text: str) -> str:
    return "".join(f"{'' if line.startswith('#') else '# '}{line}\n" for line in text.splitlines())


def _pair(found: Found, systems: list[str]) -> tuple[str, str] | None:
    """The baseline and the candidate: runs that are there, or those that `assay run` leaves."""
    if not found.qrels:
        return None
    if len(found.runs) > 1:
        return found.runs[0], found.runs[-1]
    return (f"runs/{systems[0]}.run", f"runs/{systems[-1]}.run") if len(systems) > 1 else None


def _gate(found: Found, systems: list[str]) -> str:
    pair = _pair(found, systems)
    text = _GATE.format(*map(json.dumps, pair or ("runs/old.run", "runs/new.run")))
    return text if pair else _commented(text)


_HEAD = f"""# {FILE}, written by `assay init`. Paths are from this file on; docs/systems.md has every setting.
"""
_RUN = """# How systems are asked; these are the defaults.
[run]
k = 100                       # documents for each query
concurrency = 8               # queries at a time
timeout = 30                  # seconds for one attempt
retries = 2                   # of what may go better again
"""
_GATE = """# What `assay gate` decides: may the candidate take the place of the baseline?
[baseline]
run = {0}

[candidate]
run = {1}

[[gate.rules]]
measure = "nDCG@10"
no_worse_than = 0.02
"""
_OWN = {
    "bm25": """# By words, in memory.
[systems.bm25]
kind = "bm25"
""",
    "vectors": """# By vectors: any encoder of [models.NAME], any engine of `assay bench`.
[systems.vectors]
kind = "index"
encoder = "lsa"
""",
    "hybrid": """# Both, fused by their ranks.
[systems.hybrid]
retrieve = ["bm25", "vectors"]
depth = 100
""",
}
_DSL = """# A search by words over all fields.
[systems.{0}]
kind = "{1}"
url = "${{{2}}}"
index = "_all"                # better: the name of yours
"""
ENDPOINTS: Mapping[str, tuple[str, bool]] = {  # what to write, and whether it runs as it is
    "ASSAY_ENDPOINT": (
        """# Asked by GET; expected: {"hits": [{"id": …, "score": …}, …]}, best first.
[systems.assay_endpoint]
kind = "http"
url = "${ASSAY_ENDPOINT}?q={query}&k={k}"
ids = "$.hits[*].id"
scores = "$.hits[*].score"
""",
        True,
    ),
    "OPENSEARCH_URL": (_DSL.format("opensearch_url", "opensearch", "OPENSEARCH_URL"), True),
    "ELASTICSEARCH_URL": (_DSL.format("elasticsearch_url", "elasticsearch", "ELASTICSEARCH_URL"), True),
    "QDRANT_URL": (
        """# Say which collection, and which encoder made its vectors.
[systems.qdrant]
kind = "qdrant"
url = "${QDRANT_URL}"
collection = "…"
encoder = "…"
""",
        False,
    ),
    "DATABASE_URL": (
        """# Say how your database is searched: rows of an id and a score, best first.
[systems.database]
kind = "sql"
url = "${DATABASE_URL}"
statement = "SELECT id, … FROM … ORDER BY 2 DESC LIMIT :k"
""",
        False,
    ),
}
