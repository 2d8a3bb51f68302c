"""The guide of `assay select` is true: its table is read, and every option and key is named."""

import json
import re
from pathlib import Path

import pytest

from assay.bench.selection.floors import HIGHER_IS_BETTER, LOWER_IS_BETTER
from assay.cli import call as run
from assay.cli.select import parser
from assay.views.selection_words import VERDICT_TEXTS

GUIDE = (Path(__file__).parents[2] / "docs" / "select.md").read_text(encoding="utf-8")


def test_the_table_of_the_guide_is_chosen_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = re.findall(r"```csv\n(.*?)```", GUIDE, re.S)
    (tmp_path / "published.csv").write_text(text)
    asked = ["--floor", "robustness-0.1=0.98", "--tradeoff", "--format", "json"]
    assert run(["select", str(tmp_path / "published.csv"), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["winner"] == "cells / config=probe_8"
    keys = {*found, *found["trials"][0], *found["checks"][0], *found["tradeoff"][0]}
    keys |= {*found["checks"][0]["found"], *found["tradeoff"][0]["points"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in GUIDE] == []


def test_the_guide_names_every_option_figure_and_verdict() -> None:
    options = set(re.findall(r"--[a-z]+", parser().format_help())) - {"--help"}
    assert len(options) == 11
    named = [
        *(f"`{option}" for option in options),
        *(f"`{name}`" for name in (*HIGHER_IS_BETTER, *LOWER_IS_BETTER)),
    ]
    assert [
        name for name in [*named, *(f"| {verdict} |" for verdict in VERDICT_TEXTS)] if name not in GUIDE
    ] == []
