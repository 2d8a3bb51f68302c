"""Advice on each measure: its purpose, when to use it, and when not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from assay.core.errors import MeasureError
from assay.measures.measure import ALIASES, DEFINITIONS, TREC_EVAL, Definition, load_plugins, parse

PURPOSES = {
    "retrieval stage": "how much of what is relevant reaches what comes next: a reranker, a language model",
    "user-facing precision": "how much of what people see is worth seeing",
    "first hit": "how early the first good result comes",
    "graded ranking": "whether the better documents rank above the good ones",
    "whole ranking": "the ranking from top to end, if no cutoff is natural",
    "tail": "the queries that fail, which an average hides",
    "judging": "how complete the judgments are, and what to use if they are few",
}
_SAME_NAME = ("Rprec", "bpref", "infAP")  # as in trec_eval


class Advice(NamedTuple):
    """When to use a measure, and when not."""

    typical: Mapping[str, str]  # by purpose, the measure to begin with
    what: str
    use: str
    avoid: str
    examples: tuple[str, ...] = ()
    values: str = "0 … 1"

    @property
    def purposes(self) -> tuple[str, ...]:
        """The purposes of the measure, the main one first."""
        return tuple(self.typical)


ADVICE = {
    "P": Advice(
        {"user-facing precision": "P@10"},
        "share of the top k that is relevant",
        "people look at all of the first k results, whatever their order; let k be what a page shows",
        "a query has fewer than k relevant documents: it cannot reach 1 then; grades and order do not count",
        ("P(rel=2)@10", "P"),
    ),
    "R": Advice(
        {"retrieval stage": "R@100"},
        "share of the relevant documents that is in the top k",
        "something else reads the top k and cannot bring back what is missing; let k be what it reads",
        "a query has more than k relevant documents: it cannot reach 1 then, RCap@k can; "
        "if few documents were judged, relevant unjudged documents are not counted as missed",
        ("R@10", "R(rel=2)@100"),
    ),
    "RCap": Advice(
        {"retrieval stage": "RCap@100"},
        "hits in the top k over the most there could be",
        "queries have more relevant documents than k, so R@k cannot reach 1; BEIR reports it",
        "comparing with numbers of trec_eval or with R@k: it is the higher of the two",
        ("RCap@10",),
    ),
    "F": Advice(
        {"whole ranking": "F"},
        "P and R in one number (harmonic mean)",
        "the results are used as a set, and both irrelevant and missing documents cost",
        "people read from the top: order does not count, and one number hides which of the two moved",
        ("F@10", "F(beta=2.0)@100"),
    ),
    "Success": Advice(
        {"first hit": "Success@1", "retrieval stage": "Success@10"},
        "whether a relevant document is in the top k (hit rate)",
        "one good result is enough: a lookup, one answer read out, a passage for a language model",
        "people want more than one result; at a high k nearly every search passes",
        ("Success@5", "Success(rel=2)@1"),
    ),
    "RR": Advice(
        {"first hit": "RR@10"},
        "1 / rank of the first relevant document (its mean is MRR)",
        "people stop at the first good result: known items, FAQ, navigation",
        "several results matter: nothing after the first hit counts; rank 1 to 2 weighs as much as 2 to the "
        "end",
        ("RR", "RR(rel=2)@10"),
    ),
    "AP": Advice(
        {"whole ranking": "AP"},
        "mean of the precision at each relevant document (its mean is MAP)",
        "all relevant documents count and their order too, and judgments are deep",
        "grades matter (nDCG), people see one page only, or few documents were judged (bpref, infAP)",
        ("AP@100", "AP(rel=2)"),
    ),
    "gmAP": Advice(
        {"whole ranking": "gmAP", "tail": "gmAP"},
        "geometric mean of AP: the worst queries count most",
        "a search is to improve on hard queries, and AP is what you report",
        "a simple interpretation is needed: a query at 0 counts 0.00001; Robustness is easier to explain",
        values="0.00001 … 1",
    ),
    "DCG": Advice(
        {"graded ranking": "DCG@10"},
        "gain of the top k, discounted by rank",
        "the gain itself is of interest, for one query or one set of queries",
        "queries differ in how much there is to find: those with many relevant documents dominate the mean",
        ("DCG(gain='exp')@10",),
        values="0 and up",
    ),
    "nDCG": Advice(
        {"graded ranking": "nDCG@10", "user-facing precision": "nDCG@10"},
        "gain of the top k over that of the best order",
        "judgments have grades and people read from the top; the usual first measure",
        "a number from elsewhere has the other gain: linear here and in trec_eval, exponential in many "
        "papers; with binary judgments the two are the same",
        ("nDCG(gain='exp')@10", "nDCG@100", "nDCG"),
    ),
    "Rprec": Advice(
        {"whole ranking": "Rprec"},
        "precision at the rank that equals the number of relevant documents",
        "queries differ much in how many documents are relevant, and one cutoff would suit none",
        "a query has one relevant document: only rank 1 counts then",
    ),
    "bpref": Advice(
        {"judging": "bpref"},
        "share of pairs of a relevant and an irrelevant document in the right order",
        "few documents were judged: unjudged documents are ignored instead of counted as irrelevant",
        "only relevant documents were judged: there is no pair to order then",
        ("bpref(rel=2)",),
    ),
    "infAP": Advice(
        {"judging": "infAP"},
        "AP inferred from a judged sample of the pool",
        "a random sample of a pool was judged, and the rest is in the file with grade -1",
        "the qrels do not say what was pooled and not judged: it does not estimate AP then",
    ),
    "ERR": Advice(
        {"graded ranking": "ERR@10", "first hit": "ERR@10"},
        "expected 1 / rank at which people are satisfied",
        "one excellent result ends the search: grades say how likely a document is to satisfy",
        "people collect several results; with binary judgments RR is plainer; compare only at one max_grade",
        ("ERR(max_grade=4)@10",),
    ),
    "RBP": Advice(
        {"graded ranking": "RBP"},
        "gain of a user who continues to the next document with chance p",
        "you know how patient people are (p 0.5: hardly, 0.95: very), and want to see what unjudged "
        "documents may add",
        "comparing with a best order: it has none, and even a perfect ranking can stay far below 1",
        ("RBP(p=0.8)@10", "RBP(rel=1)"),
    ),
    "RBPResidual": Advice(
        {"judging": "RBPResidual"},
        "what RBP could still gain from unjudged documents",
        "RBP is reported and not everything was judged: the score lies between RBP and RBP + residual",
        "used as a score of the search: it says how much is not known",
        ("RBPResidual(p=0.8)",),
    ),
    "IPrec": Advice(
        {"whole ranking": "IPrec@0.1"},
        "the best precision once recall has reached the level",
        "drawing precision against recall",
        "one number is wanted, or a query has few relevant documents: most levels fall on the same rank",
        ("IPrec@0.5",),
    ),
    "11pt": Advice(
        {"whole ranking": "11pt"},
        "mean of IPrec at recall 0, 0.1, … 1",
        "comparing with older results that report it",
        "anything new: AP says nearly the same without interpolation",
    ),
    "Judged": Advice(
        {"judging": "Judged@10"},
        "share of the returned top k that was judged",
        "always next to a score when a search is new: unjudged documents count as irrelevant in most "
        "measures",
        "used as a score of the search; if only relevant documents are listed it equals precision",
        ("Judged@100",),
    ),
    "ZeroHit": Advice(
        {"tail": "ZeroHit@10"},
        "share of queries with no relevant document in the top k",
        "nothing found is the worst that can happen, to a person or to a language model",
        "queries have one relevant document and Success@k is computed: the two add up to 1",
        ("ZeroHit@100",),
    ),
    "Robustness": Advice(
        {"tail": "Robustness(delta=0.3)@10"},
        "share of queries whose recall in the top k reaches δ",
        "next to a mean: δ 0.3 if some of the relevant documents are enough, 0.9 if all of them matter",
        "a query has more than k / δ relevant documents: no search can reach δ then; "
        "with one relevant document every δ is the same",
        ("Robustness-0.9@10", "Robustness(delta=0.9)@100"),
    ),
    "Quantile": Advice(
        {"tail": "Quantile(R@10, 0.05)"},
        "the value that a share q of the queries does not exceed",
        "you want the worst 5 % in the terms of a measure that you already read",
        "more than a share q of the queries are at 0: it is 0 then, and ZeroHit says how many they are",
        ("Quantile(nDCG@10, 0.1)",),
        values="its measure's",
    ),
}


def is_user_defined(definition: Definition) -> bool:
    """Whether a measure is not one of Assay's own."""
    return definition.name not in ADVICE


