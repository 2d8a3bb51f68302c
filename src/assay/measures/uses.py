"""Uses of search, the words that tell them, and what to measure for each."""

from __future__ import annotations

import re
from typing import NamedTuple

_GAP = r"[\s_/‐‑–-]*"  # e-commerce, e commerce and ecommerce are one
_NOT = re.compile(
    r"\b(?:no|not|without|never)(?:\s+(?:an?|any|the|for|by|use[sd]?|using|have|has|feed(?:s|ing)?))*\s*$",
    re.I,
)
_TOP = re.compile(r"\b(?:top|first|best)[\s-]+([1-9]\d{0,5})\b", re.I)


class Pick(NamedTuple):
    """A measure for a use; {k} stands for the cutoff."""

    measure: str
    purpose: str
    why: str


class Use(NamedTuple):
    """A use of search; a word that ends in * stands for all that begin so."""

    name: str
    words: tuple[str, ...]
    k: int
    picks: tuple[Pick, ...]


class Match(NamedTuple):
    """A use that a description speaks of, and the words that say so."""

    use: Use
    words: tuple[str, ...]


_ZERO = Pick("ZeroHit@{k}", "tail", "the share of queries for which there is nothing in the top {k}")
_WORST = Pick(
    "Quantile(nDCG@{k}, 0.05)",
    "tail",
    "the nDCG that the worst 5 % of the queries do not exceed; an average hides them, and more is relevant "
    "here than a page holds, so that Robustness-δ@{k} (a share of all of it) could not be reached",
)
_SOME = Pick(
    "Robustness(delta=0.3)@{k}",
    "tail",
    "the share of queries that get at least 30 % of what is relevant, for an average "
    "hides those that fail; δ is 0.3 because some of it is enough to go on with",
)

