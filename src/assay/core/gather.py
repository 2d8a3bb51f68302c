"""Rows in any order, brought together by query."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.groups import Floats, Groups, stable_order
from assay.core.texts import Ints, Texts


class Piece(NamedTuple):
    """Rows as they stand in the file, with the places where the query changes."""

    queries: Texts
    starts: Ints
    ids: Texts
    values: Floats


def gathered(parts: Iterable[Piece]) -> Groups:
    """All rows in memory, each query's together, queries in the order they first appear."""
    codes: dict[str, int] = {}
    columns = [(_codes(part, codes), Texts.concat([part.ids]), part.values) for part in parts]
    code = np.concatenate([column[0] for column in columns])
    values = np.concatenate([column[2] for column in columns])
    ids = Texts.concat([column[1] for column in columns])
    del columns
    offsets = np.concatenate(([0], np.cumsum(np.bincount(code, minlength=len(codes)))))
    if (code[1:] < code[:-1]).any():
        order = stable_order(code)
        ids, values = ids.take(order), values[order]
    return Groups(list(codes), offsets, ids, values)


def _codes(part: Piece, codes: dict[str, int]) -> NDArray[np.int32]:
    """The number of each row's query, new queries added to `codes`."""
    lengths = np.diff(np.append(part.starts, len(part.ids)))
    _, first, inverse = np.unique(part.queries.keys(), return_index=True, return_inverse=True)
    if not part.queries.take(first[inverse]).equal(part.queries).all():  # two ids share a key
        first = inverse = np.arange(len(part.queries))
    number = np.empty(len(first), np.int32)
    appearance = np.argsort(first)
    names = part.queries.take(first[appearance]).tolist()
    number[appearance] = [codes.setdefault(name, len(codes)) for name in names]
    return np.repeat(number[inverse], lengths)
