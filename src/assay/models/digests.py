"""Names for the weights of a model, so that a changed model is another model."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def digest_of_parts(parts: Iterable[str | bytes | NDArray[Any]]) -> str:
    """The name of arrays and texts in their order, whatever their sizes.

    >>> digest_of_parts(["ab", "c"]) == digest_of_parts(["a", "bc"])
    False
    """
    made = blake2b(digest_size=16)
    for part in parts:
        content = _bytes(part)
        made.update(len(content).to_bytes(8, "little"))
        made.update(content)
    return made.hexdigest()


def digest_of_module(module: Any) -> str:
    """The name of a torch model's weights and all that is done to them: the tokens before, the rest after."""
    import torch

    tensors = module.state_dict().values()
    arrays = (one.detach().cpu().contiguous().flatten().view(torch.uint8).numpy() for one in tensors)
    return digest_of_parts([repr(module), _tokens(module.tokenizer), *arrays])


def _tokens(tokenizer: Any) -> str:
    fast = getattr(tokenizer, "backend_tokenizer", None)
    return str(fast.to_str()) if fast else repr(tokenizer)


def named(model: str) -> str:
    """A model of the hub by its name, one of a folder by that of the folder: its weights are told by digest.

    >>> named("BAAI/bge-small-en-v1.5")
    'BAAI/bge-small-en-v1.5'
    """
    return Path(model).name if Path(model).is_dir() else model


def _bytes(part: str | bytes | NDArray[Any]) -> bytes | memoryview:
    if isinstance(part, str):
        return part.encode()
    return part if isinstance(part, bytes) else np.ascontiguousarray(part).data.cast("B")
