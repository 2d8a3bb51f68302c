"""Assay tells whether a search is good, for whom it fails, whether a change is real, and may ship.

>>> from assay import Qrels, Run, evaluate, nDCG
>>> evaluate({"q1": {"a": 1}}, {"q1": {"a": 0.9, "b": 0.4}}, [nDCG @ 10]).estimates["nDCG@10"].value
1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.core.errors import AssayError as AssayError
    from assay.core.records import Experiment as Experiment
    from assay.core.score_order import ScoreOrder as ScoreOrder
    from assay.core.tables import Documents as Documents
    from assay.core.tables import Qrels as Qrels
    from assay.core.tables import Queries as Queries
    from assay.core.tables import Run as Run
    from assay.core.tables import Scores as Scores
    from assay.core.vectors import Neighbors as Neighbors
    from assay.core.vectors import Vectors as Vectors
    from assay.core.version import __version__ as __version__
    from assay.datasets import Collection as Collection
    from assay.datasets import open_run as open_run
    from assay.datasets import read as read
    from assay.datasets import write as write
    from assay.datasets.query_list import query_id as query_id
    from assay.datasets.vectors import read_vectors as read_vectors
    from assay.datasets.vectors import write_vectors as write_vectors
    from assay.decisions.verdict import Verdict as Verdict
    from assay.evaluation import Evaluation as Evaluation
    from assay.evaluation import evaluate as evaluate
    from assay.evaluation.compare import Comparisons as Comparisons
    from assay.evaluation.compare import compare as compare
    from assay.evaluation.failures import Failures as Failures
    from assay.evaluation.failures import failures as failures
    from assay.evaluation.gate import gate as gate
    from assay.indexes.exact.truth import truth as truth
    from assay.indexes.index import Index as Index
    from assay.measures import Measure as Measure
    from assay.measures import measure as measure
    from assay.measures import parse as parse
    from assay.store.store import Store as Store

    AP: Measure
    DCG: Measure
    ERR: Measure
    F: Measure
    IPrec: Measure
    Judged: Measure
    P: Measure
    Quantile: Measure
    R: Measure
    RBP: Measure
    RBPResidual: Measure
    RCap: Measure
    RR: Measure
    Robustness: Measure
    Rprec: Measure
    Success: Measure
    ZeroHit: Measure
    bpref: Measure
    gmAP: Measure
    infAP: Measure
    nDCG: Measure

_EXPORTS = {
    "assay.core.errors": ("AssayError",),
    "assay.core.records": ("Experiment",),
    "assay.core.score_order": ("ScoreOrder",),
    "assay.core.tables": ("Documents", "Qrels", "Queries", "Run", "Scores"),
    "assay.datasets": ("Collection", "open_run", "read", "write"),
    "assay.core.vectors": ("Neighbors", "Vectors"),
    "assay.datasets.query_list": ("query_id",),
    "assay.datasets.vectors": ("read_vectors", "write_vectors"),
    "assay.evaluation": ("Evaluation", "evaluate"),
    "assay.evaluation.compare": ("Comparisons", "compare"),
    "assay.evaluation.failures": ("Failures", "failures"),
    "assay.decisions.verdict": ("Verdict",),
    "assay.evaluation.gate": ("gate",),
    "assay.indexes.index": ("Index",),
    "assay.indexes.exact.truth": ("truth",),
    "assay.measures": ("Measure", "measure", "parse"),
    "assay.store.store": ("Store",),
}
_MODULES = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    if name == "__version__":
        return import_module("assay.core.version").__version__
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if not name.startswith("_"):
        measures = import_module("assay.measures")
        if name in measures.DEFINITIONS:
            return measures.default_measure(name)
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    measures = import_module("assay.measures").DEFINITIONS
    return sorted([*_MODULES, *filter(str.isidentifier, measures), "__version__"])
