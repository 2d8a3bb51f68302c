"""find_failures: failing queries from a typed request."""

import json
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.failures import FailuresRequest, find_failures
from tests.workflows.small_files import NameList, write_files


def test_failing_queries_are_found_with_their_causes(tmp_path: Path) -> None:
    result = find_failures(FailuresRequest(files=write_files(tmp_path), measure="R@1", by=["category"]))
    assert [failure.query_id for failure in result.failures.failing] == ["q2", "q3", "q4"]
    assert result.failures.name == "bm25"
    assert [part.value for part in result.failures.by_slice] == ["how", "what"]


def test_the_result_is_the_json_of_the_command(tmp_path: Path) -> None:
    result = find_failures(FailuresRequest(files=write_files(tmp_path)))
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()


def test_exact_search_is_opened_with_the_run(tmp_path: Path) -> None:
    files, watch = write_files(tmp_path), NameList()
    request = FailuresRequest(files=files, exact=str(tmp_path / "dense.run"))
    causes = find_failures(request, watch).failures.by_cause
    assert watch.names == ["bm25", "dense"]
    assert "ANN loss" in causes
    with pytest.raises(InputError, match="the same run is given twice"):
        find_failures(FailuresRequest(files=files, exact=files.runs[0]))


def test_a_recording_holds_how_often_each_cause_is_found(tmp_path: Path) -> None:
    request = FailuresRequest(files=write_files(tmp_path), with_recordings=True)
    result = find_failures(request)
    (recording,) = result.recordings
    assert recording.result is not None
    assert sum(recording.result["causes"].values()) == len(result.failures.failing)
    assert recording.run is not None


def test_a_negative_number_of_queries_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--show must be 0 or more, found -1"):
        FailuresRequest(files=write_files(tmp_path), show=-1)
