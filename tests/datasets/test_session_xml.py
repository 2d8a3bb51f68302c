from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import FormatError
from assay.core.events import Events
from assay.datasets.ubi import read_events

SESSION = """<sessiontrack>
<session num="7" starttime="0">
<topic num="3"><desc>Cats &amp; dogs</desc></topic>
<interaction num="1" starttime="2.5">
<query>cats &lt;3</query>
<results>
<result rank="1"><clueweb12id>a</clueweb12id></result>
<result rank="2"><clueweb12id>b</clueweb12id></result>
</results>
<clicked><click num="1" starttime="10" endtime="15.5"><rank>2</rank></click></clicked>
</interaction>
<currentquery starttime="20"><query>dogs</query></currentquery>
</session>
</sessiontrack>
"""


@pytest.fixture(scope="module")
def sessions(shared: Path) -> Events:
    return read_events(shared / "trec_session_2013/sessiontrack2013.xml")


def _impressions(sessions: Events) -> pl.DataFrame:
    clicks = sessions.frame.select("query_id", "object_id", is_clicked=pl.lit(True)).unique()
    shown = sessions.queries.filter(pl.col("hit_ids").list.len() > 0)
    rows = shown.explode("hit_ids").rename({"hit_ids": "object_id"})
    rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    return rows.join(clicks, on=["query_id", "object_id"], how="left").with_columns(
        pl.col("is_clicked").fill_null(False), topic=pl.col("attributes").str.json_path_match("$.topic")
    )


def test_sessions_have_the_published_click_rates(sessions: Events) -> None:
    rates = _impressions(sessions).group_by("rank").agg(pl.col("is_clicked").mean()).sort("rank")
    assert rates["is_clicked"].head(10).round(4).to_list() == [
        *(0.3033, 0.2030, 0.1805, 0.1454, 0.1028),
        *(0.0927, 0.0553, 0.0578, 0.0584, 0.0179),
    ]


def test_sessions_have_the_published_counts(sessions: Events) -> None:
    queries = sessions.queries
    clicked = sessions.frame["query_id"].unique()
    results = queries["hit_ids"].list.len()
    assert (sessions.counts["sessions"], len(sessions)) == (133, 586)
    assert queries.filter((results > 0) & ~queries["query_id"].is_in(clicked.implode())).height == 150
    assert queries.filter(results == 0).height == 2
    assert queries.filter(results.is_null()).height == 87  # the last query of a session has no results


def test_click_rates_rise_with_the_grade(sessions: Events, shared: Path) -> None:
    qrels = pl.read_csv(
        shared / "trec_session_2013/qrels.txt",
        separator=" ",
        has_header=False,
        new_columns=["topic", "_", "object_id", "grade"],
        infer_schema=False,
    )
    qrels = qrels.with_columns(pl.col("grade").cast(pl.Int64))
    graded = (
        _impressions(sessions).join(qrels, on=["topic", "object_id"]).filter(pl.col("grade").is_in(range(4)))
    )
    rates = graded.group_by("grade").agg(pl.col("is_clicked").mean()).sort("grade")
    assert rates["is_clicked"].round(3).to_list() == [0.086, 0.196, 0.335, 0.636]


def test_a_session_has_its_queries_results_and_clicks(tmp_path: Path) -> None:
    (tmp_path / "log.xml").write_text(SESSION)
    events = read_events(tmp_path / "log.xml")
    assert events.queries["user_query"].to_list() == ["cats <3", "dogs"]
    assert events.queries["hit_ids"].to_list() == [["a", "b"], None]
    assert events.queries["line"].to_list() == [4, 12]
    click = events.frame.row(0, named=True)
    assert (click["object_id"], click["rank"], click["line"]) == ("b", 2, 10)
    assert click["attributes"] == '{"dwell_seconds": 5.5}'
    assert str(click["at"]) == "1970-01-01 00:00:10+00:00"


def test_a_document_that_ends_early_keeps_what_is_complete(tmp_path: Path) -> None:
    (tmp_path / "log.xml").write_text(SESSION[: SESSION.index("</clicked>")])
    events = read_events(tmp_path / "log.xml")
    assert (len(events.queries), len(events)) == (1, 1)
    problem = next(p for p in events.problems if p.kind == "XML that ends early")
    assert problem.example.startswith(f"{tmp_path / 'log.xml'}:10: ")


def test_ranks_and_times_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    text = SESSION.replace("<rank>2</rank>", "<rank>9</rank>").replace('"2.5"', '"soon"')
    (tmp_path / "log.xml").write_text(text)
    events = read_events(tmp_path / "log.xml")
    assert events.problem_count("click on a rank without a result") == 1
    assert events.problem_count("time that cannot be read") == 1
    assert events.queries["at"].null_count() == 1


def test_xml_that_is_not_of_sessions_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.xml").write_text("<a><session")
    with pytest.raises(FormatError, match="expected sessions in XML"):
        read_events(tmp_path / "log.xml")
