"""The documents that causes look into, each once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from assay.core.tables import Documents
from assay.evaluation import chunks, words


class Corpus:
    """What is known of the documents: their texts where they are given, else their ids alone."""

    def __init__(self, documents: Documents | None, seen: Callable[[], Iterable[str]]) -> None:
        self.documents, self._seen = documents, seen  # the ids to go by where no documents are given
        has_text = documents is not None and not {"title", "text"}.isdisjoint(documents.columns)
        self._given: Mapping[str, str] = documents.texts() if documents and has_text else {}
        self._texts: dict[str, str] = {}
        self._words: dict[str, frozenset[str]] = {}

    @property
    def has_texts(self) -> bool:
        """Whether there is any text to look into."""
        return bool(self._given)

    def lacks(self, doc: str) -> bool:
        """Whether a document is not among those that were given."""
        return self.documents is not None and doc not in self.documents.row

    def text(self, doc: str) -> str:
        """A document's text without case and extra blanks, "" where it is not known."""
        if doc not in self._texts:
            self._texts[doc] = plain(self._given.get(doc, ""))
        return self._texts[doc]

    def words(self, doc: str) -> frozenset[str]:
        """A document's words, folded."""
        if doc not in self._words:
            self._words[doc] = words.vocabulary(self.text(doc))
        return self._words[doc]

    def holds(self, doc: str, term: str) -> bool:
        """Whether a document has a term to the letter."""
        return term in self.text(doc) and bool(words.finder(term).search(self.text(doc)))

    def same(self, one: str, other: str) -> bool:
        """Whether two documents read the same."""
        return one != other and bool(self.text(one)) and self.text(one) == self.text(other)

    @cached_property
    def parent(self) -> Mapping[str, str]:
        """The parent of each document that is a chunk."""
        return chunks.parents(self.documents) if self.documents else chunks.by_form(set(self._seen()))


def plain(text: str) -> str:
    """A text without what does not change how it reads: case and blanks.

    >>> plain("  Reset it\\n NOW ")
    'reset it now'
    """
    return " ".join(text.casefold().split())