USES = (
    Use(
        "retrieval for a language model",
        (
            *("rag", "retrieval augmented", "llm*", "gpt*", "language model*", "chat-bot*", "ai assistant*"),
            *("copilot*", "agentic", "generative", "grounding", "question answering"),
        ),
        10,
        (
            Pick(
                "R@{k}",
                "retrieval stage",
                "how much of the evidence the model gets to read; let k be the number of "
                "passages in the prompt",
            ),
            Pick(
                "P@{k}",
                "user-facing precision",
                "passages beside the point cost tokens and lead the model astray",
            ),
            Pick(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of questions that get at least 30 % of their evidence, for an "
                "average hides those that fail; δ is 0.3 because some of the evidence is enough for an "
                "answer",
            ),
            Pick(
                "ZeroHit@{k}",
                "tail",
                "the share of questions for which the model reads nothing relevant and can only guess",
            ),
        ),
    ),
    Use(
        "the stage before a reranker",
        (
            *("re-rank*", "cross-encoder*", "first stage", "second stage", "two stage*", "retrieval stage"),
            *("candidate generation", "candidate retrieval", "learning to rank", "ltr"),
        ),
        100,
        (
            Pick(
                "R@{k}",
                "retrieval stage",
                "a reranker orders what it gets and cannot bring back what is missing; let k be "
                "what it reads",
            ),
            Pick(
                "nDCG@10",
                "graded ranking",
                "the order that people see; measure it before and after the reranker",
            ),
            Pick(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries of which nearly everything reaches the reranker, "
                "for an average hides those that fail; δ is 0.9 because all of it matters: what is lost "
                "here stays lost",
            ),
            _ZERO,
        ),
    ),
    Use(
        "lookup of one known thing",
        (
            *("faq*", "known-item*", "navigational", "navigation", "look-up*", "q&a", "home-page*"),
            *("one right document", "one relevant document"),
        ),
        10,
        (
            Pick("RR@{k}", "first hit", "people stop at the first good result, so its rank is what counts"),
            Pick("Success@1", "first hit", "the share of queries answered by the very first result"),
            Pick(
                "ZeroHit@{k}",
                "tail",
                "the share of queries whose answer is not in the top {k}; with one right document "
                "Robustness-δ@{k} is what is left of it, whatever δ",
            ),
        ),
    ),
    Use(
        "product search",
        (
            *("e-commerce", "product", "products", "shop*", "web-shop*", "online store*", "retail*"),
            *("catalog*", "market-place*"),
        ),
        10,
        (
            Pick(
                "nDCG@{k}",
                "graded ranking",
                "what is asked for above what would do, and that above what merely fits; "
                "grade it so (exact, substitute, complement)",
            ),
            Pick("P@{k}", "user-facing precision", "how much of the first page is worth a look"),
            Pick("ZeroHit@{k}", "tail", "the share of queries that show nothing to buy in the top {k}"),
            _WORST,
        ),
    ),
    Use(
        "search that must not miss anything",
        (
            *("legal", "law", "lawyer*", "patent*", "prior art", "e-discovery", "systematic review*"),
            *("technology assisted review", "compliance", "due diligence", "clinical", "medical"),
            *(
                "must not miss*",
                "miss nothing",
                "not miss anything",
                "nothing missed",
                "nothing may be missed",
            ),
            *("exhaustive*", "high recall", "everything relevant", "all relevant"),
        ),
        1000,
        (
            Pick(
                "R@{k}",
                "retrieval stage",
                "the share of what is relevant that a reader gets to see",
            ),
            Pick(
                "AP",
                "whole ranking",
                "every relevant document counts by where it stands, and so what a reader has to work through",
            ),
            Pick(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries of which at least 90 % is found, for an average "
                "hides those that fail; δ is 0.9 because all of it matters",
            ),
            Pick(
                "Quantile(R@{k}, 0.05)",
                "tail",
                "the recall that the worst 5 % of the queries do not exceed: what you could be blamed for",
            ),
        ),
    ),
    Use(
        "one answer",
        (
            *("auto-complet*", "type-ahead", "suggest*", "one answer", "single answer", "one result"),
            *("single result", "instant answer*", "direct answer*", "voice", "spoken"),
        ),
        5,
        (
            Pick(
                "Success@1",
                "first hit",
                "the share of queries whose one answer is right: nobody sees a second",
            ),
            Pick("RR@{k}", "first hit", "how far the right answer is from the first place"),
            Pick(
                "ZeroHit@{k}",
                "tail",
                "the share of queries without a right answer among the first {k}: no reordering helps "
                "those, and an average hides them",
            ),
        ),
    ),
    Use(
        "a vector index against exact search",
        (
            *("ann", "nearest neighb*", "approximate", "vector index*", "vector database*", "vector db*"),
            *("index benchmark*", "hnsw", "ivf*", "diskann", "scann", "faiss", "quantis*", "quantiz*"),
        ),
        10,
        (
            Pick(
                "R@{k}",
                "retrieval stage",
                "with the {k} exact neighbours as judgments, the share of them that the index "
                "returns; AP and nDCG against exact neighbours say nearly the same",
            ),
            Pick(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of queries that keep at least 30 % of their neighbours; "
                "indexes of the same mean recall differ most here",
            ),
            Pick(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries that keep nearly all; the order of indexes may "
                "turn between δ 0.3 and 0.9, so choose by what your use needs",
            ),
            Pick("ZeroHit@{k}", "tail", "the share of queries that lose all their neighbours"),
        ),
    ),
    Use(
        "support search",
        (
            *(
                "support search",
                "customer support",
                "technical support",
                "support article*",
                "support ticket*",
            ),
            *("support cent*", "support site*", "help-desk*", "help-cent*", "knowledge-base*"),
        ),
        10,
        (
            Pick("RR@{k}", "first hit", "people in trouble open the first result that looks right"),
            Pick(
                "nDCG@{k}",
                "graded ranking",
                "the article that solves it above those that touch on it",
            ),
            _SOME,
            Pick("ZeroHit@{k}", "tail", "the share of queries that find nothing and become a ticket"),
        ),
    ),
    Use(
        "rare queries",
        ("long-tail*", "rare quer*", "rare term*", "tail quer*", "hard quer*"),
        10,
        (
            _SOME,
            _ZERO,
            Pick(
                "Quantile(nDCG@{k}, 0.05)",
                "tail",
                "the nDCG that the worst 5 % of the queries do not exceed; slice by --by frequency to see "
                "head and tail apart",
            ),
        ),
    ),
    Use(
        "a first page of results",
        (
            *("ad", "ads", "advert*", "sponsored", "first page", "result page*", "results page*", "serp"),
            *("above the fold", "web search", "mobile"),
        ),
        10,
        (
            Pick(
                "P@{k}",
                "user-facing precision",
                "how much of the page is worth seeing; let k be what a page shows",
            ),
            Pick("nDCG@{k}", "graded ranking", "whether the best of it stands at the top of the page"),
            Pick("ZeroHit@{k}", "tail", "the share of queries whose page has nothing relevant"),
            _WORST,
        ),
    ),
    Use(
        "a list of recommendations",
        (
            *("recommend*", "similar item*", "similar product*", "related item*", "related product*"),
            *("playlist*", "news feed", "home feed", "personalis*", "personaliz*"),
        ),
        10,
        (
            Pick("nDCG@{k}", "graded ranking", "what people like most at the top of the list"),
            Pick(
                "R@{k}",
                "retrieval stage",
                "how much of what people went on to choose is in the list",
            ),
            Pick(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of people for whom at least 30 % of what they chose is in "
                "the list, for an average hides those with odd tastes; δ is 0.3 because nobody needs all of "
                "it at once",
            ),
            Pick("ZeroHit@{k}", "tail", "the share of people who are shown nothing that they want"),
        ),
    ),
    Use(
        "search at work",
        (
            *("enterprise", "intranet", "workplace", "wiki*", "documentation", "e-mail*", "internal search"),
            *("sharepoint", "confluence"),
        ),
        10,
        (
            Pick("RR@{k}", "first hit", "most look for one document that they know of"),
            Pick("nDCG@{k}", "graded ranking", "for those who look for several, the best first"),
            _SOME,
            _ZERO,
        ),
    ),
    Use(
        "graded relevance",
        ("graded", "grades", "rating*", "star rating*", "highly relevant", "partly relevant"),
        10,
        (
            Pick("nDCG@{k}", "graded ranking", "the better documents above the good ones"),
            Pick(
                "ERR@{k}",
                "graded ranking",
                "how soon people are satisfied, where one excellent result is enough",
            ),
            _SOME,
        ),
    ),
    Use(
        "few judgments",
        (
            *("few judg*", "incomplete judg*", "sparse judg*", "shallow judg*", "few labels", "unjudged"),
            *("not judged", "incomplete qrels", "sparse qrels"),
        ),
        10,
        (
            Pick("bpref", "judging", "leaves out what nobody judged instead of taking it as irrelevant"),
            Pick(
                "Judged@{k}",
                "judging",
                "how much of the top {k} was judged at all: how far to trust the others",
            ),
            _ZERO,
        ),
    ),
)

