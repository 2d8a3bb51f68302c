"""Made-up scores to compare, and readings found by their keys and held to the numbers that they cite."""

import numpy as np

from assay.core.tables import Scores
from assay.evaluation.compare import Comparisons
from assay.evaluation.readings import Reading
from assay.stats.comparison import Comparison

KINDS = ("R@10", "Success@1", "Quantile(R@10, 0.4)", "gmAP", "ZeroHit@10")


def made_up(n: int, seed: int, measures: tuple[str, ...] = KINDS, prefix: str = "q") -> Scores:
    rng = np.random.default_rng(seed)
    values = {m: rng.random(n) for m in measures}
    shares = {m: np.round(v) for m, v in values.items() if m.startswith(("Success", "ZeroHit"))}
    return Scores([f"{prefix}{i}" for i in range(n)], values | shares)


def keys(made: Comparisons) -> list[str]:
    return [reading.key for reading in made.readings]


def reading(made: Comparisons, key: str) -> Reading:
    return next(reading for reading in made.readings if reading.key == key)


def number(value: float | None) -> str:
    assert value is not None
    shown = f"{value:+.4f}".replace("-", "−")
    return shown[1:] if float(shown[1:]) == 0 else shown


def cited(row: Comparison) -> str:
    """A comparison as a reading must cite it."""
    e, corrected = row.difference, row.corrected
    assert corrected is not None
    where = f" in {row.column}: {row.value}" if row.column else ""
    p = "p < 0.001" if corrected < 0.001 else f"p {corrected:.3f}"
    ends = f"({number(e.low)} … {number(e.high)})"
    return f"{row.measure}{where} {number(e.value)} {ends}, {p}, n {e.n:,}"


def cites_its_evidence(made: Comparisons, key: str) -> None:
    found = reading(made, key)
    assert found.evidence
    assert all(row in made.rows for row in found.evidence)
    assert found.text.endswith(": " + "; ".join(map(cited, found.evidence)) + ".")
