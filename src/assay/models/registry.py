"""The kinds of models, imported when they are named; plug-ins use the entry point `assay.models`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar, cast

from assay.core.errors import ConfigurationError, InputError, MissingExtraError
from assay.core.parameters import keyword_parameters, value_problems
from assay.core.suggestions import did_you_mean
from assay.models.encoder import Encoder
from assay.models.language_model import LanguageModel
from assay.models.model import Model
from assay.models.reranker import Reranker

ENTRY_POINT_GROUP = "assay.models"
M = TypeVar("M", bound=Model)


class ModelKind(NamedTuple):
    """The class of a kind of model, and the libraries that it needs."""

    location: str  # module:class
    modules: tuple[str, ...] = ()  # that must be importable
    extra: str = ""


_TRANSFORMERS = (("sentence_transformers",), "sentence-transformers")

ENCODERS = {
    "lsa": ModelKind("encoders.lsa:LSA", ("bm25s", "Stemmer", "sklearn"), "demo"),
    "sentence_transformers": ModelKind("encoders.sentence_transformers:SentenceTransformers", *_TRANSFORMERS),
    "model2vec": ModelKind("encoders.model2vec:Model2Vec", ("model2vec",), "model2vec"),
    "wordllama": ModelKind("encoders.wordllama:WordLlama", ("wordllama",), "wordllama"),
    "onnx": ModelKind("encoders.onnx:ONNX", ("onnxruntime", "tokenizers"), "onnx"),
    "openai": ModelKind("encoders.openai:OpenAI"),
}
RERANKERS = {
    "cross_encoder": ModelKind("rerankers.cross_encoder:CrossEncoder", *_TRANSFORMERS),
    "endpoint": ModelKind("rerankers.endpoint:EndpointReranker"),
    "late_interaction": ModelKind("rerankers.late_interaction:LateInteraction"),
}

LANGUAGE_MODELS = {"openai": ModelKind("language_models.openai:OpenAI")}


def load_encoder(kind: str, **settings: Any) -> Encoder:
    """Return the encoder of a kind with these parameters.

    >>> load_encoder("lsa", dimension=3)
    Traceback (most recent call last):
    assay.core.errors.ConfigurationError: a setting is wrong
      dimension: there is no such parameter; did you mean dimensions?
    """
    encoder_class = load_class(kind, ENCODERS, Encoder)
    _raise_problems(parameter_problems(encoder_class, settings))
    return encoder_class(**settings)


def load_reranker(kind: str, encoder: Encoder | None = None, **settings: Any) -> Reranker:
    """Return the reranker of a kind with these parameters; some kinds need an encoder."""
    reranker_class = load_class(kind, RERANKERS, Reranker)
    problems = parameter_problems(reranker_class, settings)
    if reranker_class.takes_encoder and encoder is None:
        problems["encoder"] = "must be given: this reranker compares its vectors"
    if encoder is not None and not reranker_class.takes_encoder:
        problems["encoder"] = "this reranker takes none; leave it out"
    _raise_problems(problems)
    inputs = (encoder,) if reranker_class.takes_encoder else ()
    return reranker_class(*inputs, **settings)


def load_language_model(kind: str, **settings: Any) -> LanguageModel:
    """Return the language model of a kind with these parameters."""
    model_class = load_class(kind, LANGUAGE_MODELS, LanguageModel)
    _raise_problems(parameter_problems(model_class, settings))
    return model_class(**settings)


def parameter_problems(model: type[Model], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the problems of the parameters of a model, by name."""
    return value_problems(settings, keyword_parameters(model.__init__))


def _raise_problems(problems: Mapping[str, str]) -> None:
    if problems:
        raise ConfigurationError(problems)


def load_class(kind: str, kinds: Mapping[str, ModelKind], base: type[M]) -> type[M]:
    """Return the class of a kind, among built-in kinds and those of installed packages."""
    if kind in kinds:
        return cast(type[M], _load_builtin(kind, kinds[kind]))
    plugins = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    if kind in plugins and issubclass(model_class := plugins[kind].load(), base):
        return cast(type[M], model_class)
    noun = "language model" if base is LanguageModel else base.__name__.lower()
    hint = did_you_mean(kind, [*kinds, *plugins]) or f"there are {', '.join([*kinds, *plugins])}"
    raise InputError(f"there is no {noun} {kind!r}; {hint}")


def _load_builtin(name: str, kind: ModelKind) -> Any:
    missing = [module for module in kind.modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(" and ".join(missing), f"the model {name}", kind.extra)
    module, _, class_name = kind.location.partition(":")
    return getattr(import_module(f"assay.models.{module}"), class_name)
