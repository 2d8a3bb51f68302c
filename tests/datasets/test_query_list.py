"""The format `guide`: a JSON list of queries."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import Collection, read, write
from assay.datasets.query_list import query_id
from assay.evaluation import evaluate
from tests.datasets.strategies import quick, texts

GUIDE = [
    {"query": "reset password", "relevant_doc_ids": ["d1", "d7"], "category": "account"},
    {"query": "export data", "relevant_doc_ids": ["d2"], "frequency": 12},
]


def write_file(tmp_path: Path, entries: Any, name: str = "guide.json") -> Path:
    path = tmp_path / name
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries, indent=1))
    return path


def collection(path: Path) -> Collection:
    result = read(path)
    assert isinstance(result, Collection)
    return result


def test_a_guide_gives_queries_with_their_columns_and_binary_qrels(tmp_path: Path) -> None:
    queries, qrels, documents = collection(write_file(tmp_path, GUIDE))
    first_id, second_id = query_id("reset password"), query_id("export data")
    assert qrels == Qrels({first_id: {"d1": 1, "d7": 1}, second_id: {"d2": 1}})
    assert queries is not None
    assert queries.columns == {
        "query_id": [first_id, second_id],
        "text": ["reset password", "export data"],
        "category": ["account", None],
        "frequency": [None, 12],
    }
    assert documents is None


def test_ids_do_not_change_between_versions() -> None:
    assert query_id("reset password") == "q23146ec58ca26508"


def test_ids_do_not_depend_on_white_space_or_unicode_normalization() -> None:
    assert query_id(" caf\u00e9  menu\n") == query_id("cafe\u0301 menu")
    assert query_id("Menu") != query_id("menu")


@pytest.mark.parametrize(
    "relevant",
    [
        {"relevant": {"d1": 2, "d2": 0}},
        {"relevant_docs": [{"doc_id": "d1", "grade": 2}, {"doc_id": "d2", "grade": 0}]},
        {"relevant": [{"doc_id": "d1", "grade": 2}, {"doc_id": "d2", "grade": 0}]},
    ],
)
def test_grades_have_two_spellings(relevant: dict[str, Any], tmp_path: Path) -> None:
    path = write_file(tmp_path, [{"query": "x", **relevant}])
    assert read(path, "qrels") == Qrels({query_id("x"): {"d1": 2, "d2": 0}})


@pytest.mark.parametrize("key", ["id", "query_id"])
def test_an_explicit_id_takes_precedence(key: str, tmp_path: Path) -> None:
    path = write_file(tmp_path, [{key: 7, "query": "x", "relevant_doc_ids": [1]}])
    assert read(path, "qrels") == Qrels({"7": {"1": 1}})
    assert list(read(path, "queries").columns) == ["query_id", "text"]


def test_keys_of_another_name_are_mapped(tmp_path: Path) -> None:
    path = write_file(tmp_path, [{"question": "x", "answers": ["d"]}])
    columns = {"query": "question", "relevant_doc_ids": "answers"}
    assert read(path, "qrels", columns=columns) == Qrels({query_id("x"): {"d": 1}})


def test_a_query_without_answers_is_a_query_without_judgments(tmp_path: Path) -> None:
    queries, qrels, _ = collection(write_file(tmp_path, [{"query": "x", "relevant_doc_ids": []}, *GUIDE]))
    assert (len(queries or ()), len(qrels.query_ids if qrels else ())) == (3, 2)
    path = write_file(tmp_path, [{"query": "x"}])
    assert collection(path).qrels is None
    with pytest.raises(FormatError, match="expected qrels, found only queries"):
        read(path, "qrels")


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([*GUIDE, {"query": "reset  password"}], "entry 3: .*entry 1"),
        ([*GUIDE, GUIDE[0]], "entry 3: the query 'reset password' is also entry 1"),
        (
            [{"query": "a", "id": "x"}, {"query": "b", "id": "x"}],
            "entry 2: the query_id 'x' is also that of entry 1",
        ),
        ([{"question": "a"}], 'entry 1: expected "query".*question'),
        ([{"query": 3}], 'entry 1: expected "query"'),
        ([{"query": "  "}], 'entry 1: expected "query"'),
        (["a"], "entry 1: expected an object"),
        ([{"query": "a", "relevant_doc_ids": "d1"}], "entry 1: expected a list of documents"),
        ([{"query": "a", "relevant_doc_ids": ["d1", "d1"]}], "entry 1: document 'd1' appears twice"),
        ([{"query": "a", "relevant_doc_ids": [1.5]}], "entry 1: expected text or a whole number"),
        ([{"query": "a", "relevant": {"d1": 0.5}}], "entry 1: expected a whole number as the grade"),
        ([{"query": "a", "relevant": {"d1": "high"}}], "entry 1: expected a number as the grade"),
        (
            [{"query": "a", "relevant": {"d": 1}, "relevant_doc_ids": ["d"]}],
            "entry 1: gives the relevant documents twice",
        ),
        ([{"query": "a", "text": "b"}], 'entry 1: has both "query" and "text"'),
        ([], "empty list"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_position(entries: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem):
        read(write_file(tmp_path, entries))


def test_invalid_json_is_refused_with_line_and_column(tmp_path: Path) -> None:
    path = write_file(tmp_path, '[\n {"query": "a"},\n {"query" "b"}\n]')
    with pytest.raises(FormatError, match=r"guide\.json:3: is not valid JSON at column 11"):
        read(path)


@pytest.mark.parametrize("text", ["[[1, 2]]", "[1]", '["a"]'])
def test_json_of_another_shape_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"guide\.json.*(expected|cannot tell)"):
        read(write_file(tmp_path, text))


def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="surrogate"):
        read(write_file(tmp_path, '[{"query": "\\ud800"}]'))


def test_the_entries_survive_the_round_trip(tmp_path: Path) -> None:
    write(collection(write_file(tmp_path, GUIDE)), tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == GUIDE


_queries = st.dictionaries(texts.filter(lambda text: bool(text.strip())), st.none(), min_size=1, max_size=5)


@quick
@given(query_texts=_queries, data=st.data())
def test_a_collection_written_and_read_is_the_same(
    query_texts: dict[str, None], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids = [
        f"own-{place}" if data.draw(st.booleans()) else query_id(text)
        for place, text in enumerate(query_texts)
    ]
    if len(set(ids)) < len(ids):
        return
    rare = st.lists(st.none() | st.integers() | texts, min_size=len(ids), max_size=len(ids))
    queries = Queries({"query_id": ids, "text": list(query_texts), "category": data.draw(rare)})
    judgments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), min_size=1)
    qrels = Qrels({ids[0]: {"a": 1}, **{key: data.draw(judgments) for key in ids}})
    path = tmp_path_factory.mktemp("guide") / "a.json"
    write(Collection(queries, qrels), path)
    assert collection(path) == Collection(queries, qrels, None)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (Collection(qrels=Qrels({"q": {"d": 1}})), "needs the text of queries"),
        (Qrels({"q": {"d": 1}}), "needs the text of queries"),
        (Queries({"query_id": ["q"]}), "needs the text of queries"),
        (Queries({"query_id": ["q"], "text": [None]}), "'q' has no text"),
        (Queries({"query_id": ["q"], "text": ["x"], "relevant": [1]}), "reserves the name relevant"),
        (Queries({"query_id": ["q"], "text": ["x"], "at": [float("nan")]}), "JSON cannot hold"),
        (Queries({"query_id": ["q"], "text": ["x"], "at": [(1, 2)]}), "would change in JSON"),
        (
            Collection(Queries({"query_id": ["q"], "text": ["x"]}), Qrels({"r": {"d": 1}})),
            "'r' has judgments",
        ),
        (
            Collection(Queries({"query_id": ["q"], "text": ["x"]}), None, Documents({"doc_id": ["d"]})),
            "cannot hold documents",
        ),
    ],
)
def test_what_a_guide_cannot_hold_is_not_written(table: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        write(table, tmp_path / "a.json", format="guide")
    assert list(tmp_path.iterdir()) == []


def test_a_guide_cannot_be_read_as_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="json: the format guide cannot hold run; trec"):
        read(write_file(tmp_path, GUIDE), "run")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"query": "x", "relevant_docs_ids": ["d"]},
            "for 'relevant_docs_ids' did you mean relevant_doc_ids?",
        ),
        ({"query": "x", "relevent": {"d": 1}}, "for 'relevent' did you mean relevant?"),
        ({"query": "x", "qurey_id": "7", "relevant": ["d"]}, "for 'qurey_id' did you mean query_id?"),
        ({"qeury": "x", "relevant": ["d"]}, "for 'qeury' did you mean query?"),
    ],
)
def test_a_misspelt_key_is_refused_with_its_entry(
    entry: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write_file(tmp_path, [GUIDE[0], entry])
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        read(path)
    assert "guide.json: entry 2: " in str(caught.value)


def test_an_entry_without_documents_is_counted_and_not_lost(tmp_path: Path) -> None:
    entries = [GUIDE[0], {"query": "x", "relevant_doc_ids": []}, {"query": "y", "query_type": "how"}]
    judged = collection(write_file(tmp_path, entries))
    qrels = judged.qrels
    assert qrels is not None
    assert list(qrels.empty_queries) == [query_id("x"), query_id("y")]
    run = {query_id("reset password"): ["d1"]}
    problem = "2 queries have no judged documents in the file and no score: "
    assert evaluate(judged, run, ["RR"]).warnings == [f"{problem}x, y"]
    assert evaluate(qrels, run, ["RR"]).warnings[0].startswith(f"{problem}q")
