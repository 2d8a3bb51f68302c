"""The engines of the registry: each tells the meaning of all its parameters."""

from importlib import import_module

import pytest

from assay.core.parameters import keyword_parameters
from assay.indexes.registry import ENGINES


@pytest.mark.parametrize("name", ENGINES)
def test_every_parameter_of_an_engine_has_a_meaning_and_accepts_its_default(name: str) -> None:
    module, _, class_name = ENGINES[name].target.partition(":")
    try:
        engine = getattr(import_module(module), class_name)
    except ImportError as error:
        pytest.skip(f"{name} cannot be imported: {error}")
    parameters = [
        *keyword_parameters(engine.__init__).values(),
        *keyword_parameters(engine.set_search).values(),
    ]
    assert [p.name for p in parameters if not p.meaning.text] == []
    assert [p.name for p in parameters if p.default is None and not p.meaning.unset] == []
    with_default = [p for p in parameters if isinstance(p.default, str | int | float)]
    assert [p.name for p in with_default if not p.meaning.accepts(p.default)] == []
    searches = keyword_parameters(engine.set_search)
    assert [n for n, value in engine.smallest_search.items() if not searches[n].meaning.accepts(value)] == []
