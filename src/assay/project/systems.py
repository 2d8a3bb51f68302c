"""The systems of an assay.toml: searches and models by name, each made when it is asked for, and once.

[models.NAME]   kind, and its parameters: an encoder, or a reranker
[systems.NAME]  kind, and its parameters; or `retrieve`, a list of other systems: a pipeline
[run]           how they are asked: k, concurrency, timeout, retries, rate
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import AssayError, ConfigurationError, InputError, MissingExtraError
from assay.core.secrets import is_written, means_secret
from assay.core.settings import Fields, is_number
from assay.core.tables import Documents, Qrels, Queries
from assay.models.cache import Cached
from assay.models.encoder import Encoder
from assay.models.kinds import ENCODERS, RERANKERS, encoder, reranker
from assay.models.reranker import Reranker
from assay.project.inputs import Inputs, tables
from assay.project.project import FILE, TABLES
from assay.project.settings import read_settings
from assay.search.fusion import Fuse
from assay.search.pipeline import Filter, Pipeline, Rerank, Retrieve, Step
from assay.search.running import Options
from assay.search.searcher import Searcher
from assay.search.systems import made

EMBEDDINGS = "embeddings"  # the folder of vectors that were made, beside the results


@dataclass(frozen=True)
class Data:
    """What is searched with and in, and what is known to be right."""

    queries: Queries
    qrels: Qrels | None
    documents: Documents | None


@dataclass
class _Named:
    """Where tables are, as the inputs ask for it."""

    qrels: str
    queries: str | None
    documents: str | None
    columns: list[str]
    formats: list[str]
    runs: list[str] = field(default_factory=list)


class _Kept(Cached):
    """Vectors of documents are kept; a query is encoded whenever it is asked, as where people search."""

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text."""
        return self.encoder.vectors(texts, role) if role == "query" else super().vectors(texts, role)


