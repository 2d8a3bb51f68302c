"""Rerankers: late interaction, and a cross-encoder with a stand-in for the library."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError
from assay.models.encoder import Encoder
from assay.models.model import Usage
from assay.models.registry import load_encoder, load_reranker
from assay.remote.errors import RemoteError

VECTORS = {"red": [2, 0], "blue": [0, 3], "red blue": [1, 1], "grey": [-1, 0]}


class Words(Encoder):
    """An encoder of known vectors."""

    name = "words"

    def vectors(self, texts: list[str], role: str) -> Any:
        self.add_usage(Usage(tokens=len(texts), requests=1))
        return np.array([VECTORS.get(text.rstrip("."), [0, 0]) for text in texts])


def test_late_interaction_takes_the_nearest_sentence_for_each_sentence_of_the_query() -> None:
    model = load_reranker("late_interaction", Words())
    texts = ["grey. red", "blue", "red blue", "grey", ""]
    assert model.scores("red", texts) == pytest.approx([1, 0, 0.5**0.5, -1, 0])
    assert model.scores("red. blue", texts) == pytest.approx([0.5, 0.5, 0.5**0.5, -0.5, 0])
    assert model.usage == Usage(tokens=15, requests=4)
    assert model.thread_usage == model.usage


def test_late_interaction_cuts_long_sentences() -> None:
    model = load_reranker("late_interaction", Words(), words=1)
    assert model.scores("red", ["red blue"]) == pytest.approx([1])


def test_late_interaction_puts_a_document_first_whose_one_sentence_answers() -> None:
    pytest.importorskip("wordllama")
    model = load_reranker("late_interaction", load_encoder("wordllama"))
    long = "Our office is in Lyon. We sell bread and cakes. To reset a password, open the settings. Call us."
    scores = model.scores("how do I reset my password", [long, "The weather in Lyon is mild in autumn."])
    assert scores[0] > scores[1]
    assert model.configuration()["encoder"]["name"] == "wordllama"


def test_an_encoder_is_required_or_refused_by_the_kind() -> None:
    with pytest.raises(ConfigurationError, match="encoder: must be given"):
        load_reranker("late_interaction")
    with pytest.raises(ConfigurationError, match="takes none") as caught:
        load_reranker("endpoint", Words(), model="m")
    assert set(caught.value.problems) == {"encoder", "base_url"}


class StandIn:
    """The interface of sentence_transformers.CrossEncoder."""

    outputs = 1

    def __init__(self, model: str, **settings: Any) -> None:
        self.given = {"model": model, **settings}

    def predict(self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool) -> Any:
        scores = np.array([len(set(a.split()) & set(b.split())) for a, b in pairs], np.float32)
        scores[[b == "" for _, b in pairs]] = np.nan
        return scores if self.outputs == 1 else np.stack([scores] * self.outputs, axis=1)


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    """A module in place of sentence_transformers."""
    module = ModuleType("sentence_transformers")
    module.CrossEncoder = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr("assay.models.registry.find_spec", lambda name: True)
    return StandIn


def test_a_cross_encoder_scores_each_pair(standing_in: type[StandIn]) -> None:
    model: Any = load_reranker("cross_encoder", model="m", max_tokens=128)
    assert model.scores("red car", ["red", "blue sky", "car red"]) == [1.0, 0.0, 2.0]
    assert model._model.given["max_length"] == 128


class Tensor:
    """The methods of a tensor that lead to its bytes."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values, np.float32)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.values.view(np.uint8) if name == "numpy" else self


def test_other_weights_change_the_configuration_of_a_cross_encoder(
    standing_in: type[StandIn], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def configuration_of(*values: float) -> Any:
        monkeypatch.setattr(StandIn, "state_dict", lambda self: {"w": Tensor([*values])}, raising=False)
        return load_reranker("cross_encoder", model=str(tmp_path)).configuration()

    torch = ModuleType("torch")
    torch.uint8 = np.uint8  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("assay.models.rerankers.cross_encoder.library_version", str)
    monkeypatch.setattr(StandIn, "tokenizer", None, raising=False)
    monkeypatch.setattr(StandIn, "__repr__", lambda self: "a model")
    assert configuration_of(1, 2) == configuration_of(1, 2)
    assert configuration_of(1, 2)["weights"] != configuration_of(1, 3)["weights"]
    assert configuration_of(1, 2)["model"] == tmp_path.name


def test_a_cross_encoder_with_several_outputs_or_no_number_is_refused(
    standing_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_reranker("cross_encoder", model="m")
    with pytest.raises(RemoteError, match="not finite"):
        model.scores("red", ["red", ""])
    monkeypatch.setattr(StandIn, "outputs", 3)
    with pytest.raises(RemoteError, match="3 outputs for each pair"):
        model.scores("red", ["red"])


def test_the_real_library_scores_pairs_with_an_untrained_model(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = Tokenizer.from_file(str(Path(__file__).parents[1] / "fixtures" / "onnx" / "tokenizer.json"))
    PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]").save_pretrained(tmp_path)
    shape = BertConfig(
        vocab_size=6,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        num_labels=1,
    )
    BertForSequenceClassification(shape).save_pretrained(tmp_path)
    model = load_reranker("cross_encoder", model=str(tmp_path), local_only=True)
    together = model.scores("red", ["blue", "green green"])
    alone = [*model.scores("red", ["blue"]), *model.scores("red", ["green green"])]
    assert together == pytest.approx(alone, abs=1e-6)
    assert together[0] != together[1]
    BertForSequenceClassification(shape).save_pretrained(tmp_path)  # another model under the same name
    other = load_reranker("cross_encoder", model=str(tmp_path), local_only=True)
    assert other.configuration()["weights"] != model.configuration()["weights"]