DEFAULT = Use(
    "any search",
    (),
    10,
    (
        Pick("nDCG@{k}", "graded ranking", "the order of what people see, by grade"),
        Pick(
            "R@100",
            "retrieval stage",
            "how much there is to work with for a reranker or a longer list",
        ),
        Pick("RR@{k}", "first hit", "how soon the first good result comes"),
        _SOME,
        _ZERO,
    ),
)


def recognised(description: str) -> list[Match]:
    """The uses that a description speaks of.

    >>> [(match.use.name, match.words) for match in recognised("Search that feeds a re-ranker")]
    [('the stage before a reranker', ('re-ranker',))]
    """
    found = ((use, _found(use, description)) for use in USES)
    return [Match(use, words) for use, words in found if words]


def _found(use: Use, description: str) -> tuple[str, ...]:
    """The words of a use in a description, but those that come after a no."""
    hits = (hit for word in use.words for hit in _pattern(word).finditer(description))
    said = (hit.group().lower() for hit in hits if not _NOT.search(description[: hit.start()]))
    return tuple(dict.fromkeys(" ".join(words.split()) for words in said))


def _pattern(word: str) -> re.Pattern[str]:
    parts = re.split("[ -]", word.removesuffix("*"))
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    return re.compile(r"(?<!\w)" + _GAP.join(map(re.escape, parts)) + end, re.I)


class Cutoff(NamedTuple):
    """A cutoff that a description names."""

    k: int
    words: str


def cutoff_in(description: str) -> Cutoff | None:
    """The cutoff that a description names.

    >>> cutoff_in("a model that reads the top 20")
    Cutoff(k=20, words='top 20')
    """
    found = _TOP.search(description)
    return Cutoff(int(found[1]), found[0]) if found else None
