"""Settings files: TOML or JSON tables."""

from pathlib import Path

import pytest

from assay.core.errors import FormatError, InputError
from assay.workflows.settings import read_settings


def test_settings_are_tables_by_name(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(FormatError, match="expected settings by name, found list"):
        read_settings(tmp_path / "list.json")


def test_settings_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"x\.toml: expected settings in TOML, found no text"):
        read_settings(tmp_path / "x.toml")
