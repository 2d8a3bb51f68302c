"""Columns are matched by a given name, by their own name, or by an alias."""

import pytest

from assay.core.columns import match_columns, match_pair_columns
from assay.core.errors import TableError
from assay.core.tables import Qrels, Run


def test_a_given_name_takes_precedence_over_aliases() -> None:
    names = ["qid", "key"]
    assert match_columns(names, {"query_id": ("qid",)}, {"query_id": "key"}) == {"key": "query_id"}


def test_a_given_name_that_is_missing_is_refused() -> None:
    with pytest.raises(TableError, match="there is no column 'x' among qid, key"):
        match_columns(["qid", "key"], {"query_id": ("qid",)}, {"query_id": "x"})


def test_the_columns_of_a_run_are_its_ids_and_scores() -> None:
    columns = match_pair_columns(["qid", "docno", "rank", "sim"], Run.aliases, "score", {})
    assert columns == ("qid", "docno", "sim", "score")
    assert columns.sign == 1


def test_ranks_replace_missing_scores_with_a_negative_sign() -> None:
    columns = match_pair_columns(["qid", "docno", "rank"], Run.aliases, "score", {})
    assert columns == ("qid", "docno", "rank", "rank")
    assert columns.sign == -1


def test_a_missing_column_is_refused_with_its_option() -> None:
    with pytest.raises(TableError, match=r"no grade among qid, docno: name them with --columns grade=…"):
        match_pair_columns(["qid", "docno"], Qrels.aliases, "grade", {})


def test_ranks_that_are_named_replace_the_scores() -> None:
    names = ["qid", "docno", "rank", "score"]
    assert match_pair_columns(names, Run.aliases, "score", {"rank": "rank"}).value_column == "rank"
    both = {"rank": "rank", "score": "score"}
    assert match_pair_columns(names, Run.aliases, "score", both).value_column == "score"
