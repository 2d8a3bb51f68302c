"""Whether an answer is correct, by the words of the accepted answers, and whether it declines to answer."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "“”‘’–—…", " "))
_DECLINES = re.compile(
    r"\A\W*(?:i\s+(?:do\s*n[o'’]?t|don['’]?t|can\s*not|cannot|can['’]?t|could\s+not|couldn['’]?t)"
    r"|(?:i['’]?m|i\s+am)\s+(?:not\s+(?:sure|able|aware)|unable|sorry)|sorry\b|unknown\b|no\s+answer\b"
    r"|(?:the|these)\s+(?:passages?|documents?|context|text)\s+(?:do(?:es)?\s*n[o'’]?t|do(?:es)?\s+not)"
    r"|not\s+(?:stated|mentioned|specified|given|found|available|enough)\b)",
    re.IGNORECASE,
)


def normalize_answer(text: str) -> str:
    """Return an answer without case, punctuation, articles and repeated spaces (Rajpurkar et al. 2016).

    >>> normalize_answer("The  Port 8080.")
    'port 8080'
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", folded).split())


def is_exact_match(answer: str, accepted: Sequence[str]) -> bool:
    """Return whether the answer is one of the accepted ones, apart from case, punctuation and articles."""
    return normalize_answer(answer) in {normalize_answer(text) for text in accepted}


def contains_answer(text: str, accepted: Sequence[str]) -> bool:
    """Return whether the words of an accepted answer stand together in a text.

    >>> contains_answer("It is port 8080, I think", ["8080"]), contains_answer("port 80801", ["8080"])
    (True, False)
    """
    words = f" {normalize_answer(text)} "
    normalized = (normalize_answer(answer) for answer in accepted)
    return any(answer and f" {answer} " in words for answer in normalized)


def token_f1(answer: str, accepted: Sequence[str]) -> float:
    """Return the highest F1 of the words of the answer against those of an accepted answer.

    >>> round(token_f1("port 8080", ["the port is 8080"]), 2)
    0.8
    """
    return max(
        (_f1(normalize_answer(answer).split(), normalize_answer(a).split()) for a in accepted), default=0.0
    )


def _f1(words: Sequence[str], expected: Sequence[str]) -> float:
    common = sum((Counter(words) & Counter(expected)).values())
    if not common:
        return 0.0
    precision, recall = common / len(words), common / len(expected)
    return 2 * precision * recall / (precision + recall)


def is_refusal(answer: str) -> bool:
    """Return whether an answer declines to answer.

    >>> is_refusal("I don't know."), is_refusal("The passages do not say."), is_refusal("8080")
    (True, True, False)
    """
    return not answer.strip() or bool(_DECLINES.match(answer.strip()))
