"""The workflows of recorded experiments."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError, UndecidableError
from assay.store.store import Store
from assay.views.experiments import render_experiments
from assay.workflows.compare_experiments import CompareExperimentsRequest, compare_experiments
from assay.workflows.experiments import (
    DeleteRequest,
    GarbageRequest,
    ListExperimentsRequest,
    NoteRequest,
    PinRequest,
    ShowExperimentsRequest,
    TagRequest,
    TrendRequest,
    WatchRequest,
    collect_garbage,
    delete_experiment,
    follow_trend,
    list_experiments,
    note_experiment,
    pin_experiment,
    show_experiments,
    tag_experiment,
    watch_experiments,
)
from tests.stores import experiment, scores


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with two experiments, the second without scores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    with Store(".assay") as store:
        store.put(experiment("a"), scores())
        store.put(experiment("b"))
        yield store


def test_a_list_says_whether_there_are_more() -> None:
    result = list_experiments(ListExperimentsRequest(limit=1))
    assert (len(result.experiments), result.has_more) == (1, True)
    assert len(result.to_dict()["experiments"]) == 1
    assert not list_experiments(ListExperimentsRequest(names=["a"])).has_more


def test_one_experiment_is_shown_in_full_and_several_by_their_differences() -> None:
    assert show_experiments(ShowExperimentsRequest(names=["a"])).to_dict()["name"] == "a"
    assert set(show_experiments(ShowExperimentsRequest(names=["a", "b"])).to_dict()) == {"differences"}


def test_a_trend_has_a_status_only_if_it_is_watched(store: Store) -> None:
    measure = next(iter(store.get("a").metrics)).measure
    assert follow_trend(TrendRequest(measure=measure, name="a")).to_dict()["status"] is None
    result = watch_experiments(WatchRequest(measure=measure, name="a"))
    assert (result.exit_code, result.to_dict()["status"]["state"]) == (3, "cannot tell")
    with pytest.raises(InputError, match="expected one system to watch, found"):
        watch_experiments(WatchRequest(measure=measure))


def test_a_slice_without_a_value_is_refused() -> None:
    with pytest.raises(InputError, match="--by expects a slice such as category=faq, found 'category'"):
        follow_trend(TrendRequest(by="category"))


def test_experiments_with_scores_are_compared(store: Store) -> None:
    store.put(experiment("c"), scores())
    result = compare_experiments(CompareExperimentsRequest(baseline="a", candidates=["c"]))
    assert result.blocking == ()
    assert result.to_dict()["baseline"] == "a"


def test_experiments_without_scores_are_not_compared() -> None:
    with pytest.raises(UndecidableError, match="was saved without the scores of its queries"):
        compare_experiments(CompareExperimentsRequest(baseline="a", candidates=["b"]))
    with pytest.raises(InputError, match="a and a are the same experiment"):
        compare_experiments(CompareExperimentsRequest(baseline="a", candidates=["a"]))


def test_notes_tags_and_pins_are_changed(store: Store) -> None:
    assert note_experiment(NoteRequest(experiment="a", text="why")).change == "noted"
    assert tag_experiment(TagRequest(experiment="a", tags=["x", "y"])).change == "tagged"
    assert tag_experiment(TagRequest(experiment="a", tags=["x"], remove=True)).change == "untagged"
    assert pin_experiment(PinRequest(experiment="a")).change == "pinned"
    found = store.get("a")
    assert (found.note, "y" in found.tags, "x" in found.tags, found.pinned) == ("why", True, False, True)
    assert pin_experiment(PinRequest(experiment="a", pinned=False)).to_dict()["change"] == "unpinned"


def test_a_deleted_experiment_is_restored_and_removed_for_good(store: Store) -> None:
    changed = delete_experiment(DeleteRequest(experiment="a"))
    assert changed.change == "deleted"
    assert delete_experiment(DeleteRequest(experiment=changed.id, restore=True)).change == "restored"
    delete_experiment(DeleteRequest(experiment="a"))
    dry = collect_garbage(GarbageRequest(purge=True, older=0))
    assert (dry.is_removed, dry.purged, dry.tables) == (False, 1, 0)
    done = collect_garbage(GarbageRequest(purge=True, older=0, yes=True))
    assert (done.is_removed, done.purged, done.tables) == (True, 1, 1)
    assert done.to_dict()["size"] > 0


def test_a_store_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store at none"):
        list_experiments(ListExperimentsRequest(store="none"))
    assert not (tmp_path / "none").exists()


def test_scores_that_were_not_imported_cannot_be_compared(store: Store) -> None:
    store.put(replace(experiment("c"), digests={"qrels": "a" * 64, "scores": "0" * 32}))
    with pytest.raises(UndecidableError, match="it was imported without them"):
        compare_experiments(CompareExperimentsRequest(baseline="a", candidates=["c"]))


def test_a_list_by_one_value_still_shows_latency_and_cost() -> None:
    fields = [str(field) for field in list_experiments(ListExperimentsRequest(sort="R@10")).fields]
    assert {"latency.p95_ms", "figures.cost_per_1k_queries"} <= set(fields)


def test_a_setting_called_name_is_told_apart_from_the_name_of_the_experiment(store: Store) -> None:
    for number in (1, 2):
        store.put(replace(experiment("d"), configuration={"name": f"system {number}"}))
    shown = list_experiments(ListExperimentsRequest(names=["d"])).experiments
    head = render_experiments(shown, "csv").splitlines()[0].split(",")
    assert "params.name" in head
    assert len(head) == len(set(head))
