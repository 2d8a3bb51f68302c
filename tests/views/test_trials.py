"""Trials as tables and data: what was asked stands beside what was measured, and nothing is made up."""

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from assay.bench.trials import PassSpread, Trial
from assay.core.parameters import Meaning, Parameter
from assay.indexes.hosting.worker import EngineDescription
from assay.indexes.registry import ENGINES
from assay.stats.intervals import Estimate
from assay.views.engines import engines_list, parameters_dict, render_parameters
from assay.views.sections import WIDTH, render_sections
from assay.views.text import display_width
from assay.views.trials import (
    FORMATS,
    LiveRow,
    describe_progress,
    remark,
    render_live_table,
    render_trials,
    sort_trials,
    trial_sections,
    trials_dict,
    with_defaults,
)


def trial(key: str = "a", recall: float | None = 0.9, **more: Any) -> Trial:
    measures = {}
    if recall is not None:
        measures = {
            "R@10": Estimate(recall, recall - 0.01, recall + 0.01, 0.95, 500),
            "Robustness(delta=0.9)@10": Estimate(0.75, 0.7, 0.8, 0.95, 500),
        }
    made = Trial(
        key, "hnswlib", {"M": 16}, {"ef": 40}, version="0.8.0", measures=measures, zero_hits=3,
        qps=PassSpread(2000.0, 1900.0, 2100.0, 3), latency={"p50_ms": 0.4, "p99_ms": 1.25}, samples=1500,
        request={"clients": 1}, build_seconds=1.5, memory_bytes=3 << 20, disk_bytes=2 << 20,
    )  # fmt: skip
    return replace(made, **more)


def squeezed(trials: list[Trial]) -> str:
    return " ".join(render_trials(trials, "table").split())


def test_a_table_shows_quality_speed_and_cost() -> None:
    shown = render_trials([trial()], "table")
    assert "One query at a time (closed loop)" in shown
    assert (
        "0.9000 (0.890 … 0.910)  0.7500 (0.700 … 0.800)       3  2,000 (1,900 … 2,100)     0.4    1.25"
        in shown
    )
    assert "hnswlib 0.8.0  M=16         1      1.5        3.0      2.0" in shown
    assert shown.endswith("Notes\n- hit rule: ties")


def test_an_index_that_was_asked_in_many_ways_stands_once_among_the_costs() -> None:
    shown = render_trials(
        [trial(), trial("b", mode="batch", latency={}), trial("c", search={"ef": 80})], "table"
    )
    assert shown.count("hnswlib 0.8.0") == 1
    assert shown.index("One query at a time") < shown.index("All queries in one batch")


def test_a_single_repetition_has_no_spread() -> None:
    shown = render_trials([trial(qps=PassSpread(2000.0, 2000.0, 2000.0, 1))], "table")
    assert " 2,000 " in shown
    assert "2,000 (" not in shown


def test_what_was_asked_out_of_the_ordinary_has_a_column() -> None:
    usual = render_trials([trial()], "table")
    assert "clients" not in usual
    assert "threads" not in usual.split("Indexes")[0]
    shown = squeezed([trial(threads=2, request={"clients": 4})])
    assert "no hit threads clients QPS" in shown
    assert " 3 2 4 2,000 (" in shown


def test_open_loops_are_in_the_order_of_their_rates() -> None:
    slow, fast = (trial(key, mode="open", offered=rate) for key, rate in (("z", 500.0), ("a", 2000.0)))
    assert sort_trials([fast, slow]) == [slow, fast]


def test_a_capacity_stands_beside_its_objective() -> None:
    asked = {"percentile": 99.0, "within_ms": 5.0}
    met = trial("a", mode="capacity", request=asked, capacity=PassSpread(800.0, 800.0, 800.0, 1))
    shown = squeezed([met, trial("b", mode="capacity", request=asked)])
    assert "p99 ≤ 5 ms 800 2,000" in shown
    assert "p99 ≤ 5 ms – 2,000" in shown
    assert shown.count("no rate met the objective") == 1


def test_a_withheld_percentile_is_a_dash_and_is_explained() -> None:
    shown = render_trials([trial(latency={"p50_ms": 0.4, "p99_ms": None})], "table")
    assert shown.splitlines()[2].split()[-2:] == ["0.4", "–"]
    assert "- p99 is not reported below 1,000 samples, p99.9 below 10,000" in shown


