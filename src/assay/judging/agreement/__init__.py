"""Agreement of raters: coefficients with intervals, biases, disagreements and the order of systems."""

from assay.judging.agreement.labels import Labels
from assay.judging.agreement.report import AgreementReport, compute_agreement

__all__ = ["AgreementReport", "Labels", "compute_agreement"]
