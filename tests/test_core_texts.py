"""Columns of ids: what goes in comes out, and no two ids are taken for one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.texts import PAD, Texts, mix
from brute import IDS, quick

STRINGS = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.sampled_from(IDS)
)
_WORD = (1 << 64) - 1


def unmix(word: int) -> int:
    """The number that `mix` makes this word of."""
    word ^= (word >> 31) ^ (word >> 62)
    word = word * pow(0x94D049BB133111EB, -1, 1 << 64) & _WORD
    word ^= (word >> 27) ^ (word >> 54)
    word = word * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & _WORD
    return word ^ (word >> 30) ^ (word >> 60)


def collision(short: str) -> str:
    """A longer id with the same key as the short one."""
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
def test_strings_come_out_as_they_went_in(strings: list[str]) -> None:
    texts = Texts.of(strings)
    assert texts.tolist() == strings
    assert [texts[row] for row in range(len(texts))] == strings
    assert texts.packed().tobytes().decode() == "".join(strings)


@quick
@given(STRINGS, STRINGS)
def test_columns_one_after_the_other_are_one_column(first: list[str], second: list[str]) -> None:
    joined = Texts.concat([Texts.of(first), Texts.of(second)])
    assert joined.tolist() == first + second
    assert joined.slice(len(first), len(joined)).tolist() == second


@quick
@given(STRINGS)
def test_rows_are_taken_in_any_order(strings: list[str]) -> None:
    order = np.random.default_rng(len(strings)).permutation(len(strings))
    assert Texts.of(strings).take(order).tolist() == [strings[row] for row in order]


@quick
@given(STRINGS)
def test_equal_strings_have_equal_keys_and_others_do_not(strings: list[str]) -> None:
    keys = Texts.of(strings).keys().tolist()
    assert len(set(keys)) == len(set(strings))
    assert keys == [Texts.of([text]).keys()[0] for text in strings]


@quick
@given(STRINGS)
def test_a_string_repeats_where_it_equals_the_one_before(strings: list[str]) -> None:
    doubled = [text for text in strings for _ in range(2)]
    expected = [row > 0 and doubled[row] == doubled[row - 1] for row in range(len(doubled))]
    assert Texts.of(doubled).repeats().tolist() == expected


@quick
@given(STRINGS)
def test_columns_are_compared_row_by_row(strings: list[str]) -> None:
    other = [text if row % 2 else text + "x" for row, text in enumerate(strings)]
    same = Texts.of(strings).equal(Texts.of(other))
    assert same.tolist() == [a == b for a, b in zip(strings, other, strict=True)]


def test_a_string_with_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="an id contains a NUL character"):
        Texts.of(["a", "b\0c"])


def test_the_last_string_is_read_inside_the_buffer() -> None:
    texts = Texts(np.frombuffer(b"abc" + b"\xff" * PAD, np.uint8), np.array([0]), np.array([3]))
    assert texts.word(0).tolist() == [int.from_bytes(b"abc", "little")]
    assert texts.word(5).tolist() == [0]


def test_mixing_is_the_finaliser_of_splitmix64() -> None:
    states = np.arange(1, 6, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mix(states).tolist() == [*published, 4593380528125082431, 16408922859458223821]


def test_mixing_can_be_undone() -> None:
    words = np.random.default_rng(0).integers(0, _WORD, 100, np.uint64)
    assert [unmix(int(word)) for word in mix(words)] == words.tolist()


def test_two_ids_with_one_key_are_still_two_ids() -> None:
    short, long = "doc7", collision("doc7")
    texts = Texts.of([short, long])
    assert texts.keys()[0] == texts.keys()[1]
    assert not texts.take(np.array([0])).equal(texts.take(np.array([1]))).any()
    assert not texts.repeats().any()
