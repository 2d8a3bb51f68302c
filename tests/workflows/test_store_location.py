"""store_url: the store of a request, of the environment, of the project, or the default."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.store_location import DEFAULT_STORE, store_url


def test_the_first_of_request_environment_and_project_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "assay.toml"
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    assert store_url(None, project) == DEFAULT_STORE
    project.write_text('[store]\nurl = "kept"\n')
    assert store_url(None, project) == str(tmp_path / "kept")
    monkeypatch.setenv("ASSAY_STORE", "named")
    assert store_url(None, project) == "named"
    assert store_url("given", project) == "given"


def test_a_url_of_the_project_is_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    (tmp_path / "assay.toml").write_text('[store]\nurl = "postgresql://db/assay"\n')
    assert store_url(None, tmp_path / "assay.toml") == "postgresql://db/assay"


def test_a_setting_that_is_no_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    (tmp_path / "assay.toml").write_text("[store]\nurl = 3\n")
    with pytest.raises(InputError, match=r"store\.url must be a folder or a URL, found 3"):
        store_url(None, tmp_path / "assay.toml")
