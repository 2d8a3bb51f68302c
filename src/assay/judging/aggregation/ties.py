"""What to do when a rule leaves two or more grades equally good."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.core.arrays import Bools, Floats
from assay.core.errors import InputError
from assay.core.strings import StringColumn, mix

TIES = {
    "lower": "the lowest of the tied grades",
    "higher": "the highest of the tied grades",
    "none": "no label",
    "random": "one of the tied grades, drawn by the seed and the ids of the pair",
}


def check_ties(ties: str) -> None:
    """Raise InputError if there is no such rule for ties."""
    if ties not in TIES:
        raise InputError(f"expected one of {', '.join(TIES)} as the rule for ties, found {ties!r}")


def draw_numbers(pairs: pl.DataFrame, seed: int) -> Floats:
    """Return a number from 0 to 1 for each pair, which depends on its ids and the seed and nothing else.

    >>> pairs = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
    >>> bool(draw_numbers(pairs, 0)[1] == draw_numbers(pairs[1:], 0)[0])
    True
    """
    query, doc = (StringColumn.from_strings(pairs[name].to_list()).keys() for name in ("query_id", "doc_id"))
    words = mix(mix(query + np.uint64(seed % (1 << 63))) ^ doc)
    return np.asarray((words >> np.uint64(11)).astype(np.float64) / (1 << 53))


def choose_tied(tied: Bools, scale: Floats, ties: str, draws: Floats) -> Floats:
    """Return one of the marked grades of each row; NaN if none is marked, or if the rule leaves ties out.

    >>> tied, scale = np.array([[True, False, True], [False, True, False]]), np.array([0.0, 1.0, 2.0])
    >>> choose_tied(tied, scale, "higher", np.zeros(2)).tolist()
    [2.0, 1.0]
    >>> choose_tied(tied, scale, "random", np.array([0.7, 0.7])).tolist()
    [2.0, 1.0]
    """
    counts = tied.sum(axis=1)
    place = {"lower": np.ones_like(counts), "higher": counts, "none": np.ones_like(counts)}.get(ties)
    if place is None:
        place = 1 + np.floor(draws * counts).astype(np.int64)
    code = (tied.cumsum(axis=1) == np.maximum(place, 1)[:, None]).argmax(axis=1)
    grades = np.array(scale[code])
    grades[counts == 0] = np.nan
    if ties == "none":
        grades[counts > 1] = np.nan
    return grades


def round_halves(values: Floats, is_half: Bools, ties: str, draws: Floats) -> Floats:
    """Return values as whole numbers; the rule for ties says which way a half goes.

    >>> round_halves(np.array([1.2, 0.5]), np.array([False, True]), "lower", np.zeros(2)).tolist()
    [1.0, 0.0]
    """
    low = np.floor(values)
    rounded = np.where(values - low > 0.5, low + 1, low)
    halves = {"lower": low, "higher": low + 1, "none": np.full_like(low, np.nan)}
    return np.where(is_half, halves.get(ties, low + np.floor(2 * draws)), rounded)
