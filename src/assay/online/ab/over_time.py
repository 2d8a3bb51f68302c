"""The differences as they grew: of all units until each day, with intervals that hold at every look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from assay.online.ab.cells import DAY, Arm, TestSums
from assay.online.ab.comparisons import Partition, compare_metric
from assay.online.ab.parts import Comparers, PartResult


def compare_until_each_day(
    sums: TestSums, comparers: Comparers, partition: Callable[[TestSums], Partition]
) -> list[PartResult]:
    """Return always-valid differences of the units that came until each day, with all that they did later.

    `partition` divides sums by stratum and phase. Quantiles do not add up, and are left out.
    """
    watched = replace(comparers.design, is_watched=True, looks=None)
    until: dict[str, dict[str, Arm]] = {}
    results = []
    for day, part in sums.divide(DAY).items():
        for label, arms in partition(part).items():
            until[label] = _add_arms(until.get(label, {}), arms)
        results += [
            PartResult(DAY, day, compare_metric(until, metric, (comparers.control, variant), watched))
            for metric, variant in comparers.pairs()
            if metric not in sums.quantiles
        ]
    return results


def _add_arms(before: dict[str, Arm], added: Mapping[str, Arm]) -> dict[str, Arm]:
    return before | {name: before[name] + arm if name in before else arm for name, arm in added.items()}
