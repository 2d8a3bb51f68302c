"""Causes for which a query fails, and the signs by which each is detected.

The causes are in order of precedence, from a wrong measurement to a wrong search. A document cause
explains a relevant document that is missing from the top: the first that fits counts. A query cause
explains all missing documents at once. A new cause is one function here, and its texts in
`assay.views.causes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from assay.evaluation.failure_cases import FailureCase

HALF_UNJUDGED = 0.5  # the share of the top that is unjudged from which on it is reported
MOSTLY_UNJUDGED = 0.8  # the share of the top that is unjudged from which on it is the likely cause
FEW_HOLDERS = 0.2  # at most this share of the top has a term: it was missed
MAX_SHARED_WORDS = 1 / 3  # at most this share of the query's words is in a document: a vocabulary gap
LONG_QUERY_WORDS = 8  # content words: most words of a longer query are incidental


class DocumentSign(NamedTuple):
    """A document that is not there, or for which nothing was returned."""

    document: str


class RankSign(NamedTuple):
    """A document with its rank in the run, or by exact search."""

    document: str
    rank: int


class MissSign(NamedTuple):
    """A document that was not returned, or far down."""

    document: str
    rank: int | None  # None: it was not returned
    returned_count: int  # the number of documents that were returned


class TwinQuerySign(NamedTuple):
    """A document with another grade for a query with the same text."""

    document: str
    grade: int
    query: str
    other_grade: int


class DuplicateSign(NamedTuple):
    """A document with the same text as another that is not judged relevant."""

    document: str
    grade: int
    other: str
    other_rank: int | None  # None: it is not in the top
    other_grade: int | None  # None: it was not judged


class SiblingSign(NamedTuple):
    """A document of which another chunk is in the top."""

    document: str
    sibling: str
    rank: int


class TermSign(NamedTuple):
    """A document with a term of the query that hardly any document in the top has."""

    document: str
    term: str
    holder_count: int  # the number of documents in the top with the term
    text_count: int  # the number of documents in the top with a text


class VocabularySign(NamedTuple):
    """A document with few words of the query."""

    document: str
    shared_words: tuple[str, ...]
    absent_words: tuple[str, ...]


Sign = (
    DocumentSign
    | RankSign
    | MissSign
    | TwinQuerySign
    | DuplicateSign
    | SiblingSign
    | TermSign
    | VocabularySign
)


class QuerySign(NamedTuple):
    """What shows a cause of a whole query."""

    document_count: int  # of judged or relevant documents, or of the documents in the top
    value: float | None = None  # of the measure if the cause did not exist
    documents: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    explains: bool = True
    is_remainder: bool = False  # it explains only the documents that no earlier cause explains


QueryDetector = Callable[[FailureCase], QuerySign | None]
DocumentDetector = Callable[[FailureCase, str], Sign | None]


class Cause(NamedTuple):
    """A reason why queries fail, detected in a whole query or in each missing document."""

    key: str
    detect_in_query: QueryDetector | None = None
    detect_in_document: DocumentDetector | None = None


class Evidence(NamedTuple):
    """The evidence of a cause in one query."""

    cause: str
    documents: tuple[str, ...]
    explained_documents: int  # the number of missing relevant documents that the cause explains
    signs: tuple[Sign, ...] = ()  # of a document cause, one for each document
    query_sign: QuerySign | None = None  # of a query cause
    reranked_value: float | None = None  # of the measure if the first documents were in the best order


CAUSES: dict[str, Cause] = {}


def query_cause(key: str) -> Callable[[QueryDetector], QueryDetector]:
    """Register a cause of a whole query: a function that returns its sign, or None."""

    def register(detect: QueryDetector) -> QueryDetector:
        CAUSES[key] = Cause(key, detect_in_query=detect)
        return detect

    return register


def document_cause(key: str) -> Callable[[DocumentDetector], DocumentDetector]:
    """Register a cause of missing documents: a function that returns its sign in one, or None."""

    def register(detect: DocumentDetector) -> DocumentDetector:
        CAUSES[key] = Cause(key, detect_in_document=detect)
        return detect

    return register


def diagnose(case: FailureCase) -> list[Evidence]:
    """The evidence of why a query fails, the likely cause first.

    The likely cause is the one that explains most of the missing documents; a near miss explains all of
    them if reranking alone would make the query pass.
    """
    missing = case.missing
    order = {key: place for place, key in enumerate(CAUSES)}
    documents = list(_document_evidence(case, missing))
    reranking_suffices = case.scope.passes(case.if_reranked)

    def likelihood_key(evidence: Evidence) -> tuple[int, int]:
        settles = reranking_suffices and evidence.cause == "near miss"
        return -(len(missing) if settles else evidence.explained_documents), order[evidence.cause]

    return sorted([*_query_evidence(case, len(missing), documents, order), *documents], key=likelihood_key)


def _query_evidence(
    case: FailureCase, missing: int, documents: Sequence[Evidence], order: Mapping[str, int]
) -> Iterable[Evidence]:
    """The query causes: each explains all missing documents, or those that earlier causes leave."""
    for cause in CAUSES.values():
        sign = cause.detect_in_query(case) if cause.detect_in_query else None
        if sign:
            earlier = [e for e in documents if sign.is_remainder and order[e.cause] < order[cause.key]]
            remaining = missing - sum(e.explained_documents for e in earlier)
            yield Evidence(cause.key, sign.documents, remaining * sign.explains, query_sign=sign)


def _document_evidence(case: FailureCase, missing: Sequence[str]) -> Iterable[Evidence]:
    """The document causes: each missing document has the first that fits."""
    detectors = [(cause.key, cause.detect_in_document) for cause in CAUSES.values()]
    known = [(key, detect) for key, detect in detectors if detect is not None]
    signs_by_cause: dict[str, list[Sign]] = {}
    for doc in missing:
        for key, detect in known:
            if sign := detect(case, doc):
                signs_by_cause.setdefault(key, []).append(sign)
                break
    for key, signs in signs_by_cause.items():
        documents = tuple(sign.document for sign in signs)
        yield Evidence(key, documents, len(signs), tuple(signs), reranked_value=case.if_reranked)


@query_cause("no relevant document")
def detect_no_relevant_document(case: FailureCase) -> QuerySign | None:
    """Nothing could be found, because nothing is known to be relevant."""
    return None if case.relevant else QuerySign(len(case.grades))


@document_cause("contradictory judgments")
def detect_contradictory_judgments(case: FailureCase, doc: str) -> Sign | None:
    """A document with the same text has another grade, or a query with the same text has other grades."""
    rel, grade = case.scope.rel, case.grades[doc]
    for query, grades in case.same_text_grades.items():
        if 0 <= grades.get(doc, rel) < rel:
            return TwinQuerySign(doc, grade, query, grades[doc])
    other = case.first_by_text.get(case.scope.corpus.text(doc))
    if other is None:
        return None
    rank = case.top.index(other) + 1 if other in case.top else None
    other_grade = case.grades.get(other, -1)
    return DuplicateSign(doc, grade, other, rank, other_grade if other_grade >= 0 else None)


@document_cause("not in the corpus")
def detect_not_in_the_corpus(case: FailureCase, doc: str) -> Sign | None:
    """No search can return a document that is not there."""
    return DocumentSign(doc) if case.scope.corpus.is_missing(doc) else None


@document_cause("nothing returned")
def detect_nothing_returned(case: FailureCase, doc: str) -> Sign | None:
    """A search that returns nothing has a cause of its own."""
    return None if case.returned_count else DocumentSign(doc)


@query_cause("unreachable")
def detect_unreachable(case: FailureCase) -> QuerySign | None:
    """There are more relevant documents than places, or fewer than the measure requires."""
    if not case.relevant or case.scope.passes(case.if_best):
        return None
    return QuerySign(len(case.relevant), case.if_best)


@document_cause("ANN loss")
def detect_ann_loss(case: FailureCase, doc: str) -> Sign | None:
    """The vectors are right, and the index loses them."""
    rank = case.exact.get(doc)
    return RankSign(doc, rank) if rank is not None and rank <= case.scope.k else None


@query_cause("unjudged at the top")
def detect_unjudged_at_the_top(case: FailureCase) -> QuerySign | None:
    """The judgments may be the problem, not the search."""
    unjudged, scope = case.unjudged, case.scope
    is_share_high = case.top and len(unjudged) >= HALF_UNJUDGED * len(case.top)
    if not scope.judging_is_informative or not is_share_high or not scope.passes(case.if_judged):
        return None
    return QuerySign(
        len(case.top),
        case.if_judged,
        tuple(unjudged),
        explains=len(unjudged) >= MOSTLY_UNJUDGED * len(case.top),
        is_remainder=True,
    )


@query_cause("wrong order")
def detect_wrong_order(case: FailureCase) -> QuerySign | None:
    """The same documents would pass in a better order."""
    scope = case.scope
    documents = [doc for doc in case.relevant if case.ranks.get(doc, scope.k + 1) <= scope.k]
    is_complete = len(documents) == len(case.relevant) and scope.passes(case.if_best)
    if not documents or not (is_complete or scope.passes(case.if_ordered)):
        return None
    ranks = tuple(sorted(case.ranks[doc] for doc in documents))
    return QuerySign(len(documents), case.if_ordered, tuple(documents), ranks)


@document_cause("near miss")
def detect_near_miss(case: FailureCase, doc: str) -> Sign | None:
    """A reranker would read the document."""
    rank = case.ranks.get(doc)
    return RankSign(doc, rank) if rank is not None and rank <= case.scope.depth else None


@document_cause("sibling chunk")
def detect_sibling_chunk(case: FailureCase, doc: str) -> Sign | None:
    """The right document was found, but the wrong chunk of it."""
    parents = case.scope.corpus.parents
    if doc not in parents:
        return None
    rank = next((i for i, other in enumerate(case.top, 1) if parents.get(other) == parents[doc]), None)
    return SiblingSign(doc, case.top[rank - 1], rank) if rank else None


@document_cause("exact term missed")
def detect_exact_term_missed(case: FailureCase, doc: str) -> Sign | None:
    """Vector search does not match exact terms."""
    corpus, top = case.scope.corpus, case.documents_with_text
    for term in case.exact_terms if top else ():
        holders = (
            sum(corpus.has_term(other, term) for other in top) if corpus.has_term(doc, term) else len(top)
        )
        if holders <= FEW_HOLDERS * len(top):
            return TermSign(doc, term, holders, len(top))
    return None


@document_cause("vocabulary gap")
def detect_vocabulary_gap(case: FailureCase, doc: str) -> Sign | None:
    """The query and the document say the same in different words.

    Most words of a long query are incidental, so the documents at the top must have more of them.
    """
    corpus = case.scope.corpus
    if not case.text or not corpus.text(doc):
        return None
    query_words, words = case.query_words, corpus.words(doc)
    shared = tuple([word for stem, word in query_words.items() if stem in words])
    if not query_words or len(shared) > MAX_SHARED_WORDS * len(query_words):
        return None
    is_long = len(query_words) > LONG_QUERY_WORDS
    if is_long and len(shared) >= case.median_shared_words:
        return None
    return VocabularySign(doc, shared, tuple(word for word in query_words.values() if word not in shared))


@document_cause("not retrieved")
def detect_not_retrieved(case: FailureCase, doc: str) -> Sign:
    """The cause if no other cause fits."""
    return MissSign(doc, case.ranks.get(doc), case.returned_count)
