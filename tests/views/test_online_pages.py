"""What pages say of online evidence."""

import pytest

from assay.views.online_pages import (
    describe_heterogeneity,
    describe_interleaving,
    describe_missing,
    describe_novelty,
    describe_ratio,
    describe_reasons,
    describe_tests,
    format_share_interval,
    state_of,
)


def test_a_sample_ratio_that_cannot_be_tested_says_why() -> None:
    assert describe_ratio({"p": None, "reason": "one variant"}) == (
        "The sample ratio cannot be tested: one variant"
    )
    assert describe_ratio({}) == "The sample ratio cannot be tested: no units"


def test_a_ratio_that_is_wrong_only_in_a_part_names_the_part() -> None:
    srm = {"p": 0.4, "observed": {"a": 1}, "mismatches": [{"column": "day", "value": "2026-01-02"}]}
    assert describe_ratio(srm) == "The sample ratio holds over all units (p 0.400), but not in day 2026-01-02"


@pytest.mark.parametrize(
    ("status", "reasons", "words"),
    [
        ("Ready to ship", ["ctr better"], "holds: ctr better"),
        ("Goal failing", ["ctr better"], "fails: ctr better"),
        ("3 days left", ["b: ctr better"], "open: b: ctr better"),
        ("3 days left", ["20 units in the smaller variant"], "20 units in the smaller variant"),
        ("Unhealthy", ["the shares changed"], "the shares changed"),
        ("Ready to ship", [], ""),
    ],
)
def test_reasons_that_are_rules_say_whether_they_hold(status: str, reasons: list[str], words: str) -> None:
    verdicts = [{"variant": "b", "checks": [{"rule": "ctr better"}]}]
    assert describe_reasons({"status": status, "reasons": reasons, "verdicts": verdicts}) == words


def test_missing_units_are_those_of_the_plan_that_are_not_there() -> None:
    srm = {"observed": {"a": 90, "b": 120}, "expected": {"a": 100.0, "b": 100.0, "c": 10.0}}
    assert describe_missing(srm) == [
        "a: 10 missing (10.0 %)",
        "b: 20 too many (20.0 %)",
        "c: 10 missing (100.0 %)",
    ]


@pytest.mark.parametrize(
    ("contrast", "words"),
    [
        ({"p": None, "reason": "one day"}, "ctr: one day"),
        (
            {"p": 0.9, "corrected_p": 0.9},
            "ctr: no change of the effect over the days is shown (p 0.900 corrected)",
        ),
        (
            {"p": 0.01, "corrected_p": 0.02, "first": 0.1, "last": 0.0, "is_fading": True},
            "ctr: the effect is shown to fade (+0.1000 at first, 0.0000 at the end, p 0.020 corrected)",
        ),
    ],
)
def test_novelty_is_said_only_if_it_is_shown(contrast: dict[str, object], words: str) -> None:
    assert describe_novelty({"metric": "ctr", **contrast}) == words


def test_slices_differ_only_by_their_corrected_p() -> None:
    contrast = {"metric": "ctr", "column": "device", "p": 0.01, "corrected_p": 0.2}
    assert "no difference of the effect is shown" in describe_heterogeneity(contrast)


def test_the_banner_over_tests_names_what_fails_first() -> None:
    ready, failing = ("a", "Ready to ship"), ("b", "Unhealthy")
    assert describe_tests([]) is None
    banner = describe_tests([ready, failing])
    assert banner is not None
    assert (banner["state"], banner["title"]) == ("worse", "b: Unhealthy")
    assert (describe_tests([ready]) or {})["title"] == "a: Ready to ship"
    assert (describe_tests([("c", "3 days left")]) or {})["title"] == "1 test, none of them failing"


def test_users_who_prefer_the_baseline_are_not_for_the_candidate() -> None:
    body = {"baseline": "a", "candidate": "b", "winner": "a", "users": 9, "wins": 1, "losses": 8, "ties": 0}
    assert describe_interleaving(body)["state"] == "worse"
    assert describe_interleaving({**body, "winner": None})["state"] == "open"


def test_an_interval_without_ends_is_a_dash_and_an_unknown_status_is_open() -> None:
    assert format_share_interval({"low": None, "high": None}) == "–"
    assert format_share_interval({"low": -0.01, "high": None}) == "−1.00 % … –"
    assert state_of("7 days left") == "open"
