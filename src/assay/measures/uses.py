"""Uses of search, the words by which they are recognised, and the measures for each."""

from __future__ import annotations

import re
from typing import NamedTuple

_GAP = r"[\s_/‐‑–-]*"  # e-commerce, e commerce and ecommerce are the same
_NEGATION = re.compile(
    r"\b(?:no|not|without|never)(?:\s+(?:an?|any|the|for|by|use[sd]?|using|have|has|feed(?:s|ing)?))*\s*$",
    re.I,
)
_TOP_K = re.compile(r"\b(?:top|first|best)[\s-]+([1-9]\d{0,5})\b", re.I)


class UseMeasure(NamedTuple):
    """A measure for a use; {k} stands for the cutoff."""

    measure: str
    purpose: str
    why: str


class Use(NamedTuple):
    """A use of search; a word that ends in * matches all words with that beginning."""

    name: str
    words: tuple[str, ...]
    k: int
    measures: tuple[UseMeasure, ...]


class UseMatch(NamedTuple):
    """A use that was recognised in a description, and the words that matched."""

    use: Use
    words: tuple[str, ...]


_ZERO_HIT = UseMeasure("ZeroHit@{k}", "tail", "the share of queries with nothing relevant in the top {k}")
_WORST_QUERIES = UseMeasure(
    "Quantile(nDCG@{k}, 0.05)",
    "tail",
    "the nDCG that the worst 5 % of the queries do not exceed; an average hides them, and more is relevant "
    "here than fits on a page, so Robustness-δ@{k} (a share of all of it) could not be reached",
)
_SOME_RELEVANT = UseMeasure(
    "Robustness(delta=0.3)@{k}",
    "tail",
    "the share of queries that get at least 30 % of what is relevant, because an average "
    "hides those that fail; δ is 0.3 because some of it is enough to continue with",
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
            UseMeasure(
                "R@{k}",
                "retrieval stage",
                "how much of the evidence the model gets to read; let k be the number of "
                "passages in the prompt",
            ),
            UseMeasure(
                "P@{k}",
                "user-facing precision",
                "irrelevant passages cost tokens and mislead the model",
            ),
            UseMeasure(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of questions that get at least 30 % of their evidence, because an "
                "average hides those that fail; δ is 0.3 because some of the evidence is enough for an "
                "answer",
            ),
            UseMeasure(
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
            UseMeasure(
                "R@{k}",
                "retrieval stage",
                "a reranker orders what it gets and cannot bring back what is missing; let k be "
                "the number of documents it reads",
            ),
            UseMeasure(
                "nDCG@10",
                "graded ranking",
                "the order that people see; measure it before and after the reranker",
            ),
            UseMeasure(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries of which nearly everything reaches the reranker, "
                "because an average hides those that fail; δ is 0.9 because all of it matters: what is lost "
                "here stays lost",
            ),
            _ZERO_HIT,
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
            UseMeasure(
                "RR@{k}", "first hit", "people stop at the first good result, so its rank is what counts"
            ),
            UseMeasure("Success@1", "first hit", "the share of queries answered by the very first result"),
            UseMeasure(
                "ZeroHit@{k}",
                "tail",
                "the share of queries whose answer is not in the top {k}; with one right document "
                "Robustness-δ@{k} is 1 minus this, whatever δ",
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
            UseMeasure(
                "nDCG@{k}",
                "graded ranking",
                "exact matches above substitutes, and those above products that merely fit; "
                "grade it so (exact, substitute, complement)",
            ),
            UseMeasure("P@{k}", "user-facing precision", "how much of the first page is worth looking at"),
            UseMeasure("ZeroHit@{k}", "tail", "the share of queries with nothing to buy in the top {k}"),
            _WORST_QUERIES,
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
            UseMeasure(
                "R@{k}",
                "retrieval stage",
                "the share of what is relevant that a reader gets to see",
            ),
            UseMeasure(
                "AP",
                "whole ranking",
                "every relevant document counts by its rank, and so does what a reader has to work through",
            ),
            UseMeasure(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries of which at least 90 % is found, because an average "
                "hides those that fail; δ is 0.9 because all of it matters",
            ),
            UseMeasure(
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
            UseMeasure(
                "Success@1",
                "first hit",
                "the share of queries whose single answer is right: nobody sees a second one",
            ),
            UseMeasure("RR@{k}", "first hit", "how far the right answer is from the first place"),
            UseMeasure(
                "ZeroHit@{k}",
                "tail",
                "the share of queries without a right answer among the first {k}: no reordering helps "
                "them, and an average hides them",
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
            UseMeasure(
                "R@{k}",
                "retrieval stage",
                "with the {k} exact neighbours as judgments, the share of them that the index "
                "returns; AP and nDCG against exact neighbours are nearly the same",
            ),
            UseMeasure(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of queries that keep at least 30 % of their neighbours; "
                "indexes of the same mean recall differ most here",
            ),
            UseMeasure(
                "Robustness(delta=0.9)@{k}",
                "tail",
                "the share of queries that keep nearly all; the order of indexes may "
                "change between δ 0.3 and 0.9, so choose by what your use needs",
            ),
            UseMeasure("ZeroHit@{k}", "tail", "the share of queries that lose all their neighbours"),
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
            UseMeasure("RR@{k}", "first hit", "people in trouble open the first result that looks right"),
            UseMeasure(
                "nDCG@{k}",
                "graded ranking",
                "the article that solves the problem above those that only mention it",
            ),
            _SOME_RELEVANT,
            UseMeasure("ZeroHit@{k}", "tail", "the share of queries that find nothing and become a ticket"),
        ),
    ),
    Use(
        "rare queries",
        ("long-tail*", "rare quer*", "rare term*", "tail quer*", "hard quer*"),
        10,
        (
            _SOME_RELEVANT,
            _ZERO_HIT,
            UseMeasure(
                "Quantile(nDCG@{k}, 0.05)",
                "tail",
                "the nDCG that the worst 5 % of the queries do not exceed; slice by --by frequency to see "
                "head and tail separately",
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
            UseMeasure(
                "P@{k}",
                "user-facing precision",
                "how much of the page is worth seeing; let k be what a page shows",
            ),
            UseMeasure("nDCG@{k}", "graded ranking", "whether the best results are at the top of the page"),
            UseMeasure("ZeroHit@{k}", "tail", "the share of queries whose page has nothing relevant"),
            _WORST_QUERIES,
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
            UseMeasure("nDCG@{k}", "graded ranking", "what people like most at the top of the list"),
            UseMeasure(
                "R@{k}",
                "retrieval stage",
                "how much of what people went on to choose is in the list",
            ),
            UseMeasure(
                "Robustness(delta=0.3)@{k}",
                "tail",
                "the share of people for whom at least 30 % of what they chose is in "
                "the list, because an average hides those with unusual tastes; δ is 0.3 because nobody needs "
                "all of it at once",
            ),
            UseMeasure("ZeroHit@{k}", "tail", "the share of people who are shown nothing that they want"),
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
            UseMeasure("RR@{k}", "first hit", "most look for one document that they know of"),
            UseMeasure("nDCG@{k}", "graded ranking", "for those who look for several, the best first"),
            _SOME_RELEVANT,
            _ZERO_HIT,
        ),
    ),
    Use(
        "graded relevance",
        ("graded", "grades", "rating*", "star rating*", "highly relevant", "partly relevant"),
        10,
        (
            UseMeasure("nDCG@{k}", "graded ranking", "the better documents above the good ones"),
            UseMeasure(
                "ERR@{k}",
                "graded ranking",
                "how early people are satisfied if one excellent result is enough",
            ),
            _SOME_RELEVANT,
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
            UseMeasure(
                "bpref", "judging", "ignores unjudged documents instead of counting them as irrelevant"
            ),
            UseMeasure(
                "Judged@{k}",
                "judging",
                "how much of the top {k} was judged at all: how far to trust the others",
            ),
            _ZERO_HIT,
        ),
    ),
)

DEFAULT_USE = Use(
    "any search",
    (),
    10,
    (
        UseMeasure("nDCG@{k}", "graded ranking", "the order of what people see, by grade"),
        UseMeasure(
            "R@100",
            "retrieval stage",
            "how much there is to work with for a reranker or a longer list",
        ),
        UseMeasure("RR@{k}", "first hit", "how early the first good result comes"),
        _SOME_RELEVANT,
        _ZERO_HIT,
    ),
)


def recognise_uses(description: str) -> list[UseMatch]:
    """The uses that a description mentions.

    >>> [(match.use.name, match.words) for match in recognise_uses("Search that feeds a re-ranker")]
    [('the stage before a reranker', ('re-ranker',))]
    """
    words_by_use = ((use, _matching_words(use, description)) for use in USES)
    return [UseMatch(use, words) for use, words in words_by_use if words]


def _matching_words(use: Use, description: str) -> tuple[str, ...]:
    """The words of a use in a description, except those that follow a negation."""
    hits = (hit for word in use.words for hit in _pattern(word).finditer(description))
    texts = (hit.group().lower() for hit in hits if not _NEGATION.search(description[: hit.start()]))
    return tuple(dict.fromkeys(" ".join(words.split()) for words in texts))


def _pattern(word: str) -> re.Pattern[str]:
    parts = re.split("[ -]", word.removesuffix("*"))
    end = r"\w*" if word.endswith("*") else r"(?!\w)"
    return re.compile(r"(?<!\w)" + _GAP.join(map(re.escape, parts)) + end, re.I)


class CutoffMention(NamedTuple):
    """A cutoff that a description names."""

    k: int
    words: str


def find_cutoff(description: str) -> CutoffMention | None:
    """The cutoff that a description names.

    >>> find_cutoff("a model that reads the top 20")
    CutoffMention(k=20, words='top 20')
    """
    mention = _TOP_K.search(description)
    return CutoffMention(int(mention[1]), mention[0]) if mention else None
