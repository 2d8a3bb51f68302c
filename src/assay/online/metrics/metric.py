"""What an online metric is, and the settings that its definition depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.core.errors import InputError

if TYPE_CHECKING:
    from ibis.expr.types import Table, Value

Column = Callable[["Table"], "Value"]  # an expression over a table

SCOPES = ("query", "session", "unit")


@dataclass(frozen=True)
class Metric:
    """A metric of what users did, computed from the facts of each query.

    In the scope `query` it is the sum of `value` over the sum of `weight`, over all queries; in the scope
    `session` a session counts 1 if `value` holds for one of its queries; in the scope `unit` it is the
    mean over units of `value`, an aggregate of the queries of a unit, or of `value` over `weight`.
    """

    name: str
    definition: str
    value: Column = field(compare=False, repr=False)
    weight: Column | None = field(default=None, compare=False, repr=False)  # None: 1 where `value` is defined
    facts: frozenset[str] = frozenset()  # of a query, see `query_facts.FACTS`
    aggregates: Mapping[str, Column] = field(default_factory=dict, compare=False, repr=False)  # of its events
    scope: str = "query"
    is_per_unit: bool = False  # in the scope `query`: the sum of `value` per unit, not per query
    quantile: float | None = None  # of the values of all queries, in place of their mean
    is_share: bool = False  # whether it lies between 0 and 1
    may_be_negative: bool = False
    lower_is_better: bool | None = None  # None: neither
    unit: str = ""  # of its values: s, ms or nothing

    @property
    def is_ratio(self) -> bool:
        """Whether it is a sum over units divided by another."""
        is_sum = self.is_per_unit or (self.scope == "unit" and self.weight is None)
        return self.quantile is None and not is_sum


@dataclass(frozen=True, kw_only=True)
class MetricSettings:
    """What the definitions of the metrics depend on."""

    idle_minutes: float = 30.0  # that end a session, if the log does not name sessions
    reformulation_minutes: float = 5.0
    completions: tuple[str, ...] = ("purchase",)  # the actions that complete a search
    clicks: tuple[str, ...] = ("click",)
    winsorise: float | None = None  # the quantile of the values of queries at which larger ones are cut

    def __post_init__(self) -> None:
        for name in ("idle_minutes", "reformulation_minutes"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"--{name.replace('_', '-')} must be greater than 0, found {getattr(self, name):g}"
                )
        if self.winsorise is not None and not 0.5 < self.winsorise < 1:
            raise InputError(
                f"--winsorise expects a quantile between 0.5 and 1, such as 0.99, found {self.winsorise:g}"
            )


DEFAULT_SETTINGS = MetricSettings()
