"""Splits fetched from `assay serve` into the file that a service reads."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

from assay.rollout.served_splits import ServedSplits, SplitSource, write_whole

_LONGEST = 1 << 22  # bytes of a document


class SplitClient:
    """Copies the signed splits at a URL to a file, every `seconds`, in a thread of its own.

    A failure changes nothing: the file stays as it is, and `problem` says why.
    """

    def __init__(
        self, url: str, source: SplitSource, key: str, token: str = "", seconds: float = 2.0
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"expected an http or https address of splits, found {url!r}")
        self.problem = ""
        self._url, self._source, self._key, self._token = url, source, key, token
        self._seconds = seconds
        self._mark = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assay-splits", daemon=True)

    def start(self) -> SplitClient:
        """Fetch once, then go on in the background."""
        self.fetch()
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def fetch(self) -> None:
        """Fetch the splits if they have changed."""
        headers = {"Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self._mark:
            headers["If-None-Match"] = self._mark
        request = urllib.request.Request(self._url, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=max(self._seconds, 1.0)) as answer:
                document = answer.read(_LONGEST)
                ServedSplits.verify(document, self._key, self._source.sequence)
                write_whole(Path(self._source.path), document.decode())
                self._mark = answer.headers.get("ETag", "")
                self._source.refresh()
                self.problem = ""
        except urllib.error.HTTPError as error:
            self.problem = "" if error.code == 304 else f"{self._url}: {error}"
        except (OSError, ValueError) as error:
            self.problem = f"{self._url}: {error}"

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            self.fetch()
