"""The store keeps experiments and gives them back, in SQLite and in PostgreSQL alike."""

import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select

from assay.core.errors import InputError, StoreError
from assay.core.records import Metric
from assay.core.tables import Scores
from assay.store import schema
from assay.store.store import Store
from tests.stores import experiment, scores, start

NOW = timedelta(0)


def day(number: int) -> datetime:
    return datetime(2026, 2, number, tzinfo=UTC)


def file_of(store: Store, digest: str) -> Path:
    return Path(store.tables.url) / digest[:2] / f"{digest}.parquet"


def test_what_is_put_comes_back_whole(store: Store) -> None:
    given = experiment()
    made = store.put(given, scores())
    assert made == replace(given, id=made.id, digests={**given.digests, "scores": scores().digest})
    assert store.get(made.id) == made
    assert store.list() == [made]
    found = store.scores(made)
    assert found is not None
    assert found.digest == scores().digest
    assert np.isnan(found["nDCG@10"][3])


def test_another_process_sees_it(place: str, store: Store) -> None:
    made = store.put(experiment())
    with Store(place) as other:
        assert other.get(made.id) == made


def test_without_scores_there_are_none(store: Store) -> None:
    assert store.scores(store.put(experiment())) is None


def test_ids_differ_and_one_that_is_given_is_kept(store: Store) -> None:
    made = {store.put(experiment()).id for _ in range(20)}
    assert len(made) == 20
    assert store.put(experiment(id="mine")).id == "mine"
    with pytest.raises(StoreError, match="cannot be used"):
        store.put(experiment(id="mine"))
    assert len(store.list()) == 21


def test_a_name_means_its_newest(store: Store) -> None:
    new = store.put(experiment(at=day(2)))
    store.put(experiment(at=day(1)))
    assert store.get("hnsw") == new
    store.drop(new.id)
    assert store.get("hnsw").at == day(1)
    assert store.get(new.id).deleted_at is not None


def test_an_id_goes_before_a_name(store: Store) -> None:
    made = store.put(experiment())
    store.put(experiment(made.id, at=day(9)))
    assert store.get(made.id) == made


def test_what_is_not_there_is_told(store: Store) -> None:
    with pytest.raises(InputError, match=r"there is no experiment 'nothing' in .*experiments list"):
        store.get("nothing")


def test_the_newest_is_listed_first(store: Store) -> None:
    for number in (2, 3, 1):
        store.put(experiment(f"e{number}", at=day(number)))
    assert [e.name for e in store.list()] == ["e3", "e2", "e1"]
    assert [e.name for e in store.list(limit=2)] == ["e3", "e2"]
    assert [e.name for e in store.list(names=["e1", "e3"])] == ["e3", "e1"]


def test_only_some_measures_are_read_where_only_they_are_asked_for(store: Store) -> None:
    store.put(experiment())
    [found] = store.list(metrics_of=["R@10"])
    assert [m[:3] for m in found.metrics] == [("R@10", "", "")]


def test_many_are_read_with_all_they_have(store: Store) -> None:
    made = [store.put(experiment(f"e{n}", n / 1000, at=day(1) + timedelta(n))) for n in range(600)]
    assert store.list() == made[::-1]


def test_notes_tags_and_pins_change_and_the_rest_does_not(store: Store) -> None:
    made = store.put(experiment())
    linked = store.annotate(made.id, note="new", add_tags=["b", "a", "b"], drop_tags=["nightly"], pinned=True)
    assert linked == replace(made, note="new", tags=("a", "b"), pinned=True)
    assert store.annotate(made.id, add_tags=["a"]).tags == ("a", "b")
    assert store.annotate(made.id, pinned=False, note="").note == ""
    assert store.get(made.id) == replace(made, note="", tags=("a", "b"))


def test_what_is_dropped_is_out_of_sight_until_it_is_restored(store: Store) -> None:
    made = store.put(experiment(), scores())
    assert store.drop("hnsw").deleted_at is not None
    assert store.list() == []
    assert [e.id for e in store.list(deleted=True)] == [made.id]
    with pytest.raises(InputError, match="no experiment"):
        store.get("hnsw")
    assert store.drop(made.id, restore=True) == made
    assert store.list() == [made]


def test_what_is_pinned_is_not_dropped(store: Store) -> None:
    made = store.put(experiment(pinned=True))
    with pytest.raises(InputError, match=rf"hnsw \({made.id}\) is pinned: unpin it first"):
        store.drop("hnsw")
    store.annotate("hnsw", pinned=False)
    store.drop("hnsw")
    assert store.list() == []


