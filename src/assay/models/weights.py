"""Digests of the weights of models, so that a changed model is noticed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest_of_parts(parts: Iterable[str | bytes | NDArray[Any]]) -> str:
    """Return the digest of a sequence of arrays and texts.

    >>> digest_of_parts(["ab", "c"]) == digest_of_parts(["a", "bc"])
    False
    """
    digest = blake2b(digest_size=16)
    for part in parts:
        content = _bytes(part)
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def digest_of_module(module: Any) -> str:
    """Return the digest of a torch model: its weights, layers and tokenizer."""
    import torch

    tensors = module.state_dict().values()
    arrays = (tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy() for tensor in tensors)
    return digest_of_parts([repr(module), _describe_tokenizer(module.tokenizer), *arrays])


def _describe_tokenizer(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return str(backend.to_str()) if backend else repr(tokenizer)


def model_name(model: str) -> str:
    """Return the name of a model of the hub; of a model in a folder, the name of the folder.

    >>> model_name("BAAI/bge-small-en-v1.5")
    'BAAI/bge-small-en-v1.5'
    """
    return Path(model).name if Path(model).is_dir() else model


def _bytes(part: str | bytes | NDArray[Any]) -> bytes | memoryview:
    if isinstance(part, str):
        return part.encode()
    return part if isinstance(part, bytes) else np.ascontiguousarray(part).data.cast("B")
