"""Inputs that Assay does not read, each with what to do instead."""

from __future__ import annotations

import re

from assay.core.errors import FormatError

_URL = re.compile(r"(https?|ftp|s3|gs|az|hf)://", re.I)
_SECRETS = re.compile(r"(?<=//)[^/@]*@|[?#].*")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_PICKLES = (".pkl", ".pickle")
_PICKLE_START = re.compile(rb"\x80[\x02-\x05]")


def refuse_unsupported(path: str) -> None:
    """Raise FormatError if a path names a URL, a spreadsheet or a pickle."""
    if _URL.match(path):
        raise FormatError(
            "Assay downloads nothing: download the file first (curl -LO URL) and give its path",
            _SECRETS.sub("", path),
        )
    if problem := unsupported_problem(path):
        raise FormatError(problem, path)


def unsupported_problem(path: str, head: bytes = b"") -> str:
    """Return what a spreadsheet or a pickle is and what to do, by its name or first bytes; empty for others.

    >>> unsupported_problem("run.csv", b"PK\\x03\\x04")
    'is a spreadsheet or another ZIP file: save the sheet as CSV, or unpack the file, and give that'
    """
    name = path.lower()
    if name.endswith(_SPREADSHEETS) or head.startswith(b"PK\x03\x04"):
        return (
            "is a spreadsheet or another ZIP file: save the sheet as CSV, or unpack the file, and give that"
        )
    if name.endswith(_PICKLES) or _PICKLE_START.match(head):
        return (
            "is a Python pickle, which can run any code when it is read: if you trust it, load it and write "
            "it as JSON or Parquet, such as json.dump(data, open('data.json', 'w')) for dictionaries"
        )
    return ""
