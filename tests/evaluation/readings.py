"""Made-up scores to compare, and readings found by their keys and held to the numbers that they cite."""

import numpy as np

from assay.core.tables import Scores
from assay.evaluation.compare import Comparisons
from assay.evaluation.readings import Reading
from assay.stats.comparison import Comparison
from assay.views.readings import describe_reading

KINDS = ("R@10", "Success@1", "Quantile(R@10, 0.4)", "gmAP", "ZeroHit@10")


def random_scores(n: int, seed: int, measures: tuple[str, ...] = KINDS, prefix: str = "q") -> Scores:
    rng = np.random.default_rng(seed)
    values = {m: rng.random(n) for m in measures}
    shares = {m: np.round(v) for m, v in values.items() if m.startswith(("Success", "ZeroHit"))}
    return Scores([f"{prefix}{i}" for i in range(n)], values | shares)


def keys(result: Comparisons) -> list[str]:
    return [reading.key for reading in result.readings]


def find_reading(result: Comparisons, key: str) -> Reading:
    return next(reading for reading in result.readings if reading.key == key)


def number(value: float | None, digits: int = 4) -> str:
    assert value is not None
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(text[1:]) == 0 else text


def expected_citation(row: Comparison) -> str:
    """A comparison as a reading must cite it."""
    e, corrected = row.difference, row.corrected_p
    assert corrected is not None
    where = f" in {row.column}: {row.value}" if row.column else ""
    p = "p < 0.001" if corrected < 0.001 else f"p {corrected:.3f}"
    digits = 2 if e.is_resampled else 4
    ends = f"({number(e.low, digits)} … {number(e.high, digits)})"
    return f"{row.measure}{where} {number(e.value)} {ends}, {p}, n {e.n:,}"


def cites_its_evidence(computed_result: Comparisons, key: str) -> None:
    result = find_reading(computed_result, key)
    assert result.evidence
    assert all(row in computed_result.rows for row in result.evidence)
    assert describe_reading(result).endswith(": " + "; ".join(map(expected_citation, result.evidence)) + ".")
