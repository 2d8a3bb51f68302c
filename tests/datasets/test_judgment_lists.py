"""Judgment lists of OpenSearch Search Relevance and of Quepid."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FormatError, InputError
from assay.core.tables import Qrels
from assay.datasets import Collection, read, write
from assay.datasets.query_list import query_id

OPENSEARCH = {
    "name": "ours",
    "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {"query": "t towels", "ratings": [{"docId": "B1", "rating": "3.000"}, {"docId": "B2", "rating": 0}]},
        {"query": "unrated", "ratings": []},
    ],
}
QUEPID = {
    "queries": [{"query": "t towels", "ratings": {"B1": 3, "B2": 0}}, {"query": "unrated", "ratings": {}}]
}
RESPONSE = {"took": 3, "hits": {"total": 1, "hits": [{"_id": "x", "_source": OPENSEARCH}]}}
CSV = 'query,docid,rating\n"t towels",B1,3\nt towels,B2,0\nunrated,,\n'


@pytest.mark.parametrize(
    "content", [OPENSEARCH, QUEPID, RESPONSE, CSV], ids=["os", "quepid", "response", "csv"]
)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_judgment_list_gives_queries_and_grades(content: Any, indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=indent))
    collection = read(path)
    assert isinstance(collection, Collection)
    assert collection.qrels == Qrels({query_id("t towels"): {"B1": 3, "B2": 0}})
    assert collection.qrels.empty_queries == [query_id("unrated")]
    assert collection.queries is not None
    assert collection.queries.columns["text"] == ["t towels", "unrated"]
    assert collection.queries.has_derived_ids
    assert read(path, "qrels") == collection.qrels


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "query,docid,rating\nx,B1,0.5\n",
            r"line 2: expected a whole number as the grade, found '0.5'",
        ),
        ("query,docid,rating\nx,B1,1\nx,B1,2\n", r"line 3: document 'B1' appears twice in query 'x'"),
        ("query,docid,rating\nx,,\n", r"expected ratings as in .*, found none"),
        ('{"judgmentRatings": [{"query": "", "ratings": []}]}', r"query 1: expected the text of a query"),
        ('{"judgmentRatings": [{"query": "x", "ratings": 3}]}', r"query 1: expected ratings as in"),
        ('{"judgmentRatings": [{"query": "x", "ratings": [{"rating": 3}]}]}', r"as docid, found None"),
    ],
)
def test_a_wrong_judgment_list_is_refused_with_its_place(content: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(content)
    with pytest.raises(FormatError, match=problem):
        read(tmp_path / "list", "qrels")


def test_a_collection_is_not_written_as_a_judgment_list(tmp_path: Path) -> None:
    collection = Collection(qrels=Qrels({"q": {"a": 1}}))
    with pytest.raises(InputError, match="a collection is written as beir, guide, smart; judgments"):
        write(collection, tmp_path / "list.json", format="judgments")


def test_a_published_judgment_list_is_read(shared: Path) -> None:
    qrels = read(shared / "ubi" / "esci_us_judgments.json", "qrels")
    assert qrels.to_dict()[query_id("t towels kitchen")]["B07QLRTGVQ"] == 10
