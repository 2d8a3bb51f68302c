"""Why a query fails: the likely causes, the signs by which each is known, and the fix it points to.

The causes stand in order of precedence, from a wrong measurement to a wrong search. A cause of
documents explains a relevant document that is missing from the top: each has the first that fits.
A cause of the whole query explains all of them at once. A new cause is one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from assay.evaluation import words
from assay.evaluation.cases import Case, Scope

HALF = 0.5  # of the top unjudged at least: worth a word
MOSTLY = 0.8  # of the top unjudged at least: the likely cause
FEW = 0.2  # of the top at most have a term: it was missed
HARDLY = 1 / 3  # of the query's words at most are in a document: they speak differently
WORDY = 8  # words that carry meaning: most of a longer query is there by the way
LOOKED_INTO = 100  # texts of a longer top are not all read
NAMED = 3  # documents that a sentence names before it counts the others
DESCRIBED = 2  # and documents of which it says more than a rank


class Sign(NamedTuple):
    """What was found: words for it, and the documents concerned."""

    text: str
    documents: Sequence[str] = ()
    explains: bool = True
    rest: bool = False  # it explains only what no cause before it does


class Cause(NamedTuple):
    """A reason for which queries fail."""

    key: str
    means: str
    fix: str
    of_query: Callable[[Case], Sign | None] | None = None
    of_document: Callable[[Case, str], str | None] | None = None
    says: str = "{signs}"

    def fix_for(self, scope: Scope) -> str:
        """The fix, with the numbers of this case."""
        return self.fix.format(k=scope.k, depth=scope.depth)


class Evidence(NamedTuple):
    """A sign of a cause in one query; `explained` counts the missing relevant documents it explains."""

    cause: str
    text: str
    documents: tuple[str, ...]
    explained: int


CAUSES: dict[str, Cause] = {}
OfQuery = Callable[[Case], Sign | None]
OfDocument = Callable[[Case, str], str | None]


def of_query(key: str, means: str, fix: str) -> Callable[[OfQuery], OfQuery]:
    """Register a cause of a whole query: a function that finds its sign, or None."""

    def register(find: OfQuery) -> OfQuery:
        CAUSES[key] = Cause(key, means, fix, of_query=find)
        return find

    return register


def of_document(key: str, means: str, fix: str, says: str = "{signs}") -> Callable[[OfDocument], OfDocument]:
    """Register a cause of missing documents: a function that gives words for one of them, or None."""

    def register(find: OfDocument) -> OfDocument:
        CAUSES[key] = Cause(key, means, fix, of_document=find, says=says)
        return find

    return register


def diagnose(case: Case) -> list[Evidence]:
    """The evidence for why a query fails, the likely cause first.

    That is the one that explains most of the missing documents; a near miss explains all of them where
    reranking alone would make the query pass.
    """
    missing = case.missing
    order = {key: place for place, key in enumerate(CAUSES)}
    documents = list(_documents(case, missing))
    enough = case.scope.passes(case.if_reranked)

    def likely(evidence: Evidence) -> tuple[int, int]:
        settles = enough and evidence.cause == "near miss"
        return -(len(missing) if settles else evidence.explained), order[evidence.cause]

    return sorted([*_whole(case, len(missing), documents, order), *documents], key=likely)


def _whole(
    case: Case, missing: int, documents: Sequence[Evidence], order: Mapping[str, int]
) -> Iterable[Evidence]:
    """Causes of the whole query: each explains all that is missing, or what causes before it leave."""
    for cause in CAUSES.values():
        sign = cause.of_query(case) if cause.of_query else None
        if sign:
            before = sum(e.explained for e in documents if sign.rest and order[e.cause] < order[cause.key])
            yield Evidence(cause.key, sign.text, tuple(sign.documents), (missing - before) * sign.explains)


def _documents(case: Case, missing: Sequence[str]) -> Iterable[Evidence]:
    found: dict[str, dict[str, str]] = {}
    for doc in missing:
        key, text = next(iter(_signs(case, doc)))
        found.setdefault(key, {})[doc] = text
    for key, signs in found.items():
        yield Evidence(key, _sentence(case, CAUSES[key].says, list(signs.values())), tuple(signs), len(signs))


def _sentence(case: Case, says: str, signs: Sequence[str]) -> str:
    most = DESCRIBED if says == "{signs}" else NAMED
    scope = case.scope
    reranked = f"{scope.of_a_query} would be {case.if_reranked:.4f}"
    return says.format(signs=some(signs, "; ", most), k=scope.k, depth=scope.depth, reranked=reranked)


def _signs(case: Case, doc: str) -> Iterable[tuple[str, str]]:
    """The causes that fit a document, in order."""
    for cause in CAUSES.values():
        text = cause.of_document(case, doc) if cause.of_document else None
        if text:
            yield cause.key, text


def some(items: Iterable[str], by: str = ", ", most: int = NAMED) -> str:
    """The first few items, and how many more there are.

    >>> some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    every = list(items)
    rest = len(every) - most
    return by.join(every[:most]) + (f" and {rest} more" if rest > 0 else "")


