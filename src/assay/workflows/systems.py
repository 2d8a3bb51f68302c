"""The search systems of an assay.toml: searchers and models by name, each built once, when it is needed.

[models.NAME]   kind and its parameters: an encoder or a reranker
[systems.NAME]  kind and its parameters, or `retrieve`, a list of other systems: a pipeline;
                and `price_per_query`
[run]           how queries are sent: k, concurrency, timeout, retries, rate
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import AssayError, ConfigurationError, InputError, MissingExtraError
from assay.core.settings import SettingsReader, is_number
from assay.core.suggestions import did_you_mean
from assay.core.tables import Documents, Qrels, Queries
from assay.models.embedding_cache import EmbeddingCache
from assay.models.encoder import Encoder
from assay.models.registry import ENCODERS, RERANKERS, load_encoder, load_reranker
from assay.models.reranker import Reranker
from assay.remote.secrets import is_literal, is_secret_field
from assay.search.fusion import Fusion
from assay.search.pipeline import FilterStep, Pipeline, PipelineStep, RerankStep, RetrievalSource
from assay.search.registry import build_searcher, takes_folder
from assay.search.run_queries import RunOptions
from assay.search.searcher import Searcher
from assay.workflows.inputs import TableFiles
from assay.workflows.project import TABLES, read_table_files
from assay.workflows.settings import PROJECT_FILE, read_project_settings

DEFAULT_FOLDER = "runs"
EMBEDDINGS = "embeddings"  # the folder of cached embeddings, in the folder of the results


def results_folder(project: str | Path, out: str | Path | None = None) -> Path:
    """Return the folder of the results of a project: `out`, or `runs` next to the project."""
    return Path(project).parent / DEFAULT_FOLDER if not out else Path(out)


@dataclass(frozen=True)
class SearchData:
    """The queries to search with, the documents to search in, and the judgments."""

    queries: Queries
    qrels: Qrels | None
    documents: Documents | None


@dataclass(frozen=True, kw_only=True)
class OptionOverrides:
    """The settings of [run] that a request replaces; None keeps the setting of the project."""

    k: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    rate: float | None = None
    retry_failed: bool = False
    restart: bool = False

    def apply(self, options: RunOptions) -> RunOptions:
        """Return the options with the settings of this request."""
        names = ("k", "concurrency", "timeout", "retries", "rate")
        settings = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(options, **settings, retry_failed=self.retry_failed, restart=self.restart)


class _DocumentEmbeddingCache(EmbeddingCache):
    """A cache of the embeddings of documents; a query is encoded each time, as in a live search."""

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text."""
        return self.encoder.vectors(texts, role) if role == "query" else super().vectors(texts, role)


