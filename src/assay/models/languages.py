"""The words of texts by which documents are matched: lower case, without stop words, stemmed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

import Stemmer
from bm25s import stopwords

from assay.core.errors import ConfigurationError

AUTO, NONE = "auto", "none"
_TOKEN = re.compile(r"\w+(?:[-.]\w+)*")  # keeps codes and versions in one token: tk-1207, 6.4
_STOP_WORDS = {
    "dutch": frozenset(stopwords.STOPWORDS_DUTCH),
    "french": frozenset(stopwords.STOPWORDS_FRENCH),
    "german": frozenset(stopwords.STOPWORDS_GERMAN),
    "italian": frozenset(stopwords.STOPWORDS_ITALIAN),
    "norwegian": frozenset(stopwords.STOPWORDS_NORWEGIAN),
    "portuguese": frozenset(stopwords.STOPWORDS_PORTUGUESE),
    "russian": frozenset(stopwords.STOPWORDS_RUSSIAN),
    "spanish": frozenset(stopwords.STOPWORDS_SPANISH),
    "swedish": frozenset(stopwords.STOPWORDS_SWEDISH),
}
_ENGLISH_ONLY = frozenset(stopwords.STOPWORDS_EN_PLUS).difference(*_STOP_WORDS.values())
_STOP_WORDS["english"] = frozenset(stopwords.STOPWORDS_EN_PLUS)
_ENGLISH_SHARE = 0.1  # of all words; English prose has 0.2 to 0.3, other languages nearly none


class WordAnalyzer:
    """Returns the words of texts in a language; in `none`, the words as they are written.

    The language `auto` is English if the texts that it is given first are English, else `none`.

    >>> analyzer = WordAnalyzer("auto", ["Reset the router before you call us.", "Wait for it to restart."])
    >>> analyzer.language, analyzer.words("How are the routers configured?")
    ('english', ['router', 'configur'])
    >>> WordAnalyzer("auto", ["Der Router startet in der Nacht neu."]).language
    'none'
    """

    def __init__(self, language: str, texts: Iterable[str]) -> None:
        check_language(language)
        self.language = _choose_language(texts) if language == AUTO else language
        self._stop_words = _STOP_WORDS.get(self.language, frozenset())

    def words(self, text: str) -> list[str]:
        """Return the words of a text in order; may be called from any thread."""
        words = [word for word in _split(text) if word not in self._stop_words]
        if self.language == NONE:
            return words
        stems: list[str] = Stemmer.Stemmer(self.language).stemWords(words)  # a Stemmer is of one thread
        return stems


def check_language(language: str) -> None:
    """Refuse a language for which there is no stemmer."""
    languages = [name for name in Stemmer.algorithms() if "porter" not in name]
    if language not in (*languages, AUTO, NONE):
        problem = f"expected {AUTO}, {NONE} or one of {', '.join(languages)}; found {language!r}"
        raise ConfigurationError({"language": problem})


def _choose_language(texts: Iterable[str]) -> str:
    words = list(chain.from_iterable(map(_split, texts)))
    english_count = sum(word in _ENGLISH_ONLY for word in words)
    return "english" if words and english_count >= _ENGLISH_SHARE * len(words) else NONE


def _split(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())
