"""ONNX models with their tokenizer, in a local folder: `model.onnx` and `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from assay.core.errors import InputError
from assay.models.encoder import Encoder, Prefixes, unit_rows
from assay.models.model import library_version
from assay.models.weights import digest_of_parts

POOLINGS = ("mean", "cls")


class ONNX(Encoder):
    """The pooled output of a model: the mean over its tokens, or its first token."""

    name = "onnx"

    def __init__(
        self,
        *,
        folder: str,
        file: str = "model.onnx",
        pooling: str = "mean",
        normalize: bool = False,
        max_tokens: int = 512,
        batch: int = 32,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise InputError(f"pooling: expected one of {', '.join(POOLINGS)}, found {pooling!r}")
        self.folder, self.pooling, self.normalize, self.batch = Path(folder), pooling, normalize, batch
        self.max_tokens, self.prefixes = max_tokens, Prefixes(query_prefix, document_prefix)
        self._files = [_require_file(self.folder / name) for name in (file, "tokenizer.json")]
        self._session = onnxruntime.InferenceSession(str(self._files[0]), providers=["CPUExecutionProvider"])
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(self._files[1]))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.enable_padding(**_padding_options(self._tokenizer.padding))

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """Return one row for each text."""
        texts = self.prefixes.add_to(texts, role)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # similar lengths need less padding
        rows = [
            self._encode_batch([texts[i] for i in order[start : start + self.batch]])
            for start in range(0, len(order), self.batch)
        ]
        sorted_vectors = np.concatenate(rows)
        vectors: NDArray[Any] = np.empty_like(sorted_vectors)
        vectors[order] = sorted_vectors
        return vectors

    def _encode_batch(self, texts: list[str]) -> NDArray[Any]:
        encodings = self._tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        inputs = {
            "input_ids": np.array([encoding.ids for encoding in encodings], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], np.int64),
        }
        output = self._session.run(None, {name: inputs[name] for name in self._inputs})[0]
        rows = output if output.ndim == 2 else _pool(output, mask, self.pooling)
        return unit_rows(rows) if self.normalize else rows

    def configuration(self) -> Mapping[str, Any]:
        """Return the model with its pooling and prefixes, and the digest of its files."""
        return {
            "name": self.name,
            "model": self.folder.name,
            "pooling": self.pooling,
            "normalize": self.normalize,
            "max_tokens": self.max_tokens,
            "prefixes": self.prefixes._asdict(),
            "weights": self._weights,
            "version": library_version("onnxruntime"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_parts(path.read_bytes() for path in self._files)


def _require_file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"expected a folder with model.onnx and tokenizer.json; there is no {path}")
    return path


def _padding_options(model_padding: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the padding of the model, with each batch only as long as its longest text."""
    options = {
        key: value
        for key, value in (model_padding or {}).items()
        if key.startswith("pad_") and "multiple" not in key
    }
    return {**options, "length": None}


def _pool(output: NDArray[Any], mask: NDArray[np.int64], pooling: str) -> NDArray[Any]:
    if pooling == "cls":
        first_token: NDArray[Any] = output[:, 0]
        return first_token
    weights = mask[:, :, None].astype(output.dtype)
    mean: NDArray[Any] = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    return mean
