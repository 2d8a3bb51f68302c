"""An ONNX model with its tokenizer, of a local folder: `model.onnx` and `tokenizer.json`."""

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
from assay.models.digests import digest_of_parts
from assay.models.encoder import Encoder, Prefixes, unit
from assay.models.model import library

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
            raise InputError(f"pooling is one of {', '.join(POOLINGS)}, found {pooling!r}")
        self.folder, self.pooling, self.normalize, self.batch = Path(folder), pooling, normalize, batch
        self.max_tokens, self.prefixes = max_tokens, Prefixes(query_prefix, document_prefix)
        self._files = [_found(self.folder / name) for name in (file, "tokenizer.json")]
        self._session = onnxruntime.InferenceSession(str(self._files[0]), providers=["CPUExecutionProvider"])
        self._inputs = [put.name for put in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(self._files[1]))
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.enable_padding(**_padding(self._tokenizer.padding))

    def vectors(self, texts: list[str], role: str) -> NDArray[Any]:
        """One row of each text."""
        texts = self.prefixes.added(texts, role)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # alike in length: less padding
        rows = [
            self._pooled([texts[i] for i in order[at : at + self.batch]])
            for at in range(0, len(order), self.batch)
        ]
        made = np.concatenate(rows)
        back: NDArray[Any] = np.empty_like(made)
        back[order] = made
        return back

    def _pooled(self, texts: list[str]) -> NDArray[Any]:
        read = self._tokenizer.encode_batch(texts)
        mask = np.array([one.attention_mask for one in read], np.int64)
        known = {
            "input_ids": np.array([one.ids for one in read], np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([one.type_ids for one in read], np.int64),
        }
        output = self._session.run(None, {name: known[name] for name in self._inputs})[0]
        rows = output if output.ndim == 2 else _pooled(output, mask, self.pooling)
        return unit(rows) if self.normalize else rows

    def configuration(self) -> Mapping[str, Any]:
        """The model with its pooling and prefixes, and its files by their digest."""
        return {
            "name": self.name,
            "model": self.folder.name,
            "pooling": self.pooling,
            "normalize": self.normalize,
            "max_tokens": self.max_tokens,
            "prefixes": self.prefixes._asdict(),
            "weights": self._weights,
            "version": library("onnxruntime"),
        }

    @cached_property
    def _weights(self) -> str:
        return digest_of_parts(path.read_bytes() for path in self._files)


def _found(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"an ONNX model is a folder with model.onnx and tokenizer.json; {path} is not there")
    return path


def _padding(own: Mapping[str, Any] | None) -> dict[str, Any]:
    """The model's own padding, but each batch only as long as its longest text."""
    kept = {
        key: value for key, value in (own or {}).items() if key.startswith("pad_") and "multiple" not in key
    }
    return {**kept, "length": None}


def _pooled(output: NDArray[Any], mask: NDArray[np.int64], pooling: str) -> NDArray[Any]:
    if pooling == "cls":
        made: NDArray[Any] = output[:, 0]
        return made
    weights = mask[:, :, None].astype(output.dtype)
    mean: NDArray[Any] = (output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    return mean
