"""assay judge agreement: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest

from assay.cli import call as run

KEYS = [
    "raters",
    "pairs",
    "agreement",
    "fleiss",
    "alpha",
    "ac1",
    "ac2",
    "suspicious",
    "prevalence",
    "disagreements",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("query_id,doc_id,judge,grade\nq,a,ann,1\nq,a,bob,1\nq,b,ann,0\nq,b,bob,1\n")
    Path("apart.csv").write_text("query_id,doc_id,judge,grade\nq,a,ann,1\nq,b,bob,1\n")
    Path("one.csv").write_text("query_id,doc_id,judge,grade\nq,a,ann,1\nq,b,ann,1\n")
    return tmp_path


def call_agreement(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["judge", "agreement", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_json_has_the_documented_keys(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_agreement(capsys, "labels.csv", "--format", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert set(KEYS) <= found.keys()
    assert list(found["alpha"]) == ["nominal", "ordinal", "interval"]
    pair = found["pairs"][0]
    assert (pair["a"], pair["b"], pair["n"], pair["agreement"]) == ("ann", "bob", 2, 0.5)
    for name in ("kappa", "kappa_linear", "kappa_quadratic", "ac1"):
        assert list(pair[name]) == ["value", "low", "high", "n"]
    assert found["suspicious"] == []


def test_the_table_lists_the_disagreements(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_agreement(capsys, "labels.csv", "--disagreements", "1")
    assert code == 0
    assert "1 of 2 pairs with two labels or more (50 %) have different grades" in out
    assert "ann: 0, bob: 1" in out


def test_raters_without_a_shared_pair_are_null_and_leave_with_three(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = call_agreement(capsys, "apart.csv", "--format", "json")
    found = json.loads(out)
    assert code == 3
    assert found["fleiss"] == {"value": None, "low": None, "high": None, "n": 0}
    assert found["pairs"][0]["kappa"]["value"] is None
    assert err.startswith("agreement is undefined: no two raters judged the same pair")


def test_bad_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, problem in (
        (["one.csv"], "agreement needs two raters or more, found only 'ann'"),
        (["missing.csv"], "missing.csv: cannot be read"),
        (["labels.csv", "--by", "kind"], "slicing by 'kind' needs a query table"),
        (["labels.csv", "--level", "95"], "must lie between 0 and 1, found 95"),
        (["labels.csv", "--disagreements", "-2"], "--disagreements must be 0 or more, found -2"),
    ):
        code, out, err = call_agreement(capsys, *argv)
        assert (code, out) == (2, "")
        assert problem in err
