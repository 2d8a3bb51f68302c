"""A store with past A/B tests, their offline experiments, and reasons why one of them misleads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from assay.core.judgments import Judgments
from assay.core.online_records import BASELINE, CANDIDATE, CLICKS, DATASET
from assay.core.records import DatasetVersion, Experiment, Metric
from assay.core.tables import Documents, Qrels, Queries, Scores
from assay.store.datasets import DatasetTable, DatasetVersions
from assay.store.rankings import ShownTables, put_shown_tables
from assay.store.store import Store
from assay.store.table_files import table_to_parquet

N = 60
IDS = [f"q{number}" for number in range(N)]
TEXTS = [f"find word{number}" for number in range(N)]  # of two words
DOCUMENTS = Documents({"doc_id": ["d"], "text": ["text"]})
NOISE = np.random.default_rng(7).normal(0, 0.02, (2, N))  # of the scores of baselines and of candidates


def queries(categories: Sequence[str] = ("how_to", "error")) -> Queries:
    """Return the judged queries, their categories in turn."""
    rows = [categories[number % len(categories)] for number in range(N)]
    return Queries({"query_id": IDS, "text": TEXTS, "category": rows})


def body(lift: float, half: float = 0.01, **fields: Any) -> dict[str, Any]:
    """Return the JSON of an A/B test with a relative difference of its goal."""
    relative = {"value": lift, "low": lift - half, "high": lift + half, "n": 4_000}
    goal = {"metric": "ctr", "role": "goal", "variant": "candidate", "relative": relative, "level": 0.95}
    return {"metrics": [{**goal, **fields}], "status": "Ready to ship"}


def save_experiment(
    store: Store, name: str, means: Mapping[str, float], tables: ShownTables, documents: str
) -> Experiment:
    """Save an experiment whose scores differ from those of others by their means, and a little by query."""
    noise = NOISE[int(name.endswith("-branch"))]
    values = {measure: np.clip(mean + noise, 0, 1) for measure, mean in means.items()}
    digests = {"qrels": "a" * 64, **put_shown_tables(store, tables), "documents": documents}
    metrics = tuple(Metric(measure, "", "", mean, None, None, N) for measure, mean in means.items())
    return store.put(Experiment(name, digests=digests, metrics=metrics), Scores(IDS, values))


@dataclass(frozen=True)
class Planted:
    """What is planted in a store: the differences of tests, and the suspects."""

    offline: Mapping[str, Sequence[float]]  # by measure, one for each test
    online: Sequence[float]
    judged_days_before: float = 5
    judge: str = "ann"
    categories: Sequence[str] = ("how_to", "error")
    searches: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(TEXTS, 10))
    documents: tuple[str, str] = (DOCUMENTS.digest, DOCUMENTS.digest)  # of baseline and candidate

    def save(self, store: Store) -> None:
        """Save the tests t0, t1, … with their experiments, the evaluation set and the log."""
        version = self._save_dataset(store)
        shown = ShownTables(queries=queries(self.categories))
        for number, lift in enumerate(self.online):
            base = dict.fromkeys(self.offline, 0.5)
            better = {name: 0.5 + values[number] for name, values in self.offline.items()}
            before = save_experiment(store, f"t{number}-main", base, shown, self.documents[0])
            after = save_experiment(store, f"t{number}-branch", better, shown, self.documents[1])
            links = {BASELINE: before.id, CANDIDATE: after.id, DATASET: version.digest}
            store.save_ab_test(f"t{number}", body(lift), links)
        if self.searches:
            table = Queries(
                {
                    "query_id": [f"s{n}" for n in range(len(self.searches))],
                    "text": [*self.searches],
                    "issued": [*self.searches.values()],
                }
            )
            store.tables.write(table.digest, table_to_parquet(table))
            store.save_online_metrics("week 1", {"metrics": {}}, {CLICKS: table.digest})

    def _save_dataset(self, store: Store) -> DatasetVersion:
        at = datetime.now(UTC) - timedelta(days=self.judged_days_before)
        rows = {"query_id": IDS, "doc_id": ["d"] * N, "judge": [self.judge] * N, "grade": [1.0] * N}
        tables: dict[str, DatasetTable] = {
            "queries": queries(self.categories),
            "qrels": Qrels({name: {"d": 1} for name in IDS}),
            "documents": DOCUMENTS,
            "judgments": Judgments({**rows, "at": [at] * N}),
        }
        return DatasetVersions(store).save(DatasetVersion("set", {}), tables)
