"""The journal of a run: what it keeps, what it cuts off, whom it keeps out."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError, StoreError
from assay.search import journal as room
from assay.search.journal import Failure, Finished, Journal, Sitting
from assay.search.searcher import Answer, Stage

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
RANKED = st.lists(st.tuples(TEXTS, st.floats(allow_nan=False)), max_size=5)
STAGES = st.builds(Stage, TEXTS, RANKED, st.integers(0, 10**12))
ANSWERS = st.builds(
    Answer, RANKED, st.lists(STAGES, max_size=2).map(tuple), st.integers(0, 99), st.floats(0, 9)
)
COUNTS = st.integers(0, 10**12)
TIMES = st.floats(0, 4e9)
FINISHED = st.one_of(
    st.builds(Finished, TEXTS, TIMES, COUNTS, COUNTS, COUNTS, ANSWERS, st.none()),
    st.builds(Finished, TEXTS, TIMES, COUNTS, COUNTS, st.none(), st.none(), st.builds(Failure, TEXTS, TEXTS)),
)
SITTING = Sitting(100.0, 8, None, 30.0)


def answered(key: str, at: float = 101.0) -> Finished:
    return Finished(key, at, 1, 0, 2_000_000_000, Answer([("a", 1.5)]))


def made(folder: Path, k: int = 10) -> Journal:
    return Journal(folder, "my search", {"system": {"url": "http://x"}, "k": k, "queries": "abc"})


def filled(folder: Path) -> Journal:
    with made(folder).opened() as journal:
        journal.sit(SITTING)
        for key in ("q1", "q2"):
            journal.put(answered(key))
    return journal


@given(FINISHED)
def test_what_was_finished_comes_back_as_it_was(done: Finished) -> None:
    line = json.loads(json.dumps(room._row(done)))
    assert room._finished(line) == done


def test_a_journal_is_one_line_a_query_after_what_it_is_of(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert lines[0] == {"assay": "journal 1", "system": {"url": "http://x"}, "k": 10, "queries": "abc"}
    assert lines[1] == {"sitting": {"began": 100.0, "concurrency": 8, "rate": None, "timeout": 30.0}}
    assert [line["query_id"] for line in lines[2:]] == ["q1", "q2"]
    assert journal.path.name.startswith("my-search-")


def test_a_half_line_at_the_end_is_cut_off(tmp_path: Path) -> None:
    path = filled(tmp_path).path
    whole = path.read_bytes()
    for end in range(len(whole) - 1, len(whole) - 40, -1):
        path.write_bytes(whole[:end])
        with made(tmp_path).opened() as journal:
            assert list(journal.finished) == ["q1"]
            journal.put(answered("q2"))
        assert path.read_bytes() == whole


def test_a_head_that_was_not_finished_is_written_again(tmp_path: Path) -> None:
    path = filled(tmp_path).path
    head = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(head[:9])
    with made(tmp_path).opened() as journal:
        assert not journal.finished
    assert path.read_bytes() == head


def test_the_last_word_on_a_query_counts(tmp_path: Path) -> None:
    with made(tmp_path).opened() as journal:
        journal.sit(SITTING)
        journal.put(Finished("q1", 101.0, 3, 5, None, None, Failure("status", "500")))
        journal.put(answered("q1"))
    with made(tmp_path).opened() as again:
        assert again.finished == {"q1": answered("q1")}


def test_a_sitting_lasts_until_its_last_query_ended(tmp_path: Path) -> None:
    with made(tmp_path).opened() as journal:
        journal.sit(SITTING)
        journal.put(answered("q1", 107.0))
        journal.put(answered("q2", 103.0))
        journal.sit(SITTING._replace(began=500.0))
        journal.put(answered("q3", 501.0))
    with made(tmp_path).opened() as again:
        assert [sitting.seconds for sitting in again.sittings] == [9.0, 3.0]


def test_another_configuration_has_a_file_of_its_own(tmp_path: Path) -> None:
    filled(tmp_path)
    with made(tmp_path, k=20).opened() as other:
        assert not other.finished
    with made(tmp_path).opened() as same:
        assert list(same.finished) == ["q1", "q2"]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_file_of_another_configuration_is_refused(tmp_path: Path) -> None:
    other = made(tmp_path, k=20)
    filled(tmp_path).path.rename(other.path)
    with pytest.raises(FormatError, match=r":1: .*found that of another; delete it"), other.opened():
        pass


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"query_id": "q"}', '{"sitting": {"began": 1}}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = filled(tmp_path).path
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(FormatError, match=r"jsonl:5: is damaged"), made(tmp_path).opened():
        pass


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    refused = pytest.raises(InputError, match="another run writes this journal")
    with made(tmp_path).opened(), refused, made(tmp_path).opened():
        pass
    with made(tmp_path).opened() as free:
        assert not free.finished


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), made(tmp_path / "file" / "x").opened():
        pass
