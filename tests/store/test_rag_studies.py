"""Studies of answers in stores of both kinds."""

import pytest

from assay.core.errors import InputError
from assay.rag.answers import ANSWERED, Answer, Hop
from assay.rag.questions import Question
from assay.rag.study import RagStudy
from assay.store.rag_studies import RagStudies
from assay.store.store import Store


def _study(text: str = "8080") -> RagStudy:
    hop = Hop("Which port?", ("a", "b"), 0.5, 1, True, milliseconds=2.5)
    answer = Answer("q1", "hnsw", (hop,), text, ANSWERED, recall=0.5, exact=1.0, f1=1.0, contained=1.0)
    settings = {"mode": "naive", "k": 2, "model": "m", "correctness": "contained", "seed": 0}
    questions = [Question("q1", "Which port?", ("8080",))]
    truth = {"q1": ["a", "c"]}
    return RagStudy(
        settings, questions, [answer], {"hnsw": "graph"}, truth, {"q1": ["a"]}, excerpts={"a": "…"}
    )


def test_a_study_is_read_as_it_was_saved(store: Store) -> None:
    stored = RagStudies(store).save("first", _study())
    study = RagStudies(store).get(stored.id).study
    assert study.result_dict() == _study().result_dict()
    assert study.answers[0].hops == _study().answers[0].hops
    assert (study.truth, study.relevant, study.excerpts) == ({"q1": ["a", "c"]}, {"q1": ["a"]}, {"a": "…"})


def test_the_newest_study_of_a_name_is_found_and_all_are_listed(store: Store) -> None:
    studies = RagStudies(store)
    first, second = studies.save("nightly", _study("1")), studies.save("nightly", _study("2"))
    assert studies.get("nightly").id == second.id
    assert [stored.id for stored in studies.find()] == [second.id, first.id]
    assert [stored.id for stored in studies.find(limit=1)] == [second.id]


@pytest.mark.parametrize("text", ["\x00 8080", "half \ud83d", "Ω ≤ 8080"])
def test_a_reply_of_any_characters_can_be_kept(store: Store, text: str) -> None:
    stored = RagStudies(store).save("any", _study(text))
    kept = RagStudies(store).get(stored.id).study.answers[0].text
    assert kept == text.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")


def test_an_unknown_study_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="there is no RAG study 'none' in"):
        RagStudies(store).get("none")
