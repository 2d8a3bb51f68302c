"""The analysis of an A/B test from its sums: roles, corrections, phases and traffic."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from assay.core.errors import InputError
from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.cells import DAY, STRATUM, Cell, TestSums
from assay.online.ab.design import ABDesign, Margin, MetricRole, parse_phase
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.moments import Moments, add_moments
from assay.stats.unit_differences import difference
from tests.online.ab.tables import by_key, ramp, share, two_arms

GUARDED = {"clicks": MetricRole("goal"), "errors": MetricRole("guardrail", Margin(), lower_is_better=True)}
RAMP = [parse_phase("control=95,candidate=5"), parse_phase("2026-01-08:control=50,candidate=50")]


def analyse(sums: TestSums, **design: object) -> ABTest:
    return analyse_sums(sums, ABDesign(**design))  # type: ignore[arg-type]


def test_a_goal_that_is_better_with_whole_guardrails_is_ready_to_ship() -> None:
    test = analyse(two_arms(errors=(100, 95)), roles=GUARDED)
    assert (test.status.label, test.exit_code) == ("Ready to ship", 0)
    assert test.status.reasons == ["clicks better"]
    clicks, errors = test.metrics
    assert (clicks.role.role, clicks.direction(), errors.direction()) == ("goal", "better", None)


def test_a_guardrail_that_is_worse_fails_whatever_the_goal_is() -> None:
    test = analyse(two_arms(errors=(100, 200)), roles=GUARDED)
    assert (test.status.label, test.exit_code) == ("Guardrails failing", 1)
    assert test.status.reasons == ["errors not worse"]


def test_a_guardrail_with_a_margin_must_be_shown_to_hold() -> None:
    roles = {**GUARDED, "errors": MetricRole("guardrail", Margin(0.001), lower_is_better=True)}
    narrow = analyse(two_arms(errors=(100, 100)), roles=roles).status
    assert (narrow.label, narrow.reasons) == ("Undecided", ["errors not worse by more than 0.001"])
    wide = {**GUARDED, "errors": MetricRole("guardrail", Margin(0.02), lower_is_better=True)}
    assert analyse(two_arms(errors=(100, 100)), roles=wide).status.label == "Ready to ship"


def test_a_goal_that_is_worse_says_so() -> None:
    assert analyse(two_arms(hits=(600, 500))).status.label == "Goal failing"


def test_a_fixed_test_is_not_decided_before_its_planned_end() -> None:
    early = analyse(two_arms(), planned_n=20_000)
    assert (early.status.label, early.status.units_left) == ("10,000 units left", 10_000)
    days = analyse(two_arms(), planned_days=14, days=5)
    assert days.status.label == "9 days left"
    assert analyse(two_arms(), planned_n=10_000).status.label == "Ready to ship"


def test_the_days_left_follow_from_the_effect_that_matters() -> None:
    test = analyse(two_arms(hits=(500, 505)), mde=Margin(0.01), days=5)
    needed = test.progress.planned_n or 0
    assert test.progress.basis == "power"
    assert needed == pytest.approx(2 * 0.1 * 0.9 * (1.96 + 0.8416) ** 2 / 0.01**2 * 2, rel=0.01)
    assert test.status.label == f"{test.status.days_left} days left"
    assert test.status.days_left == int(np.ceil((needed - 10_000) / 2000))


def test_p_is_corrected_over_the_metrics_of_a_role_as_in_statsmodels() -> None:
    sums = two_arms(hits=(500, 570), a=(400, 450), b=(300, 301), c=(90, 120))
    for correction, method in (("holm", "holm"), ("bh", "fdr_bh")):
        results = analyse(sums, correction=correction).metrics
        ps = [r.absolute.p for r in results]
        expected = multipletests(np.array(ps, float), method=method)[1]
        assert [r.corrected_p for r in results] == pytest.approx(list(expected))
    assert [r.corrected_p for r in analyse(sums, correction="none").metrics] == ps


def test_goals_and_other_metrics_are_corrected_apart() -> None:
    sums = two_arms(a=(400, 450), b=(300, 301))
    clicks, a, _ = analyse(sums, roles={"clicks": MetricRole("goal")}).metrics
    assert clicks.corrected_p == clicks.absolute.p
    assert a.corrected_p == pytest.approx(2 * (a.absolute.p or 0))


def test_two_variants_are_each_compared_with_the_control() -> None:
    sums = two_arms()
    third = Cell("other", (), 5000, {"clicks": share(5000, 480)})
    test = analyse(TestSums([*sums.cells, third]))
    assert [(r.variant, r.direction()) for r in test.metrics] == [("candidate", "better"), ("other", None)]
    assert test.metrics[0].corrected_p == pytest.approx(2 * (test.metrics[0].absolute.p or 0))
    assert test.status.reasons == ["candidate: clicks better"]


def test_an_aa_test_that_is_ramped_shows_an_effect_only_if_it_is_pooled() -> None:
    sums = ramp()
    pooled = difference(*(sums.arms()[name].metrics["clicks"] for name in ("control", "candidate")))
    assert (pooled.p or 1) < 0.001
    test = analyse(sums, phases=RAMP)
    assert (test.metrics[0].absolute.p or 0) > 0.05
    assert test.metrics[0].absolute.method == "Welch, post-stratified"
    assert test.status.label == "No effect shown"
    assert [phase.name for phase in test.traffic.phases] == [
        "2026-01-01 to 2026-01-07",
        "2026-01-08 to 2026-01-14",
    ]


def test_a_ramp_that_was_not_planned_is_found_analysed_by_phase_and_unhealthy() -> None:
    test = analyse(ramp())
    assert (test.status.label, test.exit_code) == ("Unhealthy", 3)
    assert "changed on 2026-01-08" in " ".join(test.status.reasons)
    assert (test.metrics[0].absolute.p or 0) > 0.05


def test_slices_of_a_ramp_are_compared_within_its_phases() -> None:
    whole = ramp(users=2000)
    cells = [
        Cell(cell.variant, (*cell.keys, device), cell.n, cell.metrics)
        for cell in whole.cells
        for device in ("phone", "desktop")
    ]
    test = analyse(TestSums(cells, (DAY, "device")), phases=RAMP)
    assert [part.result.absolute.method for part in test.slices] == ["Welch, post-stratified"] * 2
    assert min(part.result.absolute.p or 0 for part in test.slices) > 0.01


def test_a_quantile_is_unknown_where_shares_changed() -> None:
    values = np.random.default_rng(0).exponential(100, 500)
    quantile = clustered_quantile(values, np.arange(500), 0.95)
    both = {"p95": {"control": quantile, "candidate": quantile}}
    sums = TestSums(ramp(users=500).cells, (DAY,), quantiles=both)
    result = analyse(sums, phases=RAMP).metrics[-1]
    assert (result.metric, result.absolute.p) == ("p95", None)
    assert "the shares of the variants changed" in result.absolute.reason
    once = analyse(TestSums(two_arms().cells, quantiles=both)).metrics[-1]
    assert (once.absolute.p, once.absolute.method) == (1.0, "p95, clustered by user")


def test_an_effect_that_fades_is_novelty_and_chance_is_not() -> None:
    def days(effects: list[int]) -> ABTest:
        parts = {
            f"2026-01-{day:02d}": {"control": (4000, 1200), "candidate": (4000, 1200 + effect)}
            for day, effect in enumerate(effects, 1)
        }
        return analyse(by_key(DAY, parts))

    (fading,) = days([300, 250, 200, 120, 80, 40, 10]).novelty
    assert (fading.is_fading, fading.is_growing) == (True, False)
    assert fading.to_dict()["slope"]["value"] < 0
    (steady,) = days([120, 130, 110, 125, 118, 122, 119]).novelty
    assert (steady.is_fading, steady.is_growing) == (False, False)
    (unknown,) = days([100, 100]).novelty
    assert (unknown.is_fading, unknown.trend.reason) == (None, "fewer than three days with an interval")


def test_strata_are_post_stratified() -> None:
    rng = np.random.default_rng(1)
    cells: list[Cell] = []
    strata: dict[str, dict[str, Moments]] = {}
    for stratum, mean in (("new", 1.0), ("old", 5.0)):
        for variant, n in (("control", 400), ("candidate", 500)):
            moments = Moments.from_values(rng.normal(mean, 1, n))
            cells.append(Cell(variant, (stratum,), n, {"visits": moments}))
            strata.setdefault(variant, {})[stratum] = moments
    result = analyse(TestSums(cells, (STRATUM,)), phases=[parse_phase("control=4,candidate=5")]).metrics[0]
    expected = difference(strata["control"], strata["candidate"])
    assert result.absolute.estimate == expected.estimate
    pooled = difference(*(add_moments(arm.values()) for arm in strata.values()))
    assert (result.absolute.error or 9) < (pooled.error or 0) / 1.5


def test_an_arm_of_share_0_is_expected_to_have_no_unit() -> None:
    plan = [parse_phase("control=50,candidate=50,off=0")]
    test = analyse(two_arms(n=(4900, 5100)), phases=plan)
    assert test.traffic.ratio.p == pytest.approx(0.0455, abs=1e-4)
    assert test.traffic.ratio.observed["off"] == 0
    assert test.status.label == "Ready to ship"
    stray = Cell("off", (), 3, {"clicks": share(3, 1)})
    found = analyse(TestSums([*two_arms().cells, stray]), phases=plan)
    assert (found.status.label, found.traffic.ratio.unplanned) == ("Unhealthy", 3)


def test_a_planned_variant_without_units_is_a_mismatch() -> None:
    test = analyse(two_arms(), phases=[parse_phase("control=1,candidate=1,third=1")])
    assert test.status.label == "Unhealthy"
    assert test.metrics[-1].absolute.p is None


def test_the_sample_ratio_is_sequential_when_watched_and_checked_by_day_and_slice() -> None:
    even = {"control": (500, 50), "candidate": (500, 60)}
    days = {f"2026-01-{day:02d}": even for day in range(1, 8)}
    watched = analyse(by_key(DAY, days), is_watched=True)
    assert watched.traffic.ratio.method == "sequential multinomial"
    browsers = {"a": even, "b": even, "c": {"control": (700, 70), "candidate": (500, 60)}}
    test = analyse(by_key("browser", browsers))
    assert [(part.column, part.value) for part in test.traffic.mismatches] == [("browser", "c")]
    assert "browser c" in test.status.reasons[1]


def test_units_in_several_variants_are_unhealthy_above_one_percent() -> None:
    few, many = (TestSums(two_arms().cells, excluded={"in several variants": n}) for n in (90, 110))
    assert analyse(few).status.label == "Ready to ship"
    assert "units were in several variants" in analyse(many).status.reasons[0]


def test_failure_is_no_data_or_null_and_never_a_p_of_1() -> None:
    nothing = analyse(TestSums([]))
    assert (nothing.status.label, nothing.exit_code, nothing.traffic.ratio.p) == ("No data", 3, None)
    alone = analyse(TestSums([Cell("control", (), 500, {"clicks": share(500, 50)})]))
    assert alone.status.reasons == ["only one variant has units: control"]
    zero = analyse(two_arms(hits=(0, 0)))
    assert zero.metrics[0].absolute.p is None
    assert "no variance" in zero.metrics[0].absolute.reason
    assert zero.to_dict()["metrics"][0]["p"] is None
    assert zero.status.label == "No effect shown"


def test_too_few_units_decide_nothing() -> None:
    test = analyse(two_arms(n=(80, 80), hits=(10, 40)))
    assert (test.status.label, test.exit_code) == ("Not enough data", 3)
    assert test.status.reasons == ["80 units in the smaller variant, of at least 100"]
    assert analyse(two_arms(n=(80, 80), hits=(10, 40)), min_n=50).status.label == "Ready to ship"


def test_a_watched_test_and_a_planned_one_widen_their_intervals() -> None:
    fixed, watched = analyse(two_arms()), analyse(two_arms(), is_watched=True)
    planned = analyse(two_arms(), looks=5, planned_n=20_000)
    widths = [
        (e.high or 0) - (e.low or 0)
        for e in (test.metrics[0].absolute.estimate for test in (fixed, planned, watched))
    ]
    assert widths == sorted(widths)
    assert watched.to_dict()["inference"] == "always-valid"
    assert planned.metrics[0].absolute.method == "Welch, group sequential (obrien-fleming)"


def test_the_guardrails_of_a_planned_test_are_always_valid() -> None:
    test = analyse(two_arms(errors=(100, 95)), roles=GUARDED, looks=5, planned_n=20_000)
    assert [r.absolute.method for r in test.metrics] == [
        "Welch, group sequential (obrien-fleming)",
        "Welch, always valid",
    ]


def test_unknown_roles_and_controls_are_refused() -> None:
    with pytest.raises(InputError, match="no metric click; did you mean clicks"):
        analyse(two_arms(), roles={"click": MetricRole()})
    with pytest.raises(InputError, match="no variant 'x'"):
        analyse(two_arms(), control="x")
    with pytest.raises(InputError, match="found both"):
        ABDesign(looks=3, is_watched=True)
