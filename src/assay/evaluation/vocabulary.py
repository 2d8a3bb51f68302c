"""Words and exact terms of queries and documents."""

from __future__ import annotations

import re
from functools import lru_cache

_STOP_WORD_TEXT = """
a an and any are as at be by can do does for from get how i if in into is it its me my not of on or
our so that the their then there this to was we what when where which who why will with you your
"""
STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
_MINOR_WORD_TEXT = """
about after again all also am because been before but cannot could did down during each else ever every few
had has have he her here him his just let like made make more most much must never no now off only other out
over own please same she should since some still such than them these they those though through too under
until up us use very want way were while without would yet
"""
MINOR_WORDS = STOP_WORDS.union(_MINOR_WORD_TEXT.split())  # words without content
_HAN = "\u3040-\u30ff\u3400-\u9fff"  # scripts without blanks: each character counts as a word
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]{{2,}}")
_ENDINGS = ("ing", "ed", "es", "s", "e")
_QUOTED = re.compile(r"[\"“”«»`]([^\"“”«»`]*\w[^\"“”«»`]*)[\"“”«»`]")
_EDGES = "?!,;:()[]{}<>\"'“”‘’«»`…"
_NUMBER = re.compile(r"(?=.*\d)(?=.*[^\W\d]|.*[-_./:]|\d{3})\w+(?:[-_./:]\w+)*")  # E-4012, 6.3, SKU123, 502
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.I)
_NAME = re.compile(r"\w+_\w+|[A-Za-z]*[a-z][A-Z]\w*|\w{2,}\.\w{2,}")  # error_code, maxWatches, setup.exe
_ENDING = re.compile(r"\*?(\.[A-Za-z]\w{0,5})")  # *.bak
_CAPITALS = re.compile(r"([A-Z]{2,})s?")


@lru_cache(maxsize=1 << 17)
def fold_word(word: str) -> str:
    """A word without its most common endings, so that the forms of one word are equal.

    >>> [fold_word(w) for w in ("sharing", "shared", "shares", "share", "policies", "policy", "stopped")]
    ['shar', 'shar', 'shar', 'shar', 'polici', 'polici', 'stop']
    """
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    word = word[: len(word) - len(ending)]
    if len(word) > 3 and word[-1] == word[-2] and word.isalpha():
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word


def content_words(text: str) -> dict[str, str]:
    """The content words of a query: by folded word, the word as it was written.

    >>> content_words("How do I share my folders?")
    {'shar': 'share', 'folder': 'folders'}
    """
    return {fold_word(word): word for word in _WORD.findall(text.casefold()) if word not in MINOR_WORDS}


def vocabulary(text: str) -> frozenset[str]:
    """All words of a document, folded."""
    return frozenset(map(fold_word, set(_WORD.findall(text.casefold()))))


def exact_terms(text: str) -> list[str]:
    """The codes, versions, names, acronyms and quoted phrases of a query that must match exactly.

    >>> exact_terms('HTTP 502 after "factory reset" in v2.3.1, code E-4012, all *.bak files')
    ['factory reset', 'http', '502', '2.3.1', 'e-4012', '.bak']
    """
    terms = [" ".join(phrase.split()) for phrase in _QUOTED.findall(text)]
    is_upper_case = text == text.upper()
    terms += [term for token in text.split() if (term := _term(token, is_upper_case))]
    return list(dict.fromkeys(term.casefold() for term in terms))


def _term(token: str, is_upper_case: bool) -> str | None:
    """The exact term of a token; None if it is not one."""
    token = token.strip(_EDGES).rstrip(".")
    if ending := _ENDING.fullmatch(token):
        return ending[1]
    if _NUMBER.fullmatch(token) and not _ORDINAL.fullmatch(token):
        return re.sub(r"^[vV](?=\d)", "", token)
    if _NAME.fullmatch(token):
        return token
    capitals = None if is_upper_case else _CAPITALS.fullmatch(token)
    return capitals[1] if capitals and capitals[1].casefold() not in MINOR_WORDS else None


@lru_cache(maxsize=1 << 12)
def term_pattern(term: str) -> re.Pattern[str]:
    """A pattern that finds a term in a casefolded text: 6.3 is not in 6.3.1, nor tk-12 in tk-120.

    >>> bool(term_pattern("6.3").search("since v6.3.")), bool(term_pattern("6.3").search("since 6.3.1"))
    (True, False)
    """
    left = "" if term.startswith(".") else r"(?<!\w)(?<!\d\.)v?" if term[0].isdigit() else r"(?<!\w)"
    return re.compile(left + re.escape(term) + r"(?!\w|[.-]\d)")
