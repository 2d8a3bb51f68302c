"""A study as a file: one JSON document with its settings, questions, truth and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError, InputError
from assay.core.files import write_atomically
from assay.rag.answers import Answer
from assay.rag.questions import Question
from assay.rag.study import RagStudy

_FORMAT = "rag study 1"
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of characters


def study_dict(study: RagStudy) -> dict[str, Any]:
    """Return a study as plain data: all that is needed to read it again, and what it found."""
    value = {
        "assay": _FORMAT,
        **study.result_dict(),
        "level": study.level,
        "families": dict(study.families),
        "questions": [{**vars(q), "answers": list(q.answers)} for q in study.questions],
        "truth": {key: list(ids) for key, ids in study.truth.items()},
        "relevant": study.relevant and {key: sorted(ids) for key, ids in study.relevant.items()},
        "answers": [answer.to_dict() for answer in study.based_answers],
        "excerpts": dict(study.excerpts),
    }
    cleaned: dict[str, Any] = _clean(value)
    return cleaned


def _clean(value: Any) -> Any:
    r"""Return plain data whose texts can be written to files and databases, whatever a model replied.

    >>> _clean({"text": ["a\0b", "c\ud800"]})
    {'text': ['a�b', 'c�']}
    """
    if isinstance(value, str):
        return _UNWRITABLE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    return [_clean(entry) for entry in value] if isinstance(value, list | tuple) else value


def write_study(study: RagStudy, path: str | Path) -> None:
    """Write a study to a file, whole or not at all."""
    with write_atomically(path) as partial:
        partial.write_text(json.dumps(study_dict(study), ensure_ascii=False, indent=1), encoding="utf-8")


def read_study(path: str | Path) -> RagStudy:
    """Return the study of a file that `assay rag run` wrote."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"expected a study of `assay rag run` in JSON: {error}", str(path)) from None
    if not isinstance(value, dict) or value.get("assay") != _FORMAT:
        raise FormatError("expected a study that `assay rag run -o FILE` wrote", str(path))
    return parse_study(value, str(path))


def parse_study(value: dict[str, Any], path: str) -> RagStudy:
    """Return the study of plain data."""
    try:
        return RagStudy(
            settings=value["settings"],
            questions=[Question(q["id"], q["text"], tuple(q["answers"])) for q in value["questions"]],
            answers=[Answer.from_dict(answer) for answer in value["answers"]],
            families=value["families"],
            truth=value["truth"],
            relevant=value["relevant"],
            level=value["level"],
            excerpts=value.get("excerpts", {}),
        )
    except (KeyError, TypeError) as error:
        raise FormatError(f"is not a whole study ({error!r}): run `assay rag run` again", path) from None
