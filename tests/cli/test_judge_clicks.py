import json
from pathlib import Path

import pytest

from assay.cli import call
from assay.core.judgments import Judgments
from assay.datasets import read
from assay.datasets.judgment_files import read_judgments

PAGES = [
    {"query_id": "q", "documents": ["a", "b", "c"], "clicks": [1, 0, 0], "dwell": [40, None, None]},
    {"query_id": "q", "documents": ["b", "a", "c"], "clicks": [0, 1, 0], "dwell": [None, 10, None]},
    {"query_id": "r", "documents": ["a", "d"], "clicks": [0, 0]},
] * 10
MODELS = ("pbm", "cm", "dcm", "sdbn", "dbn", "ubm", "coec", "dwell", "ctr", "rctr", "all")


@pytest.fixture
def pages(tmp_path: Path) -> str:
    path = tmp_path / "pages.jsonl"
    path.write_text("\n".join(map(json.dumps, PAGES)))
    return str(path)


@pytest.mark.parametrize("model", MODELS)
def test_each_model_has_the_documented_keys(
    pages: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["judge", "clicks", pages, "--model", model, "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pages"] == 30
    assert result["model"] == model or model == "all"
    assert result["log_likelihood"] < 0
    assert result["perplexity"] >= 1
    assert len(result["perplexity_by_rank"]) == 3
    if model == "pbm":
        assert len(result["parameters"]["examination"]) == 3


@pytest.mark.parametrize("name", ["o.csv", "o.jsonl", "o.parquet"])
def test_the_relevance_of_pairs_can_be_read_as_judgments_and_qrels(
    pages: str, tmp_path: Path, name: str
) -> None:
    output = str(tmp_path / name)
    rule = ["--grade-rule", "thresholds:0.3,0.6", "--minimum-impressions", "10"]
    assert call(["judge", "clicks", pages, "-o", output, *rule]) == 0
    judgments = read_judgments(output)
    assert isinstance(judgments, Judgments)
    assert judgments.judges == ["clicks:pbm"]
    assert set(judgments.grades) <= {0, 1, 2}
    assert len(read(output, "qrels")) == len(judgments) == 5


@pytest.mark.parametrize("style", ["table", "csv", "md", "html", "latex"])
def test_each_format_shows_the_fit(pages: str, style: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["judge", "clicks", pages, "--format", style, "--model", "all"]) == 0
    assert "perplexity" in capsys.readouterr().out


def test_wrong_input_is_refused_with_what_was_expected(
    pages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text('{"query_id": "q", "documents": ["a"], "clicks": [1]}\n{"query_id": "q"}\n')
    cases = {
        "wrong.jsonl:2: expected a page": [str(wrong)],
        "--grade-rule expects": [pages, "--grade-rule", "x"],
        "--minimum-impressions expects": [pages, "--minimum-impressions", "0"],
        "-o expects a file ending": [pages, "-o", "x.doc"],
        "cannot be read": [str(tmp_path / "missing")],
    }
    for message, arguments in cases.items():
        assert call(["judge", "clicks", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_what_the_log_cannot_tell_is_exit_code_3(
    pages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tmp_path / "plain.jsonl"
    plain.write_text(json.dumps(PAGES[2]))
    qrels = tmp_path / "other.qrels"
    qrels.write_text("1 0 z 1\n")
    assert call(["judge", "clicks", str(plain), "--model", "dwell"]) == 3
    assert call(["judge", "clicks", pages, "--qrels", str(qrels)]) == 3
    assert call(["judge", "clicks", pages, "--model", "rctr", "-o", str(tmp_path / "o.csv")]) == 3
    assert "no pair of the log has a label" in capsys.readouterr().err


def test_problems_of_a_log_are_written_with_their_places(tmp_path: Path) -> None:
    log, problems = tmp_path / "log.ndjson", tmp_path / "problems.csv"
    query = {"query_id": "1", "user_query": "vpn", "timestamp": 1, "query_response_hit_ids": ["a", "b"]}
    place = {"object": {"object_id": "a"}, "position": {"ordinal": 1}}
    click = {"query_id": "1", "action_name": "click", "timestamp": 2, "event_attributes": place}
    log.write_text(f"{json.dumps(query)}\nnot json\n{json.dumps(click)}\n")
    assert call(["judge", "clicks", str(log), "--problems", str(problems)]) == 0
    assert f"not JSON,{log},2,not json,left out" in problems.read_text()


def test_open_bandit_is_refused_with_its_effective_sample_size(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(shared / "open_bandit/bts_women.csv.gz")
    assert call(["judge", "off-policy", log, "--format", "json"]) == 3
    printed = capsys.readouterr()
    value = json.loads(printed.out)
    assert value["status"] == "refused"
    assert value["effective_n"] == pytest.approx(2.1, abs=0.05)
    assert value["ips"]["value"] is None
    assert "effective sample size of 2.1" in printed.err


def test_a_ranking_is_valued_on_logged_pages(
    pages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit, run = tmp_path / "fit.json", tmp_path / "new.run"
    call(["judge", "clicks", pages, "--format", "json"])
    fit.write_text(capsys.readouterr().out)
    run.write_text("q Q0 a 1 3 new\nq Q0 b 2 2 new\nr Q0 d 1 1 new\n")
    options = ["--run", str(run), "--examination", str(fit), "--least-effective-n", "10"]
    assert call(["judge", "off-policy", pages, *options, "--gain", "DCG@2"]) == 0
    assert "SNIPS" in capsys.readouterr().out
    assert call(["judge", "off-policy", pages, "--run", str(run)]) == 2
    assert call(["judge", "off-policy", pages, *options, "--gain", "AP"]) == 2


def test_a_log_without_a_click_is_refused(
    pages: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "none.jsonl"
    log.write_text(json.dumps(PAGES[2]))
    assert call(["judge", "clicks", str(log)]) == 3
    assert "expected pages with clicks, found 1 without any" in capsys.readouterr().err
    assert call(["judge", "clicks", pages, "--model", "cm", "--first-rank-examined"]) == 2
    assert "--first-rank-examined scales pbm and ubm, not cm" in capsys.readouterr().err


def test_the_log_is_not_replaced_by_what_is_made_of_it(
    pages: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path(pages).read_text()
    assert call(["judge", "clicks", pages, "-o", pages]) == 2
    assert "is also read, and would be lost" in capsys.readouterr().err
    assert Path(pages).read_text() == before


def test_an_effective_size_that_refuses_nothing_is_no_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("reward,propensity,action\n1,0.5,a\n0,0.5,b\n")
    assert call(["judge", "off-policy", str(log), "--least-effective-n", "-1"]) == 2
    assert "--least-effective-n expects 1 or more, found -1" in capsys.readouterr().err


def test_a_wrong_policy_column_names_a_few_columns_and_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    others = [f"feature_{i}" for i in range(40)]
    log.write_text(
        ",".join(["reward", "propensity", "action", "policy_b", *others]) + "\n" + "1," * 43 + "1\n"
    )
    assert call(["judge", "off-policy", str(log), "--target", "policy_a"]) == 2
    message = capsys.readouterr().err
    assert "feature_5, …; did you mean policy_b?" in message
