"""Families of queries: which texts are one query."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.judging.families import (
    find_families,
    near_duplicates,
    normalize_text,
    shingles,
    signatures,
)
from assay.models.encoder import Encoder


class FirstLetters(Encoder):
    """Texts with the same first letter have the same vector."""

    name = "first letters"

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        return np.eye(128)[[ord(text[0]) for text in texts]]


def random_texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(4000)]
    return [" ".join(rng.choice(words, 6)) for _ in range(count)]


def test_texts_that_differ_in_case_and_punctuation_are_one_family() -> None:
    assert find_families(["VPN setup?", "vpn  setup", "vpn set-up", "dns"], None).tolist() == [0, 0, 1, 2]
    assert normalize_text("ＶＰＮ") == "vpn"


def test_planted_near_duplicates_are_found_and_nothing_else() -> None:
    texts = random_texts(1500)
    changed = [text[:20] + "x" + text[21:] for text in texts[:500]]
    labels = find_families(texts + changed, 0.8)
    recall = np.mean(labels[:500] == labels[1500:])
    assert recall >= 0.99
    assert len(set(labels[:1500].tolist())) == 1500


def test_minhash_estimates_the_jaccard_similarity() -> None:
    keys, offsets = shingles(["reset the password of my account", "reset the password of his account"])
    first, second = (set(keys[a:b].tolist()) for a, b in pairwise(offsets))
    exact = len(first & second) / len(first | second)
    least = signatures(keys, offsets, 4096)
    assert np.mean(least[0] == least[1]) == pytest.approx(exact, abs=0.03)


def test_candidates_below_the_similarity_are_left_out() -> None:
    pairs = near_duplicates(["reset my password", "reset my passwords", "reset my passport"], 0.8)
    assert list(zip(*pairs, strict=True)) == [(0, 1)]


def test_a_large_bucket_of_near_duplicates_is_one_family() -> None:
    texts = [f"the very same long question about the printer on floor number {i}" for i in range(400)]
    assert set(find_families(texts, 0.8).tolist()) == {0}


def test_a_text_without_words_is_kept_apart() -> None:
    assert find_families(["", "?", "!", "c", "c++", "c#"], 0.8).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("similarity", [0.0, -1.0, 1.5])
def test_a_similarity_outside_0_to_1_is_refused(similarity: float) -> None:
    with pytest.raises(InputError, match="above 0, at most 1"):
        find_families(["a", "b"], similarity)


def test_embeddings_join_texts_that_share_no_words() -> None:
    texts = ["vpn", "virtual private network", "dns"]
    assert find_families(texts, 0.9, FirstLetters()).tolist() == [0, 0, 1]
