"""The journal of finished calls: the last value of each key, in a file of its own."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError, StoreError
from assay.remote.journal import Journal

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def journal(folder: Path, model: str = "m") -> Journal:
    return Journal(folder, "my answers", {"model": model})


@given(value=JSON)
def test_any_json_value_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with journal(folder).open() as first:
        first.put("key", value)
    with journal(folder).open() as second:
        assert second.values == {"key": value}


def test_the_last_value_of_a_key_counts(tmp_path: Path) -> None:
    with journal(tmp_path).open() as first:
        first.put("a", 1)
        first.put("a", 2)
        assert first.values == {"a": 2}
    with journal(tmp_path).open() as second:
        assert second.values == {"a": 2}


def test_another_header_has_a_file_of_its_own(tmp_path: Path) -> None:
    with journal(tmp_path).open() as first, journal(tmp_path, "n").open() as other:
        first.put("a", 1)
        assert other.values == {}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_restart_forgets_what_was_recorded(tmp_path: Path) -> None:
    with journal(tmp_path).open() as first:
        first.put("a", 1)
    with journal(tmp_path).open(restart=True) as second:
        assert second.values == {}
    assert len(second.path.read_text().splitlines()) == 1


def test_an_incomplete_last_line_is_cut_off(tmp_path: Path) -> None:
    with journal(tmp_path).open() as first:
        first.put("a", 1)
        first.put("b", 2)
    content = first.path.read_bytes()
    first.path.write_bytes(content[:-3])
    with journal(tmp_path).open() as second:
        assert second.values == {"a": 1}
        second.put("b", 2)
    assert first.path.read_bytes() == content


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    with journal(tmp_path).open() as first:
        first.put("a", 1)
    with first.path.open("a") as file:
        file.write('{"key": "b"}\n')
    with pytest.raises(FormatError, match=r"jsonl:3: is damaged"), journal(tmp_path).open():
        pass


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    is_refused = pytest.raises(InputError, match="another run is writing this journal")
    with journal(tmp_path).open(), is_refused, journal(tmp_path).open():
        pass


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"), journal(tmp_path / "file" / "x").open():
        pass
