"""What [serve] of assay.toml says: accounts, addresses, the provider, and which systems pages may start."""

from pathlib import Path

import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.workflows.serve_settings import ServeSettings, check_may_start, may_start, read_serve_settings


def write(folder: Path, text: str) -> Path:
    path = folder / "assay.toml"
    path.write_text(text)
    return path


def test_without_a_project_nothing_is_allowed(tmp_path: Path) -> None:
    assert read_serve_settings(tmp_path / "assay.toml") == ServeSettings()
    assert not may_start("words", tmp_path / "assay.toml")


def test_only_systems_that_are_named_may_be_started(tmp_path: Path) -> None:
    project = write(tmp_path, '[serve]\nmay_start = ["words"]\n')
    check_may_start("words", project)
    with pytest.raises(
        InputError, match=r"vectors cannot be started from a page.*may_start = \[\"vectors\"\]"
    ):
        check_may_start("vectors", project)


def test_all_settings_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """[serve]
    accounts = true
    public_url = "https://assay.example.org"
    trusted_proxies = "10.0.0.1"
    session_hours = 2
    [serve.oidc]
    issuer = "https://login.example.org"
    client_id = "assay"
    client_secret_env = "OIDC_SECRET"
    role = ""
    """
    settings = read_serve_settings(write(tmp_path, text))
    assert (settings.accounts, settings.trusted_proxies, settings.session_hours) == (True, ("10.0.0.1",), 2)
    assert settings.oidc is not None
    with pytest.raises(InputError, match="environment variable OIDC_SECRET, found none"):
        _ = settings.oidc.client_secret
    monkeypatch.setenv("OIDC_SECRET", "not to be told")
    assert settings.oidc.client_secret == "not to be told"
    assert "not to be told" not in repr(settings)


def test_all_wrong_settings_are_named_at_once(tmp_path: Path) -> None:
    text = """[serve]
    accounts = "yes"
    session_hours = 0
    colour = "red"
    [serve.oidc]
    issuer = "http://login.example.org"
    role = "king"
    """
    with pytest.raises(ConfigurationError) as caught:
        read_serve_settings(write(tmp_path, text))
    fields = {"accounts", "session_hours", "colour", "oidc.issuer", "oidc.client_id", "oidc.role"}
    assert set(caught.value.problems) == {f"serve.{field}" for field in fields}


@pytest.mark.parametrize("url", ["http://10.0.0.5", "https://a.example/path", "ftp://a", "https://", "x"])
def test_an_address_without_tls_or_with_a_path_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"serve\.public_url: expected https://HOST"):
        read_serve_settings(write(tmp_path, f'[serve]\npublic_url = "{url}"\n'))
