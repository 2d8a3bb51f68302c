"""Templates of requests, and paths into responses."""

import pytest

from assay.core.errors import ConfigurationError
from assay.search.searchers.templates import JsonPath as JsonPath
from assay.search.searchers.templates import fill_template


def test_columns_of_a_query_keep_their_type_in_the_body() -> None:
    template = {"filter": {"lang": "{language}", "year": "{year}"}, "text": ["{query} in {language}"]}
    assert fill_template(template, {"query": "how", "language": "de", "year": 1990}) == {
        "filter": {"lang": "de", "year": 1990},
        "text": ["how in de"],
    }


@pytest.mark.parametrize("path", ["hits", "$.a[", "$..a", "$.a[?(@.x)]", "$.a[1:2]", ""])
def test_a_path_beyond_the_subset_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected a path such as \$\.hits"):
        JsonPath(path)


def test_a_path_goes_into_lists_and_lists_of_lists() -> None:
    body = {"groups": [{"docs": [{"id": 1}, {"id": 2}]}, {"docs": [{"id": 3}]}]}
    assert JsonPath("$.groups[*].docs[*].id").all(body) == [1, 2, 3]
    assert JsonPath("$.groups[1].docs[0].id").all(body) == [3]