def test_failures_come_last_and_their_reason_is_told_once_for_all_modes() -> None:
    bad: dict[str, Any] = {
        "recall": None,
        "status": "failed",
        "reason": "killed by\n SIGSEGV",
        "qps": None,
        "latency": {},
    }
    both = [trial("a", mode="single", **bad), trial("b", mode="batch", **bad), trial("c", 0.1)]
    shown = render_trials(both, "table")
    assert [t.key for t in sort_trials(both)] == ["c", "a", "b"]
    assert "- hnswlib M=16 / ef=40 (single, batch) failed: killed by SIGSEGV" in shown


def test_an_engine_that_answers_by_brute_force_is_marked_and_named() -> None:
    shown = render_trials([trial(recall=1.0, indexed=False)], "table")
    assert "not indexed" in shown.splitlines()[2]
    assert "- not indexed: hnswlib M=16 missed nothing with the smallest search setting" in shown


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""),
        ({"saturated": True}, "saturated"),
        ({"errors": 2}, "2 errors"),
        ({"status": "begun"}, "incomplete: 3 passes"),
        ({"status": "begun", "qps": PassSpread(1.0, 1.0, 1.0, 1)}, "incomplete: 1 pass"),
        ({"note": "n" * 60}, "n" * 44 + "…"),
    ],
)
def test_what_is_out_of_the_ordinary_is_remarked(more: dict[str, Any], said: str) -> None:
    assert remark(trial(**more)) == said


def test_a_long_note_is_told_below_the_table() -> None:
    assert f"- hnswlib: {'n' * 60}" in render_trials([trial(note="n" * 60)], "table")


def test_figures_of_others_are_marked() -> None:
    theirs = trial(
        recall=None, qps=None, latency={}, build_seconds=None, reported={"recall": 0.93, "build_seconds": 7.0}
    )
    shown = render_trials([theirs], "table")
    assert "0.9300 *" in shown
    assert "7.0 *" in shown
    assert "- * as its own harness reported it; not measured here" in shown


def test_robustness_that_others_state_is_marked_and_has_an_interval_where_queries_are_counted() -> None:
    figures = {"recall": 0.93, "Robustness(delta=0.9)@10": 0.75}
    theirs = trial(recall=None, reported=figures)
    assert "0.9300 * 0.7500 * 3" in squeezed([theirs])
    counted = replace(theirs, reported={**figures, "queries": 500})
    assert "0.7500 (0.710 … 0.787) * 3" in squeezed([counted])


def test_narrow_tables_fit_a_terminal_and_lose_nothing() -> None:
    build = {"M": 16, "efConstruction": 200, "quantizer": "scalar", "metric": "angular", "level": 128}
    several = [trial(str(at), build=build, search={"efSearch": at}, saturated=True) for at in range(2)]
    made = trial_sections(several, narrow=True)
    shown = render_sections("x", made, "table")
    assert max(map(display_width, shown.splitlines())) <= WIDTH
    table = made[0]
    assert list(table.head) == ["index", "R@10", "Robustness-0.9@10", "no hit", *table.head[4:]]
    assert table.rows[0][1:] == ["0.9000", "0.7500", "3", "2,000", "0.4", "1.25"]
    assert table.rows[1][1:] == ["0.890…0.910", "0.700…0.800", "", "1,900…2,100", "", ""]
    assert [label.rpartition(" ")[2] for label, *_ in table.rows] == ["efSearch=0", "", "efSearch=1", ""]
    assert f"saturated: {several[0].label}, {several[1].label}" in made[-1].notes


def test_the_k_of_the_columns_is_that_of_what_is_scored() -> None:
    short = trial("a", None, k=5, note="5 neighbours were asked for: no score at 10")
    assert " R@10 " in render_trials([short, trial("b")], "table")


def test_queries_without_truth_are_counted() -> None:
    assert "- 4 queries have no truth: they have no recall" in render_trials([trial(undefined=4)], "table")


def test_json_holds_everything_with_what_the_sweep_is_of() -> None:
    made = trials_dict([trial()], {"data": {"n": 7}})
    assert made["data"] == {"n": 7}
    one = made["trials"][0]
    assert one["build"] == {"M": 16}
    assert one["measures"]["R@10"] == {"value": 0.9, "low": 0.89, "high": 0.91, "n": 500}
    assert one["qps"] == {"median": 2000.0, "low": 1900.0, "high": 2100.0, "repetitions": 3}
    assert one["capacity"] is None


def test_csv_has_a_row_for_each_trial_and_nothing_for_what_is_unknown() -> None:
    shown = render_trials([trial(), trial("b", None, indexed=False, mode="batch")], "csv")
    first, second = csv.DictReader(io.StringIO(shown))
    assert (first["build.M"], first["search.ef"], first["measures.R@10_low"]) == ("16", "40", "0.89")
    assert (first["indexed"], second["indexed"], second["measures.R@10"]) == ("", "false", "")


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_names_the_engine(style: str) -> None:
    assert "hnswlib" in render_trials([trial()], style)


