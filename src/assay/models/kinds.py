"""The kinds of models, loaded when they are named; others come by the entry point `assay.models`."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar, cast

from assay.core.errors import ConfigurationError, InputError, MissingExtraError
from assay.core.parameters import parameters, wrong
from assay.models.encoder import Encoder
from assay.models.model import Model
from assay.models.reranker import Reranker

GROUP = "assay.models"
M = TypeVar("M", bound=Model)


class Kind(NamedTuple):
    """Where a kind of model is found, and what it needs."""

    home: str  # module:class
    modules: tuple[str, ...] = ()  # that must be there to be imported
    extra: str = ""


_TRANSFORMERS = (("sentence_transformers",), "sentence-transformers")

ENCODERS = {
    "lsa": Kind("encoders.lsa:LSA", ("sklearn",), "demo"),
    "sentence_transformers": Kind("encoders.sentence_transformers:SentenceTransformers", *_TRANSFORMERS),
    "model2vec": Kind("encoders.model2vec:Model2Vec", ("model2vec",), "model2vec"),
    "wordllama": Kind("encoders.wordllama:WordLlama", ("wordllama",), "wordllama"),
    "onnx": Kind("encoders.onnx:ONNX", ("onnxruntime", "tokenizers"), "onnx"),
    "openai": Kind("encoders.openai:OpenAI"),
}
RERANKERS = {
    "cross_encoder": Kind("rerankers.cross_encoder:CrossEncoder", *_TRANSFORMERS),
    "endpoint": Kind("rerankers.endpoint:Endpoint"),
    "late_interaction": Kind("rerankers.late_interaction:LateInteraction"),
}


def encoder(kind: str, **given: Any) -> Encoder:
    """The encoder of a kind with these parameters.

    >>> encoder("lsa", dimension=3)
    Traceback (most recent call last):
    assay.core.errors.ConfigurationError: a setting is wrong
      dimension: there is no such parameter; did you mean dimensions?
    """
    made = load(kind, ENCODERS, Encoder)
    _check(problems(made, given))
    return made(**given)


def reranker(kind: str, first: Encoder | None = None, **given: Any) -> Reranker:
    """The reranker of a kind with these parameters; one that works on vectors takes an encoder first."""
    made = load(kind, RERANKERS, Reranker)
    found = problems(made, given)
    if made.takes_encoder and first is None:
        found["encoder"] = "must be given: this reranker works on its vectors"
    if first is not None and not made.takes_encoder:
        found["encoder"] = "this reranker takes none; leave it out"
    _check(found)
    return made(first, **given) if made.takes_encoder else made(**given)  # type: ignore[call-arg]


def problems(model: type[Model], given: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with parameters, by their names."""
    return wrong(given, parameters(model.__init__))


def _check(found: Mapping[str, str]) -> None:
    if found:
        raise ConfigurationError(found)


def load(kind: str, kinds: Mapping[str, Kind], of: type[M]) -> type[M]:
    """The class of a kind, among these and those of installed packages."""
    if kind in kinds:
        return cast(type[M], _own(kind, kinds[kind]))
    others = {point.name: point for point in entry_points(group=GROUP)}
    if kind in others and issubclass(made := others[kind].load(), of):
        return cast(type[M], made)
    noun = of.__name__.lower()
    near = get_close_matches(kind, [*kinds, *others], n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join([*kinds, *others])}"
    raise InputError(f"there is no {noun} {kind!r}; {hint}")


def _own(name: str, kind: Kind) -> Any:
    missing = [module for module in kind.modules if find_spec(module) is None]
    if missing:
        raise MissingExtraError(" and ".join(missing), f"the model {name}", kind.extra)
    module, _, found = kind.home.partition(":")
    return getattr(import_module(f"assay.models.{module}"), found)
