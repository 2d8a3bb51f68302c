"""evaluate: runs scored from a typed request."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.datasets import read
from assay.workflows.evaluate import EvaluateRequest, evaluate
from tests.workflows.small_files import NameList, write_files


def test_each_run_is_scored(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    both = replace(files, runs=[*files.runs, str(tmp_path / "dense.run")])
    result = evaluate(EvaluateRequest(files=both, measures=["RR@10"], by=["category"]))
    assert [e.name for e in result.evaluations] == ["bm25", "dense"]
    assert [e.estimates["RR@10"].value for e in result.evaluations] == [0.25, 1.0]
    assert [s.value for s in result.evaluations[0].slices] == ["how", "what"]


def test_the_result_is_the_json_of_the_command(tmp_path: Path) -> None:
    request = EvaluateRequest(files=write_files(tmp_path), measures=["RR@10"], per_query=True)
    result = evaluate(request)
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert result.to_dict()["runs"][0]["per_query"]["q1"] == {"RR@10": 1.0}


def test_options_reach_the_evaluation(tmp_path: Path) -> None:
    request = EvaluateRequest(
        files=write_files(tmp_path), measures=["RR@10"], only_common=True, unjudged=True, level=0.9, seed=3
    )
    (evaluation,) = evaluate(request).evaluations
    assert (evaluation.scores.query_ids, evaluation.level, evaluation.seed) == (["q1", "q2"], 0.9, 3)
    assert evaluation.unjudged["RR@10"] == (0.5, 1.0)


def test_every_run_passes_through_the_callback(tmp_path: Path) -> None:
    watch = NameList()
    evaluate(EvaluateRequest(files=write_files(tmp_path)), watch)
    assert watch.names == ["bm25"]


def test_recordings_are_prepared_only_on_request(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    (tmp_path / "a.toml").write_text("k = 1\n")
    request = EvaluateRequest(files=files, config=[str(tmp_path / "a.toml")], only_common=True)
    assert evaluate(request).recordings == []
    (recording,) = evaluate(replace(request, with_recordings=True)).recordings
    assert (recording.kind, recording.label, recording.only_common) == ("eval", "", True)
    assert recording.configuration == {"k": 1}
    assert recording.run == read(files.runs[0], "run").digest


def test_recordings_of_several_runs_are_told_apart(tmp_path: Path) -> None:
    files = write_files(tmp_path)
    both = replace(files, runs=[*files.runs, str(tmp_path / "dense.run")])
    recordings = evaluate(EvaluateRequest(files=both, with_recordings=True)).recordings
    assert [recording.label for recording in recordings] == ["bm25", "dense"]


def test_a_negative_number_of_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--worst must be 0 or more, found -1"):
        EvaluateRequest(files=write_files(tmp_path), worst=-1)