@of_query(
    "no relevant document",
    "nobody judged any document relevant for the query",
    "judge more documents for the query, or leave it out",
)
def no_relevant_document(case: Case) -> Sign | None:
    """Nothing could be found, for nothing is known to be relevant."""
    if case.relevant:
        return None
    return Sign(f"none of the {len(case.grades)} judged documents is relevant")


@of_document(
    "contradictory judgments",
    "the same text, or the same query, was judged in two ways",
    "settle the judgments and merge duplicates before you change the search",
)
def contradictory_judgments(case: Case, doc: str) -> str | None:
    """A document that reads the same was judged otherwise, or a query that reads the same says otherwise."""
    rel, grade = case.scope.rel, case.grades[doc]
    for query, grades in case.twins.items():
        if 0 <= grades.get(doc, rel) < rel:
            return f"{doc} has grade {grade} here and {grades[doc]} in {query}, a query with the same text"
    for other in dict.fromkeys([*case.top, *case.grades]):
        judged = case.grades.get(other, -1)
        if judged < rel and (judged >= 0 or other in case.top) and case.scope.corpus.same(doc, other):
            said = f"grade {judged}" if judged >= 0 else "not judged"
            at = f"rank {case.top.index(other) + 1}, " if other in case.top else ""
            return f"{doc} (grade {grade}) reads the same as {other} ({at}{said})"
    return None


@of_document(
    "not in the corpus",
    "a relevant document is not among the documents that were given",
    "index the documents, or drop their judgments",
    "relevant, but not among the documents: {signs}",
)
def not_in_the_corpus(case: Case, doc: str) -> str | None:
    """No search can return what is not there."""
    return doc if case.scope.corpus.lacks(doc) else None


@of_document(
    "nothing returned",
    "the run has no document for the query",
    "look at filters, timeouts and how the query is parsed",
    "the run has nothing for the query; relevant: {signs}",
)
def nothing_returned(case: Case, doc: str) -> str | None:
    """A search that returns nothing is a matter of its own."""
    return doc if not case.returned else None


@of_query(
    "unreachable",
    "even the best ranking stays on the wrong side of the threshold",
    "choose what can be reached: RCap@{k}, or another threshold",
)
def unreachable(case: Case) -> Sign | None:
    """There are more relevant documents than places, or fewer than the measure asks for."""
    if not case.relevant or case.scope.passes(case.if_best):
        return None
    documents = f"{len(case.relevant)} relevant document{'s' * (len(case.relevant) != 1)}"
    return Sign(f"with {documents} the best ranking there is has {case.scope.of_a_query} {case.if_best:.4f}")


@of_document(
    "ANN loss",
    "exact search has the document in the top, the index does not",
    "raise ef or nprobe, or rebuild the index",
    "exact search has in its top {k}: {signs}",
)
def ann_loss(case: Case, doc: str) -> str | None:
    """The vectors are right and the index loses them."""
    rank = case.exact.get(doc)
    return f"{doc} (rank {rank})" if rank is not None and rank <= case.scope.k else None


@of_query(
    "unjudged at the top",
    "half or more of the top was never judged, and would make the query pass if relevant",
    "judge those documents first: the score may be too low",
)
def unjudged_at_the_top(case: Case) -> Sign | None:
    """The failure may be one of the judgments."""
    unjudged, scope = case.unjudged, case.scope
    enough = case.top and len(unjudged) >= HALF * len(case.top)
    if not scope.judged or not enough or not scope.passes(case.if_judged):
        return None
    share = f"{len(unjudged)} of the top {len(case.top)} were never judged"
    said = f"{share}: {some(unjudged)}; were they relevant, {scope.of_a_query} would be {case.if_judged:.4f}"
    return Sign(said, unjudged, explains=len(unjudged) >= MOSTLY * len(case.top), rest=True)


