"""Answers against accepted ones; the F1 values are those of SQuAD's published script."""

import pytest

from assay.rag.answer_scores import contains_answer, is_exact_match, is_refusal, normalize_answer, token_f1


@pytest.mark.parametrize(
    ("text", "normalized"),
    [("The Beatles!", "beatles"), ("a  cat,  an owl", "cat owl"), ("ＶＰＮ", "vpn"), ("", "")],
)
def test_case_punctuation_articles_and_spaces_do_not_count(text: str, normalized: str) -> None:
    assert normalize_answer(text) == normalized


def test_an_exact_match_is_one_of_the_accepted_answers() -> None:
    assert is_exact_match("the 8080.", ["8081", "8080"])
    assert not is_exact_match("port 8080", ["8080"])


@pytest.mark.parametrize(
    ("answer", "accepted", "f1"),
    [
        ("Denver Broncos", ["Denver Broncos"], 1.0),
        ("the Broncos", ["Denver Broncos"], 2 / 3),
        ("red blue", ["red red"], 0.5),
        ("nothing", ["something"], 0.0),
        ("x", [], 0.0),
    ],
)
def test_f1_is_that_of_shared_words_and_the_best_accepted_answer(
    answer: str, accepted: list[str], f1: float
) -> None:
    assert token_f1(answer, accepted) == pytest.approx(f1)


def test_words_of_an_answer_must_stand_together_and_whole() -> None:
    assert contains_answer("It listens on port 8080 today", ["port 8080"])
    assert not contains_answer("port number 8080", ["port 8080"])
    assert not contains_answer("80801", ["8080"])
    assert not contains_answer("anything", ["the"])


@pytest.mark.parametrize(
    "text", ["I don't know.", "I do not know", "", "The passages do not say it", "Unknown"]
)
def test_declining_is_a_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["8080", "It is not 8080 but 8081", "Don Quixote"])
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)
