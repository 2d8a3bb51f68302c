"""What was added, dropped and changed between two evaluation sets."""

from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.judging.dataset_diff import Change, diff_datasets

BEFORE = {
    "queries": Queries({"query_id": ["q1", "q2"], "text": ["vpn", "wifi"], "category": ["how", "how"]}),
    "qrels": Qrels({"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}),
}
AFTER = {
    "queries": Queries({"query_id": ["q1", "q3"], "text": ["vpn setup", "dns"], "category": ["how", None]}),
    "qrels": Qrels({"q1": {"a": 1, "b": 2}, "q3": {"c": 1}}),
}


def test_added_dropped_and_changed_rows_are_told_apart() -> None:
    diff = diff_datasets(BEFORE, AFTER)
    assert (diff["queries"].added, diff["queries"].dropped) == ([("q3",)], [("q2",)])
    assert diff["queries"].changed == [Change(("q1",), "text", "vpn", "vpn setup")]
    assert (diff["qrels"].added, diff["qrels"].dropped) == ([("q3", "c")], [("q2", "a")])
    assert diff["qrels"].changed == [Change(("q1", "b"), "grade", 0.0, 2.0)]
    assert diff["qrels"].unchanged == 1


def test_equal_tables_have_no_difference() -> None:
    assert not any(diff_datasets(BEFORE, BEFORE).values())


def test_a_table_that_only_one_has_is_added_or_dropped_as_a_whole() -> None:
    documents = Documents({"doc_id": ["a"], "text": ["vpn"]})
    assert diff_datasets(BEFORE, {**BEFORE, "documents": documents})["documents"].added == [("a",)]
    assert diff_datasets({**BEFORE, "documents": documents}, BEFORE)["documents"].dropped == [("a",)]


def test_a_column_that_is_new_counts_as_a_change_of_each_row_that_has_a_value() -> None:
    wider = Queries(
        {
            "query_id": ["q1", "q2"],
            "text": ["vpn", "wifi"],
            "category": ["how", "how"],
            "source": ["log", None],
        }
    )
    changed = diff_datasets(BEFORE, {**BEFORE, "queries": wider})["queries"].changed
    assert changed == [Change(("q1",), "source", None, "log")]


def test_the_json_has_counts_of_rows_and_the_first_of_them() -> None:
    plain = diff_datasets(BEFORE, AFTER)["qrels"].to_dict(limit=0)
    assert plain["counts"] == {"added": 1, "dropped": 1, "changed": 1, "unchanged": 1}
    assert plain["added"] == plain["changed"] == []


def test_a_judgment_is_told_by_its_judge() -> None:
    before = {"judgments": Judgments.from_rows([("q", "a", "ann", 1), ("q", "a", "bob", 2)])}
    after = {"judgments": Judgments.from_rows([("q", "a", "ann", None), ("q", "b", "bob", 2)])}
    diff = diff_datasets(before, after)["judgments"]
    assert diff.changed == [Change(("q", "a", "ann"), "grade", 1.0, None)]
    assert (diff.added, diff.dropped) == ([("q", "b", "bob")], [("q", "a", "bob")])
    assert diff.changed[0].to_dict()["judge"] == "ann"
