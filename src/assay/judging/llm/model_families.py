"""The family of a model, told from its name: a judge favours systems that share its family.

Circularity of judges and rankers of one family: Dietz et al. 2024, arXiv 2412.17156.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_FAMILIES = {
    "OpenAI": ("gpt", "chatgpt", "davinci", "text-embedding-3", "text-embedding-ada", "o1", "o3", "o4"),
    "Claude": ("claude",),
    "Google": ("gemini", "gemma", "palm", "text-bison", "gecko"),
    "Llama": ("llama", "vicuna", "alpaca"),
    "Qwen": ("qwen", "qwq", "gte-qwen"),
    "Mistral": ("mistral", "mixtral", "ministral", "e5-mistral", "codestral"),
    "DeepSeek": ("deepseek",),
    "Phi": ("phi",),
    "SmolLM": ("smollm",),
    "Cohere": ("command", "rerank-english", "rerank-multilingual", "embed-english", "cohere"),
    "BERT": ("bert", "monobert", "colbert", "minilm", "deberta", "roberta"),
    "T5": ("t5", "monot5", "rankt5", "flan"),
    "BGE": ("bge",),
    "E5": ("e5",),
    "Jina": ("jina",),
}
_WORDS = sorted(
    ((word, family) for family, words in _FAMILIES.items() for word in words),
    key=lambda item: -len(item[0]),
)


def model_family(name: str) -> str | None:
    """Return the family of a model, None if its name does not tell.

    >>> model_family("Qwen2.5-Coder-1.5B-Instruct"), model_family("rank-zephyr"), model_family("gpt-4o")
    ('Qwen', None, 'OpenAI')
    """
    text = name.lower()
    for word, family in _WORDS:
        if re.search(rf"(?<![a-z]){re.escape(word)}(?![a-z])", text):
            return family
    return None


def shared_family(judge: str, judged: Iterable[str]) -> dict[str, str]:
    """Return the judged models that share the family of the judge, with the family.

    >>> shared_family("qwen2.5-7b", ["Qwen3-Reranker", "bge-m3"])
    {'Qwen3-Reranker': 'Qwen'}
    """
    family = model_family(judge)
    return {name: family for name in judged if family and model_family(name) == family}


def model_names(configuration: Any) -> list[str]:
    """Return the names of models in the configuration of a system: the settings called `model`.

    >>> model_names({"stages": [{"rerank": {"model": "bge-reranker"}}]})
    ['bge-reranker']
    """
    if isinstance(configuration, Mapping):
        own = [v for k, v in configuration.items() if k == "model" and isinstance(v, str)]
        return own + [name for value in configuration.values() for name in model_names(value)]
    if isinstance(configuration, list | tuple):
        return [name for value in configuration for name in model_names(value)]
    return []
