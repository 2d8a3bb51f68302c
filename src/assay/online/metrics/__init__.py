"""Online metrics: their definitions as Ibis expressions over the facts of each query."""

from assay.online.metrics.built_in import METRICS, parse_metric
from assay.online.metrics.metric import Metric, MetricSettings

__all__ = ["METRICS", "Metric", "MetricSettings", "parse_metric"]
