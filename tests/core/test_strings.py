"""Columns of strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.strings import PAD, StringColumn, mix
from tests.reference_measures import IDS, quick

STRINGS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(IDS)
)
_WORD = (1 << 64) - 1


def unmix(word: int) -> int:
    """Return the number from which `mix` computes this word."""
    word ^= (word >> 31) ^ (word >> 62)
    word = word * pow(0x94D049BB133111EB, -1, 1 << 64) & _WORD
    word ^= (word >> 27) ^ (word >> 54)
    word = word * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & _WORD
    return word ^ (word >> 30) ^ (word >> 60)


def collision(short: str) -> str:
    """Return a longer id with the same key as the short one."""
    goal = unmix(int.from_bytes(short.encode(), "little"))
    for number in range(100_000):
        head = f"{number:08}".encode()
        first = (int.from_bytes(head, "little") + 0x9E3779B97F4A7C15) & _WORD
        tail = unmix(goal ^ first).to_bytes(8, "little")
        if tail.isascii() and min(tail) > 32:
            return (head + tail).decode()
    raise AssertionError("no collision found")


@quick
@given(STRINGS)
def test_strings_survive_the_round_trip(strings: list[str]) -> None:
    texts = StringColumn.from_strings(strings)
    assert texts.tolist() == strings
    assert [texts[row] for row in range(len(texts))] == strings
    assert texts.joined_bytes().tobytes().decode() == "".join(strings)


@quick
@given(STRINGS, STRINGS)
def test_concatenated_columns_are_one_column(first: list[str], second: list[str]) -> None:
    column = StringColumn.concat([StringColumn.from_strings(first), StringColumn.from_strings(second)])
    assert column.tolist() == first + second
    assert column.slice(len(first), len(column)).tolist() == second


@quick
@given(STRINGS)
def test_rows_are_taken_in_any_order(strings: list[str]) -> None:
    order = np.random.default_rng(len(strings)).permutation(len(strings))
    assert StringColumn.from_strings(strings).take(order).tolist() == [strings[row] for row in order]


@quick
@given(STRINGS)
def test_equal_strings_have_equal_keys_and_others_do_not(strings: list[str]) -> None:
    keys = StringColumn.from_strings(strings).keys().tolist()
    assert len(set(keys)) == len(set(strings))
    assert keys == [StringColumn.from_strings([text]).keys()[0] for text in strings]


@quick
@given(STRINGS)
def test_a_string_that_equals_the_one_before_is_marked(strings: list[str]) -> None:
    doubled = [text for text in strings for _ in range(2)]
    expected = [row > 0 and doubled[row] == doubled[row - 1] for row in range(len(doubled))]
    assert StringColumn.from_strings(doubled).equals_previous().tolist() == expected


@quick
@given(STRINGS)
def test_columns_are_compared_row_by_row(strings: list[str]) -> None:
    other = [text if row % 2 else text + "x" for row, text in enumerate(strings)]
    same = StringColumn.from_strings(strings).equals(StringColumn.from_strings(other))
    assert same.tolist() == [a == b for a, b in zip(strings, other, strict=True)]


def test_a_string_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="an id contains a NUL character"):
        StringColumn.from_strings(["a", "b\0c"])


def test_the_last_string_is_read_inside_the_buffer() -> None:
    texts = StringColumn(np.frombuffer(b"abc" + b"\xff" * PAD, np.uint8), np.array([0]), np.array([3]))
    assert texts.word(0).tolist() == [int.from_bytes(b"abc", "little")]
    assert texts.word(5).tolist() == [0]


def test_mixing_is_the_finaliser_of_splitmix64() -> None:
    states = np.arange(1, 6, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mix(states).tolist() == [*published, 4593380528125082431, 16408922859458223821]


def test_mixing_is_invertible() -> None:
    words = np.random.default_rng(0).integers(0, _WORD, 100, np.uint64)
    assert [unmix(int(word)) for word in mix(words)] == words.tolist()


def test_two_ids_with_the_same_key_are_different_ids() -> None:
    short, long = "doc7", collision("doc7")
    texts = StringColumn.from_strings([short, long])
    assert texts.keys()[0] == texts.keys()[1]
    assert not texts.take(np.array([0])).equals(texts.take(np.array([1]))).any()
    assert not texts.equals_previous().any()
