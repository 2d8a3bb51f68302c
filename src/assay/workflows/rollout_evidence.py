"""What is known online and of the shadow run of a rollout: read from events, and from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from assay.core.errors import InputError, MeasureError
from assay.core.online_records import AB_TEST, BASELINE, CANDIDATE, DATASET, SHADOW
from assay.core.records import Experiment
from assay.online.ab.analysis import analyse_sums
from assay.online.ab.cells import DAY, TestSums
from assay.online.ab.unit_columns import UnitColumns
from assay.online.ab.unit_sums import sum_units
from assay.online.event_tables import EventTables
from assay.online.metrics import Metric, parse_metric
from assay.online.units import UNIT, unit_of, unit_table
from assay.rollout.evidence import FAILED, OPEN, PASSED, OnlineEvidence, StepCheck, design_test
from assay.rollout.machine import Rollout
from assay.rollout.policy import RolloutPolicy
from assay.stats.intervals import Estimate, estimate_share
from assay.store.datasets import DatasetVersions
from assay.store.online_records import OnlineRecordKind
from assay.store.store import Store
from assay.workflows.ab_inputs import ABSource, open_sums, open_units, read_units
from assay.workflows.event_inputs import EventSource, open_event_tables
from assay.workflows.online_metrics import read_project_metrics

if TYPE_CHECKING:
    from ibis.expr.types import Table

_ONLINE_STAGES = ("ab", "ramp")


def read_online(
    rollout: Rollout, paths: Sequence[str] = (), now: datetime | None = None
) -> OnlineEvidence | None:
    """Return what users did since the A/B test of a rollout began; None if no events are named.

    `paths` take the place of the events that the policy names: a log of events, a table of units with the
    columns unit_id and variant, or a table of sums, as `assay online ab` reads them.
    """
    policy = RolloutPolicy.from_dict(rollout.policy)
    sources = list(paths) or list(policy.events)
    if not sources or rollout.step.stage not in _ONLINE_STAGES:
        return None
    now = now or datetime.now(UTC)
    source = ABSource(events=EventSource(paths=sources))
    sums = open_sums(source)
    if sums is not None:
        return _analyse(sums, policy, _days_of(sums), ", ".join(sources))
    columns = UnitColumns(metrics=[rule.metric for rule in policy.rules])
    with open_units(source, columns) as units:
        if units is not None:
            sums = read_units(units, UnitColumns(), sources[0])
            return _analyse(sums, policy, _days_of(sums), ", ".join(sources))
    with open_event_tables(source.events) as tables:
        return _read_events(rollout, policy, tables, now)


def _analyse(
    sums: TestSums,
    policy: RolloutPolicy,
    by_day: Mapping[str, int],
    source: str,
    lower: Mapping[str, bool] | None = None,
) -> OnlineEvidence:
    directions = _directions(sums.metrics) if lower is None else lower
    test = analyse_sums(sums, design_test(policy, sums.metrics, directions))
    days = sums.split(DAY).values() if sums.has(DAY) else ()
    new_units = [{name: arm.n for name, arm in arms.items()} for arms in days]
    return OnlineEvidence(test, by_day, new_units, source)


def _directions(metrics: Sequence[str]) -> dict[str, bool]:
    """Return which metrics are better if lower, as far as their names are those of Assay's own."""
    found = {}
    for name in metrics:
        try:
            found[name] = bool(parse_metric(name).lower_is_better)
        except MeasureError:
            continue
    return found


def _days_of(sums: TestSums) -> dict[str, int]:
    if not sums.has(DAY):
        return {}
    return {day: sum(arm.n for arm in arms.values()) for day, arms in sums.split(DAY).items()}


def _read_events(
    rollout: Rollout, policy: RolloutPolicy, tables: EventTables, now: datetime
) -> OnlineEvidence:
    """Return what a log says: queries of the rollout's arms since its A/B test began."""
    start = rollout.entered("ab") or rollout.entered("ramp") or rollout.entered_at
    queries = _own_queries(tables.queries, rollout.name, policy.arms, start)
    own = EventTables(queries, tables.events, tables.problems)
    metrics = _select_metrics(policy, own)
    units = unit_table(own, metrics)
    sums = sum_units(units, UnitColumns(metrics=[metric.name for metric in metrics], day="first_at"))
    lower = {metric.name: bool(metric.lower_is_better) for metric in metrics}
    return _analyse(sums, policy, _active_units(queries, start, now), "events", lower)


def _own_queries(queries: Table, name: str, arms: Sequence[str], start: datetime) -> Table:
    """Return the queries of a rollout; a log that never names its experiment is taken whole."""
    own = queries.filter(queries.variant.isin(list(arms)))
    named = own.filter(own.experiment_id.notnull())
    if int(named.limit(1).count().to_pyarrow().as_py()):
        own = own.filter(own.experiment_id == name)
    return own.filter(own["at"] >= start.astimezone(UTC).replace(tzinfo=None))


