"""Release a new search of the demo step by step to all traffic; then one that fails, which is rolled back.

    assay demo
    python examples/rollout/ship.py assay-demo
    assay serve --store assay-demo/store     # both rollouts are at /rollouts

The offline evidence is a gate on the judgments of the demo. The shadow run calls both searches. Simulated
users are assigned by the signed splits as in a service, see what their arm finds, and click by the judgments.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from assay import write
from assay.cli import call
from assay.datasets import helpcentre
from assay.rollout.exposures import query_attributes
from assay.rollout.served_splits import SplitSource
from assay.rollout.shadow import Shadow, ShadowLimits
from assay.search.in_memory import LSASearcher

GOOD, BAD = "new-search", "cheaper-search"
USERS, QUERIES_OF_USER, DEPTH = 3_000, 3, 10
CLICKS = (0.0, 0.3, 0.6, 0.9)  # the chance of a click on the first document, by its grade
Search = Callable[[str], Sequence[str]]  # the id of a query -> the ids of documents
Grades = Mapping[str, Mapping[str, float]]


class Service:
    """Two searches behind one address: users see what their arm finds, and every query is logged."""

    def __init__(self, log: Path, splits: SplitSource, grades: Grades) -> None:
        self.log, self.splits, self.grades = log, splits, grades
        self.queries, self.random, self.count = sorted(grades), np.random.default_rng(7), 0

    def serve(self, rollout: str, old: Search, new: Search, users: range) -> None:
        """Answer the queries of users while a rollout is under way."""
        split = self.splits.split(rollout)
        assert split is not None
        with self.log.open("a", encoding="utf-8") as log:
            for number in users:
                user = f"user-{number}"
                assignment = split.assign(user)
                search = new if assignment.arm == "treatment" else old
                attributes = query_attributes(rollout, assignment)
                for place in self.random.integers(0, len(self.queries), QUERIES_OF_USER):
                    lines = self._answer(user, self.queries[place], search, attributes)
                    log.writelines(json.dumps(line) + "\n" for line in lines)

    def _answer(
        self, user: str, query: str, search: Search, attributes: Mapping[str, str]
    ) -> list[dict[str, object]]:
        """Return a query and its clicks as records of UBI."""
        self.count += 1
        hits, at = search(query), datetime.now(UTC).isoformat()
        shared = {"query_id": f"served-{self.count}", "client_id": user, "timestamp": at}
        shown = {"user_query": query, "query_response_hit_ids": hits, "query_attributes": attributes}
        lines: list[dict[str, object]] = [{**shared, **shown}]
        for rank, doc_id in enumerate(hits, 1):
            grade = int(min(self.grades[query].get(doc_id, 0), 3))
            if self.random.random() < CLICKS[grade] / rank:
                place = {"object": {"object_id": doc_id}, "position": {"ordinal": rank}}
                lines.append({**shared, "action_name": "click", "event_attributes": place})
        return lines


def assay(*words: str) -> int:
    """Run a command of Assay on the store of the demo, and show it; return its exit code."""
    command = [*words, "--store", "store"]
    print(f"\n$ {shlex.join(['assay', *command])}", flush=True)
    return call(command)


def finder(rankings: Mapping[str, Sequence[str]]) -> Search:
    """Return a search that looks up what it finds."""
    return lambda query: rankings.get(query, [])


def without_a_shard(search: Search) -> Search:
    """Return a search that finds nothing for a third of the queries."""
    return lambda query: [] if sum(query.encode()) % 3 == 0 else search(query)


def write_runs() -> tuple[Search, Search]:
    """Write what the search in production and the new one find; return both."""
    queries, _, documents = helpcentre()
    searches: list[Search] = []
    for name, dimensions in (("main", 30), ("branch", 150)):
        searcher = LSASearcher(documents, name, dimensions=dimensions)
        run = searcher.search(queries, DEPTH)
        write(run, f"{name}.run")
        searches.append(finder({query: list(found) for query, found in run.to_dict().items()}))
    return searches[0], searches[1]


def begin(rollout: str, old: Search, new: Search, queries: Sequence[str]) -> None:
    """Bring a rollout from the offline gate through the shadow run to the A/B test."""
    assay("rollout", "start", rollout, "--experiment", "branch", "--project", "rollout.toml")
    assay("rollout", "advance", rollout)
    log = f"{rollout}-shadow.jsonl"
    limits = ShadowLimits(sample=1.0, repeat=1.0, timeout=30.0, concurrency=2, queue=len(queries))
    with Shadow(old, new, log, idempotent=True, limits=limits) as shadowed:
        for query in queries:
            shadowed(query)
    assay("shadow", "report", log, "--save", rollout)
    assay("rollout", "watch", rollout, "--once")


def ship(folder: Path) -> None:
    """Release one change to all traffic, and start another that is rolled back."""
    shutil.copy(Path(__file__).with_name("assay.toml"), folder / "rollout.toml")
    key = os.environ.setdefault("ASSAY_SPLITS_KEY", secrets.token_hex())
    os.environ["ASSAY_SPLITS_FILE"] = "splits.json"  # every move writes it
    with chdir(folder):
        old, new = write_runs()
        assay("gate", "--project", "rollout.toml", "--save", "branch")
        grades = helpcentre()[1].to_dict()
        service = Service(Path("served.jsonl"), SplitSource("splits.json", key, refresh_seconds=0), grades)

        begin(GOOD, old, new, service.queries)
        service.serve(GOOD, old, new, range(USERS))
        assay("rollout", "watch", GOOD, "--once")  # the goal is shown: on to the ramp
        service.serve(GOOD, old, new, range(USERS, USERS + 500))
        assay("rollout", "watch", GOOD, "--once")  # waits for an approval
        assay("rollout", "approve", GOOD, "--reason", "seen with support")
        assay("rollout", "watch", GOOD, "--once")  # all traffic

        begin(BAD, new, new, service.queries)  # in the shadow run it finds the same
        service.serve(BAD, new, without_a_shard(new), range(USERS))
        assay("rollout", "watch", BAD, "--once")  # breached: rolled back, exit code 1
        for rollout in (GOOD, BAD):
            assay("rollout", "history", rollout)


if __name__ == "__main__":
    ship(Path(sys.argv[1] if len(sys.argv) > 1 else "assay-demo"))
