"""Rerankers: late interaction for real; a cross-encoder over a stand-in, since no weights can be had here."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError
from assay.models.encoder import Encoder
from assay.models.kinds import encoder, reranker
from assay.models.model import ModelError, Usage

VECTORS = {"red": [2, 0], "blue": [0, 3], "red blue": [1, 1], "grey": [-1, 0]}


class Words(Encoder):
    """Vectors that a test can know."""

    name = "words"

    def vectors(self, texts: list[str], role: str) -> Any:
        self.used(Usage(tokens=len(texts), requests=1))
        return np.array([VECTORS.get(text.rstrip("."), [0, 0]) for text in texts])


def test_late_interaction_takes_the_nearest_sentence_for_each_sentence_of_the_query() -> None:
    model = reranker("late_interaction", Words())
    texts = ["grey. red", "blue", "red blue", "grey", ""]
    assert model.scores("red", texts) == pytest.approx([1, 0, 0.5**0.5, -1, 0])
    assert model.scores("red. blue", texts) == pytest.approx([0.5, 0.5, 0.5**0.5, -0.5, 0])
    assert model.usage == Usage(tokens=15, requests=4)
    assert model.usage_here == model.usage


def test_late_interaction_cuts_long_sentences() -> None:
    model = reranker("late_interaction", Words(), words=1)
    assert model.scores("red", ["red blue"]) == pytest.approx([1])


def test_late_interaction_puts_a_document_first_whose_one_sentence_answers() -> None:
    pytest.importorskip("wordllama")
    model = reranker("late_interaction", encoder("wordllama"))
    long = "Our office is in Lyon. We sell bread and cakes. To reset a password, open the settings. Call us."
    scores = model.scores("how do I reset my password", [long, "The weather in Lyon is mild in autumn."])
    assert scores[0] > scores[1]
    assert model.configuration()["encoder"]["name"] == "wordllama"


def test_an_encoder_is_given_where_it_is_needed_and_only_there() -> None:
    with pytest.raises(ConfigurationError, match="encoder: must be given"):
        reranker("late_interaction")
    with pytest.raises(ConfigurationError, match="takes none") as caught:
        reranker("endpoint", Words(), model="m")
    assert set(caught.value.problems) == {"encoder", "base_url"}


class StandIn:
    """The interface of sentence_transformers.CrossEncoder: scores are the lengths that two texts share."""

    outputs = 1

    def __init__(self, model: str, **given: Any) -> None:
        self.given = {"model": model, **given}

    def predict(self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool) -> Any:
        scores = np.array([len(set(a.split()) & set(b.split())) for a, b in pairs], np.float32)
        scores[[b == "" for _, b in pairs]] = np.nan
        return scores if self.outputs == 1 else np.stack([scores] * self.outputs, axis=1)


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> type[StandIn]:
    """A module in the place of sentence_transformers."""
    module = ModuleType("sentence_transformers")
    module.CrossEncoder = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr("assay.models.kinds.find_spec", lambda name: True)
    return StandIn


def test_a_cross_encoder_scores_each_pair(standing_in: type[StandIn]) -> None:
    model: Any = reranker("cross_encoder", model="m", max_tokens=128)
    assert model.scores("red car", ["red", "blue sky", "car red"]) == [1.0, 0.0, 2.0]
    assert model._model.given["max_length"] == 128


class Tensor:
    """As much of a tensor as is needed to come to its bytes."""

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values, np.float32)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.values.view(np.uint8) if name == "numpy" else self


def test_a_cross_encoder_with_other_weights_is_another(
    standing_in: type[StandIn], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def told(*values: float) -> Any:
        monkeypatch.setattr(StandIn, "state_dict", lambda self: {"w": Tensor([*values])}, raising=False)
        return reranker("cross_encoder", model=str(tmp_path)).configuration()

    torch = ModuleType("torch")
    torch.uint8 = np.uint8  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr("assay.models.rerankers.cross_encoder.library", str)
    monkeypatch.setattr(StandIn, "tokenizer", None, raising=False)
    monkeypatch.setattr(StandIn, "__repr__", lambda self: "a model")
    assert told(1, 2) == told(1, 2)
    assert told(1, 2)["weights"] != told(1, 3)["weights"]
    assert told(1, 2)["model"] == tmp_path.name


def test_a_cross_encoder_with_several_outputs_or_no_number_is_refused(
    standing_in: type[StandIn], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = reranker("cross_encoder", model="m")
    with pytest.raises(ModelError, match="not finite"):
        model.scores("red", ["red", ""])
    monkeypatch.setattr(StandIn, "outputs", 3)
    with pytest.raises(ModelError, match="3 outputs a pair"):
        model.scores("red", ["red"])


def test_the_real_library_scores_pairs_with_a_model_of_no_training(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = Tokenizer.from_file(str(Path(__file__).parent / "fixtures" / "onnx" / "tokenizer.json"))
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
    model = reranker("cross_encoder", model=str(tmp_path), local_only=True)
    together = model.scores("red", ["blue", "green green"])
    alone = [*model.scores("red", ["blue"]), *model.scores("red", ["green green"])]
    assert together == pytest.approx(alone, abs=1e-6)
    assert together[0] != together[1]
    BertForSequenceClassification(shape).save_pretrained(tmp_path)  # trained anew, in its place
    other = reranker("cross_encoder", model=str(tmp_path), local_only=True)
    assert other.configuration()["weights"] != model.configuration()["weights"]
