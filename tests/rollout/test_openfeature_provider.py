"""Splits as flags of OpenFeature, through its client."""

from collections.abc import Iterator

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason

from assay.rollout.assignment import TrafficSplit
from assay.rollout.openfeature_provider import ExposureHook, SplitProvider

SPLITS = {
    "ranker": TrafficSplit("ranker", 0.5, overrides={"tester": "treatment"}),
    "old": TrafficSplit("old", everyone="control"),
}


@pytest.fixture
def client() -> Iterator[OpenFeatureClient]:
    api.set_provider(SplitProvider(SPLITS.get))
    yield api.get_client()
    api.clear_providers()


def test_a_text_is_the_arm_and_a_boolean_whether_it_is_new(client: OpenFeatureClient) -> None:
    for number in range(50):
        found = SPLITS["ranker"].assign(f"user-{number}")
        context = EvaluationContext(f"user-{number}")
        assert client.get_string_value("ranker", "none", context) == found.arm
        assert client.get_boolean_value("ranker", False, context) == (found.arm == "treatment")


def test_a_missing_split_or_key_gives_the_default(client: OpenFeatureClient) -> None:
    missing = client.get_string_details("unknown", "shown before", EvaluationContext("u"))
    assert (missing.value, missing.error_code) == ("shown before", ErrorCode.FLAG_NOT_FOUND)
    keyless = client.get_string_details("ranker", "shown before")
    assert (keyless.value, keyless.error_code) == ("shown before", ErrorCode.TARGETING_KEY_MISSING)
    assert client.get_integer_details("ranker", 3, EvaluationContext("u")).value == 3


def test_only_counted_units_are_exposures(client: OpenFeatureClient) -> None:
    exposures: list[tuple[str, str, str]] = []
    client.add_hooks([ExposureHook(lambda *exposure: exposures.append(exposure))])
    units = [*(f"user-{number}" for number in range(50)), "tester"]
    for unit in units:
        client.get_string_value("ranker", "none", EvaluationContext(unit))
        client.get_string_value("old", "none", EvaluationContext(unit))
    assigned = [(unit, SPLITS["ranker"].assign(unit)) for unit in units]
    assert exposures == [("ranker", unit, found.arm) for unit, found in assigned if found.is_counted]


def test_the_reason_is_a_split_only_within_the_experiment(client: OpenFeatureClient) -> None:
    details = client.get_string_details("ranker", "none", EvaluationContext("tester"))
    assert (details.value, details.reason) == ("treatment", Reason.TARGETING_MATCH)