def test_purge_forgets_what_was_dropped_and_nothing_else(store: Store) -> None:
    kept, gone = store.put(experiment("kept")), store.put(experiment("gone"))
    store.drop("gone")
    assert store.purge() == 1
    assert store.purge() == 0
    assert store.list() == [kept]
    with pytest.raises(InputError, match="no experiment"):
        store.get(gone.id)
    with store.database.read_transaction() as connection:
        count = select(func.count()).select_from(schema.metrics)
        assert connection.execute(count).scalar() == len(kept.metrics)


def test_tables_that_nobody_refers_to_are_shown_and_then_cleaned(store: Store) -> None:
    kept = store.put(experiment("kept"), scores(1))
    store.put(experiment("gone"), scores(2))
    store.drop("gone")
    assert store.unused_tables(NOW) == []  # it may still be restored
    store.purge()
    assert [g.digest for g in store.unused_tables(NOW)] == [scores(2).digest]
    assert store.unused_tables() == []  # it is young
    assert store.clean() == []
    [gone] = store.clean(NOW)
    assert gone.size > 0
    assert [t.digest for t in store.tables.list()] == [kept.digests["scores"]]
    assert store.scores(kept) is not None


def test_the_same_scores_are_kept_once_and_stay_while_one_needs_them(store: Store) -> None:
    store.put(experiment("one"), scores())
    two = store.put(experiment("two"), scores())
    assert len(list(store.tables.list())) == 1
    store.drop("one")
    store.purge()
    assert store.clean(NOW) == []
    assert store.scores(two) is not None


def test_an_old_table_that_is_put_again_is_young(store: Store) -> None:
    store.put(experiment("other"))
    path = file_of(store, store.tables.put(scores()))
    os.utime(path, (0, 0))
    assert len(store.unused_tables()) == 1
    store.tables.put(scores())
    assert store.unused_tables() == []


def test_tables_without_any_record_are_not_called_unneeded(store: Store) -> None:
    store.tables.put(scores())
    with pytest.raises(StoreError, match="its records may be lost"):
        store.clean(NOW)
    assert len(list(store.tables.list())) == 1


def test_what_was_never_deleted_cannot_be_brought_back(store: Store) -> None:
    older, newer = store.put(experiment("one")), store.put(experiment("one"))
    store.drop(newer.id)
    assert store.drop("one", restore=True).id == newer.id
    with pytest.raises(InputError, match="no deleted experiment"):
        store.drop(older.id, restore=True)


def test_texts_of_all_scripts_come_back(store: Store) -> None:
    text = "größe 検索 🔎 'x' \"y\" % _ \\ ;--"
    given = experiment(text, note=text, tags=(text,), configuration={text: text}, code=text)
    made = store.put(given, Scores([text], {"nDCG@10": np.array([1.0])}))
    assert store.get(text) == made
    assert store.tables.row([made.digests["scores"]], text) == {made.digests["scores"]: {"nDCG@10": 1.0}}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"metrics": (Metric("R@10", "", "", float("nan")),)}, "R@10 of 'hnsw' is not a finite number"),
        ({"metrics": (Metric("R@10", "", "", 1.0, float("-inf")),)}, "R@10 of 'hnsw' is not a finite"),
        ({"latency": {"p95_ms": float("nan")}}, "'hnsw' cannot be saved: .*expected finite numbers"),
        ({"configuration": {"x": object()}}, "'hnsw' cannot be saved: Object of type object"),
        ({"note": "\ud800"}, "'hnsw' cannot be saved: .*surrogates"),
        ({"at": datetime(2026, 1, 1)}, "the time of 'hnsw' has no time zone"),
        ({"note": "a\0b"}, "contains a NUL character"),
        ({"configuration": {"x": "a\0b"}}, "contains a NUL character"),
        ({"tags": ("x" * 501,)}, "longer than 500 characters"),
    ],
)
def test_what_would_not_come_back_is_refused_and_nothing_is_kept(
    store: Store, fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        store.put(experiment(**fields), scores())
    assert store.list() == []
    assert store.unused_tables(NOW) == []


def test_a_long_setting_is_kept_whole_and_found_by_its_beginning(store: Store) -> None:
    prompt = "".join(chr(97 + i * 7 % 26) for i in range(20_000))
    store.put(experiment(configuration={"prompt": prompt}))
    (found,) = store.list(f"params.prompt = '{prompt}'")
    assert found.configuration == {"prompt": prompt}
    assert store.list("params.prompt = 'other'") == []


def test_one_measure_may_be_read_alone(store: Store) -> None:
    both = Scores(["a", "b"], {"nDCG@10": np.array([1.0, 0.5]), "R@10": np.array([0.0, 1.0])})
    made = store.put(experiment(), both)
    alone, none = store.scores(made, only="R@10"), store.scores(made, only="AP")
    assert alone is not None
    assert none is not None
    assert alone.to_dict() == {"a": {"R@10": 0.0}, "b": {"R@10": 1.0}}
    assert none.values == {}


def test_a_damaged_table_is_told(store: Store) -> None:
    made = store.put(experiment(), scores(1))
    path = file_of(store, made.digests["scores"])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=f"the table {made.digests['scores']} in .* cannot be read"):
        store.scores(made)
    path.write_bytes(file_of(store, store.tables.put(scores(2))).read_bytes())
    with pytest.raises(StoreError, match="is damaged: its content has another digest"):
        store.scores(made)


