"""Families of queries: equal after normalisation, near-duplicates by MinHash, or neighbours by embeddings.

A family is a connected group: two queries are in one family if a chain of near-duplicates joins them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints, Words
from assay.core.errors import InputError
from assay.core.groups import expand_ranges
from assay.core.strings import mix
from assay.models.encoder import Encoder, unit_rows

DEFAULT_SIMILARITY = 0.8
PERMUTATIONS = 128
_WINDOW = 3  # characters of a shingle; a code point has 21 bits, so that three fit a word
_WORD = re.compile(r"\w+[+#]*")  # c++ and c# are not c
_CERTAINTY = 0.999  # of finding two texts at the threshold as candidates
_MAX_BUCKET = 64  # from this size on, the members of a bucket are compared with a few others only
_BLOCK_ROWS = 1024


class Pairs(NamedTuple):
    """Pairs of rows."""

    first: Ints
    second: Ints


def normalize_text(text: str) -> str:
    """Return a text in lower case without punctuation and repeated blanks; what has no words is kept.

    >>> normalize_text("How to  reset a VPN?"), normalize_text("C++ vs. C#"), normalize_text("???")
    ('how to reset a vpn', 'c++ vs c#', '???')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or " ".join(folded.split())


def find_families(
    texts: Sequence[str], similarity: float | None = DEFAULT_SIMILARITY, encoder: Encoder | None = None
) -> Ints:
    """Return the number of the family of each text, counted from 0 by first appearance.

    `similarity` is the least Jaccard similarity of near-duplicates (of their three-character shingles), or
    with an encoder the least cosine; None: only texts that are equal after normalisation.

    >>> find_families(["reset my password", "Reset my password!", "reset my passwords", "vpn"]).tolist()
    [0, 0, 0, 1]
    """
    _check_similarity(similarity)
    places: dict[str, int] = {}
    exact = np.array([places.setdefault(normalize_text(text), len(places)) for text in texts], np.int64)
    if similarity is None or len(places) < 2:
        return exact
    distinct = list(places)
    pairs = (
        near_duplicates(distinct, similarity)
        if encoder is None
        else near_vectors(distinct, similarity, encoder)
    )
    return _number_by_appearance(join_pairs(len(distinct), pairs)[exact])


def _check_similarity(similarity: float | None) -> None:
    if similarity is not None and not 0 < similarity <= 1:
        raise InputError(f"the similarity of near-duplicates must be above 0, at most 1; found {similarity}")


def near_duplicates(texts: Sequence[str], similarity: float, permutations: int = PERMUTATIONS) -> Pairs:
    """Return the pairs of texts whose shingles have this Jaccard similarity, found by MinHash.

    Candidates share a band of their signatures (Broder 1997; Leskovec, Rajaraman and Ullman, 3.4); the
    similarity of each candidate is then computed exactly.
    """
    keys, offsets = shingles(texts)
    candidates = _candidates(signatures(keys, offsets, permutations), similarity)
    is_near = _jaccard(keys, offsets, candidates) >= similarity - 1e-12
    return Pairs(candidates.first[is_near], candidates.second[is_near])


def shingles(texts: Sequence[str]) -> tuple[Words, Ints]:
    """Return the different shingles of all texts, sorted inside each, and where each text begins."""
    padded = [f" {text} " for text in texts]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in padded], np.int64)
    starts = np.cumsum(lengths) - lengths
    counts = np.maximum(lengths - _WINDOW + 1, 0)
    at = expand_ranges(starts, counts)
    keys = codes[at] | codes[at + 1] << np.uint64(21) | codes[at + 2] << np.uint64(42)
    owner = np.repeat(np.arange(len(texts)), counts)
    order = np.lexsort((keys, owner))
    keys, owner = keys[order], owner[order]
    is_new = np.ones(len(keys), np.bool_)
    is_new[1:] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
    offsets = np.searchsorted(owner[is_new], np.arange(len(texts) + 1))
    return keys[is_new], offsets