class SearchSystems:
    """The search systems that a project describes."""

    def __init__(self, path: str | Path = PROJECT_FILE, embeddings: str | Path | None = None) -> None:
        self.path = Path(path)
        reader = SettingsReader(read_project_settings(self.path), "")
        self._embeddings = embeddings
        self._systems = _read_tables(reader.table("systems"))
        self._models = _read_tables(reader.table("models"))
        self.options = _read_options(reader.table("run"))
        data = reader.table("data")
        files = read_table_files(data, self.path.parent)
        data.refuse_unknown()
        reader.names_read.update(TABLES)
        reader.refuse_unknown()
        if reader.problems:
            raise ConfigurationError(reader.problems, str(self.path))
        self.data = _open_data(files, self.path)
        self._searchers: dict[str, Searcher] = {}
        self._encoders: dict[str, Encoder] = {}

    @property
    def names(self) -> list[str]:
        """The names of all systems, in the order of the file."""
        return list(self._systems)

    def select_names(self, names: list[str]) -> list[str]:
        """Return these names, each once, or all names; an unknown name or an empty project is an error."""
        if not self._systems:
            raise InputError(f"{self.path}: expected [systems.NAME], found none; see docs/systems.md")
        for name in names:
            self._settings(name)
        return list(dict.fromkeys(names)) or self.names

    def searcher(self, name: str) -> Searcher:
        """Return the system of a name."""
        if name not in self._searchers:
            settings = dict(self._settings(name))
            with _locate_problems(f"systems.{name}", str(self.path)):
                price = _take_price(settings)
                build = self._build_pipeline if "retrieve" in settings else self._build
                self._searchers[name] = build(name, settings)
                self._searchers[name].price_per_query = price
        return self._searchers[name]

    def exact_searcher(self, name: str) -> Searcher | None:
        """Return the same system with exact search in place of its index; None if it has no index."""
        settings, exact_name = self._settings(name), f"{name}, exact"
        if settings.get("kind") != "index" or settings.get("engine", "exact") == "exact":
            return None
        if exact_name not in self._searchers:
            fields = ("kind", "encoder", "metric")
            shared = {field: settings[field] for field in fields if field in settings}
            self._searchers[exact_name] = self._build(exact_name, shared)
        return self._searchers[exact_name]

    def close(self) -> None:
        """Close every system and every encoder that was built."""
        for searcher in self._searchers.values():
            searcher.close()
        for encoder in self._encoders.values():
            encoder.close()

    def _settings(self, name: str) -> Mapping[str, Any]:
        if name not in self._systems:
            problem = _describe_unknown("system", name, self._systems)
            raise ConfigurationError({f"systems.{name}": problem}, str(self.path))
        return self._systems[name]

    def _build(self, name: str, settings: dict[str, Any]) -> Searcher:
        kind = settings.pop("kind", None)
        if not isinstance(kind, str):
            raise ConfigurationError(_missing_kind(settings))
        model = settings.pop("encoder", None)
        encoder = None if model is None else self._encoder(model)
        if takes_folder(kind):
            settings.setdefault("folder", ".")
        self._resolve_folder(settings)
        if kind == "command":
            _refuse_secrets(settings.get("command"))
        return build_searcher(kind, name, settings, documents=self.data.documents, encoder=encoder)

    def _resolve_folder(self, settings: dict[str, Any]) -> None:
        """Make the folder relative to the folder of the project, as all its paths are."""
        if isinstance(settings.get("folder"), str):
            settings["folder"] = str(self.path.parent / settings["folder"])

    def _build_pipeline(self, name: str, settings: dict[str, Any]) -> Pipeline:
        reader = SettingsReader(settings, "")
        depth = reader.count("depth", 100, 1)
        sources = [
            RetrievalSource(self._source(name, source), depth)
            for source in reader.texts("retrieve", "names of systems")
        ]
        fusion, steps = self._build_fusion(reader), self._build_steps(reader)
        reader.one_of("kind", ("pipeline",), "pipeline")
        reader.refuse_unknown()
        if reader.problems:
            raise ConfigurationError(reader.problems)
        return Pipeline(name, sources, fusion, steps)

    def _source(self, name: str, source: str) -> Searcher:
        if source == name:
            raise ConfigurationError({"retrieve": f"{name} names itself: name other systems"})
        if source not in self._systems:
            raise ConfigurationError({"retrieve": _describe_unknown("system", source, self._systems)})
        if "retrieve" in self._systems[source]:
            raise ConfigurationError({"retrieve": f"{source} is a pipeline itself: name the systems it has"})
        return self.searcher(source)

    def _build_fusion(self, reader: SettingsReader) -> Fusion | None:
        fuse = reader.table("fuse")
        if not fuse.settings:
            return None
        by = fuse.one_of("by", ("rrf", "weighted"), "rrf")
        k = fuse.number("k", "a number above 0", lambda v: v > 0, 60.0)
        weights = fuse.value("weights", "a list of numbers", _is_numbers, None)
        normalise = fuse.one_of("normalise", ("minmax", "zscore", "none"), "minmax")
        fuse.refuse_unknown()
        return Fusion(by, k=k, weights=weights, normalise=normalise)

    def _build_steps(self, reader: SettingsReader) -> list[PipelineStep]:
        steps: list[PipelineStep] = []
        filter_settings, rerank_settings = reader.table("filter"), reader.table("rerank")
        if filter_settings.settings:
            steps.append(self._build_filter(filter_settings))
        if rerank_settings.settings:
            steps.append(self._build_rerank(rerank_settings))
        return steps

    def _build_filter(self, reader: SettingsReader) -> FilterStep:
        of, column = reader.text("of", "a column of the documents") or "", reader.text("column")
        reader.names_read.add("equals")  # of any type
        reader.refuse_unknown()
        documents, query_columns = self._require_documents("a filter"), self.data.queries.columns
        if of not in documents.columns:
            raise ConfigurationError({"filter.of": _describe_unknown("column", of, documents.columns)})
        if column is not None and column not in query_columns:
            raise ConfigurationError({"filter.column": _describe_unknown("column", column, query_columns)})
        values = dict(zip(documents.ids, documents.columns[of], strict=True))
        return FilterStep(values, of, equals=reader.settings.get("equals"), column=column)

    def _build_rerank(self, reader: SettingsReader) -> RerankStep:
        model, depth = reader.text("model", "the name of a model") or "", reader.count("depth", 50, 1)
        reader.refuse_unknown()
        texts = self._require_documents("a reranker").texts()
        return RerankStep(self._build_reranker(model), texts, depth)

    def _require_documents(self, step: str) -> Documents:
        if self.data.documents is None:
            raise ConfigurationError({"data.documents": f"must be given: {step} needs them"})
        return self.data.documents

    def _model(self, name: Any, kinds: Mapping[str, Any], field: str) -> tuple[str, dict[str, Any]]:
        """Return the kind and the parameters of a model; a kind without parameters needs no table."""
        models = {**{kind: {"kind": kind} for kind in kinds}, **self._models}
        if name not in models:
            raise ConfigurationError({field: _describe_unknown("model", name, models)})
        settings = dict(models[name])
        kind = settings.pop("kind", None)
        if not isinstance(kind, str):
            raise ConfigurationError({f"models.{name}.kind": f"expected one of {', '.join(kinds)}"})
        return kind, settings

    def _encoder(self, name: Any) -> Encoder:
        """Return the encoder of a name, fitted to the documents, with its cache of embeddings."""
        if name not in self._encoders:
            kind, settings = self._model(name, ENCODERS, "encoder")
            self._resolve_folder(settings)
            with _locate_problems(f"models.{name}"):
                encoder = load_encoder(kind, **settings)
            if self.data.documents is not None:
                encoder.fit(list(self.data.documents.texts().values()))
            if self._embeddings:
                encoder = _DocumentEmbeddingCache(encoder, self._embeddings)
            self._encoders[name] = encoder
        return self._encoders[name]

    def _build_reranker(self, name: str) -> Reranker:
        kind, settings = self._model(name, RERANKERS, "rerank.model")
        with _locate_problems(f"models.{name}"):
            model = settings.pop("encoder", None)
            return load_reranker(kind, None if model is None else self._encoder(model), **settings)


