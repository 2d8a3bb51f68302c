"""Causes of failing queries in sentences: what each means, the fix it points to, and its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from assay.evaluation.causes import (
    DocumentSign,
    DuplicateSign,
    Evidence,
    MissSign,
    QuerySign,
    RankSign,
    SiblingSign,
    Sign,
    TermSign,
    TwinQuerySign,
    VocabularySign,
)
from assay.evaluation.failure_cases import FailureScope

_MAX_NAMED = 3  # documents that a sentence names; the others are counted
_MAX_DESCRIBED = 2  # documents that a sentence describes by more than a rank
_MAX_RANKS = 8
_MAX_WORDS = 5


class CauseText(NamedTuple):
    """What a cause means, what to do about it, and the frame of the sentence that describes its signs."""

    means: str
    fix: str
    sentence: str = "{signs}"


CAUSE_TEXTS = {
    "no relevant document": CauseText(
        "no document was judged relevant for the query",
        "judge more documents for the query, or leave it out",
    ),
    "contradictory judgments": CauseText(
        "the same text, or the same query, was judged in two ways",
        "settle the judgments and merge duplicates before you change the search",
    ),
    "not in the corpus": CauseText(
        "a relevant document is not in the document table",
        "index the documents, or drop their judgments",
        "relevant, but not among the documents: {signs}",
    ),
    "nothing returned": CauseText(
        "the run has no document for the query",
        "look at filters, timeouts and how the query is parsed",
        "the run has nothing for the query; relevant: {signs}",
    ),
    "unreachable": CauseText(
        "even the best ranking stays on the wrong side of the threshold",
        "choose what can be reached: RCap@{k}, or another threshold",
    ),
    "ANN loss": CauseText(
        "exact search has the document in the top, the index does not",
        "raise ef or nprobe, or rebuild the index",
        "exact search has in its top {k}: {signs}",
    ),
    "unjudged at the top": CauseText(
        "half or more of the top was never judged, and would make the query pass if relevant",
        "judge those documents first: the score may be too low",
    ),
    "wrong order": CauseText(
        "the top contains what is needed, below what is not",
        "rerank the top {k}: what is needed is there",
    ),
    "near miss": CauseText(
        "the document was returned, below the top and within a reranker's reach",
        "rerank the first {depth}",
        "below the top {k}, within the first {depth}: {signs}; "
        "in the best order {measure} would be {value:.4f}",
    ),
    "sibling chunk": CauseText(
        "another chunk of the same parent is in the top instead",
        "larger or overlapping chunks, or score by parent",
        "another chunk of the same parent is in the top {k}: {signs}",
    ),
    "exact term missed": CauseText(
        "a code, version, name or phrase of the query is in the document and hardly in the top",
        "add keyword search (hybrid), or a keyword field for such terms",
    ),
    "vocabulary gap": CauseText(
        "the query's words are hardly in the document",
        "synonyms, query expansion, or an embedding model of the domain",
    ),
    "not retrieved": CauseText(
        "the document was not returned, or far down, for no visible reason",
        "look at the embedding model, the chunks, and what is indexed of the document",
        "missed for no visible reason: {signs}",
    ),
}


def describe_fix(cause: str, scope: FailureScope) -> str:
    """The fix that a cause points to, with the numbers of these failures."""
    return CAUSE_TEXTS[cause].fix.format(k=scope.k, depth=scope.depth)


def describe_evidence(evidence: Evidence, scope: FailureScope) -> str:
    """The evidence of a cause in one sentence."""
    if evidence.query_sign is not None:
        return _QUERY_SENTENCES[evidence.cause](evidence.query_sign, scope)
    sentence = CAUSE_TEXTS[evidence.cause].sentence
    most = _MAX_DESCRIBED if sentence == "{signs}" else _MAX_NAMED
    signs = join_first((_SIGN_SENTENCES[type(sign)](sign) for sign in evidence.signs), "; ", most)
    values = {"measure": scope.query_measure, "value": evidence.reranked_value}
    return sentence.format(signs=signs, k=scope.k, depth=scope.depth, **values)


def join_first(items: Iterable[str], separator: str = ", ", most: int = _MAX_NAMED) -> str:
    """The first items, and how many more there are.

    >>> join_first(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    all_items = list(items)
    more = len(all_items) - most
    return separator.join(all_items[:most]) + (f" and {more} more" if more > 0 else "")


def _describe_no_relevant(sign: QuerySign, scope: FailureScope) -> str:
    return f"none of the {sign.document_count} judged documents is relevant"


def _describe_unreachable(sign: QuerySign, scope: FailureScope) -> str:
    documents = f"{sign.document_count} relevant document{'s' * (sign.document_count != 1)}"
    return f"with {documents} the best possible ranking has {scope.query_measure} {sign.value:.4f}"


def _describe_unjudged(sign: QuerySign, scope: FailureScope) -> str:
    share = f"{len(sign.documents)} of the top {sign.document_count} were never judged"
    value = f"if they were relevant, {scope.query_measure} would be {sign.value:.4f}"
    return f"{share}: {join_first(sign.documents)}; {value}"


def _describe_wrong_order(sign: QuerySign, scope: FailureScope) -> str:
    ranks = join_first(map(str, sign.ranks), most=_MAX_RANKS)
    value = f"in the best order {scope.query_measure} would be {sign.value:.4f}"
    return f"relevant at rank {ranks}; {value}"


_QUERY_SENTENCES: dict[str, Callable[[QuerySign, FailureScope], str]] = {
    "no relevant document": _describe_no_relevant,
    "unreachable": _describe_unreachable,
    "unjudged at the top": _describe_unjudged,
    "wrong order": _describe_wrong_order,
}


def _describe_document(sign: DocumentSign) -> str:
    return sign.document


def _describe_rank(sign: RankSign) -> str:
    return f"{sign.document} (rank {sign.rank})"


def _describe_miss(sign: MissSign) -> str:
    if sign.rank is None:
        return f"{sign.document} (not among the {sign.returned_count} returned)"
    return f"{sign.document} (rank {sign.rank}, too far down)"


def _describe_twin(sign: TwinQuerySign) -> str:
    grades = f"has grade {sign.grade} here and {sign.other_grade} in {sign.query}"
    return f"{sign.document} {grades}, a query with the same text"


def _describe_duplicate(sign: DuplicateSign) -> str:
    judgment = "not judged" if sign.other_grade is None else f"grade {sign.other_grade}"
    position = "" if sign.other_rank is None else f"rank {sign.other_rank}, "
    return f"{sign.document} (grade {sign.grade}) reads the same as {sign.other} ({position}{judgment})"


def _describe_sibling(sign: SiblingSign) -> str:
    return f"{sign.document}, instead {sign.sibling} (rank {sign.rank})"


def _describe_term(sign: TermSign) -> str:
    verb = "have" if sign.holder_count > 1 else "has"
    holders = f"{sign.holder_count or 'none'} of the top {sign.text_count} {verb}"
    return f"{sign.document} has “{sign.term}”, which {holders}"


def _describe_words(sign: VocabularySign) -> str:
    absent = join_first(sign.absent_words, most=_MAX_WORDS)
    if not sign.shared_words:
        return f"{sign.document} has none of the words {absent}"
    total = len(sign.shared_words) + len(sign.absent_words)
    counts = f"{len(sign.shared_words)} of the query's {total} words"
    return f"{sign.document} has {counts} ({join_first(sign.shared_words)}), not {absent}"


_SIGN_SENTENCES: dict[type[Sign], Callable[[Any], str]] = {
    DocumentSign: _describe_document,
    RankSign: _describe_rank,
    MissSign: _describe_miss,
    TwinQuerySign: _describe_twin,
    DuplicateSign: _describe_duplicate,
    SiblingSign: _describe_sibling,
    TermSign: _describe_term,
    VocabularySign: _describe_words,
}
