"""JSON of nested dictionaries."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import Collection, open_run, read, write
from tests.datasets.strategies import any_ids, qrels, quick, runs, write_and_read

GRADES = {"q1": {"d1": 2, "d2": 0}, "q2": {"d7": -1}}
SCORES = {"q1": {"d1": 2.5, "d2": 1}, "q2": {"d7": -1e-300}}
LISTS = {"q1": ["d1", "d2"], "q2": ["d7"]}


def write_file(tmp_path: Path, content: Any, name: str = "a.json", indent: int | None = None) -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=indent))
    return path


@quick
@given(run=runs(any_ids), judgments=qrels(any_ids))
def test_any_qrels_and_runs_written_and_read_are_the_same(
    run: Run, judgments: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("nested")
    for table, name in ((run, "one.json.zst"), (judgments, "two.json.gz"), (run, "three.json")):
        write(table, folder / name)
        read_table: Any = read(folder / name)
        assert (read_table, read_table.digest) == (table, table.digest)


@pytest.mark.parametrize("indent", [None, 0, 1])
def test_whole_numbers_are_qrels_and_other_numbers_a_run(indent: int | None, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, GRADES, indent=indent)) == Qrels(GRADES)
    assert read(write_file(tmp_path, SCORES, indent=indent)) == Run(SCORES)


def test_a_given_kind_takes_precedence(tmp_path: Path) -> None:
    assert read(write_file(tmp_path, GRADES), "run") == Run(GRADES)
    assert open_run(write_file(tmp_path, GRADES, "bm25.json")).name == "bm25"
    assert read(write_file(tmp_path, {"q": {"a": 2.0, "b": 0}}), "qrels") == Qrels({"q": {"a": 2, "b": 0}})


def test_a_run_of_whole_scores_is_still_a_run_when_it_is_read_again(tmp_path: Path) -> None:
    run = Run({"q": {"a": 2, "b": 1}})
    assert write_and_read(run, tmp_path / "a.json", None, "json") == run


def test_lists_are_relevant_documents_or_rankings(tmp_path: Path) -> None:
    path = write_file(tmp_path, LISTS)
    assert read(path, "qrels") == Qrels({"q1": {"d1": 1, "d2": 1}, "q2": {"d7": 1}})
    assert read(path, "run") == Run({"q1": {"d1": 2, "d2": 1}, "q2": {"d7": 1}})
    assert read(write_file(tmp_path, {"q": [7, "x"]}), "run") == Run({"q": {"7": 2, "x": 1}})


@pytest.mark.parametrize(
    ("name", "table"), [("test.qrels.json", Qrels), ("My_Run.json", Run), ("qrels.json", Qrels)]
)
def test_lists_are_distinguished_by_the_name_of_the_file(name: str, table: Any, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, LISTS, name)) == table(LISTS)


@pytest.mark.parametrize("name", ["a.json", "qrels-of-a-run.json"])
def test_lists_are_not_guessed_at(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"json: lists may be .*\(qrels\).*\(run\).*kind= \(--from qrels=json"
    ):
        read(write_file(tmp_path, LISTS, name))


def test_lists_together_with_scores_are_a_run(tmp_path: Path) -> None:
    mixed = {"q1": ["a", "b"], "q2": {"c": 0.5}}
    assert read(write_file(tmp_path, mixed)) == Run(mixed)


def test_a_query_without_results_stays_in_the_run(tmp_path: Path) -> None:
    run = read(write_file(tmp_path, {"q1": {}, "q2": {"a": 0.5}}), "run")
    assert list(run.query_ids) == ["q1", "q2"]
    read_table = write_and_read(run, tmp_path / "b.json", "run", "json")
    assert list(read_table.query_ids) == ["q1", "q2"]


def test_infinity_is_a_score(tmp_path: Path) -> None:
    run = Run({"q": {"a": float("inf"), "b": 1.5, "c": -float("inf")}})
    assert read(write_file(tmp_path, '{"q": {"a": Infinity, "b": 1.5, "c": -Infinity}}')) == run
    write(run, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == run.to_dict()


def test_each_query_is_written_on_its_own_line(tmp_path: Path) -> None:
    write(Qrels({"q1": {"d1": 2, "ü": 0}, "q2": {"d1": 1}}), tmp_path / "a.json")
    text = '{\n"q1": {"d1": 2, "ü": 0},\n"q2": {"d1": 1}\n}\n'
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == text


def test_a_file_longer_than_its_inspected_head_is_detected(tmp_path: Path) -> None:
    long = {"q1": {f"document-{number}": number for number in range(9_000)}}
    assert read(write_file(tmp_path, long, "nameless")) == Qrels(long)


@pytest.mark.parametrize(
    "text",
    [
        '{"metadata": {"a": 1}, "_id": "q", "text": "how"}\n',
        '{"tags": ["a"], "query_id": "q", "text": "how"}\n{"tags": [], "query_id": "r", "text": "why"}\n',
        '{"query_id": "q", "text": "how"}',
    ],
)
def test_one_object_on_each_line_is_jsonl(text: str, tmp_path: Path) -> None:
    assert isinstance(read(write_file(tmp_path, text, "nameless")), Queries)


def test_a_long_first_line_of_a_file_named_jsonl_is_jsonl(tmp_path: Path) -> None:
    row = {"vector": [0.5] * 20_000, "query_id": "q", "text": "how"}
    assert isinstance(read(write_file(tmp_path, json.dumps(row) + "\n", "a.jsonl")), Queries)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{\n"q": {"d": 1,}\n}', 2, "is not valid JSON at column 1"),
        ('{\n"q": {"d": 1}', 2, "is not valid JSON at column 14: Expecting"),
        ('{"q": {"d": 1}} x', 1, "is not valid JSON at column 17: Extra data"),
        ('{"q": {"\\ud800": 1}}', 1, "half of a surrogate pair"),
        (
            '{\n"q": {"d": 1},\n"r": {"d": 1},\n"q": {"e": 1}}',
            4,
            r"query 'q' appears twice \(first on line 2",
        ),
        ('{"q": {"d": 1,\n"\\u0064": 2}}', 2, r"document 'd' appears twice in query 'q' \(first on line 1"),
        ('{"q": {"d": {"x": 1, "x": 2},\n"d": 1}}', 2, "document 'd' appears twice in query 'q'"),
        ('{"q": {"d": {"x": 1, "x": 2}}}', 1, "expected a number as the score, found an object: {'x': 2}"),
        ('{"q": {"d": 1.5,\n"e": NaN}}', 2, "document 'e' of query 'q': the score is NaN"),
        (
            '{"q": {"d": 1.5,\n"e": "2"}}',
            2,
            "'e' of query 'q': expected a number as the score, found text: '2'",
        ),
        ('{"q": {"d": true}}', 1, "expected a number as the score, found true or false: True"),
        ('{"q": {"d": null}}', 1, "expected a number as the score, found null$"),
        ('{"q": {"d": [1]}}', 1, r"expected a number as the score, found a list: \[1\]"),
        ('{"q": {"d": 1},\n"r": "d"}', 2, r"query 'r': expected {\"document\": number.*, found text: 'd'"),
        ('{\n"q": 3\n}', 2, r"query 'q': expected {\"document\": number.*, found a number: 3"),
        ('{"": {"d": 1}}', 1, "query '': expected text as query_id, found ''"),
        ('{"q": {"": 1}}', 1, "document '' of query 'q': expected text as doc_id, found ''"),
        ('{"q": {"a\\u0000": 1}}', 1, "expected text as doc_id"),
    ],
)
def test_problems_are_reported_with_their_line(text: str, line: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(write_file(tmp_path, text))
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "a.json"), line)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"q": {"d": 1, "e": 0.5}}', "document 'e' of query 'q': expected a whole number as the grade"),
        ('{"q": {"d": Infinity}}', "expected a whole number as the grade, found inf"),
        ('{"q": {"d": NaN}}', "the grade is NaN"),
        ('{"q": {"d": 100000000}}', "expected a whole number as the grade below 10.8, found 100000000"),
        (f'{{"q": {{"d": 1{"0" * 400}}}}}', "expected a number as the grade"),
        ('{"q": ["a", "b", "a"]}', "query 'q': document 'a' appears twice, at 1 and 3"),
        ('{"q": ["a", 1.5]}', "query 'q': expected text or a whole number as doc_id, found 1.5"),
        ('{"q": [{"doc_id": "a", "doc_id": "b"}]}', "query 'q': expected text or a whole number as doc_id"),
    ],
)
def test_wrong_judgments_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf"a\.json:1: .*{problem}"):
        read(write_file(tmp_path, text), "qrels")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "found an empty object"),
        ('{"q": {}, "r": []}', "found no documents"),
        ("[1]", r"found a list: \[1\]"),
        ("7", "found a number: 7"),
    ],
)
def test_json_without_queries_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=rf'a\.json: expected {{"query": .*, {problem}'):
        read(write_file(tmp_path, text), format="json")


def test_the_error_of_an_empty_object_says_so(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="found an empty object"):
        read(write_file(tmp_path, "{}\n"))


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{\n"q": {"caf\xe9": 1}}')
    with pytest.raises(FormatError, match=r"a\.json:2: expected UTF-8"):
        read(tmp_path / "a.json", format="json")


def test_an_object_cannot_be_read_as_queries(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="json cannot hold queries; beir"):
        read(write_file(tmp_path, GRADES), "queries")


def test_queries_and_collections_named_json_are_written_as_a_guide(tmp_path: Path) -> None:
    queries = Queries({"query_id": ["q"], "text": ["how"]})
    both = Collection(queries, Qrels({"q": {"d": 1}}))
    write(both, tmp_path / "a.json")
    assert read(tmp_path / "a.json") == both
    write(queries, tmp_path / "b.json.gz")
    assert read(tmp_path / "b.json.gz", "queries") == queries


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (Documents({"doc_id": ["d"]}), "json cannot hold documents; beir"),
        (Run({"": {"d": 1.0}}), "query '' cannot be written as JSON: expected text as query_id"),
        (Run({"q": {"": 1.0}}), "query 'q' cannot be written as JSON: expected text as doc_id"),
        (Run({"\ud800": {"d": 1.0}}), "cannot be written as JSON: .*surrogates"),
    ],
)
def test_a_table_that_could_not_be_read_again_is_not_written(
    table: Any, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=problem):
        write(table, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