def signatures(keys: Words, offsets: Ints, permutations: int = PERMUTATIONS) -> Words:
    """Return the least hash of the shingles of each text by each hash function (texts × permutations)."""
    least = np.full((len(offsets) - 1, permutations), np.iinfo(np.uint64).max, np.uint64)
    filled = np.flatnonzero(np.diff(offsets))
    if not len(filled):
        return least
    for number, salt in enumerate(mix(np.arange(1, permutations + 1, dtype=np.uint64)).tolist()):
        least[filled, number] = np.minimum.reduceat(mix(keys ^ np.uint64(salt)), offsets[filled])
    return least


def _candidates(least: Words, similarity: float) -> Pairs:
    """Return the pairs that share all hashes of a band, each once."""
    width = _band_width(similarity, least.shape[1])
    band_pairs = []
    for start in range(0, least.shape[1] - width + 1, width):
        key = least[:, start].copy()
        for column in range(start + 1, start + width):
            key = mix(key) ^ least[:, column]
        band_pairs.append(_pairs_of_equals(key))
    codes = np.unique(np.concatenate([pairs.first * len(least) + pairs.second for pairs in band_pairs]))
    return Pairs(codes // len(least), codes % len(least))


def _band_width(similarity: float, permutations: int) -> int:
    """Return the most hashes of a band with which texts of this similarity are surely candidates."""
    widths = range(1, permutations + 1)
    return max((w for w in widths if 1 - (1 - similarity**w) ** (permutations // w) >= _CERTAINTY), default=1)


def _pairs_of_equals(key: Words) -> Pairs:
    """Return the pairs of rows with equal keys; in a large bucket, of near neighbours only."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], key[order][1:] != key[order][:-1])))
    lengths = np.diff(np.append(starts, len(key)))
    ends = np.repeat(starts + lengths, lengths)
    places = np.arange(len(key))
    partners = np.minimum(ends - places - 1, _MAX_BUCKET)
    first, second = np.repeat(places, partners), expand_ranges(places + 1, partners)
    pairs = np.sort(np.stack([order[first], order[second]]), axis=0)
    return Pairs(pairs[0], pairs[1])


def _jaccard(keys: Words, offsets: Ints, pairs: Pairs) -> Floats:
    """Return the Jaccard similarity of the shingles of each pair."""
    sizes = np.diff(offsets)
    sets: dict[int, frozenset[int]] = {}
    for row in np.unique(np.concatenate(pairs)).tolist():
        sets[row] = frozenset(keys[offsets[row] : offsets[row + 1]].tolist())
    shared = [
        len(sets[a] & sets[b]) for a, b in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
    ]
    union = sizes[pairs.first] + sizes[pairs.second] - np.array(shared, np.int64)
    similarities: Floats = np.array(shared, np.float64) / np.maximum(union, 1)
    return similarities


def near_vectors(texts: Sequence[str], similarity: float, encoder: Encoder) -> Pairs:
    """Return the pairs of texts whose vectors have at least this cosine."""
    vectors = unit_rows(encoder.encode(texts, "query"))
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, len(vectors), _BLOCK_ROWS):
        near = vectors[start : start + _BLOCK_ROWS] @ vectors[start:].T >= similarity
        rows, columns = np.nonzero(np.triu(near, 1))
        first.append(rows + start)
        second.append(columns + start)
    return Pairs(np.concatenate(first), np.concatenate(second))


def join_pairs(count: int, pairs: Pairs) -> Ints:
    """Return the number of the connected group of each of `count` rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs.first), np.int8), pairs), shape=(count, count))
    groups: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return _number_by_appearance(groups)


def _number_by_appearance(labels: Ints) -> Ints:
    """Return labels renumbered in the order in which they first appear.

    >>> _number_by_appearance(np.array([7, 3, 7, 1])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), np.int64)
    numbers[np.argsort(first)] = np.arange(len(first))
    renumbered: Ints = numbers[inverse]
    return renumbered
