"""Trends: changes found where they are, breaks that are not changes, and few false alarms."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.evaluation.trends import watch_trend
from assay.store.provenance import POLICY
from assay.store.store import Store
from assay.views.trends import describe_reason, describe_skipped, describe_status
from assay.workflows.trends import read_trend

N = 200
START = datetime(2026, 1, 1, tzinfo=UTC)
HARD = np.random.default_rng(7).random(N)  # what makes a query hard stays


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as made:
        yield made


def night(store: Store, day: int, shift: float = 0.0, kept: bool = True, **fields: Any) -> Experiment:
    """What a nightly job saves: the same system with a little noise of its own."""
    noise = np.random.default_rng(100 + day).normal(0, 0.05, N)
    values = np.clip(HARD * 0.6 + 0.2 + noise + shift, 0, 1)
    mean, half = float(values.mean()), 1.96 * float(values.std(ddof=1)) / N**0.5
    given: dict[str, Any] = {
        "at": START + timedelta(days=day),
        "metrics": (Metric("nDCG@10", "", "", mean, mean - half, mean + half, N),),
        "digests": {"qrels": "a" * 32},
        "policy": POLICY,
        "configuration": {"index": {"ef": 64, "m": 16}},
        "code": "abc",
    }
    scores = Scores([f"q{i}" for i in range(N)], {"nDCG@10": values})
    return store.put(Experiment("nightly", **{**given, **fields}), scores if kept else None)


def nights(store: Store, shifts: Sequence[float], **fields: Any) -> list[Experiment]:
    return [night(store, day, shift, **fields) for day, shift in enumerate(shifts)]


def test_a_flat_series_of_40_points_raises_no_alarm(store: Store) -> None:
    nights(store, [0.0] * 40)
    made = read_trend(store, "nDCG@10", name="nightly")
    assert len(made.points) == 40
    assert (made.breaks, made.changes) == ([], [])
    assert [watch_trend(made, against).state for against in ("level", "best", "previous")] == ["fine"] * 3


def test_a_planted_regression_is_found_where_it_is_with_what_changed(store: Store) -> None:
    saved = nights(store, [0.0] * 7)
    saved += [
        night(store, day, -0.05, configuration={"index": {"ef": 16, "m": 16}}, code="def")
        for day in range(7, 14)
    ]
    made = read_trend(store, "nDCG@10", name="nightly")
    (change,) = made.changes
    assert (change.id, change.mark) == (saved[7].id, "worse")
    assert change.setting_changes == {"index.ef": (64, 16), "version of the code": ("abc", "def")}
    assert change.level_comparison is not None
    assert change.level_comparison.method == "paired t"
    assert change.level_comparison.difference == pytest.approx(-0.05, abs=0.015)
    assert change.level_comparison.other == saved[0].id
    assert made.breaks == []


def test_a_regression_and_its_repair_are_two_changes(store: Store) -> None:
    nights(store, [0.0] * 5 + [-0.05] * 3 + [0.0] * 5)
    marks = [point.mark for point in read_trend(store, "nDCG@10").points]
    assert marks == [""] * 5 + ["worse"] + [""] * 2 + ["better"] + [""] * 4


def test_a_change_of_the_dataset_is_a_break_and_not_a_change(store: Store) -> None:
    nights(store, [0.0] * 4)
    for day in range(4, 8):
        night(store, day, 0.1, digests={"qrels": "b" * 32})
    made = read_trend(store, "nDCG@10")
    assert [point.mark for point in made.points] == [""] * 4 + ["break"] + [""] * 3
    (reason,) = made.breaks[0].reasons
    assert describe_reason(reason) == "judgments: aaaaaaaa and bbbbbbbb"
    assert made.breaks[0].level_comparison is None
    assert made.previous is not None
    assert made.previous.other == made.points[6].id


def test_a_change_after_a_break_is_held_against_the_points_after_it(store: Store) -> None:
    nights(store, [0.1] * 4)
    for day in range(4, 12):
        night(store, day, -0.05 if day >= 8 else 0.0, digests={"qrels": "b" * 32})
    marks = [point.mark for point in read_trend(store, "nDCG@10").points]
    assert marks == [""] * 4 + ["break"] + [""] * 3 + ["worse"] + [""] * 3


def test_without_scores_the_intervals_tell_less(store: Store) -> None:
    nights(store, [0.0] * 4 + [-0.03, -0.3], kept=False)
    made = read_trend(store, "nDCG@10")
    assert [point.mark for point in made.points] == [""] * 5 + ["worse"]
    assert made.points[-1].level_comparison is not None
    assert made.points[-1].level_comparison.method == "intervals"


@pytest.mark.parametrize("width", [None, 0.0])
def test_without_scores_and_intervals_nothing_can_be_told(store: Store, width: float | None) -> None:
    for day, value in enumerate((0.5, 0.1)):
        end = None if width is None else value + width
        night(store, day, kept=False, metrics=(Metric("nDCG@10", "", "", value, end, end),))
    made = read_trend(store, "nDCG@10")
    assert made.changes == []
    assert describe_status(watch_trend(made)) == "neither scores of the queries nor intervals are kept"
    assert watch_trend(made).exit_code == 3


def test_a_slice_is_followed_by_its_intervals(store: Store) -> None:
    for day, value in enumerate((0.5, 0.5, 0.2)):
        metrics = (Metric("nDCG@10", "category", "faq", value, value - 0.05, value + 0.05, 30),)
        night(store, day, metrics=metrics, digests={"qrels": "a" * 32, "queries": "q" * 32})
    made = read_trend(store, "nDCG@10", column="category", value="faq")
    assert [point.mark for point in made.points] == ["", "", "worse"]


def test_queries_in_another_order_are_paired_by_their_names(store: Store) -> None:
    first = night(store, 0)
    scores = store.scores(first)
    assert scores is not None
    turned = scores.take(np.arange(N)[::-1])
    store.put(Experiment("nightly", metrics=first.metrics, digests=first.digests, policy=POLICY), turned)
    made = read_trend(store, "nDCG@10")
    assert made.previous is not None
    assert (made.previous.difference, made.previous.p) == (0.0, 1.0)


def test_the_scores_of_each_experiment_are_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    nights(store, [0.0] * 3 + [-0.1] * 3)
    read, get = list[str](), store.tables.get

    def counted(digest: str, only: str | None = None) -> Scores:
        read.append(digest)
        assert only == "nDCG@10"
        return get(digest, only)

    monkeypatch.setattr(store.tables, "get", counted)
    read_trend(store, "nDCG@10")
    assert len(read) == len(set(read)) == 6


def test_a_limit_keeps_the_newest(store: Store) -> None:
    saved = nights(store, [0.0] * 5)
    assert [point.id for point in read_trend(store, "nDCG@10", limit=2).points] == [e.id for e in saved[3:]]


def test_a_filter_chooses_the_series(store: Store) -> None:
    night(store, 0)
    kept = night(store, 1, configuration={"index": {"ef": 16}})
    assert [p.id for p in read_trend(store, "nDCG@10", where="params.index.ef = 16").points] == [kept.id]


def lower(store: Store, shifts: Sequence[float]) -> None:
    for day, shift in enumerate(shifts):
        rows = np.clip(HARD + shift, 0, 1) > 0.8
        values = rows.astype(float)
        metrics = (Metric("ZeroHit@10", "", "", float(values.mean()), 0.0, 1.0, N),)
        store.put(
            Experiment("n", START + timedelta(days=day), metrics=metrics, policy=POLICY),
            Scores([f"q{i}" for i in range(N)], {"ZeroHit@10": values}),
        )


def test_where_lower_is_better_a_rise_is_worse(store: Store) -> None:
    lower(store, [0.0, 0.0, 0.2])
    made = read_trend(store, "ZeroHit@10")
    assert [point.mark for point in made.points] == ["", "", "worse"]
    assert watch_trend(made).state == "regression"
    assert made.best is not None
    assert made.best.difference > 0


STATES: list[tuple[str, Callable[[Store], object], str, float, str]] = [
    ("a fall", lambda s: nights(s, [0, 0, 0, -0.05]), "level", 0.0, "regression"),
    ("a fall against the night before", lambda s: nights(s, [0, 0, -0.05]), "previous", 0.0, "regression"),
    ("a fall that has lasted", lambda s: nights(s, [0, 0, 0, -0.05, -0.05]), "level", 0.0, "fine"),
    (
        "a fall that has lasted, by the best",
        lambda s: nights(s, [0, 0, -0.05, -0.05]),
        "best",
        0.0,
        "regression",
    ),
    ("a rise", lambda s: nights(s, [0, 0, 0.05]), "level", 0.0, "fine"),
    ("a fall within the margin", lambda s: nights(s, [0, 0, -0.02]), "level", 0.05, "fine"),
    ("a fall near the margin", lambda s: nights(s, [0, 0, -0.05]), "level", 0.046, "cannot tell"),
    ("one point", lambda s: nights(s, [0]), "level", 0.0, "cannot tell"),
    ("no point", lambda s: None, "level", 0.0, "cannot tell"),
]


@pytest.mark.parametrize(
    ("prepare", "against", "margin", "state"), [s[1:] for s in STATES], ids=[s[0] for s in STATES]
)
def test_a_watch_tells(
    store: Store, prepare: Callable[[Store], object], against: str, margin: float, state: str
) -> None:
    prepare(store)
    status = watch_trend(read_trend(store, "nDCG@10"), against, margin)
    assert status.state == state, describe_status(status)
    assert status.exit_code == {"fine": 0, "regression": 1, "cannot tell": 3}[state]


def test_a_watch_cannot_tell_across_a_break_and_says_why(store: Store) -> None:
    nights(store, [0.0, 0.0])
    night(store, 2, digests={"qrels": "b" * 32})
    status = watch_trend(read_trend(store, "nDCG@10"))
    assert status.state == "cannot tell"
    assert "judgments: aaaaaaaa and bbbbbbbb" in describe_status(status)


def test_a_watch_cannot_tell_where_the_newest_measured_something_else(store: Store) -> None:
    nights(store, [0.0, 0.0])
    night(store, 2, metrics=(Metric("nDCG(gain='exp')@10", "", "", 0.5),))
    made = read_trend(store, "nDCG@10")
    assert describe_skipped(made.skipped[0]) == "nDCG@10 was not measured, nDCG(gain='exp')@10 was"
    assert watch_trend(made).state == "cannot tell"
    assert "nDCG(gain='exp')@10 was" in describe_status(watch_trend(made))


@pytest.mark.parametrize(("against", "margin"), [("worst", 0.0), ("best", -1.0), ("best", float("nan"))])
def test_a_watch_refuses_what_it_does_not_know(store: Store, against: str, margin: float) -> None:
    nights(store, [0.0, 0.0])
    with pytest.raises(InputError):
        watch_trend(read_trend(store, "nDCG@10"), against, margin)
