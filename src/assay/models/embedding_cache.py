"""The embedding cache: vectors are computed once, and kept on disk by model, role and text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from assay.core.digests import digest_of
from assay.core.files import write_atomically
from assay.models.embedding_file import KEY_BYTES, EmbeddingFile
from assay.models.encoder import Encoder, EncoderUser

EncodingProgress = Callable[[int, int], None]  # texts encoded so far, texts to encode


class EmbeddingCache(EncoderUser, Encoder):
    """An encoder that encodes only texts that are not in its folder yet, batch by batch.

    An interruption loses at most the current batch. Each model, version, prefix and role has its own
    file, named by a digest of the configuration of the encoder.
    """

    def __init__(
        self,
        encoder: Encoder,
        folder: str | Path,
        batch: int = 1024,
        progress: EncodingProgress | None = None,
    ) -> None:
        super().__init__()
        self.encoder, self.folder, self.batch, self.progress = encoder, Path(folder), batch, progress
        self.name, self.d = encoder.name, encoder.d
        self._files: dict[str, EmbeddingFile] = {}
        self._files_lock = Lock()

    def fit(self, texts: Sequence[str]) -> None:
        """Fit the encoder to the documents: this changes its configuration, and so the file."""
        self.encoder.fit(texts)
        self.d = self.encoder.d

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text, from the folder; missing texts are encoded first, each once."""
        file = self._file(role)
        keys = [_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in file}
        if missing:
            self._encode_missing(file, missing, role)
        return file.rows(keys)

    def _encode_missing(self, file: EmbeddingFile, missing: Mapping[bytes, str], role: str) -> None:
        keys = list(missing)
        for start in range(0, len(keys), self.batch):
            batch_keys = keys[start : start + self.batch]
            file.add(batch_keys, self.encoder.encode([missing[key] for key in batch_keys], role))
            if self.progress:
                self.progress(start + len(batch_keys), len(keys))

    def _file(self, role: str) -> EmbeddingFile:
        description = json.dumps({**self.configuration(), "role": role}, sort_keys=True)
        with self._files_lock:
            if description not in self._files:
                self._files[description] = self._open_file(description)
            file = self._files[description]
        file.refresh()
        return file

    def _open_file(self, description: str) -> EmbeddingFile:
        folder = self.folder / digest_of(description.encode())
        if not (folder / "model.json").exists():
            with write_atomically(
                folder / "model.json"
            ) as path:  # readable: the name of the folder is a digest
                path.write_text(description + "\n", encoding="utf-8")
        return EmbeddingFile(folder / "vectors")

    def configuration(self) -> Mapping[str, Any]:
        """Return the configuration of the encoder."""
        return self.encoder.configuration()

    def identity(self) -> Mapping[str, Any]:
        """Return the identity of the encoder."""
        return self.encoder.identity()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