def _select_metrics(policy: RolloutPolicy, tables: EventTables) -> list[Metric]:
    """Return the metrics of the rules; percentiles of latency have no value of each unit and are refused.

    Each is named as its rule names it: slo(300) and slo(500) are two metrics.
    """
    own = read_project_metrics()
    names = list(dict.fromkeys(rule.metric for rule in policy.rules))
    metrics = []
    for name in names:
        metric = own[name].on(tables) if name in own else _find_metric(name)
        if metric is None:
            continue  # the check says that the events do not have it
        if metric.quantile is not None:
            raise InputError(
                f"{name}: expected a metric of each unit in [rollout]; for latency use slo(MILLISECONDS), "
                "the share of queries within it"
            )
        metrics.append(replace(metric, name=name))
    return metrics or [parse_metric("ctr")]


def _find_metric(name: str) -> Metric | None:
    try:
        return parse_metric(name)
    except MeasureError:
        return None


def _active_units(queries: Table, start: datetime, now: datetime) -> dict[str, int]:
    """Return the units that came on each day from the start until now, in UTC; none is 0."""
    counted = queries.group_by(day=queries["at"].date().cast("string")).aggregate(
        units=unit_of(queries, UNIT).nunique()
    )
    found = {str(row["day"]): int(row["units"]) for row in counted.to_pyarrow().to_pylist()}
    first, last = start.astimezone(UTC).date(), now.astimezone(UTC).date()
    days = [str(first + timedelta(days=i)) for i in range(max(0, (last - first).days) + 1)]
    return {day: found.get(day, 0) for day in days}


def check_shadow(store: Store, rollout: Rollout) -> list[StepCheck]:
    """Check that a shadow run of the name of the rollout is recorded, with enough compared requests."""
    if rollout.step.stage != "shadow":
        return []
    least = max(1, rollout.step.min_units)
    name = f"a shadow report with {least:,} compared requests"
    records = store.records(OnlineRecordKind(SHADOW)).find(names=[rollout.name], limit=1)
    if not records:
        problem = f"none is recorded: `assay shadow report LOG --save {rollout.name}`"
        return [StepCheck("shadow", name, OPEN, {"n": 0, "min_units": least, "problem": problem})]
    newest = records[0]
    compared = _compared_requests(newest.body)
    figures: dict[str, Any] = {"n": compared, "min_units": least, "record": newest.id}
    failures = _candidate_failures(newest.body)
    if failures is not None:
        figures["failed_alone"] = failures.to_dict()
        most = RolloutPolicy.from_dict(rollout.policy).max_shadow_errors
        if failures.low is not None and failures.low > most:
            words = f"the candidate alone failed in {100 * (failures.value or 0):.2g} % of the requests"
            problem = f"{words}, more than {100 * most:g} %"
            return [StepCheck("shadow", name, FAILED, {**figures, "problem": problem})]
    if newest.at < rollout.entered_at - timedelta(days=30):
        return [StepCheck("shadow", name, FAILED, {**figures, "problem": "it is older than 30 days"})]
    return [StepCheck("shadow", name, PASSED if compared >= least else OPEN, figures)]


def _compared_requests(body: Mapping[str, Any]) -> int:
    """Return how many requests a shadow report compares."""
    counts = body.get("counts", {})
    return int(counts.get("compared", 0) or 0) if isinstance(counts, Mapping) else 0


def _candidate_failures(body: Mapping[str, Any]) -> Estimate | None:
    """Return in which share of the logged requests the candidate failed and the primary did not."""
    alone, logged = body.get("failed_alone"), body.get("counts", {}).get("logged")
    if not isinstance(alone, Mapping) or not logged:
        return None
    return estimate_share(float(alone.get("candidate", 0)), int(logged), 0.95)


def save_test(store: Store, rollout: Rollout, evidence: OnlineEvidence) -> str:
    """Save the A/B test that a move rests on under the name of the rollout; return its id."""
    links = {CANDIDATE: rollout.experiment}
    links |= {BASELINE: rollout.baseline} if rollout.baseline else {}
    experiment = find_experiment(store, rollout.experiment)
    digest = experiment and dataset_digest(store, experiment)
    return store.save_ab_test(
        rollout.name, evidence.test.to_dict(), {**links, **({DATASET: digest} if digest else {})}
    )


def find_experiment(store: Store, name: str) -> Experiment | None:
    """Return an experiment, None if it is no longer there."""
    try:
        return store.get(name) if name else None
    except InputError:
        return None


def dataset_digest(store: Store, experiment: Experiment) -> str | None:
    """Return the digest of the version of the evaluation set that an experiment was scored on."""
    qrels = experiment.digests.get("qrels")
    versions = DatasetVersions(store).find() if qrels else []
    return next((v.digest for v in versions if v.digests.get("qrels") == qrels), None)


def linked_records(store: Store, rollout: Rollout) -> list[dict[str, str]]:
    """Return the shadow reports and A/B tests under the name of a rollout, the first first."""
    found = [
        record
        for kind in (SHADOW, AB_TEST)
        for record in store.records(OnlineRecordKind(kind)).find(names=[rollout.name])
    ]
    return [
        {"id": r.id, "kind": r.kind, "name": r.name, "at": r.at.isoformat()}
        for r in sorted(found, key=lambda record: record.at)
    ]
