"""Logs of a rollout as UBI lines, experiments with a verdict, and rollouts brought to a stage."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from assay.rollout.assignment import ASSIGNED, TrafficSplit
from assay.rollout.status import RolloutStatus
from assay.store.store import Store
from assay.workflows.rollouts import (
    MoveRolloutRequest,
    StartRolloutRequest,
    move_rollout,
    start_rollout,
)
from tests.stores import experiment

NAME = "ranker"
POLICY = """
[rollout]
events = ["log.jsonl"]

[[rollout.steps]]
stage = "gate"
[[rollout.steps]]
stage = "ab"
coverage = 0.5
min_units = 200
[[rollout.steps]]
stage = "ramp"
coverage = 1.0
[[rollout.steps]]
stage = "full"
coverage = 1.0

[[rollout.goals]]
metric = "ctr"
[[rollout.guardrails]]
metric = "zero_result"
not_worse_than = 0.05
"""


def save_experiment(store: Path | str, name: str = "branch", verdict: str = "passed") -> str:
    """Save an experiment with the verdict of its gate; return its id."""
    with Store(store) as opened:
        result = {"verdict": verdict, "words": f"{verdict}: 9 of 9 checks hold"}
        return opened.put(experiment(name, result=result)).id


def start(folder: Path, policy: str = POLICY, name: str = NAME, store: str = "") -> str:
    """Start a rollout by a policy; return its store."""
    store = store or str(folder / "store")
    (folder / "assay.toml").write_text(policy)
    save_experiment(store)
    start_rollout(
        StartRolloutRequest(name=name, experiment="branch", project=folder / "assay.toml", store=store)
    )
    return store


def act(store: str, action: str, name: str = NAME, **fields: object) -> RolloutStatus:
    """Move a rollout."""
    request: dict[str, object] = {
        "name": name,
        "action": action,
        "store": store,
        "reason": "a test",
        **fields,
    }
    return move_rollout(MoveRolloutRequest(**request))  # type: ignore[arg-type]


def write_log(
    path: Path,
    rates: Mapping[str, tuple[float, float]],
    users: int = 1500,
    coverage: float = 0.5,
    name: str = NAME,
    at: datetime | None = None,
    seed: int = 1,
) -> None:
    """Write a query of each user of a rollout; `rates` are the CTR and the share without results by arm."""
    draw, split = np.random.default_rng(seed), TrafficSplit(name, coverage)
    at = at or datetime.now(UTC) + timedelta(seconds=1)
    lines = []
    for number in range(users):
        arm, reason = split.assign(f"user-{number}")
        if reason != ASSIGNED:
            continue
        is_clicked, is_empty = draw.random(2) < rates[arm]
        query = {
            "query_id": f"q{number}",
            "client_id": f"user-{number}",
            "user_query": "shoes",
            "timestamp": at.isoformat(),
            "query_response_hit_ids": [] if is_empty else ["a", "b"],
            "query_attributes": {"experiment_id": name, "variant": arm},
        }
        lines.append(query)
        if is_clicked and not is_empty:
            click = {name: query[name] for name in ("query_id", "client_id", "timestamp")}
            position = {"object": {"object_id": "a"}, "position": {"ordinal": 1}}
            lines.append({**click, "action_name": "click", "event_attributes": position})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