def measure_advice(definition: Definition) -> Advice:
    """When to use a measure; a user's own measure has no known purpose.

    >>> measure_advice(DEFINITIONS["RR"]).purposes
    ('first hit',)
    """
    if not is_user_defined(definition):
        return ADVICE[definition.name]
    summary = " ".join(definition.text.split("\n\n")[0].split()).removesuffix(".")
    return Advice({}, summary, "", "", (_example(definition),), "–")


def _example(definition: Definition) -> str:
    cutoff = {"required": "@10", "recall": "@0.1"}.get(definition.cutoff, "")
    return definition.name + cutoff


def all_definitions() -> list[Definition]:
    """All measures, including those of other packages."""
    load_plugins()
    return list(DEFINITIONS.values())


def find_definition(text: str) -> Definition:
    """The definition of a measure by its name, with or without parameters and cutoff.

    >>> find_definition("mrr").name, find_definition("Robustness@10").name, find_definition("ndcg_cut").name
    ('RR', 'Robustness', 'nDCG')
    """
    try:
        return parse(text).definition
    except MeasureError:
        name = re.split("[(@-]", text)[0].strip()
        canonical = ALIASES.get(TREC_EVAL.get(name, name).rstrip("@").lower())
        if canonical is None:
            raise
        return DEFINITIONS[canonical]


def trec_eval_names(name: str) -> list[str]:
    """The names that trec_eval has for a measure.

    >>> trec_eval_names("nDCG")
    ['ndcg', 'ndcg_cut_K']
    """
    if name in _SAME_NAME:
        return [name]
    ends = {"": "", "@": "_LEVEL" if name == "IPrec" else "_K"}
    return [
        theirs + ends[ours[len(name) :]] for theirs, ours in TREC_EVAL.items() if ours.rstrip("@") == name
    ]
