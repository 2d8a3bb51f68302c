"""The words of queries and documents, as a search by words sees them."""

from __future__ import annotations

import re
from functools import lru_cache

_STOP_WORDS = """
a an and any are as at be by can do does for from get how i if in into is it its me my not of on or
our so that the their then there this to was we what when where which who why will with you your
"""
STOP = frozenset(_STOP_WORDS.split())
_MINOR_WORDS = """
about after again all also am because been before but cannot could did down during each else ever every few
had has have he her here him his just let like made make more most much must never no now off only other out
over own please same she should since some still such than them these they those though through too under
until up us use very want way were while without would yet
"""
MINOR = STOP.union(_MINOR_WORDS.split())  # words that say nothing of a subject
_HAN = "\u3040-\u30ff\u3400-\u9fff"  # written without blanks: each sign counts as a word
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
def fold(word: str) -> str:
    """A word without its commonest endings, so that forms of one word are the same.

    >>> [fold(word) for word in ("sharing", "shared", "shares", "share", "policies", "policy", "stopped")]
    ['shar', 'shar', 'shar', 'shar', 'polici', 'polici', 'stop']
    """
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    word = word[: len(word) - len(ending)]
    if len(word) > 3 and word[-1] == word[-2] and word.isalpha():
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word


def content(text: str) -> dict[str, str]:
    """The words of a query that carry meaning: folded, with each as it was written.

    >>> content("How do I share my folders?")
    {'shar': 'share', 'folder': 'folders'}
    """
    return {fold(word): word for word in _WORD.findall(text.casefold()) if word not in MINOR}


def vocabulary(text: str) -> frozenset[str]:
    """All words of a document, folded."""
    return frozenset(map(fold, set(_WORD.findall(text.casefold()))))


def terms(text: str) -> list[str]:
    """The codes, versions, names, capitals and quoted phrases that a query wants to the letter.

    >>> terms('HTTP 502 after "factory reset" in v2.3.1, code E-4012, all *.bak files')
    ['factory reset', 'http', '502', '2.3.1', 'e-4012', '.bak']
    """
    found = [" ".join(phrase.split()) for phrase in _QUOTED.findall(text)]
    shouted = text == text.upper()
    found += [term for token in text.split() if (term := _term(token, shouted))]
    return list(dict.fromkeys(term.casefold() for term in found))


def _term(token: str, shouted: bool) -> str | None:
    """The term that a token is, if it is one."""
    token = token.strip(_EDGES).rstrip(".")
    if ending := _ENDING.fullmatch(token):
        return ending[1]
    if _NUMBER.fullmatch(token) and not _ORDINAL.fullmatch(token):
        return re.sub(r"^[vV](?=\d)", "", token)
    if _NAME.fullmatch(token):
        return token
    capitals = None if shouted else _CAPITALS.fullmatch(token)
    return capitals[1] if capitals and capitals[1].casefold() not in MINOR else None


@lru_cache(maxsize=1 << 12)
def finder(term: str) -> re.Pattern[str]:
    """What finds a term in a casefolded text: 6.3 is not in 6.3.1, nor tk-12 in tk-120.

    >>> bool(finder("6.3").search("since v6.3.")), bool(finder("6.3").search("since 6.3.1"))
    (True, False)
    """
    left = "" if term.startswith(".") else r"(?<!\w)(?<!\d\.)v?" if term[0].isdigit() else r"(?<!\w)"
    return re.compile(left + re.escape(term) + r"(?!\w|[.-]\d)")
