"""The documents in which causes are detected; each text is processed once, on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from assay.core.tables import Documents
from assay.evaluation import chunks, vocabulary


class Corpus:
    """The documents: their texts if these are given, else their ids alone."""

    def __init__(self, documents: Documents | None, known_ids: Callable[[], Iterable[str]]) -> None:
        self.documents, self._known_ids = (
            documents,
            known_ids,
        )  # the ids to use if no documents are given
        has_text = documents is not None and not {"title", "text"}.isdisjoint(documents.columns)
        self._raw_texts: Mapping[str, str] = documents.texts() if documents and has_text else {}
        self._texts: dict[str, str] = {}
        self._words: dict[str, frozenset[str]] = {}

    @property
    def has_texts(self) -> bool:
        """Whether there is any text."""
        return bool(self._raw_texts)

    def is_missing(self, doc: str) -> bool:
        """Whether a document is not in the document table."""
        return self.documents is not None and doc not in self.documents.row_by_id

    def text(self, doc: str) -> str:
        """A document's text without case and extra blanks, "" if it is not known."""
        text = self._texts.get(doc)
        if text is None:
            text = self._texts[doc] = normalize_text(self._raw_texts.get(doc, ""))
        return text

    def words(self, doc: str) -> frozenset[str]:
        """A document's words, folded."""
        if doc not in self._words:
            self._words[doc] = vocabulary.vocabulary(self.text(doc))
        return self._words[doc]

    def has_term(self, doc: str, term: str) -> bool:
        """Whether a document contains an exact term."""
        return term in self.text(doc) and bool(vocabulary.term_pattern(term).search(self.text(doc)))

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """The parent of each document that is a chunk."""
        return (
            chunks.find_parents(self.documents)
            if self.documents
            else chunks.parents_from_ids(set(self._known_ids()))
        )


def normalize_text(text: str) -> str:
    """A text in lower case, with single blanks.

    >>> normalize_text("  Reset it\\n NOW ")
    'reset it now'
    """
    return " ".join(text.casefold().split())
