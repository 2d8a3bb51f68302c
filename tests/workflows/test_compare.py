"""compare: candidates compared with a baseline from a typed request."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.compare import CompareRequest, compare
from assay.workflows.inputs import TableFiles
from tests.workflows.small_files import NameList, write_files


@pytest.fixture
def files(tmp_path: Path) -> TableFiles:
    files = write_files(tmp_path)
    return replace(files, runs=[*files.runs, str(tmp_path / "dense.run")])


def test_the_first_run_is_the_baseline(files: TableFiles) -> None:
    result = compare(CompareRequest(files=files, measures=["RR@10"], by=["category"]))
    comparisons = result.comparisons
    assert (comparisons.baseline, comparisons.candidates) == ("bm25", ["dense"])
    assert comparisons.find("RR@10").difference.value == 0.75
    assert result.texts["q2"] == "invoice"


def test_the_result_is_the_json_of_the_command(files: TableFiles) -> None:
    result = compare(CompareRequest(files=files, measures=["RR@10"], movers=1))
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert len(result.to_dict()["candidates"][0]["winners"]) == 1


def test_options_reach_the_comparison(files: TableFiles) -> None:
    request = CompareRequest(
        files=files, measures=["RR@10"], test="bootstrap", correction="bh", margin=0.1, permutations=200
    )
    options = compare(request).comparisons.options
    assert (options.test, options.correction, options.margin, options.permutations) == (
        "bootstrap",
        "bh",
        0.1,
        200,
    )


def test_differences_of_the_configurations_are_found(files: TableFiles, tmp_path: Path) -> None:
    for name, ef in (("a.toml", 4), ("b.toml", 8)):
        (tmp_path / name).write_text(f"m = 1\nef = {ef}\n")
    config = [str(tmp_path / name) for name in ("a.toml", "b.toml")]
    result = compare(CompareRequest(files=files, config=config, with_recordings=True))
    assert result.comparisons.configuration == {"ef": {"bm25": 4, "dense": 8}}
    assert [recording.configuration["ef"] for recording in result.recordings] == [4, 8]


def test_recordings_hold_what_the_change_means(files: TableFiles) -> None:
    result = compare(CompareRequest(files=files, with_recordings=True))
    assert [recording.label for recording in result.recordings] == ["bm25", "dense"]
    assert all(recording.kind == "compare" and recording.run for recording in result.recordings)
    readings = [recording.result and recording.result["readings"] for recording in result.recordings]
    assert readings[0] == readings[1]
    assert compare(CompareRequest(files=files)).recordings == []


def test_every_run_passes_through_the_callback(files: TableFiles) -> None:
    watch = NameList()
    compare(CompareRequest(files=files), watch)
    assert watch.names == ["bm25", "dense"]


def test_a_negative_number_of_queries_is_refused(files: TableFiles) -> None:
    with pytest.raises(InputError, match="--movers must be 0 or more, found -1"):
        CompareRequest(files=files, movers=-1)