class Systems:
    """The systems that a file describes."""

    def __init__(self, path: str | Path = FILE, embeddings: str | Path | None = None) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"there is no {path}: `assay init` writes one, or name another with --project")
        fields = Fields(read_settings(self.path), "")
        self._embeddings = embeddings
        self._systems = _tables(fields.inner("systems"))
        self._models = _tables(fields.inner("models"))
        self.options = _options(fields.inner("run"))
        named = _named(fields.inner("data"), self.path.parent)
        fields.seen.update(TABLES)
        fields.done()
        if fields.problems:
            raise ConfigurationError(fields.problems, str(self.path))
        self.data = _opened(named, self.path)
        self._made: dict[str, Searcher] = {}
        self._encoders: dict[str, Encoder] = {}

    @property
    def names(self) -> list[str]:
        """Every system, in the order of the file."""
        return list(self._systems)

    def chosen(self, names: list[str]) -> list[str]:
        """The systems of these names, or all; an error where one is not there, or there are none."""
        if not self._systems:
            raise InputError(f"{self.path}: expected [systems.NAME], found none; see docs/systems.md")
        for name in names:
            self._settings(name)
        return list(dict.fromkeys(names)) or self.names

    def searcher(self, name: str) -> Searcher:
        """The system of a name."""
        if name not in self._made:
            given = dict(self._settings(name))
            with _placed(f"systems.{name}", str(self.path)):
                self._made[name] = (
                    self._pipeline(name, given) if "retrieve" in given else self._one(name, given)
                )
        return self._made[name]

    def exact(self, name: str) -> Searcher | None:
        """The system that looks at every vector where this one has an index; None where it has none."""
        given, twin = self._settings(name), f"{name}, exact"
        if given.get("kind") != "index" or given.get("engine", "exact") == "exact":
            return None
        if twin not in self._made:
            kept = {field: given[field] for field in ("kind", "encoder", "metric") if field in given}
            self._made[twin] = self._one(twin, kept)
        return self._made[twin]

    def close(self) -> None:
        """Close every system that was made, and every encoder."""
        for searcher in self._made.values():
            searcher.close()
        for made_by in self._encoders.values():
            made_by.close()

    def _settings(self, name: str) -> Mapping[str, Any]:
        if name not in self._systems:
            raise ConfigurationError(
                {f"systems.{name}": _absent("system", name, self._systems)}, str(self.path)
            )
        return self._systems[name]

    def _one(self, name: str, given: dict[str, Any]) -> Searcher:
        kind = given.pop("kind", None)
        if not isinstance(kind, str):
            raise ConfigurationError(_no_kind(given))
        with_model = given.pop("encoder", None)
        made_by = None if with_model is None else self._encoder(with_model)
        if kind in ("callable", "command", "sql"):
            given.setdefault("folder", ".")
        self._from_here(given)
        if kind == "command":
            _refuse_secrets(given.get("command"))
        return made(kind, name, given, documents=self.data.documents, encoder=made_by)

    def _from_here(self, given: dict[str, Any]) -> None:
        """Folders are from the file on, as all paths in it."""
        if isinstance(given.get("folder"), str):
            given["folder"] = str(self.path.parent / given["folder"])

    def _pipeline(self, name: str, given: dict[str, Any]) -> Pipeline:
        fields = Fields(given, "")
        depth = fields.count("depth", 100, 1)
        sources = [
            Retrieve(self._source(name, one), depth) for one in fields.texts("retrieve", "names of systems")
        ]
        fuse, steps = self._fuse(fields), self._steps(fields)
        fields.one_of("kind", ("pipeline",), "pipeline")
        fields.done()
        if fields.problems:
            raise ConfigurationError(fields.problems)
        return Pipeline(name, sources, fuse, steps)

    def _source(self, name: str, source: str) -> Searcher:
        if source == name:
            raise ConfigurationError({"retrieve": f"{name} names itself: name other systems"})
        if source not in self._systems:
            raise ConfigurationError({"retrieve": _absent("system", source, self._systems)})
        if "retrieve" in self._systems[source]:
            raise ConfigurationError({"retrieve": f"{source} is a pipeline itself: name the systems it has"})
        return self.searcher(source)

    def _fuse(self, fields: Fields) -> Fuse | None:
        inner = fields.inner("fuse")
        if not inner.given:
            return None
        by = inner.one_of("by", ("rrf", "weighted"), "rrf")
        k = inner.number("k", "a number above 0", lambda v: v > 0, 60.0)
        weights = inner.take("weights", "a list of numbers", _is_numbers, None)
        normalise = inner.one_of("normalise", ("minmax", "zscore", "none"), "minmax")
        inner.done()
        return Fuse(by, k=k, weights=weights, normalise=normalise)

    def _steps(self, fields: Fields) -> list[Step]:
        found: list[Step] = []
        wanted, ranked = fields.inner("filter"), fields.inner("rerank")
        if wanted.given:
            found.append(self._filter(wanted))
        if ranked.given:
            found.append(self._rerank(ranked))
        return found

    def _filter(self, fields: Fields) -> Filter:
        of, column = fields.text("of", "a column of the documents") or "", fields.text("column")
        fields.seen.add("equals")  # of whatever type
        fields.done()
        documents, asked = self._documents("a filter"), self.data.queries.columns
        if of not in documents.columns:
            raise ConfigurationError({"filter.of": _absent("column", of, documents.columns)})
        if column is not None and column not in asked:
            raise ConfigurationError({"filter.column": _absent("column", column, asked)})
        values = dict(zip(documents.ids, documents.columns[of], strict=True))
        return Filter(values, of, equals=fields.given.get("equals"), column=column)

    def _rerank(self, fields: Fields) -> Rerank:
        model, depth = fields.text("model", "the name of a model") or "", fields.count("depth", 50, 1)
        fields.done()
        texts = self._documents("a reranker").texts()
        return Rerank(self._reranker(model), texts, depth)

    def _documents(self, who: str) -> Documents:
        if self.data.documents is None:
            raise ConfigurationError({"data.documents": f"must be given: {who} needs them"})
        return self.data.documents

    def _model(self, name: Any, kinds: Mapping[str, Any], field: str) -> tuple[str, dict[str, Any]]:
        """The kind and the parameters of a model; a kind without parameters need not be written down."""
        if name not in (known := {**{kind: {"kind": kind} for kind in kinds}, **self._models}):
            raise ConfigurationError({field: _absent("model", name, known)})
        given = dict(known[name])
        kind = given.pop("kind", None)
        if not isinstance(kind, str):
            raise ConfigurationError({f"models.{name}.kind": f"expected one of {', '.join(kinds)}"})
        return kind, given

    def _encoder(self, name: Any) -> Encoder:
        """The encoder of a name, with what it has learnt; vectors it made before are kept on disk."""
        if name not in self._encoders:
            kind, given = self._model(name, ENCODERS, "encoder")
            self._from_here(given)
            with _placed(f"models.{name}"):
                made_by = encoder(kind, **given)
            if self.data.documents is not None:
                made_by.fit(list(self.data.documents.texts().values()))
            self._encoders[name] = _Kept(made_by, self._embeddings) if self._embeddings else made_by
        return self._encoders[name]

    def _reranker(self, name: str) -> Reranker:
        kind, given = self._model(name, RERANKERS, "rerank.model")
        with _placed(f"models.{name}"):
            first = given.pop("encoder", None)
            return reranker(kind, None if first is None else self._encoder(first), **given)


