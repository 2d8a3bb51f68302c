"""The order, the groups and the fields of experiments in SQL are those of the sorted list."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.core.records import Metric
from assay.evaluation.experiment_fields import ExperimentField, sort_experiments
from assay.store.experiment_order import (
    count_experiments,
    count_groups,
    group_order,
    read_fields,
    read_series,
    sort_order,
)
from assay.store.store import Store
from tests.stores import experiment

SETTINGS: tuple[dict[str, Any], ...] = ({"ef": 64}, {"ef": 16}, {"ef": "auto"}, {}, {"ef": 128, "on": True})


@pytest.fixture
def filled(store: Store) -> Store:
    for place, settings in enumerate(SETTINGS):
        saved = experiment(
            f"system {place % 2}",
            0.1 * ((place * 3) % 5),
            at=datetime(2026, 1, 1 + place, tzinfo=UTC),
            configuration=settings,
            latency={"p95_ms": 5.0 - place} if place else {},
            tags=("nightly", "all") if place == 1 else ("nightly",) if place < 3 else (),
        )
        store.put(saved)
    return store


@pytest.mark.parametrize("field", ["nDCG@10", "latency.p95_ms", "params.ef", "params.on"])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_in_sql_is_that_of_the_sorted_list(filled: Store, field: str, reverse: bool) -> None:
    parsed = ExperimentField.parse(field)
    expected = [e.id for e in sort_experiments(filled.list(), parsed, reverse)]
    order = sort_order(parsed, reverse)
    assert [e.id for e in filled.list(order=order)] == expected
    pages = [filled.list(order=order, limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [e.id for page in pages for e in page] == expected


def test_groups_are_together_and_counted(filled: Store) -> None:
    order = [*group_order("tag"), *sort_order(None)]
    shown = [e.tags[:1] for e in filled.list(order=order)]
    assert shown == [("all",), ("nightly",), ("nightly",), (), ()]
    assert count_groups(filled, "", "tag", ["all", "nightly", None]) == {"all": 1, "nightly": 2, None: 2}
    assert count_groups(filled, "params.ef", "name", ["system 0"]) == {"system 0": 3}


def test_groups_by_what_experiments_do_not_have_are_refused(filled: Store) -> None:
    with pytest.raises(InputError, match="expected groups by name"):
        group_order("colour")


def test_counts_leave_out_deleted_experiments(filled: Store) -> None:
    filled.drop(filled.list(limit=1)[0].id)
    assert count_experiments(filled) == 4
    assert count_experiments(filled, "params.ef = 16") == 1


def test_all_fields_are_named_once(filled: Store) -> None:
    names = {str(field) for field in read_fields(filled)}
    assert {"nDCG@10", "R@10", "latency.p95_ms", "params.ef", "params.on"} <= names
    assert len(read_fields(filled)) == len(names)


def test_a_series_holds_its_newest_values_the_oldest_first(store: Store) -> None:
    for day in range(3):
        metrics = (Metric("nDCG@10", "", "", None if day == 1 else day / 10),)
        store.put(experiment("a", at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day), metrics=metrics))
    series = read_series(store, "nDCG@10", ["a", "b"], 5)
    assert [point.value for point in series["a"]] == [0.0, 0.2]
    assert series["b"] == []
    assert [point.value for point in read_series(store, "nDCG@10", ["a"], 1)["a"]] == [0.2]
