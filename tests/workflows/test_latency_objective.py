"""The latency objective of a request."""

import pytest

from assay.core.errors import InputError
from assay.stats.histograms import Histogram
from assay.workflows.latency_objective import check_slo, slo_dict


class TwoLatencies:
    """Two latencies, of 1 and 3 ms."""

    def slo(self, ms: float):  # type: ignore[no-untyped-def]
        return Histogram.of([1_000_000, 3_000_000]).share_within(ms)


def test_the_share_within_the_objective_is_plain_data() -> None:
    plain = slo_dict(TwoLatencies(), 2.0)["slo"]
    assert (plain["ms"], plain["value"], plain["n"]) == (2.0, 0.5, 2)
    assert slo_dict(TwoLatencies(), None) == {}


@pytest.mark.parametrize("ms", [0, -1, float("nan")])
def test_an_objective_is_above_0(ms: float) -> None:
    check_slo(None)
    with pytest.raises(InputError, match="--slo: expected milliseconds above 0"):
        check_slo(ms)