def test_a_table_that_is_lost_is_told(store: Store) -> None:
    made = store.put(experiment(), scores())
    store.tables.drop(made.digests["scores"])
    with pytest.raises(StoreError, match="it was lost, cleaned up"):
        store.scores(made)
    with pytest.raises(StoreError, match="it was lost, cleaned up"):
        store.tables.row([made.digests["scores"]], "q1")


def test_one_query_is_read_from_many_tables(store: Store) -> None:
    made = [store.tables.put(scores(seed)) for seed in range(130)]
    other = store.tables.put(Scores(["q1"], {"RR": np.array([0.5])}))
    none = store.tables.put(Scores(["else"], {"RR": np.array([0.5])}))
    found = store.tables.row([*made, other, none, made[0]], "q1")
    assert list(found) == [*made, other]
    assert found[other] == {"RR": 0.5}
    assert found[made[7]] == {name: values[1] for name, values in scores(7).values.items()}
    assert store.tables.row([], "q1") == {}
    assert np.isnan(store.tables.row(made[:1], "q3")[made[0]]["nDCG@10"])


def test_a_store_needs_a_place_that_it_can_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created"):
        Store(tmp_path / "file")
    with pytest.raises(InputError, match=r"needs a place for its tables: add \?tables=FOLDER"):
        Store("postgresql://me:secret@db/assay")
    with pytest.raises(InputError, match="a store is a folder or postgresql"):
        Store("mysql://db/assay")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store("postgresql://db/assay?tables=nowhere://bucket")


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "assay.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match="cannot be used: file is not a database"):
        Store(tmp_path)


def test_no_message_shows_a_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store(f"postgresql://me:secret@127.0.0.1:1/assay?tables={tmp_path}")
    assert "me:***@127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_postgresql_is_reached_by_its_socket_too(postgres: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres) as connection:
        [folder] = connection.execute("SHOW unix_socket_directories").fetchone() or [""]
    port, _, name = postgres.rpartition(":")[2].partition("/")
    with Store(f"postgresql:///{name}?host={folder}&port={port}&user=assay&tables={tmp_path}") as store:
        assert store.get(store.put(experiment()).id)


def test_a_reader_sees_one_state(place: str, store: Store) -> None:
    store.put(experiment("old"))
    count = select(func.count()).select_from(schema.records)
    with store.database.read_transaction() as connection:
        before = connection.execute(count).scalar()
        with Store(place) as other:
            other.put(experiment("new"))
        assert connection.execute(count).scalar() == before
    assert len(store.list()) == 2


def writers(place: str, processes: int, each: int) -> list[str]:
    """What so many processes that begin at once say they have kept."""
    started = [
        subprocess.Popen(
            start("write", place, str(each)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in started]
    assert [process.returncode for process in started] == [0] * processes
    return [name for names in told for name in names]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_eight_processes_lose_nothing(place: str) -> None:
    _all_are_kept(place, 8, 100)


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_four_processes_lose_nothing_in_postgresql(place: str) -> None:
    _all_are_kept(place, 4, 50)


def _all_are_kept(place: str, processes: int, each: int) -> None:
    """The store is new to all of them: they make its schema at the same moment."""
    told = writers(place, processes, each)
    with Store(place) as store:
        found = store.list()
        assert {e.id for e in found} == set(told)
        assert len(found) == len(told) == processes * each
        assert all(store.scores(e) is not None and len(e.metrics) == 3 for e in found)
        assert store.unused_tables(NOW) == []


def test_two_processes_may_make_a_new_store_at_the_same_moment(place: str) -> None:
    for number in range(3):
        where = place if "tables=" in place else f"{place}{number}"
        assert len(writers(where, 2, 1)) == 2


def test_a_store_whose_records_or_tables_cannot_be_written_is_found_out(tmp_path: Path) -> None:
    with Store(tmp_path / "whole") as store:
        store.check_writable()
        assert [*store.tables.list(), *store.list()] == []
        assert list((tmp_path / "whole" / "tables").iterdir()) == []
        with store.database.write_transaction() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {schema.records.name} RENAME TO other_records")
        with pytest.raises(StoreError, match="cannot be used: no such table"):
            store.check_writable()
    with Store(tmp_path / "half") as store:
        (tmp_path / "half" / "tables").write_text("a file")
        with pytest.raises(StoreError, match=r"nothing was saved: .*tables.* cannot be written"):
            store.check_writable()
