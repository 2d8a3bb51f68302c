"""A generated handbook of machines: each page states one fact that no model can know, and is asked for it.

The pages of one kind of machine differ in few words, so an approximate index confuses them, and the answer
to a question stands on one page alone.
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import NamedTuple

from assay.core.tables import Documents, Qrels, Queries

_FACTS = (
    ("pump", "service code", "moves cooling water"),
    ("crane", "lifting permit number", "unloads containers"),
    ("valve", "closing sequence number", "shuts the fuel line"),
    ("generator", "start key", "supplies the emergency power"),
    ("beacon", "radio channel", "marks the entrance of the harbour"),
    ("winch", "cable number", "pulls barges to the quay"),
    ("sensor", "calibration code", "measures the level of the tide"),
    ("compressor", "pressure card number", "fills the air tanks"),
)
_SYLLABLES = (
    "bar",
    "den",
    "fol",
    "gim",
    "hus",
    "jor",
    "kel",
    "lun",
    "mar",
    "nos",
    "pel",
    "qua",
    "rud",
    "sif",
    "tor",
)
_PLACES = ("north quay", "south quay", "dry dock", "east pier", "west pier", "boiler house", "pump house")
_COLORS = ("red", "blue", "green", "yellow", "white", "grey")


class Handbook(NamedTuple):
    """The pages, the questions with their answers, and the page that has the answer of each."""

    documents: Documents
    questions: Queries  # with a column answers
    qrels: Qrels


def generate_handbook(pages: int = 400, questions: int = 100, seed: int = 0) -> Handbook:
    """Return a handbook; the same numbers and seed give the same handbook.

    >>> book = generate_handbook(pages=40, questions=2)
    >>> book.questions.columns["text"][0], book.questions.columns["answers"][0]
    ('What is the lifting permit number of the crane Jorlunhus?', ['2208'])
    """
    most = len(_SYLLABLES) ** 3
    if not 0 < questions <= pages <= most:
        raise ValueError(f"expected at most {most} pages and no more questions than pages")
    random = Random(seed)
    names = ["".join(parts).capitalize() for parts in product(_SYLLABLES, repeat=3)]
    codes = random.sample(range(1000, 10_000), pages)
    texts, asked = [], []
    for name, code in zip(random.sample(names, pages), codes, strict=True):
        kind, attribute, purpose = random.choice(_FACTS)
        place, color = random.choice(_PLACES), random.choice(_COLORS)
        texts.append(
            f"The {kind} {name} at the {place} is {color} and {purpose}. "
            f"The {attribute} of the {kind} {name} is {code}."
        )
        asked.append((f"What is the {attribute} of the {kind} {name}?", str(code)))
    doc_ids = [f"page-{number:03}" for number in range(1, pages + 1)]
    chosen = sorted(random.sample(range(pages), questions))
    query_ids = [f"question-{number:03}" for number in range(1, questions + 1)]
    queries = Queries(
        {
            "query_id": query_ids,
            "text": [asked[place][0] for place in chosen],
            "answers": [[asked[place][1]] for place in chosen],
        }
    )
    qrels = Qrels({key: {doc_ids[place]: 1} for key, place in zip(query_ids, chosen, strict=True)})
    return Handbook(Documents({"doc_id": doc_ids, "text": texts}), queries, qrels)
