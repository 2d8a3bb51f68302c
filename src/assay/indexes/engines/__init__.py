"""The engines, one file each, loaded when they are named; others come by the entry point `assay.indexes`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.core.parameters import Parameter, parameters, wrong
from assay.indexes.index import Index

__all__ = ["ENGINES", "GROUP", "Engine", "Parameter", "load", "names", "others", "parameters", "problems"]

GROUP = "assay.indexes"
_ALONE = "pip install --no-deps diskannpy==0.7.0 (it pins an old NumPy, and works with the new)"


class Engine(NamedTuple):
    """Where an engine is found, and what it needs."""

    home: str  # module:class
    libraries: tuple[str, ...]  # what is to be installed; nothing where a server is asked
    extra: str
    how: str = ""  # to install it, where no extra does

    def versions(self) -> dict[str, str] | None:
        """The versions of the libraries; None where one is not installed."""
        try:
            return {library: version(library) for library in self.libraries}
        except PackageNotFoundError:
            return None


def _engine(home: str, *libraries: str, how: str = "") -> Engine:
    return Engine(home, libraries, home.partition(":")[0], how)


ENGINES: dict[str, Engine] = {
    "faiss.flat": _engine("faiss:Flat", "faiss-cpu"),
    "faiss.hnsw": _engine("faiss:HNSW", "faiss-cpu"),
    "faiss.ivfflat": _engine("faiss:IVFFlat", "faiss-cpu"),
    "faiss.ivfpq": _engine("faiss:IVFPQ", "faiss-cpu"),
    "faiss.ivfsq": _engine("faiss:IVFSQ", "faiss-cpu"),
    "faiss.fastscan": _engine("faiss:FastScan", "faiss-cpu"),
    "faiss.rabitq": _engine("faiss:RaBitQ", "faiss-cpu"),
    "faiss.nsg": _engine("faiss:NSG", "faiss-cpu"),
    "hnswlib": _engine("hnswlib:HNSW", "hnswlib"),
    "usearch": _engine("usearch:HNSW", "usearch"),
    "voyager": _engine("voyager:HNSW", "voyager"),
    "nmslib": _engine("nmslib:HNSW", "nmslib"),
    "annoy": _engine("annoy:Forest", "annoy"),
    "scann": _engine("scann:Tree", "scann"),
    "diskann": _engine("diskann:Memory", "diskannpy", how=_ALONE),
    "diskann.ssd": _engine("diskann:Disk", "diskannpy", how=_ALONE),
    "ngt": _engine("ngt:Graph", "ngt"),
    "svs": _engine("svs:Vamana", "scalable-vs"),
    "symphonyqg": _engine("symphonyqg:Graph", "rabitqlib"),
    "pynndescent": _engine("pynndescent:Descent", "pynndescent"),
    "vsag.hgraph": _engine("vsag:HGraph", "pyvsag"),
    "vsag.diskann": _engine("vsag:DiskANN", "pyvsag"),
    "zvec": _engine("zvec:HNSW", "zvec"),
    "puck": _engine("puck:Puck", "puck", how="build it from its sources, with its Python module"),
    "milvus": _engine("milvus:Milvus", "pymilvus"),
    "pgvector.hnsw": _engine("pgvector:HNSW", "psycopg"),
    "pgvector.ivfflat": _engine("pgvector:IVFFlat", "psycopg"),
    "qdrant": _engine("qdrant:Server"),
    "qdrant.edge": _engine("qdrant:Edge", "qdrant-edge-py"),
    "chroma": _engine("chroma:Chroma", "chromadb"),
    "lancedb.ivfpq": _engine("lancedb:IVFPQ", "lancedb"),
    "lancedb.hnsw": _engine("lancedb:HNSW", "lancedb"),
    "duckdb": _engine("duckdb:HNSW", "duckdb", "duckdb-extension-vss"),
    "sqlite-vec": _engine("sqlitevec:Flat", "sqlite-vec", "apsw"),
    "vectorlite": _engine("vectorlite:HNSW", "vectorlite-py", "apsw"),
    "elasticsearch": _engine("elasticsearch:Elasticsearch"),
    "opensearch": _engine("opensearch:OpenSearch"),
    "weaviate": _engine("weaviate:Weaviate"),
    "vespa": _engine("vespa:Vespa"),
    "redis": _engine("redis:Redis"),
    "adaptive": _engine("adaptive:Adaptive", "numpy"),
}


def names() -> list[str]:
    """Every engine that can be named."""
    return [*ENGINES, *others()]


def others() -> dict[str, str]:
    """The engines of installed packages, with the name and version of each package."""
    found = ((point.name, point.dist) for point in entry_points(group=GROUP))
    return {name: f"{dist.name} {dist.version}" if dist else "" for name, dist in found}


def load(name: str) -> type[Index]:
    """The class of an engine."""
    points = list(entry_points(group=GROUP, name=name))
    homes = ["Assay"] * (name in ENGINES) + [_whose(point) for point in points]
    if len(homes) > 1:
        raise InputError(f"{name} names {len(homes)} engines, of {' and of '.join(homes)}: rename one")
    if points:
        return _foreign(points[0])
    if name in ENGINES:
        return _own(name, ENGINES[name])
    near = get_close_matches(name, names(), n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names())}"
    raise InputError(f"there is no engine {name!r}; {hint}")


def _foreign(point: EntryPoint) -> type[Index]:
    """The class of an engine of another package."""
    whose = f"the engine {point.name} of {_whose(point)}"
    try:
        found = point.load()
    except Exception as error:
        raise EngineError(f"{whose} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, type) or not issubclass(found, Index):
        raise EngineError(f"{whose} is no engine: expected a class made from assay.indexes.index.Index")
    lacks = [name for name in ("build", "search") if getattr(found, name) is getattr(Index, name)]
    if lacks:
        raise EngineError(
            f"{whose} has no {' and no '.join(lacks)}: expected build(vectors) and search(queries, k)"
        )
    return found


def _whose(point: EntryPoint) -> str:
    return f"{point.dist.name if point.dist else 'a package'} ({point.value})"


def _own(name: str, engine: Engine) -> type[Index]:
    module, _, found = engine.home.partition(":")
    try:
        if engine.versions() is None and find_spec(engine.libraries[0]) is None:
            raise ModuleNotFoundError(name=engine.libraries[0])
        return getattr(import_module(f"{__name__}.{module}"), found)  # type: ignore[no-any-return]
    except ImportError as error:
        if (error.name or "").startswith("assay"):
            raise
        if versions := engine.versions():
            there = " and ".join(f"{library} {version}" for library, version in versions.items())
            raise EngineError(f"{there} is installed and cannot be loaded: {error}") from error
        raise MissingExtraError(
            " and ".join(engine.libraries), f"the engine {name}", engine.extra, engine.how
        ) from error


def problems(engine: type[Index], build: Mapping[str, Any], search: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with parameters, each by `build.NAME` or `search.NAME`."""
    made: dict[str, str] = {}
    for kind, given, call in (("build", build, engine.__init__), ("search", search, engine.set_search)):
        known = parameters(call)
        made |= {f"{kind}.{name}": said for name, said in wrong(given, known).items()}
    return made