@of_query(
    "wrong order",
    "the top holds what is needed, below what is not",
    "rerank the top {k}: what is needed is there",
)
def wrong_order(case: Case) -> Sign | None:
    """The same documents in a better order would pass."""
    scope = case.scope
    found = [doc for doc in case.relevant if case.ranks.get(doc, scope.k + 1) <= scope.k]
    complete = len(found) == len(case.relevant) and scope.passes(case.if_best)
    if not found or not (complete or scope.passes(case.if_ordered)):
        return None
    ranks = sorted(case.ranks[doc] for doc in found)
    said = f"relevant at rank {some(map(str, ranks), most=8)}"
    return Sign(f"{said}; in the best order {scope.of_a_query} would be {case.if_ordered:.4f}", found)


@of_document(
    "near miss",
    "the document was returned, below the top and within a reranker's reach",
    "rerank the first {depth}",
    "below the top {k}, within the first {depth}: {signs}; in the best order {reranked}",
)
def near_miss(case: Case, doc: str) -> str | None:
    """A reranker would see it."""
    rank = case.ranks.get(doc)
    return f"{doc} (rank {rank})" if rank is not None and rank <= case.scope.depth else None


@of_document(
    "sibling chunk",
    "another chunk of the same parent stands in the top instead",
    "larger or overlapping chunks, or score by parent",
    "another chunk of the same parent is in the top {k}: {signs}",
)
def sibling_chunk(case: Case, doc: str) -> str | None:
    """The right document was found at the wrong place."""
    parent = case.scope.corpus.parent
    if doc not in parent:
        return None
    place = next((i for i, other in enumerate(case.top, 1) if parent.get(other) == parent[doc]), None)
    return f"{doc}, instead {case.top[place - 1]} (rank {place})" if place else None


@of_document(
    "exact term missed",
    "a code, version, name or phrase of the query is in the document and hardly in the top",
    "add search by words (hybrid), or a keyword field for such terms",
)
def exact_term_missed(case: Case, doc: str) -> str | None:
    """Vectors blur what must match to the letter."""
    corpus, top = case.scope.corpus, _read(case)
    for term in words.terms(case.text or "") if top else ():
        holders = sum(corpus.holds(other, term) for other in top) if corpus.holds(doc, term) else len(top)
        if holders <= FEW * len(top):
            have = "have" if holders > 1 else "has"
            return f"{doc} has “{term}”, which {holders or 'none'} of the top {len(top)} {have}"
    return None


def _read(case: Case) -> list[str]:
    """The documents at the top whose texts are known."""
    return [doc for doc in case.top[:LOOKED_INTO] if case.scope.corpus.text(doc)]


@of_document(
    "vocabulary gap",
    "the query's words are hardly in the document",
    "synonyms, query expansion, or an embedding model of the domain",
)
def vocabulary_gap(case: Case, doc: str) -> str | None:
    """The query and the document say the same in different words.

    Most words of a long query are there by the way, so what was found must use more of them.
    """
    corpus = case.scope.corpus
    if not case.text or not corpus.text(doc):
        return None
    wanted = words.content(case.text)
    shared = [word for folded, word in wanted.items() if folded in corpus.words(doc)]
    if not wanted or len(shared) > HARDLY * len(wanted):
        return None
    if len(wanted) > WORDY and len(shared) >= _usually_shared(case, wanted.keys()):
        return None
    absent = some([word for word in wanted.values() if word not in shared], most=5)
    held = f"{len(shared)} of the query's {len(wanted)} words ({some(shared)}), not {absent}"
    return f"{doc} has {held if shared else f'none of the words {absent}'}"


def _usually_shared(case: Case, wanted: Set[str]) -> int:
    """How many words of the query a document at the top has, in the median."""
    shared = sorted(len(wanted & case.scope.corpus.words(doc)) for doc in _read(case))
    return shared[len(shared) // 2] if shared else len(wanted)


@of_document(
    "not retrieved",
    "the document was not returned, or far down, without a sign of why",
    "look at the embedding model, the chunks, and what of the document is indexed",
    "missed without a sign of why: {signs}",
)
def not_retrieved(case: Case, doc: str) -> str:
    """What is left when no other cause fits."""
    rank = case.ranks.get(doc)
    return f"{doc} (rank {rank}, too far down)" if rank else f"{doc} (not among the {case.returned} returned)"
