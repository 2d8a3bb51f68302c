"""Which queries fail everywhere, on one family of indexes, or on one configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.indexes.study.families import family_of
from assay.indexes.study.observed import Observed


class Failing(NamedTuple):
    """The numbers of the queries that fail, by where they do."""

    everywhere: list[int]  # on every configuration
    families: dict[str, list[int]]  # on all configurations of a family, and on none of any other
    some: dict[str, list[int]]  # on several configurations of a family, not all, and on none of any other
    alone: dict[str, list[int]]  # on one configuration and no other, by the key of its trial
    mixed: list[int]  # on configurations of several families, not on all


def failing(observed: Sequence[Observed], delta: float) -> Failing | None:
    """Where each query fails that fails somewhere, at δ; None where queries are not known one by one."""
    known = [one for one in observed if one.hits is not None]
    if not known:
        return None
    fails = np.array([one.hits.reaching(delta) == 0 for one in known if one.hits is not None])
    kinds = np.array([family_of(one.trial) for one in known])
    families = {
        str(kind): _numbers(fails[kinds == kind].all(axis=0) & ~fails[kinds != kind].any(axis=0))
        for kind in dict.fromkeys(kinds.tolist())
        if not (kinds == kind).all()
    }
    several = {kind: fails[kinds == kind] for kind in families}
    touched = np.array([its.any(axis=0) for its in several.values()]).reshape(-1, fails.shape[1])
    count, where = fails.sum(axis=0), touched.sum(axis=0)
    some = {
        kind: _numbers((where == 1) & (count > 1) & its.any(axis=0) & ~its.all(axis=0))
        for kind, its in several.items()
    }
    if not several:  # one family: there is nothing to tell it apart from
        some = {str(kinds[0]): _numbers((count > 1) & (count < len(known)))}
    alone = {
        one.trial.key: _numbers(its & (count == 1) & (len(known) > 1))
        for one, its in zip(known, fails, strict=True)
    }
    mixed = _numbers((where > 1) & (count < len(known)))
    return Failing(_numbers(count == len(known)), families, some, alone, mixed)


def _numbers(chosen: NDArray[np.bool_]) -> list[int]:
    return np.flatnonzero(chosen).tolist()