@contextmanager
def _locate_problems(prefix: str, path: str = "") -> Iterator[None]:
    """Name the table of the file in whatever configuration error is raised."""
    try:
        yield
    except ConfigurationError as error:
        prefixes = (prefix, "systems.", "models.", "data.")
        problems = {
            name if name.startswith(prefixes) else f"{prefix}.{name}": problem
            for name, problem in error.problems.items()
        }
        raise ConfigurationError(problems, path) from None
    except MissingExtraError:
        raise
    except InputError as error:
        raise ConfigurationError({prefix: str(error)}, path) from None


def _take_price(settings: dict[str, Any]) -> float:
    """Remove the price of a query from the settings of a system, and return it; 0 if there is none."""
    price = settings.pop("price_per_query", 0.0)
    if not is_number(price) or price < 0:
        raise ConfigurationError({"price_per_query": f"expected a number of 0 or more, found {price!r}"})
    return float(price)


def _describe_unknown(noun: str, name: Any, choices: Iterable[str]) -> str:
    hint = did_you_mean(str(name), choices) or f"there are {', '.join(choices) or 'none'}"
    return f"there is no {noun} {name!r}; {hint}"


def _missing_kind(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the problem of a system without a kind, which may be a pipeline with a misspelt `retrieve`."""
    similar = get_close_matches("retrieve", settings, n=1)
    if similar:
        return {similar[0]: "there is no such setting; did you mean retrieve?"}
    return {"kind": "expected the kind of system, such as bm25, index or http; a pipeline has retrieve"}


def _refuse_secrets(command: Any) -> None:
    """Refuse a command with a secret in its words, after an option or an equals sign."""
    words = shlex.split(command) if isinstance(command, str) else command
    texts = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    for word, following in pairwise([*texts, ""]):
        name, equals, value = word.partition("=")
        takes_value = name.startswith("-") and not following.startswith("-")
        secret = value if equals else following * takes_value
        if is_secret_field(name) and is_literal(secret) and not secret.startswith("$"):
            problem = f"what follows {name} is a secret: let the command read it from the environment"
            raise ConfigurationError({"command": problem})


def _read_tables(reader: SettingsReader) -> dict[str, Mapping[str, Any]]:
    for name in reader.settings:
        if not re.fullmatch(r"\w[\w.-]*", name):
            problem = "expected a name of letters, digits, dots and dashes: files are named by it"
            reader.add_problem(name, problem)
    return {name: reader.table(name).settings for name in reader.settings}


def _read_options(reader: SettingsReader) -> RunOptions:
    rate = reader.value("rate", "requests a second, above 0", lambda v: is_number(v) and v > 0, None)
    options = RunOptions(
        k=reader.count("k", 100, 1),
        concurrency=reader.count("concurrency", 8, 1),
        timeout=reader.number("timeout", "seconds above 0", lambda v: v > 0, 30.0),
        retries=reader.count("retries", 2),
        rate=None if rate is None else float(rate),
    )
    reader.refuse_unknown()
    return options


def _open_data(files: TableFiles, path: Path) -> SearchData:
    """Open the data; queries with texts are required, judgments are not."""
    qrels: Qrels | None = None
    try:
        if files.qrels:
            tables = files.open()
            qrels, queries, documents = tables.qrels, tables.queries, tables.documents
        else:
            queries, documents = files.open_unjudged()
    except AssayError as error:
        raise InputError(f"{path}: {error}") from None
    if queries is None or "text" not in queries.columns:
        problem = "expected queries with a column text, found none"
        raise ConfigurationError({"data.queries": problem}, str(path))
    return SearchData(queries, qrels, documents)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(is_number(item) for item in value)
