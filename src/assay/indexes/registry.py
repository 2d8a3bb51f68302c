"""The registry of engines: those of Assay by name, others by their entry point or by module:Class."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from assay.core.errors import EngineError, InputError, MissingExtraError
from assay.core.parameters import keyword_parameters, value_problems
from assay.core.suggestions import did_you_mean
from assay.indexes.engine_source import source_digest
from assay.indexes.index import FAMILIES, Index

ENTRY_POINT_GROUP = "assay.indexes"
_DISKANN_HINT = "pip install --no-deps diskannpy==0.7.0 (it pins an old NumPy, but works with a new one)"


class Engine(NamedTuple):
    """The adapter of an engine and the libraries that it needs."""

    target: str  # module:class
    libraries: tuple[str, ...]  # to install; none if the engine is a server
    extra: str
    install_hint: str = ""  # if there is no extra

    def versions(self) -> dict[str, str] | None:
        """Return the versions of the libraries, or None if one is not installed."""
        try:
            return {library: version(library) for library in self.libraries}
        except PackageNotFoundError:
            return None


def _engine(target: str, *libraries: str, install_hint: str = "") -> Engine:
    """Return an engine of the package `engines`; its extra has the name of its module."""
    return Engine(f"assay.indexes.engines.{target}", libraries, target.partition(":")[0], install_hint)


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
    "annoy": _engine("annoy:Forest", "annoy"),
    "scann": _engine("scann:Tree", "scann"),
    "diskann": _engine("diskann:Memory", "diskannpy", install_hint=_DISKANN_HINT),
    "diskann.ssd": _engine("diskann:Disk", "diskannpy", install_hint=_DISKANN_HINT),
    "ngt": _engine("ngt:Graph", "ngt"),
    "svs": _engine("svs:Vamana", "scalable-vs"),
    "vsag.hgraph": _engine("vsag:HGraph", "pyvsag"),
    "vsag.diskann": _engine("vsag:DiskANN", "pyvsag"),
    "puck": _engine("puck:Puck", "puck", install_hint="build it from its sources, with its Python module"),
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
    "elasticsearch": _engine("elasticsearch:Elasticsearch"),
    "opensearch": _engine("opensearch:OpenSearch"),
    "weaviate": _engine("weaviate:Weaviate"),
    "vespa": _engine("vespa:Vespa"),
    "redis": _engine("redis:Redis"),
    "adaptive": Engine("assay.indexes.adaptive.engine:Adaptive", ("numpy",), "adaptive"),
}


def engine_names() -> list[str]:
    """Return the names of all engines."""
    return [*ENGINES, *plugins()]


def plugins() -> dict[str, str]:
    """Return the engines of other installed packages, each with the name and version of its package."""
    points = ((point.name, point.dist) for point in entry_points(group=ENTRY_POINT_GROUP))
    return {name: f"{dist.name} {dist.version}" if dist else "" for name, dist in points}


def load_engine(name: str) -> type[Index]:
    """Return the adapter class of an engine."""
    if ":" in name:
        return _load_class(name)
    points = list(entry_points(group=ENTRY_POINT_GROUP, name=name))
    owners = ["Assay"] * (name in ENGINES) + [_owner(point) for point in points]
    if len(owners) > 1:
        raise InputError(
            f"{name} is the name of {len(owners)} engines, of {' and of '.join(owners)}: rename one"
        )
    if points:
        return _load_plugin(points[0])
    if name in ENGINES:
        return _load_builtin(name, ENGINES[name])
    hint = did_you_mean(name, engine_names()) or f"the engines are {', '.join(engine_names())}"
    raise InputError(f"there is no engine {name!r}; {hint}; a class of your own is named by module:Class")


def _load_class(target: str) -> type[Index]:
    """Return the adapter class named by module:Class, of an installed module or one in the current folder."""
    module, _, class_name = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file in the folder may have the name of a library
    try:
        return _check_adapter(getattr(import_module(module), class_name), f"the engine {target}")
    except EngineError:
        raise
    except Exception as error:
        raise InputError(
            f"the engine {target} cannot be loaded: {type(error).__name__}: {error}; expected "
            "module:Class, of a module that is installed or in the current folder"
        ) from error


def _load_plugin(point: EntryPoint) -> type[Index]:
    """Return the adapter class of an engine of another package."""
    label = f"the engine {point.name} of {_owner(point)}"
    try:
        engine = point.load()
    except Exception as error:
        raise EngineError(f"{label} cannot be loaded: {type(error).__name__}: {error}") from error
    return _check_adapter(engine, label)


def _check_adapter(engine: Any, label: str) -> type[Index]:
    """Return an adapter class; anything else, and one without its methods, is refused."""
    if not isinstance(engine, type) or not issubclass(engine, Index):
        raise EngineError(f"{label} is not an engine: expected a subclass of assay.indexes.index.Index")
    missing_methods = [name for name in ("build", "search") if getattr(engine, name) is getattr(Index, name)]
    if missing_methods:
        raise EngineError(
            f"{label} has no {' and no '.join(missing_methods)}: "
            "expected the methods build(vectors) and search(queries, k)"
        )
    if engine.family and engine.family not in FAMILIES:
        raise EngineError(
            f"{label} declares the family {engine.family!r}: expected one of {', '.join(FAMILIES)}"
        )
    return engine


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name if point.dist else 'a package'} ({point.value})"


def _load_builtin(name: str, engine: Engine) -> type[Index]:
    module, _, class_name = engine.target.partition(":")
    try:
        if engine.versions() is None and find_spec(engine.libraries[0]) is None:
            raise ModuleNotFoundError(name=engine.libraries[0])
        return getattr(import_module(module), class_name)  # type: ignore[no-any-return]
    except ImportError as error:
        if (error.name or "").startswith("assay"):
            raise
        if versions := engine.versions():
            installed_versions = " and ".join(f"{library} {version}" for library, version in versions.items())
            raise EngineError(f"{installed_versions} is installed but cannot be loaded: {error}") from error
        raise MissingExtraError(
            " and ".join(engine.libraries), f"the engine {name}", engine.extra, engine.install_hint
        ) from error


def engine_version(name: str, library_version: str = "") -> str:
    """Return the version of the library of an engine, with a digest of its source if it is not of Assay."""
    engine = load_engine(name)
    points = entry_points(group=ENTRY_POINT_GROUP, name=name)
    package = engine.package or next((point.dist.name for point in points if point.dist), "")
    source = "" if name in ENGINES else f"source {source_digest(engine)[:8]}"
    return " ".join(filter(None, [library_version or _package_version(package), source]))


def _package_version(package: str) -> str:
    """Return the version of a package, or an empty string if it is not installed."""
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


def parameter_problems(
    engine: type[Index], build: Mapping[str, Any], search: Mapping[str, Any]
) -> dict[str, str]:
    """Return what is wrong with parameters, keyed by `build.NAME` or `search.NAME`."""
    messages: dict[str, str] = {}
    for kind, values, call in (("build", build, engine.__init__), ("search", search, engine.set_search)):
        known_parameters = keyword_parameters(call)
        messages |= {
            f"{kind}.{name}": message for name, message in value_problems(values, known_parameters).items()
        }
    return messages
