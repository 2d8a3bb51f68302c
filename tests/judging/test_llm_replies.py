"""A reply becomes a label only if it says exactly one grade of the scale."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.judging.judge import JudgedText
from assay.judging.llm.llm_judge import LLMJudge
from assay.judging.llm.model_families import model_family, model_names, shared_family
from assay.judging.llm.replies import read_rating
from assay.judging.llm.scale import Scale
from assay.models.language_model import LanguageModel, Message, Reply, ReplyParameters

GRADES = (0, 1, 2, 3)


@pytest.mark.parametrize(
    "text",
    [
        '{"grade": 2}',
        ' {"grade":2}\n',
        '{"why": "in part", "grade": 2}',
        '{"grade": "2"}',
        '```json\n{"grade": 2}\n```',
        "<think>3, or rather 2</think>2",
        "2",
        "2.",
        "Grade: 2",
        "final score: 2",
        "The grade is 2.",
    ],
)
def test_a_reply_with_one_grade_is_a_label(text: str) -> None:
    assert read_rating(Reply(text, "stop"), GRADES).grade == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "relevant",
        "1 or 2",
        "between 1 and 2",
        "2 out of 3 parts are answered, so 1",
        '{"grade": 7}',
        '{"grade": -1}',
        '{"grade": 1.5}',
        '{"grade": true}',
        '{"grade": null}',
        '{"grade": [2]}',
        '{"grade": 1, "grade": 3}',
        '{"grade": 2',
        '{"score": 2}',
        "12",
        "NaN",
    ],
)
def test_any_other_reply_is_no_label_and_says_what_was_found(text: str) -> None:
    rating = read_rating(Reply(text, "stop"), GRADES)
    assert (rating.grade, rating.problem) == (None, "unreadable")
    assert rating.reason.startswith("expected")


@pytest.mark.parametrize(
    "reply",
    [
        Reply("", "stop", refusal="no"),
        Reply("2", "content_filter"),
        Reply("I'm sorry, I can't rate this.", "stop"),
        Reply("As an AI, I do not judge.", "stop"),
    ],
)
def test_a_refusal_is_no_label(reply: Reply) -> None:
    assert read_rating(reply, GRADES)[:2] == (None, "refused")


def test_a_reply_that_was_cut_says_so() -> None:
    assert "cut at max_tokens" in read_rating(Reply('{"gra', "length"), GRADES).reason


@given(st.text(max_size=60))
def test_no_text_gives_a_grade_outside_the_scale(text: str) -> None:
    assert read_rating(Reply(text, "stop"), GRADES).grade in (None, *GRADES)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists, max_leaves=4))
def test_no_json_but_a_whole_number_gives_a_grade(value: object) -> None:
    text = json.dumps({"grade": value})
    is_digit = isinstance(value, str) and value.strip().isdecimal()
    assert is_digit or read_rating(Reply(text, "stop"), GRADES).grade is None


def test_scales_have_a_meaning_for_each_grade_and_a_schema() -> None:
    for top in (1, 2, 3, 4):
        scale = Scale.parse(f"0-{top}")
        assert scale.schema()["properties"]["grade"]["enum"] == list(range(top + 1))
    with pytest.raises(InputError, match="expected one of 0-1, 0-2, 0-3, 0-4, found '1-5'"):
        Scale.parse("1-5")


class Fixed(LanguageModel):
    """A model that always replies the same."""

    name = "fixed"

    def complete(self, messages: list[Message], parameters: ReplyParameters, schema: object) -> Reply:
        return Reply('{"grade": 3}', "stop")


def test_the_prompt_begins_alike_for_all_pairs_and_holds_the_texts() -> None:
    judge = LLMJudge(Fixed(), "fixed")
    first, second = (judge.prompt.messages(JudgedText(q, f"about {q}")) for q in ("vpn", "dns"))
    assert first[0] == second[0]
    assert "Query: vpn" in first[1].text
    assert "about vpn" in first[1].text
    assert judge.rate(JudgedText("vpn", "about vpn")).grade == 3


def test_the_key_of_a_request_depends_on_texts_prompt_parameters_and_draw() -> None:
    judge, pair = LLMJudge(Fixed(), "fixed"), JudgedText("vpn", "about vpn")
    other_scale = LLMJudge(Fixed(), "fixed", judge.prompt._replace(scale=Scale.parse("0-1")))
    other_parameters = LLMJudge(Fixed(), "fixed", parameters=ReplyParameters(temperature=1.0))
    keys = [
        judge.request(pair).key,
        judge.request(pair, draw=1).key,
        judge.request(pair._replace(document="about dns")).key,
        judge.request(pair._replace(query="dns")).key,
        other_scale.request(pair).key,
        other_parameters.request(pair).key,
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == LLMJudge(Fixed(), "other name").request(pair).key


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("openai/o3", "OpenAI"),
        ("Qwen/Qwen3-Reranker-0.6B", "Qwen"),
        ("meta-llama/Llama-3.1-8B", "Llama"),
        ("castorini/monot5-base", "T5"),
        ("intfloat/e5-mistral-7b", "Mistral"),
        ("all-MiniLM-L6-v2", "BERT"),
        ("bm25", None),
    ],
)
def test_families_are_told_from_names(name: str, family: str | None) -> None:
    assert model_family(name) == family


def test_models_of_the_judges_family_are_found_in_configurations() -> None:
    configuration = {"stages": [{"kind": "bm25"}, {"rerank": {"kind": "endpoint", "model": "qwen3-rr"}}]}
    assert shared_family("qwen2.5", model_names(configuration)) == {"qwen3-rr": "Qwen"}
    assert shared_family("unknown", ["unknown"]) == {}
