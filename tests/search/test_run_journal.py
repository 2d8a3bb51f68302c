"""The journal of a run: rows, incomplete lines, locks."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError, StoreError
from assay.search import run_journal
from assay.search.run_journal import FinishedQuery, QueryFailure, RunJournal, RunSession
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
    st.builds(FinishedQuery, TEXTS, TIMES, COUNTS, COUNTS, COUNTS, ANSWERS, st.none()),
    st.builds(
        FinishedQuery,
        TEXTS,
        TIMES,
        COUNTS,
        COUNTS,
        st.none(),
        st.none(),
        st.builds(QueryFailure, TEXTS, TEXTS),
    ),
)
SITTING = RunSession(100.0, 8, None, 30.0)


def answered_query(key: str, at: float = 101.0) -> FinishedQuery:
    return FinishedQuery(key, at, 1, 0, 2_000_000_000, Answer([("a", 1.5)]))


def make_journal(folder: Path, k: int = 10) -> RunJournal:
    return RunJournal(folder, "my search", {"system": {"url": "http://x"}, "k": k, "queries": "abc"})


def written_journal(folder: Path) -> RunJournal:
    with make_journal(folder).open() as journal:
        journal.start_session(SITTING)
        for key in ("q1", "q2"):
            journal.put(answered_query(key))
    return journal


@given(FINISHED)
def test_a_finished_query_comes_back_as_it_was(query: FinishedQuery) -> None:
    line = json.loads(json.dumps(run_journal._to_row(query)))
    assert run_journal._from_row(line) == query


def test_a_journal_has_a_header_and_one_line_per_query(tmp_path: Path) -> None:
    journal = written_journal(tmp_path)
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert lines[0] == {"assay": "journal 1", "system": {"url": "http://x"}, "k": 10, "queries": "abc"}
    assert lines[1] == {"sitting": {"began": 100.0, "concurrency": 8, "rate": None, "timeout": 30.0}}
    assert [line["query_id"] for line in lines[2:]] == ["q1", "q2"]
    assert journal.path.name.startswith("my-search-")


def test_an_incomplete_line_at_the_end_is_cut_off(tmp_path: Path) -> None:
    path = written_journal(tmp_path).path
    whole = path.read_bytes()
    for end in range(len(whole) - 1, len(whole) - 40, -1):
        path.write_bytes(whole[:end])
        with make_journal(tmp_path).open() as journal:
            assert list(journal.finished) == ["q1"]
            journal.put(answered_query("q2"))
        assert path.read_bytes() == whole


def test_an_incomplete_header_is_written_again(tmp_path: Path) -> None:
    path = written_journal(tmp_path).path
    head = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(head[:9])
    with make_journal(tmp_path).open() as journal:
        assert not journal.finished
    assert path.read_bytes() == head


def test_the_last_result_of_a_query_counts(tmp_path: Path) -> None:
    with make_journal(tmp_path).open() as journal:
        journal.start_session(SITTING)
        journal.put(FinishedQuery("q1", 101.0, 3, 5, None, None, QueryFailure("status", "500")))
        journal.put(answered_query("q1"))
    with make_journal(tmp_path).open() as again:
        assert again.finished == {"q1": answered_query("q1")}


def test_a_session_lasts_until_its_last_query_ended(tmp_path: Path) -> None:
    with make_journal(tmp_path).open() as journal:
        journal.start_session(SITTING)
        journal.put(answered_query("q1", 107.0))
        journal.put(answered_query("q2", 103.0))
        journal.start_session(SITTING._replace(started_at=500.0))
        journal.put(answered_query("q3", 501.0))
    with make_journal(tmp_path).open() as again:
        assert [sitting.seconds for sitting in again.sessions] == [9.0, 3.0]


def test_another_configuration_has_a_file_of_its_own(tmp_path: Path) -> None:
    written_journal(tmp_path)
    with make_journal(tmp_path, k=20).open() as other:
        assert not other.finished
    with make_journal(tmp_path).open() as same:
        assert list(same.finished) == ["q1", "q2"]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_file_of_another_configuration_is_refused(tmp_path: Path) -> None:
    other = make_journal(tmp_path, k=20)
    written_journal(tmp_path).path.rename(other.path)
    with pytest.raises(FormatError, match=r":1: .*found that of another; delete the file"), other.open():
        pass


@pytest.mark.parametrize("line", ["no JSON", "[1]", '{"query_id": "q"}', '{"sitting": {"began": 1}}'])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = written_journal(tmp_path).path
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(FormatError, match=r"jsonl:5: is damaged"), make_journal(tmp_path).open():
        pass


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    is_refused = pytest.raises(InputError, match="another run is writing this journal")
    with make_journal(tmp_path).open(), is_refused, make_journal(tmp_path).open():
        pass
    with make_journal(tmp_path).open() as free:
        assert not free.finished


def test_a_folder_that_cannot_be_written_is_an_error_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), make_journal(tmp_path / "file" / "x").open():
        pass
