"""init_project: a folder inspected, its assay.toml written, and what can be done with it."""

import re
import tomllib
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.rollout.policy import read_policy
from assay.workflows.folder_contents import ENDPOINTS
from assay.workflows.init import BUILT_IN, InitRequest, init_project
from assay.workflows.project import open_project
from assay.workflows.systems import SearchSystems
from tests.projects import project


@pytest.fixture(autouse=True)
def no_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENDPOINTS:
        monkeypatch.delenv(name, raising=False)


def test_an_empty_folder_gets_the_built_in_collection(tmp_path: Path) -> None:
    result = init_project(InitRequest(folder=tmp_path / "new"))
    assert result.path == tmp_path / "new" / "assay.toml"
    assert (result.folder_contents.qrels, result.project_contents.qrels) == (None, BUILT_IN)
    assert (result.project_contents.is_built_in, result.can_run, result.can_gate) == (True, True, True)
    assert SearchSystems(result.path).names == ["bm25", "vectors", "hybrid"]
    assert open_project(result.path).candidate.run == str(tmp_path / "new" / "runs/hybrid.run")


def test_the_policy_of_rollouts_is_valid_without_its_comment_signs(tmp_path: Path) -> None:
    text = init_project(InitRequest(folder=tmp_path)).path.read_text()
    policy = re.sub(r"(?m)^# ?", "", text[text.index("# [rollout]") :])
    rules = read_policy(tomllib.loads(policy)["rollout"]).rules
    assert [(rule.metric, rule.role) for rule in rules] == [("ctr", "goal"), ("zero_result", "guardrail")]


def test_the_tables_of_a_folder_are_named_in_its_project(tmp_path: Path) -> None:
    project(tmp_path).unlink()
    result = init_project(InitRequest(folder=tmp_path))
    assert result.folder_contents is result.project_contents
    assert (result.project_contents.queries, result.project_contents.documents) == (
        "queries.jsonl",
        "documents.jsonl",
    )
    assert SearchSystems(result.path).data.qrels is not None


def test_judgments_alone_can_neither_run_nor_gate(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    result = init_project(InitRequest(folder=tmp_path))
    assert (result.can_run, result.can_gate) == (False, False)


def test_an_existing_project_is_overwritten_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("# mine\n")
    with pytest.raises(InputError, match="--force overwrites it"):
        init_project(InitRequest(folder=tmp_path))
    init_project(InitRequest(folder=tmp_path, force=True))
    assert "[systems.bm25]" in (tmp_path / "assay.toml").read_text()


def test_endpoints_of_the_environment_stay_with_the_built_in_collection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_ENDPOINT", "http://127.0.0.1:9/search")
    result = init_project(InitRequest(folder=tmp_path))
    assert result.project_contents.endpoints == ["ASSAY_ENDPOINT"]
    assert '\n# url = "${ASSAY_ENDPOINT}?q={query}&k={k}"' in result.path.read_text()