ROW: LiveRow = ("faiss.hnsw", "M=16 efConstruction=200", "efSearch=64", "single", "1/3", 0.95, 12345.0, 0.08)


def test_a_live_table_is_cut_where_a_terminal_ends_and_keeps_its_figures() -> None:
    wide = render_live_table([ROW], 10).splitlines()
    said = "faiss.hnsw M=16 efConstruction=200 efSearch=64 single 1/3 0.9500 12,345 0.08"
    assert " ".join(wide[1].split()) == said
    narrow = render_live_table([ROW], 10, 72).splitlines()
    assert max(map(len, narrow)) <= 72
    assert narrow[1].split()[-5:] == ["single", "1/3", "0.9500", "12,345", "0.08"]
    assert "efSearch=64" in narrow[1]


def test_figures_in_words_leave_out_what_a_batch_does_not_have() -> None:
    assert describe_progress((0.5, 1234.0, None), 10) == "R@10 0.5000, 1,234 queries per second"


def test_engines_are_listed_with_what_they_need() -> None:
    made = {row["engine"]: row for row in engines_list(ENGINES, {"mine": "mine 0.1"})}
    assert made["mine"] == {"engine": "mine", "needs": "mine 0.1", "state": "installed"}
    assert made["weaviate"] == {"engine": "weaviate", "needs": "a server", "state": "by url"}
    assert made["puck"]["state"].startswith("build it from its sources")
    assert all(row["state"] for row in made.values())


def test_parameters_are_shown_with_type_and_default() -> None:
    build = {"M": Parameter("M", (int,), 16, Meaning("links of a node", 2))}
    found = {"mine": EngineDescription(("l2",), True, False, True, {}, build, {}, "0.1")}
    shown = render_parameters(found, "table")
    assert shown.startswith("mine 0.1\n- metrics: l2\n- exact by design: it scans all vectors")
    assert shown.endswith("build  M          int        16  2 or more  links of a node")
    assert parameters_dict(found)["mine"]["build"] == {
        "M": {"type": "int", "default": "16", "range": "2 or more", "meaning": "links of a node"}
    }


def test_a_recall_at_another_k_is_told_with_it_and_a_reported_latency_stands_in_its_column() -> None:
    reported = {"recall": 0.95, "qps": 90.0, "p99_ms": 4.5}
    foreign = trial("b", k=100, measures={}, qps=None, latency={}, reported=reported, source="vectordbbench")
    shown = squeezed([trial(), foreign])
    assert "0.9500 * (K = 100)" in shown
    assert "90 * – 4.5 *" in shown
    figures = {**reported, "Robustness(delta=0.9)@100": 0.75}
    assert "0.7500 * (K = 100)" in squeezed([trial(), replace(foreign, reported=figures)])


def test_a_truth_of_fewer_than_k_is_said_to_be() -> None:
    shown = squeezed([trial(short=7)])
    assert "7 queries have fewer true neighbours than K, so they cannot reach a recall of 1" in shown


def test_builds_are_sorted_by_number() -> None:
    builds = [trial(str(m), build={"M": m}) for m in (16, 8, 128)]
    assert [t.build["M"] for t in sort_trials(builds)] == [8, 16, 128]


def test_parameters_that_were_not_set_are_shown_with_their_default_values() -> None:
    engines = {"hnswlib": {"build": {"M": 16, "ef_construction": 200}, "search": {"ef": 64}}}
    some = [trial("a", build={"M": 8}, search={}), trial("b", build={}, search={})]
    first, second = with_defaults(some, {"engines": engines})
    assert (first.build, first.search) == ({"M": 8}, {"ef": 64})
    assert (second.build, second.search) == ({"M": 16}, {"ef": 64})
    (alone,) = with_defaults(some[1:], {"engines": engines})
    assert alone.build == {"M": 16, "ef_construction": 200}
    assert "M=16" in render_trials(some, "table", {"engines": engines})


def test_a_default_without_a_value_is_shown_as_what_stands_for_it() -> None:
    build = {"m": Parameter("m", (int, type(None)), None, Meaning("parts", 1, unset="d / 2"))}
    found = {"mine": EngineDescription(("l2",), False, False, True, {}, build, {}, "0.1")}
    assert parameters_dict(found)["mine"]["build"]["m"] == {
        "type": "int",
        "default": "d / 2",
        "range": "1 or more",
        "meaning": "parts",
    }
