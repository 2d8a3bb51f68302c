"""What was measured online is kept like other records, with its links."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.online_records import AB_TEST, OnlineRecord
from assay.store.backup import backup, move, restore
from assay.store.online_records import has_id_or_name, linked_to, newest_of_name
from assay.store.store import Store

BODY = {"srm": {"p": 0.4}, "metrics": [], "status": "3 days left"}
LINKS = {"baseline": "e1", "candidate": "e2", "dataset": "d" * 32}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def content(records: object) -> list[tuple[object, ...]]:
    assert isinstance(records, list)
    return [(r.id, r.name, r.at, dict(r.body), dict(r.links)) for r in records]


def test_each_kind_is_read_back_with_its_links(store: Store) -> None:
    first = store.save_ab_test("title boost", BODY, LINKS)
    second = store.save_interleaving("title boost", {"n": 3}, {})
    third = store.save_online_metrics("week 1", {"metrics": {}}, {})
    (test,) = store.ab_tests()
    assert (test.id, test.name, test.body, test.links) == (first, "title boost", BODY, LINKS)
    assert [r.id for r in (*store.interleavings(), *store.online_metrics())] == [second, third]


def test_online_records_are_no_experiments(store: Store) -> None:
    store.save_ab_test("a", BODY, LINKS)
    assert store.list() == []
    assert store.unused_tables() == []
    assert store.missing_tables() == []


def test_the_newest_comes_first(store: Store) -> None:
    names = [store.save_ab_test(name, BODY, {}) and name for name in ("a", "b", "c")]
    assert [record.name for record in store.ab_tests()] == names[::-1]


def test_a_body_with_numbers_that_json_lacks_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="expected finite numbers and text"):
        store.save_ab_test("a", {"p": float("nan")}, {})
    assert store.ab_tests() == []


def test_online_records_are_backed_up_and_moved(tmp_path: Path, store: Store) -> None:
    store.save_ab_test("a", BODY, LINKS)
    store.save_online_metrics("m", {"metrics": {}}, {})
    backup(store, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", tmp_path / "b")
    with Store(tmp_path / "b") as restored, Store(tmp_path / "c") as moved:
        move(store, moved)
        for copy in (restored, moved):
            assert content(copy.ab_tests()) == content(store.ab_tests())
            assert content(copy.online_metrics()) == content(store.online_metrics())


def test_the_json_of_a_record_has_its_times_as_text(store: Store) -> None:
    store.save_ab_test("a", BODY, LINKS)
    (record,) = store.ab_tests()
    assert isinstance(record, OnlineRecord)
    assert record.to_dict()["at"] == record.at.isoformat()


def test_the_newest_of_each_name_and_those_of_an_experiment_are_found(place: str) -> None:
    with Store(place) as store:
        store.save_ab_test("a", BODY, LINKS)
        other = store.save_ab_test("b", BODY, {"baseline": "e2"})
        newest = store.save_ab_test("a", BODY, {})
        store.save_interleaving("b", BODY, LINKS)
        assert [r.id for r in store.ab_tests(newest_of_name(AB_TEST))] == [newest, other]
        assert [r.name for r in store.ab_tests(linked_to("e2"))] == ["b", "a"]
        assert [r.name for r in store.interleavings(linked_to("e1"))] == ["b"]
        assert len(store.ab_tests(has_id_or_name("a"))) == 2
        assert [r.id for r in store.ab_tests(has_id_or_name(other))] == [other]
