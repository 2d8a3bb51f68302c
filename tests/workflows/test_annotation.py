"""Projects of annotation from files to judgments, as the commands and a page call them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import Collection, write
from assay.datasets.judgment_files import read_judgments, write_judgments
from assay.store.backup import backup, move, restore
from assay.store.store import Store
from assay.workflows.annotation import (
    CannotRateRequest,
    CreateProjectRequest,
    ListProjectsRequest,
    NextQueryRequest,
    PairRequest,
    ProjectRequest,
    RaterRequest,
    RaterTurn,
    SaveLabelRequest,
    cannot_rate,
    close_project,
    create_project,
    later,
    leave,
    list_projects,
    next_assignment,
    next_query,
    progress,
    project_judgments,
    reopen_project,
    resume_rater,
    save_label,
    skip,
    undo,
)
from assay.workflows.annotation_exchange import (
    ExportLabelsRequest,
    ImportLabelsRequest,
    export_labels,
    import_project_labels,
)

QUERIES = Queries({"query_id": ["q1", "q2"], "text": ["vpn", "reset"]})
DOCUMENTS = Documents(
    {
        "doc_id": ["a", "b", "c"],
        "title": ["A", None, "C"],
        "text": ["x", "y", ""],
        "url": ["u/a", "u/b", "u/c"],
    }
)
QRELS = Qrels({"q1": {"a": 1, "b": 0}, "q2": {"c": 2}})
GRADES = ("0 no", "1 yes")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an evaluation set, in which the store is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", "store")
    write(Collection(QUERIES, QRELS, DOCUMENTS), "shop")
    write(QUERIES, "queries.jsonl")
    write(DOCUMENTS, "documents.jsonl")
    return tmp_path


def create(pairs: str = "shop", **settings: Any) -> RaterRequest:
    """A new project, and its rater ann."""
    request: dict[str, Any] = {"name": "shop", "pairs": pairs, "grades": GRADES, **settings}
    if pairs != "shop":
        request |= {"queries": "queries.jsonl", "documents": "documents.jsonl"}
    create_project(CreateProjectRequest(**request))
    return RaterRequest(name="shop", rater="ann")


def pair_of(turn: RaterTurn, store: str | None = None) -> PairRequest:
    assert turn.assignment is not None
    return PairRequest(name=turn.name, rater=turn.rater, pair=turn.assignment.pair, store=store)


def judge(request: RaterRequest, *grades: float) -> None:
    for grade in grades:
        pair = pair_of(next_assignment(request), request.store)
        save_label(SaveLabelRequest(**vars(pair), grade=grade))


def given_pairs(request: RaterRequest) -> set[tuple[str, str]]:
    pairs = set()
    while (assignment := next_assignment(request).assignment) is not None:
        pairs.add((assignment.query_id, assignment.doc_id))
        judge(request, 1)
    return pairs


def test_a_project_from_a_folder_shows_texts_and_grades() -> None:
    turn = next_assignment(create(fields=["url"]))
    assert turn.assignment is not None
    assert turn.assignment.document["url"] == f"u/{turn.assignment.doc_id}"
    assert [grade.name for grade in turn.grades] == ["no", "yes"]
    assert (turn.judged, turn.labels, turn.wanted) == (0, 0, 6)
    plain = turn.to_dict()
    assert plain["assignment"]["query"] in ({"text": "vpn"}, {"text": "reset"})
    assert plain["refusal"] is None


def test_the_pairs_of_a_pool_are_judged_once_each() -> None:
    Path("pool.csv").write_text(
        "query_id,doc_id,inclusion_probability,rank\nq1,a,0.5,1\nq2,c,1,1\nq1,a,0.5,2\n"
    )
    assert given_pairs(create("pool.csv")) == {("q1", "a"), ("q2", "c")}


def test_the_pairs_of_a_pool_in_json_lines_need_no_other_column() -> None:
    pl.DataFrame({"query_id": ["q1", "q2"], "doc_id": ["b", "c"]}).write_ndjson("pool.jsonl")
    assert given_pairs(create("pool.jsonl")) == {("q1", "b"), ("q2", "c")}


def test_only_the_first_documents_of_a_run_are_judged() -> None:
    write(Run({"q1": {"a": 0.9, "b": 0.5, "c": 0.1}, "q2": {"c": 1.0}}), "run.trec")
    assert given_pairs(create("run.trec", depth=2)) == {("q1", "a"), ("q1", "b"), ("q2", "c")}


def test_qrels_give_pairs_and_not_their_grades() -> None:
    write(QRELS, "old.qrels")
    request = create("old.qrels")
    assert "grade" not in next_assignment(request).to_dict()["assignment"]
    assert len(given_pairs(request)) == 3


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"grades": ["yes", "no"]}, "a grade is a number and a name, such as '2 relevant', found 'yes'"),
        ({"grades": ["1 yes"]}, "at least two different grades, found 1"),
        ({"per_pair": 0}, "per pair must be between 1 and 1000, found 0"),
        ({"gold_accuracy": 2}, "gold accuracy must be between 0 and 1, found 2"),
        ({"training": 2}, "2 training pairs need as many pairs with a known grade, found 0 gold pairs"),
        ({"fields": ["color"]}, "--field color: the documents have the columns doc_id, title, text, url"),
        ({"guidelines": "none.md"}, "none.md: cannot be read"),
        ({"name": "a:b"}, "a project expects a name without @ and :, found 'a:b'"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        create(**settings)
    assert not Path("store").exists()


def test_texts_that_are_missing_are_counted() -> None:
    Path("pool.csv").write_text("query_id,doc_id\nq1,a\nq1,x\nq1,y\n")
    with pytest.raises(
        InputError, match=r"2 of the 3 documents of the pairs are not in --documents, such as 'x'"
    ):
        create("pool.csv")


def test_files_that_do_not_fit_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        create("none.csv")
    Path("pool.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"pool\.csv: expected columns query_id and doc_id, found a, b"):
        create("pool.csv")
    Path("gold.csv").write_text("query_id,doc_id,grade\nq1,a,9\n")
    with pytest.raises(InputError, match=r"gold\.csv: 'a' of query 'q1': .* found 9"):
        create(gold="gold.csv")


def test_a_name_is_given_once() -> None:
    create()
    with pytest.raises(InputError, match="there is a project 'shop' already"):
        create()


def test_an_unknown_project_suggests_the_nearest() -> None:
    create()
    with pytest.raises(InputError, match=r"there is no project 'shpo'.*did you mean shop"):
        progress(ProjectRequest(name="shpo"))


def test_what_raters_say_becomes_judgments_with_times() -> None:
    ann = create()
    judge(ann, 1)
    cannot_rate(CannotRateRequest(**vars(pair_of(next_assignment(ann))), reason="no text"))
    judgments = project_judgments("shop")
    assert judgments.frame["grade"].to_list() == [1.0, None]
    assert judgments.frame["note"].to_list() == ["", "no text"]
    assert judgments.frame["source"].unique().to_list() == ["project:shop"]
    assert judgments.frame["at"].null_count() == 0


def test_gold_and_training_labels_are_no_judgments() -> None:
    Path("gold.csv").write_text("query_id,doc_id,grade,note\nq1,a,1,it says so\nq1,b,0,\n")
    ann = create(gold="gold.csv", training=1)
    turn = next_assignment(ann)
    assert turn.assignment is not None
    assert turn.assignment.is_training
    answer = save_label(SaveLabelRequest(**vars(pair_of(turn)), grade=1)).answer
    assert answer == {"a": 1, "b": 0}[turn.assignment.doc_id]
    assert len(given_pairs(ann)) == 2  # the other gold pair, and the only pair that counts
    assert project_judgments("shop").frame["doc_id"].to_list() == ["c"]


def test_a_page_can_skip_set_aside_undo_and_leave() -> None:
    ann = create()
    first = pair_of(next_assignment(ann))
    later(first)
    second = pair_of(next_assignment(ann))
    skip(second)
    assert undo(ann) == second.pair
    leave(ann)
    assert len(given_pairs(ann)) == 3


def test_all_documents_of_a_query_are_one_turn() -> None:
    ann = NextQueryRequest(**vars(create()))
    turn = next_query(ann)
    assert turn.assignment is not None
    assert {pair.assignment.query_id for pair in turn.pairs} == {turn.assignment.query_id}
    for pair in turn.pairs:
        save_label(SaveLabelRequest(name="shop", rater="ann", pair=pair.assignment.pair, grade=1))
    others = next_query(ann)
    assert len(turn.pairs) + len(others.pairs) == 3
    plain = others.to_dict()
    assert [pair["grade"] for pair in plain["pairs"]] == [None] * len(others.pairs)
    close_project(ProjectRequest(name="shop"))
    assert next_query(ann).to_dict()["refusal"]["reason"] == "closed"


def test_a_project_without_labels_has_no_judgments() -> None:
    create()
    with pytest.raises(InputError, match="project shop has no label yet"):
        project_judgments("shop")


def test_progress_names_raters_speed_and_agreement() -> None:
    ann = create()
    bob = RaterRequest(name="shop", rater="bob")
    judge(ann, 1, 1, 0)
    judge(bob, 1, 0)
    status = progress(ProjectRequest(name="shop")).to_dict()
    assert (status["labels"], status["wanted"], status["full_pairs"], status["state"]) == (5, 6, 2, "open")
    assert [(rater["rater"], rater["labels"]) for rater in status["raters"]] == [("ann", 3), ("bob", 2)]
    assert all(rater["seconds"] >= 0 and rater["gold"]["value"] is None for rater in status["raters"])
    assert (status["agreement"]["value"], status["agreement"]["n"]) == (0.5, 2)


def test_projects_are_listed_closed_and_opened_again() -> None:
    ann = create()
    assert close_project(ProjectRequest(name="shop")).closed_at is not None
    assert next_assignment(ann).refusal is not None
    assert [p["state"] for p in list_projects(ListProjectsRequest()).to_dict()["projects"]] == ["closed"]
    assert reopen_project(ProjectRequest(name="shop")).closed_at is None
    assert next_assignment(ann).assignment is not None
    resume_rater(ann)
    assert next_assignment(ann).assignment is not None


def write_labels(*rows: tuple[str, str, str, float | None], path: str = "labels.csv") -> str:
    write_judgments(Judgments.from_rows(rows), path)
    return path


def bring(*files: str) -> dict[str, object]:
    result = import_project_labels(ImportLabelsRequest(name="shop", files=files)).to_dict()
    return {kind: count for kind, count in result.items() if count}


def test_labels_made_elsewhere_count_within_the_quota() -> None:
    create(per_pair=1)
    path = write_labels(
        ("q1", "a", "bob", 1), ("q1", "a", "cy", 0), ("q1", "zz", "bob", 1), ("q2", "c", "bob", None)
    )
    found = bring(path)
    left_out = {"over_quota": ["q1", "a"], "unknown_pairs": ["q1", "zz"]}
    assert found == {"added": 2, "over_quota": 1, "unknown_pairs": 1, "examples": left_out}
    assert bring(path) == {"unchanged": 2, "over_quota": 1, "unknown_pairs": 1, "examples": left_out}
    assert progress(ProjectRequest(name="shop")).full_pairs == 2
    assert given_pairs(RaterRequest(name="shop", rater="dan")) == {("q1", "b")}


def test_a_later_import_changes_the_grade() -> None:
    create()
    bring(write_labels(("q1", "a", "bob", 1)))
    assert bring(write_labels(("q1", "a", "bob", 0))) == {"changed": 1}
    assert project_judgments("shop").frame["grade"].to_list() == [0.0]
    assert project_judgments("shop").frame["source"].to_list() == ["labels.csv"]


def test_an_import_with_an_unknown_grade_adds_nothing() -> None:
    create()
    with pytest.raises(InputError, match="has the grades 0 no, 1 yes, found 5"):
        bring(write_labels(("q1", "a", "bob", 1), ("q1", "b", "bob", 5)))
    with pytest.raises(InputError, match="no label yet"):
        project_judgments("shop")


@pytest.mark.parametrize("target", ["l.csv", "l.jsonl", "book.json", "argilla.json", "label-studio.json"])
def test_exported_labels_are_read_back(target: str) -> None:
    ann = create()
    judge(ann, 1, 0)
    name = {"book.json": "quepid"}.get(target, target.removesuffix(".json") if "." in target else None)
    file_format = name if target.endswith(".json") else None
    written = export_labels(ExportLabelsRequest(name="shop", target=target, format=file_format))
    assert (written.labels, written.pairs, written.raters) == (2, 2, 1)
    assert sorted(read_judgments(target).frame["grade"].to_list()) == [0.0, 1.0]


def test_a_project_is_moved_and_backed_up_with_its_labels(postgres: str, tmp_path: Path) -> None:
    judge(create(), 1, 0)
    before = project_judgments("shop")
    other = f"{postgres}?tables={tmp_path}/tables"
    with Store("store") as source, Store(other) as target:
        move(source, target)
        backup(source, "store.zip")
    restore("store.zip", "restored")
    for place in (other, "restored"):
        assert project_judgments("shop", place) == before
        judge(RaterRequest(name="shop", rater="ann", store=place), 1)
        assert len(project_judgments("shop", place)) == 3


def test_a_quepid_book_names_the_queries_of_a_project_by_their_texts() -> None:
    judge(create(), 1, 0)
    export_labels(ExportLabelsRequest(name="shop", target="book.json", format="quepid"))
    pairs = json.loads(Path("book.json").read_text())["query_doc_pairs"]
    assert {pair["query_text"] for pair in pairs} <= {"vpn", "reset"}
    create(name="other")
    request = ImportLabelsRequest(name="other", files=["book.json"])
    assert import_project_labels(request).added == 2
    assert (
        project_judgments("other").pairs.sort("doc_id").equals(project_judgments("shop").pairs.sort("doc_id"))
    )


def test_labels_that_name_queries_by_their_texts_are_matched_with_those_of_the_project() -> None:
    create()
    result = bring(write_labels(("VPN", "a", "bob", 1), ("reset", "c", "bob", 0), ("vpn", "b", "bob", 1)))
    assert (result["added"], result["unknown_pairs"]) == (2, 1)
