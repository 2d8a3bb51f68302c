"""A study in a store: one question fails for each cause, and replies and documents have markup."""

from pathlib import Path

from assay.rag.answers import ANSWERED, Answer, Hop
from assay.rag.contexts import CLOSED_BOOK
from assay.rag.questions import Question
from assay.rag.study import RagStudy
from assay.store.rag_studies import RagStudies
from assay.store.store import Store
from assay.workflows.rag_run import run_rag
from tests.chat_doubles import Message, chat_double
from tests.rag.studies import Book

NAME = "handbook"
ATTACK = "<img src=x onerror=alert(1)>"
_ENOUGH = 3  # of five true neighbours


def save_small_study(folder: Path) -> Path:
    """Save a study of two indexes over twelve questions, and return the store.

    With an index that found too few true neighbours the model declines, and replies with markup every
    third time; documents have markup, too.
    """
    book = Book(folder, questions=12)
    corpus = book.path("corpus.jsonl")
    corpus.write_text(corpus.read_text().replace('"text": "', f'"text": "{ATTACK} '))
    hits = {"hnsw": lambda row: 5 if row % 2 else 1, "ivf": lambda row: 3 if row else 0}
    answer = book.answers_if(_ENOUGH)
    questions = book.handbook.questions.columns["text"]

    def converse(messages: list[Message]) -> Message:
        reply = answer(messages)
        is_attack = any(text in messages[-1]["content"] for text in questions[::3])
        is_declined = reply["content"] == "I don't know." and "[1]" in messages[-1]["content"]
        return {"content": f"{ATTACK} 12"} if is_declined and is_attack else reply

    with chat_double(converse=converse) as double:
        runs = book.write_runs(hits)
        run_rag(book.request(double, runs, removals=(0, 2, 3, 4, 5), save=NAME, store=str(folder / "store")))
    return folder / "store"


def save_hostile_study(store: Path, text: str) -> None:
    """Save a study in which this text is part of every other text."""
    question = Question(text, text, (text,))
    names = {f"hnsw{text}": "graph", f"ivf{text}": text, "exact": "exact"}
    hop = Hop(text, (text,), 0.5, 0, False, failure=text)
    answers = [
        Answer(text, name, (hop,), text, ANSWERED, text, 0.5, 0.0, 0.0, float(row), evidence=text)
        for row, name in enumerate([*names, CLOSED_BOOK])
    ]
    settings = {"mode": "naive", "k": 2, "model": text, "correctness": "contained", "seed": 0}
    study = RagStudy(
        settings, [question], answers, names, {text: [text]}, {text: [text]}, excerpts={text: text}
    )
    with Store(str(store)) as opened:
        RagStudies(opened).save(text, study)
