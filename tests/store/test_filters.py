"""A filter admits what it says, in SQLite and in PostgreSQL alike."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.records import Metric
from assay.store.filters import parse_filter
from assay.store.store import Store
from tests.datasets.strategies import quick
from tests.stores import experiment

ODD = "50% _it's_ [x] \\ größe; DROP TABLE experiments;--"


@pytest.fixture
def filled(store: Store) -> Store:
    """Three experiments, a to c, that differ in everything."""
    for number, name in enumerate("abc"):
        value = (number + 1) / 4
        store.put(
            experiment(
                name,
                at=datetime(2026, 1, number + 1, tzinfo=UTC),
                kind="eval" if name != "c" else "gate",
                configuration={
                    "index_type": f"type {name.upper()}",
                    "top_k": 10 ** (number + 1),
                    "on": name == "a",
                },
                metrics=(
                    Metric("nDCG@10", "", "", value),
                    Metric("R@10", "category", "faq", 1 - value),
                    Metric("Robustness(delta=0.3)@10", "", "", value),
                ),
                latency={"p95_ms": 10.0 * number},
                figures={"cost": {"per_1k": number}},
                environment={"python": f"3.1{number}"},
                policy={"ties": name},
                code=f"v{number}",
                tags=("all", name, "7"),
                note=ODD if name == "b" else "",
                pinned=name == "b",
                id=f"id-{name}",
            )
        )
    store.put(experiment("bare", configuration={}, metrics=(), tags=(), note="", kind="compare",
                         latency={}, figures={}, environment={}, policy={}, code=None))  # fmt: skip
    return store


CASES = {
    "metrics.nDCG@10 = 0.5": "b",
    "metrics.nDCG@10 != 0.5": "ac",
    "metrics.nDCG@10 < 0.5": "a",
    "metrics.nDCG@10 <= 0.5": "ab",
    "metrics.nDCG@10 > 0.5": "c",
    "metrics.nDCG@10 >= 5e-1": "bc",
    "metrics.nDCG@10 > -1": "abc",
    "metrics.nDCG@10>0.3 and metrics.nDCG@10<0.6": "b",
    "metrics.ndcg@10 = 0.5": "b",
    "metrics.Robustness-0.3@10 = 0.5": "b",
    "metrics.Robustness(delta=0.3)@10 = 0.5": "b",
    'metrics."Robustness(delta=0.3)@10" = 0.5': "b",
    "metrics.R@10[category=faq] > 0.4": "ab",
    "metrics.R@10[category = faq] > 0.4": "ab",
    "metrics.R@10[category=other] > 0.4": "",
    "metrics.R@10 > 0": "",
    "metrics.nDCG@10": "abc",
    "not metrics.nDCG@10": "bare",
    "params.index_type = 'type B'": "b",
    'params.index_type = "type B"': "b",
    "params.index_type != 'type B'": "ac",
    "params.index_type ~ 'PE b'": "b",
    "params.index_type ~ 'type'": "abc",
    "params.index_type ~ '%'": "",
    "params.top_k > 50": "bc",
    "params.top_k = 100": "b",
    "params.top_k = '100'": "b",
    "params.top_k ~ 00": "bc",
    "params.on = true": "a",
    "params.on = false": "bc",
    "params.on": "abc",
    "latency.p95_ms <= 10": "ab",
    "figures.cost.per_1k = 2": "c",
    "environment.python = '3.11'": "b",
    "policy.ties = a": "a",
    "code = 'v1'": "b",
    "code != 'v1'": "ac",
    "name = 'a' or name = 'c'": "ac",
    "name != 'bare'": "abc",
    "kind = eval": "ab",
    "id = 'id-b'": "b",
    "note ~ '50% _it'": "b",
    f'note = "{ODD}"': "b",
    "note": "b",
    "tag = a": "a",
    "tag = 7": "abc",
    "tag != 'a' and tag": "bc",
    "not tag = 'all'": "bare",
    "tag": "abc",
    "pinned": "b",
    "pinned = true": "b",
    "pinned = false and tag": "ac",
    "pinned != true and tag": "ac",
    "not pinned and tag": "ac",
    "at < '2026-01-02'": "a",
    "at = '2026-01-02T01:00:00+01:00'": "b",
    "at >= '2026-01-02' and at < '2026-01-31'": "bc",
    "name = 'a' or name = 'b' and name = 'c'": "a",
    "(name = 'a' or name = 'b') and not (name = 'a')": "b",
    "not not name = 'a'": "a",
    "name = \"a' or '1' = '1\"": "",
    "name = '%'": "",
    "name ~ '_'": "",
}


@pytest.mark.parametrize("group", range(4))
def test_a_filter_admits_what_it_says(filled: Store, group: int) -> None:
    """In groups: a database for each case would take long."""
    wrong = {}
    for text in list(CASES)[group::4]:
        found = sorted(e.name for e in filled.list(text))
        if found not in ([CASES[text]], list(CASES[text])):
            wrong[text] = found
    assert wrong == {}


def test_words_are_read_in_capitals_too(filled: Store) -> None:
    assert {e.name for e in filled.list("NOT name = 'a' AND tag = 'all' OR name = 'bare'")} == {
        "b",
        "c",
        "bare",
    }


def test_a_filter_goes_with_the_other_ways_to_choose(filled: Store) -> None:
    filled.drop("c")
    assert [e.name for e in filled.list("tag = all", limit=1)] == ["b"]
    assert [e.name for e in filled.list("tag = all", names=["a"])] == ["a"]
    assert [e.name for e in filled.list("tag = all", deleted=True)] == ["c"]
    assert len(filled.list("  ")) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colour = 'red'", "there is no field 'colour'"),
        ("params = 1", "there is no field 'params'"),
        ("at", "there is no field 'at'"),
        ("name =", "a value is missing at the end"),
        ("name = =", "expected a value, found '='"),
        ("= 3", "expected a field, found '='"),
        ("name = 'a' and", "expected a field, found 'the end'"),
        ("name = 'a' name = 'b'", "expected its end, found 'name'"),
        ("(name = 'a'", "a parenthesis is not closed"),
        ("name = 'a')", "expected its end, found ')'"),
        ("name = 'a", '"\'a" is neither a field, an operator nor a value'),
        ("name = 'a'; DROP TABLE experiments", "'; DROP TABLE experim' is neither"),
        ("metrics.nDCG@10 > 'x'", "metrics.nDCG@10 is compared with a number, found > 'x'"),
        ("metrics.nDCG@10 ~ 0.5", "metrics.nDCG@10 is compared with a number, found ~ '0.5'"),
        ("metrics.Nonsense@10 > 0", "Nonsense"),
        ("at > 'yesterday'", "expected a time such as '2026-01-31' for at, found 'yesterday'"),
        ("at ~ '2026-01-31'", "there is no field 'at'"),
        ("nmae = 'a'", "there is no field 'nmae'; did you mean name?"),
        ("parms.top_k = 1", "there is no field 'parms.top_k'; did you mean params.?"),
        ("pinned > 3", "expected pinned = true or false, found > 3"),
        ("(" * 5000, "it nests more than"),
        ("not " * 5000 + "pinned", "it nests more than"),
    ],
)
def test_a_filter_that_cannot_be_read_is_told(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_filter(text)
    assert problem in str(caught.value)
    assert "cannot be parsed" in str(caught.value)
    assert "expected a filter such as metrics.nDCG@10 > 0.4 and params.index_type = 'hnsw'" in str(
        caught.value
    )


WORDS = ["name", "tag", "at", "pinned", "params.x", "metrics.R@10", "metrics.", "and", "or", "not", "(", ")",
         "=", "!=", "<", "~", "'a'", '"', "'", "1", "-", "[", "]", ";", "%", "\n", "é"]  # fmt: skip


@quick
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InputError):
        parse_filter(text).compile()


@pytest.mark.parametrize(
    "value", [ODD, "'", '"', "%", "--", "\\", "a' OR 1=1 --", "🔎", ":x", "$1", "{}", "%s"]
)
def test_no_value_says_more_than_itself(filled: Store, value: str) -> None:
    mine = filled.put(experiment("mine", note=value, tags=(value,), configuration={"x": value}))
    quote = "'" if '"' in value else '"'
    for text in ("note = {}", "tag = {}", "params.x = {}", "note ~ {} and name = mine"):
        assert [e.id for e in filled.list(text.format(f"{quote}{value}{quote}")) if e.name == "mine"] == [
            mine.id
        ]
    assert [e.name for e in filled.list(f"params.x = {quote}{value}{quote}")] == ["mine"]
    assert len(filled.list()) == 5


def test_a_setting_that_no_experiment_has_is_refused_with_a_suggestion(filled: Store) -> None:
    with pytest.raises(InputError, match=r"no experiment has params\.topk; did you mean top_k\?"):
        filled.list("name = 'a' and params.topk = 10")
    with pytest.raises(InputError, match=r"no experiment has latency\.mean; there are p95_ms"):
        filled.list("latency.mean > 1")


def test_a_setting_is_not_refused_if_nothing_is_recorded(store: Store) -> None:
    assert store.list("params.top_k = 10") == []
