"""An agent that issues its own searches: a double calls the tool, over systems that are searched for real."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import InputError
from assay.rag.answers import ANSWERED, FAILED, Answer
from assay.rag.study import RagStudy
from assay.workflows.rag_run import run_rag
from assay.workflows.rag_searches import SearchRequest
from tests.chat_doubles import Message, chat_double
from tests.rag.studies import Book

_PROJECT = """
[data]
queries = "questions.jsonl"
documents = "corpus.jsonl"
qrels = "judged.qrels"

[systems.bm25]
kind = "bm25"

[systems.exact]
kind = "index"
encoder = "lsa"
"""
Converse = Callable[[list[Message]], Message]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    book = Book(tmp_path_factory.mktemp("agent"), questions=3)
    book.path("assay.toml").write_text(_PROJECT)
    return book


def _study(book: Book, replies: Path, converse: Converse, **options: Any) -> RagStudy:
    with chat_double(converse=converse) as double:
        request = book.request(double, [], mode="agentic", k=3, removals=(), **options)
        searches = SearchRequest(project=str(book.path("assay.toml")), systems=["bm25"], exact="exact")
        model = replace(request.model, replies=str(replies))
        study = run_rag(replace(request, searches=searches, model=model)).study
    assert study is not None
    return study


def _search(query: Any, name: str = "search", number: int = 1) -> Message:
    arguments = query if isinstance(query, str) and query[:1] == "!" else json.dumps({"query": query})
    function = {"name": name, "arguments": arguments}
    return {"content": "", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}


def _is_agent(messages: list[Message]) -> bool:
    return "tool `search`" in messages[0]["content"]


def _question(messages: list[Message]) -> str:
    return str(messages[1]["content"].partition("Question: ")[2])


def _answers(study: RagStudy) -> list[Answer]:
    return list(study.by_configuration["bm25"].values())


def _reads_first_result(book: Book) -> Converse:
    accepted = dict(
        zip(*(book.handbook.questions.columns[name] for name in ("text", "answers")), strict=True)
    )

    def converse(messages: list[Message]) -> Message:
        if not _is_agent(messages):
            return {"content": "I don't know."}
        if messages[-1]["role"] == "user":
            return _search(_question(messages))
        answer = accepted[_question(messages)][0]
        return {"content": answer if answer in messages[-1]["content"] else "I don't know."}

    return converse


def test_each_search_is_kept_with_its_recall_against_exact_search(book: Book, tmp_path: Path) -> None:
    for answer in _answers(_study(book, tmp_path, _reads_first_result(book))):
        (hop,) = answer.hops
        assert answer.status == ANSWERED
        assert answer.contained == 1.0
        assert hop.query.startswith("What is the")
        assert len(hop.doc_ids) == 3
        assert hop.recall is not None
        assert not hop.is_failed
        assert (answer.turns, answer.retries) == (2, 0)


def test_a_search_that_finds_nothing_relevant_is_failed_and_the_next_one_is_a_retry(
    book: Book, tmp_path: Path
) -> None:
    reader = _reads_first_result(book)

    def converse(messages: list[Message]) -> Message:
        if _is_agent(messages) and len(messages) == 2:
            return _search("boiler house red")
        return _search(_question(messages)) if len(messages) == 4 else reader(messages)

    for answer in _answers(_study(book, tmp_path, converse)):
        assert [hop.is_failed for hop in answer.hops] == [True, False]
        assert (answer.retries, answer.failed_hops, answer.turns) == (1, 1, 3)


def test_an_agent_that_only_searches_is_stopped_and_asked_for_its_answer(book: Book, tmp_path: Path) -> None:
    def loops(messages: list[Message]) -> Message:
        return _search("the same again") if _is_agent(messages) else {"content": "I don't know."}

    for answer in _answers(_study(book, tmp_path, loops, max_turns=3)):
        assert (answer.status, answer.turns) == (FAILED, 4)
        assert len(answer.hops) == 3
        assert answer.contained == 0.0


@pytest.mark.parametrize("call", [_search("!garbage"), _search(7), _search("x", "delete_everything")])
def test_calls_that_cannot_be_understood_are_counted_and_search_nothing(
    book: Book, tmp_path: Path, call: Message
) -> None:
    def converse(messages: list[Message]) -> Message:
        return call if _is_agent(messages) and len(messages) == 2 else {"content": "8080"}

    for answer in _answers(_study(book, tmp_path, converse)):
        assert (answer.bad_calls, answer.hops, answer.status) == (1, (), ANSWERED)


def test_run_files_cannot_answer_the_searches_of_an_agent(book: Book, tmp_path: Path) -> None:
    with chat_double(converse=_reads_first_result(book)) as double:
        request = book.request(double, [str(book.path("exact.run"))], mode="agentic", removals=())
        model = replace(request.model, replies=str(tmp_path))
        with pytest.raises(InputError, match="run files answer no new query"):
            run_rag(replace(request, model=model))