@contextmanager
def _placed(where: str, path: str = "") -> Iterator[None]:
    """Whatever is wrong with a table is said with its place in the file."""
    try:
        yield
    except ConfigurationError as error:
        known = (where, "systems.", "models.", "data.")
        found = {n if n.startswith(known) else f"{where}.{n}": said for n, said in error.problems.items()}
        raise ConfigurationError(found, path) from None
    except MissingExtraError:
        raise
    except InputError as error:
        raise ConfigurationError({where: str(error)}, path) from None


def _absent(noun: str, name: Any, there: Iterable[str]) -> str:
    near = get_close_matches(str(name), there, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(there) or 'none'}"
    return f"there is no {noun} {name!r}; {hint}"


def _no_kind(given: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a system that has no kind: it may have been meant for a pipeline."""
    near = get_close_matches("retrieve", given, n=1)
    if near:
        return {near[0]: "there is no such setting; did you mean retrieve?"}
    return {"kind": "expected the kind of system, such as bm25, index or http; a pipeline has retrieve"}


def _refuse_secrets(command: Any) -> None:
    """Refuse a command with a secret in its words, behind an option or an equals sign."""
    words = shlex.split(command) if isinstance(command, str) else command
    texts = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    for word, after in pairwise([*texts, ""]):
        name, equals, value = word.partition("=")
        option = name.startswith("-") and not after.startswith("-")
        told = value if equals else after * option
        if means_secret(name) and is_written(told) and not told.startswith("$"):
            said = f"what follows {name} is a secret: the command has the environment, let it read it there"
            raise ConfigurationError({"command": said})


def _tables(fields: Fields) -> dict[str, Mapping[str, Any]]:
    for name in fields.given:
        if not re.fullmatch(r"\w[\w.-]*", name):
            fields.wrong(name, "expected a name of letters, digits, dots and dashes: files are named by it")
    return {name: fields.inner(name).given for name in fields.given}


def _options(fields: Fields) -> Options:
    """How systems are asked."""
    rate = fields.take("rate", "requests a second, above 0", lambda v: is_number(v) and v > 0, None)
    made_of = Options(
        k=fields.count("k", 100, 1),
        concurrency=fields.count("concurrency", 8, 1),
        timeout=fields.number("timeout", "seconds above 0", lambda v: v > 0, 30.0),
        retries=fields.count("retries", 2),
        rate=None if rate is None else float(rate),
    )
    fields.done()
    return made_of


def _named(fields: Fields, folder: Path) -> _Named:
    """Where the data is, from the folder of the file on."""
    places = {name: fields.text(name, "a path") for name in ("qrels", "queries", "documents")}
    where = {name: None if place is None else str(folder / place) for name, place in places.items()}
    columns, formats = fields.texts("columns", "NAME=COLUMN"), fields.texts("from", "KIND=FORMAT")
    fields.done()
    return _Named(where["qrels"] or "", where["queries"], where["documents"], columns, formats)


def _opened(named: _Named, path: Path) -> Data:
    """The data; judgments may be missing, queries may not."""
    try:
        if named.qrels:
            qrels, queries, documents, _ = Inputs.of(named)
        else:
            qrels, (queries, documents) = None, tables(named)
    except AssayError as error:
        raise InputError(f"{path}: {error}") from None
    if queries is None or "text" not in queries.columns:
        said = "expected queries with a column text, found none"
        raise ConfigurationError({"data.queries": said}, str(path))
    return Data(queries, qrels, documents)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(is_number(one) for one in value)
