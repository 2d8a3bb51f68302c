"""Splits as flags of OpenFeature: the name of the flag is the experiment, its value the arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, FlagResolutionDetails, Reason
from openfeature.hook import Hook, HookContext, HookHints
from openfeature.provider import AbstractProvider, Metadata

from assay.rollout.assignment import ASSIGNED, REASONS, TrafficSplit

_REASONS = {reason: Reason.SPLIT if reason == ASSIGNED else Reason.TARGETING_MATCH for reason in REASONS}
Exposure = Callable[[str, str, str], None]  # experiment, unit, arm


class SplitProvider(AbstractProvider):
    """Evaluates flags by splits: `find` gives the split of a name, such as `SplitSource.split`.

    A text is the name of the arm; a boolean is whether the arm is not the first; numbers and objects have no
    value here. Without a split, or without a targeting key, the default is returned.
    """

    def __init__(self, find: Callable[[str], TrafficSplit | None]) -> None:
        super().__init__()
        self._find = find

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="assay")

    def get_provider_hooks(self) -> list[Hook]:
        """Return no hooks: `ExposureHook` is added by who wants exposures."""
        return []

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """Return the name of the arm."""
        split = self._find(flag_key)
        if split is None or evaluation_context is None or not evaluation_context.targeting_key:
            return _default(default_value, flag_key, split)
        arm, reason = split.assign(evaluation_context.targeting_key)
        return FlagResolutionDetails(arm, None, None, _REASONS[reason], arm)

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Return whether the unit is shown another arm than the first."""
        split = self._find(flag_key)
        if split is None or evaluation_context is None or not evaluation_context.targeting_key:
            return _default(default_value, flag_key, split)
        arm, reason = split.assign(evaluation_context.targeting_key)
        return FlagResolutionDetails(arm != split.arms[0], None, None, _REASONS[reason], arm)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Return the default: an arm is not a number."""
        return _mismatch(default_value)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Return the default: an arm is not a number."""
        return _mismatch(default_value)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[Any] | Mapping[str, Any],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Any]:
        """Return the default: an arm is not an object."""
        return _mismatch(default_value)


class ExposureHook(Hook):
    """Reports each exposure, once evaluated: only of units that are counted in the experiment."""

    def __init__(self, report: Exposure) -> None:
        self._report = report

    def finally_after(
        self, hook_context: HookContext, details: FlagEvaluationDetails[Any], hints: HookHints
    ) -> None:
        """Report the exposure."""
        unit = hook_context.evaluation_context.targeting_key
        if details.reason == Reason.SPLIT and details.variant and unit:
            self._report(details.flag_key, unit, details.variant)


def _default(value: Any, name: str, split: TrafficSplit | None) -> FlagResolutionDetails[Any]:
    if split is None:
        code, message = ErrorCode.FLAG_NOT_FOUND, f"there is no experiment {name!r}"
    else:
        code, message = ErrorCode.TARGETING_KEY_MISSING, "expected the id of the unit as targeting key"
    return FlagResolutionDetails(value, code, message, Reason.ERROR)


def _mismatch(default_value: Any) -> FlagResolutionDetails[Any]:
    message = "an arm is a text: ask for a text or a boolean"
    return FlagResolutionDetails(default_value, ErrorCode.TYPE_MISMATCH, message, Reason.ERROR)
