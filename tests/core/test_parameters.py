"""Parameters of a method: their types, defaults, meanings and ranges, and what is wrong with values."""

from typing import Annotated, Any

import pytest

from assay.core.parameters import Meaning, keyword_parameters, value_problems


def build(
    *,
    links: Annotated[int, Meaning("links", 2, 64)] = 16,
    kind: Annotated[str, Meaning("the kind", choices=("graph", "lists"))] = "graph",
    candidates: Annotated[int, Meaning("candidates", 1, choices=(-1,))] = -1,
    seed: int = 0,
) -> None:
    """A method with parameters."""


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"links": 1}, "must be 2 to 64, found 1"),
        ({"links": 65}, "must be 2 to 64, found 65"),
        ({"kind": "tree"}, "must be one of graph, lists, found 'tree'"),
        ({"candidates": 0}, "must be -1, or 1 or more, found 0"),
        ({"links": "8"}, "expected int, found '8'"),
        ({"m": 8}, "there is no such parameter; there are links, kind, candidates, seed"),
    ],
)
def test_a_value_out_of_range_of_a_wrong_type_or_name_is_a_problem(
    values: dict[str, Any], problem: str
) -> None:
    assert list(value_problems(values, keyword_parameters(build)).values()) == [problem]


def test_values_within_the_range_are_no_problem() -> None:
    assert (
        value_problems(
            {"links": 64, "kind": "lists", "candidates": -1, "seed": -7}, keyword_parameters(build)
        )
        == {}
    )


def test_a_parameter_has_its_meaning() -> None:
    parameters = keyword_parameters(build)
    assert (parameters["links"].types, parameters["links"].meaning.text) == ((int,), "links")
    assert parameters["seed"].meaning == Meaning("")
