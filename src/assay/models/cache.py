"""Vectors that are made once: kept on disk by model, role and text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.core.digests import digest_of
from assay.core.files import put_in_place
from assay.models.encoder import Encoder
from assay.models.model import Usage
from assay.models.shelf import KEY, Shelf

Progress = Callable[[int, int], None]  # how many texts were encoded, of how many that were missing


class Cached(Encoder):
    """An encoder that encodes only what the folder does not hold yet, batch by batch.

    An interruption loses the batch under way at most. Another model, version, prefix or role has
    another file: the configuration of the encoder names it.
    """

    def __init__(
        self, encoder: Encoder, folder: str | Path, batch: int = 1024, progress: Progress | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.folder, self.batch, self.progress = encoder, Path(folder), batch, progress
        self.name, self.d = encoder.name, encoder.d
        self._shelves: dict[str, Shelf] = {}
        self._opening = Lock()

    def fit(self, texts: Sequence[str]) -> None:
        """Let the encoder learn from the documents: from then on it is another model."""
        self.encoder.fit(texts)
        self.d = self.encoder.d

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text, from the folder; what is missing there is encoded first, each text once."""
        shelf = self._shelf(role)
        keys = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in shelf}
        if missing:
            self._fill(shelf, missing, role)
        return shelf.rows(keys)

    def _fill(self, shelf: Shelf, missing: Mapping[bytes, str], role: str) -> None:
        keys = list(missing)
        for at in range(0, len(keys), self.batch):
            some = keys[at : at + self.batch]
            shelf.add(some, self.encoder.encode([missing[key] for key in some], role))
            if self.progress:
                self.progress(at + len(some), len(keys))

    def _shelf(self, role: str) -> Shelf:
        told = json.dumps({**self.configuration(), "role": role}, sort_keys=True)
        with self._opening:
            if told not in self._shelves:
                self._shelves[told] = self._opened(told)
            shelf = self._shelves[told]
        shelf.refresh()
        return shelf

    def _opened(self, told: str) -> Shelf:
        place = self.folder / digest_of(told.encode())
        if not (place / "model.json").exists():
            with put_in_place(place / "model.json") as path:  # for people: the name is a digest
                path.write_text(told + "\n", encoding="utf-8")
        return Shelf(place / "vectors")

    @property
    def usage(self) -> Usage:
        """What the encoder used; what came from the folder costs nothing."""
        return self.encoder.usage

    @property
    def usage_here(self) -> Usage:
        """What the encoder used in the thread that asks."""
        return self.encoder.usage_here

    def configuration(self) -> Mapping[str, Any]:
        """That of the encoder: where its vectors are kept changes nothing."""
        return self.encoder.configuration()

    def identity(self) -> Mapping[str, Any]:
        """That of the encoder."""
        return self.encoder.identity()

    def close(self) -> None:
        """Close the encoder."""
        self.encoder.close()
