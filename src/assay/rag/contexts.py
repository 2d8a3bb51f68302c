"""What is put before the model for a question: retrieved documents, fewer of them, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

EXACT, CLOSED_BOOK, PLACEHOLDERS = "exact", "without retrieval", "placeholders"
CONTROLS = (EXACT, CLOSED_BOOK, PLACEHOLDERS)  # no index is compared by them
REMOVED = "true neighbours removed"


@dataclass(frozen=True)
class Context:
    """The documents of one question, in the order in which the model reads them."""

    question_id: str
    configuration: str
    doc_ids: tuple[str, ...]
    recall: float | None = None  # the share of the true neighbours that is among them; None: not known
    failure: str = ""  # why the search has no result
    milliseconds: float | None = None  # of the search


def neighbour_recall(doc_ids: Sequence[str], truth: Sequence[str]) -> float | None:
    """Return the share of the true neighbours that is among the documents; None without any.

    >>> neighbour_recall(["a", "x", "a"], ["a", "b"])
    0.5
    """
    return len(set(doc_ids) & set(truth)) / len(set(truth)) if truth else None


def retrieved_contexts(
    configuration: str,
    rankings: Mapping[str, Sequence[str]],
    truth: Mapping[str, Sequence[str]],
    k: int,
    failures: Mapping[str, str] | None = None,
    milliseconds: Mapping[str, float] | None = None,
) -> list[Context]:
    """Return the context of each question that was searched for: its first k documents."""
    failed, latencies = failures or {}, milliseconds or {}
    contexts = []
    for key in dict.fromkeys([*rankings, *failed]):
        documents = tuple(dict.fromkeys(rankings.get(key, ())))[:k]
        known = truth.get(key, ())[:k]
        recall, failure = neighbour_recall(documents, known), failed.get(key, "")
        contexts.append(Context(key, configuration, documents, recall, failure, latencies.get(key)))
    return contexts


def reduced_contexts(
    truth: Mapping[str, Sequence[str]], k: int, levels: Sequence[int], seed: int = 0
) -> list[Context]:
    """Return for each question a context with so many of its k true neighbours, for each of the levels.

    `truth` has more than k neighbours of each question: those after the k-th take the place of the removed
    ones, so that every context has as many documents. Which are removed is drawn for each question, and a
    smaller level removes also what a larger one removes. A question without spare neighbours is left out.

    >>> contexts = reduced_contexts({"q": ["a", "b", "c", "d"]}, k=2, levels=[0, 1, 2])
    >>> [(len(context.doc_ids), context.recall) for context in contexts]
    [(2, 0.0), (2, 0.5), (2, 1.0)]
    """
    contexts = []
    for key, documents in truth.items():
        nearest, spare = list(documents[:k]), list(documents[k:])
        order = Random(f"{seed}/{key}").sample(range(len(nearest)), len(nearest))
        for level in levels:
            removed = set(order[: len(nearest) - level])
            if len(nearest) < k or len(spare) < len(removed):
                continue
            kept = [document for place, document in enumerate(nearest) if place not in removed]
            chosen = (*kept, *spare[: len(removed)])
            contexts.append(Context(key, REMOVED, chosen, level / k))
    return contexts
