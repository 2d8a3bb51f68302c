"""The options of an A/B test: those of the command, and for the rest those of [online.ab] in assay.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.core.errors import ConfigurationError, InputError
from assay.core.settings import SettingsReader, is_number
from assay.online.ab.design import (
    SEQUENTIAL_METHODS,
    ABDesign,
    Margin,
    MetricRole,
    parse_columns,
    parse_margin,
    parse_named_margin,
    parse_phase,
)
from assay.online.ab.unit_columns import UnitColumns
from assay.stats.corrections import CORRECTIONS
from assay.workflows.settings import PROJECT_FILE, read_project_settings, read_settings


@dataclass(frozen=True, kw_only=True)
class ABOptions:
    """The options of a command as texts; None and empty: not said."""

    metrics: Sequence[str] = ()
    goals: Sequence[str] = ()  # METRIC or METRIC=MARGIN
    guardrails: Sequence[str] = ()
    secondary: Sequence[str] = ()
    lower: Sequence[str] = ()  # metrics that are better if lower
    control: str | None = None
    shares: Sequence[str] = ()
    ratios: Sequence[str] = ()
    covariates: Sequence[str] = ()
    quantiles: Sequence[str] = ()
    unit: str | None = None
    variant: str | None = None
    day: str | None = None
    stratum: str | None = None
    phase: str | None = None
    by: Sequence[str] = ()
    level: float | None = None
    correction: str | None = None
    inference: str | None = None  # one of SEQUENTIAL_METHODS
    looks: int | None = None
    planned_days: int | None = None
    planned_n: int | None = None
    days: int | None = None
    mde: str | None = None
    power: float | None = None
    min_n: int | None = None


@dataclass(frozen=True)
class ABSettings:
    """The design of a test, and the columns of its units."""

    design: ABDesign
    columns: UnitColumns
    metrics: Sequence[str] = field(default_factory=tuple)  # all that are named, for a log of events


def read_ab_settings(options: ABOptions, project: str | None = None) -> ABSettings:
    """Return the settings of a test: each option that is not said is read from [online.ab]."""
    merged = _merge(options, _project_options(project))
    is_watched = merged.inference == "always-valid"
    looks = None if is_watched or merged.inference == "fixed" else merged.looks
    if merged.inference == "group-sequential" and not looks:
        looks = merged.planned_days or 5
    design = ABDesign(
        control=merged.control,
        phases=[parse_phase(text) for text in merged.shares],
        roles=_roles(merged),
        looks=looks,
        planned_days=merged.planned_days,
        planned_n=merged.planned_n,
        days=merged.days,
        is_watched=is_watched,
        mde=None if merged.mde is None else parse_margin(merged.mde, "--mde"),
        **_given(merged, ("level", "correction", "power", "min_n")),
    )
    return ABSettings(design, _columns(merged), list(dict.fromkeys([*merged.metrics, *design.roles])))


def _given(options: ABOptions, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _merge(options: ABOptions, project: ABOptions) -> ABOptions:
    said = {f.name: getattr(options, f.name) for f in fields(options)}
    return replace(project, **{name: value for name, value in said.items() if value not in (None, (), [])})


def _roles(options: ABOptions) -> dict[str, MetricRole]:
    """Return the role of each metric that has one; a metric has one role."""
    roles: dict[str, MetricRole] = {}
    lists = {"goal": options.goals, "guardrail": options.guardrails, "secondary": options.secondary}
    for role, texts in lists.items():
        for text in texts:
            name, margin = parse_named_margin(text, f"--{role}")
            if name in roles:
                raise InputError(f"the metric {name} has two roles: {roles[name].role} and {role}")
            roles[name] = MetricRole(role, margin, name in options.lower)
    default = "secondary" if options.goals else "goal"
    return roles | {name: MetricRole(default, Margin(), True) for name in options.lower if name not in roles}


def _columns(options: ABOptions) -> UnitColumns:
    quantiles = dict(_parse_quantile(text) for text in options.quantiles)
    ratios = dict(parse_columns(text, "--ratio") for text in options.ratios)
    for name, parts in ratios.items():
        if len(parts) != 2:
            raise InputError(f"--ratio {name} expects COLUMN/COLUMN, found {parts[0]!r}")
    return UnitColumns(
        metrics=options.metrics,
        ratios=ratios,
        covariates=dict(parse_columns(text, "--covariate") for text in options.covariates),
        quantiles=quantiles,
        day=options.day,
        stratum=options.stratum,
        phase=options.phase,
        by=options.by,
        **_given(options, ("unit", "variant")),
    )


def _parse_quantile(text: str) -> tuple[str, tuple[str, float]]:
    """Read METRIC=COLUMN@95."""
    name, separator, rest = text.partition("=")
    column, at, percent = rest.partition("@")
    try:
        q = float(percent.removeprefix("p")) / 100
    except ValueError:
        q = 0.0
    if not separator or not at or not name or not column or not 0 < q < 1:
        raise InputError(f"--quantile expects METRIC=COLUMN@PERCENT such as p95=latency@95, found {text!r}")
    return name, (column, q)


def _project_options(project: str | None) -> ABOptions:
    """Return the options of [online.ab]; none if there is no assay.toml and none is named."""
    if project is None and not Path(PROJECT_FILE).exists():
        return ABOptions()
    path = project or PROJECT_FILE
    settings = read_project_settings(path) if project else read_settings(path)
    online = settings.get("online", {})
    table = online.get("ab", {}) if isinstance(online, Mapping) else {}
    if not isinstance(table, Mapping):
        raise ConfigurationError({"online.ab": f"expected a table, found {table!r}"}, str(path))
    reader = SettingsReader(table, "online.ab")
    options = _read_options(reader)
    reader.refuse_unknown()
    if reader.problems:
        raise ConfigurationError(reader.problems, str(path))
    return options


def _read_options(reader: SettingsReader) -> ABOptions:
    listing = "a metric or a list of metrics"
    return ABOptions(
        metrics=reader.texts("metrics", listing),
        goals=_margins(reader, "goals"),
        guardrails=_margins(reader, "guardrails"),
        secondary=reader.texts("secondary", listing),
        lower=reader.texts("lower", listing),
        control=reader.text("control"),
        shares=_shares(reader),
        ratios=_pairs(reader, "ratios", "a table METRIC = 'COLUMN/COLUMN'"),
        covariates=_pairs(reader, "covariates", "a table METRIC = 'COLUMN'"),
        quantiles=_pairs(reader, "quantiles", "a table METRIC = 'COLUMN@95'"),
        unit=reader.text("unit"),
        variant=reader.text("variant"),
        day=reader.text("day"),
        stratum=reader.text("stratify"),
        phase=reader.text("phase"),
        by=reader.texts("by", "a column or a list of columns"),
        level=reader.value("level", "a number between 0 and 1", lambda v: is_number(v) and 0 < v < 1, None),
        correction=reader.value("correction", _choices(CORRECTIONS), lambda v: v in CORRECTIONS, None),
        inference=reader.value(
            "inference", _choices(SEQUENTIAL_METHODS), lambda v: v in SEQUENTIAL_METHODS, None
        ),
        looks=_count(reader, "looks"),
        planned_days=_count(reader, "planned_days"),
        planned_n=_count(reader, "planned_n"),
        mde=_margin(reader, "mde"),
        power=reader.value("power", "a number between 0 and 1", lambda v: is_number(v) and 0 < v < 1, None),
        min_n=_count(reader, "min_n"),
    )


def _choices(names: Sequence[str]) -> str:
    return f"one of {', '.join(names)}"


def _count(reader: SettingsReader, name: str) -> int | None:
    value = reader.value(name, "a whole number of at least 1", lambda v: isinstance(v, int) and v >= 1, None)
    return None if value is None else int(value)


def _margin(reader: SettingsReader, name: str) -> str | None:
    value = reader.value(
        name, "a difference such as 0.01 or '2%'", lambda v: isinstance(v, str) or is_number(v), None
    )
    return None if value is None else str(value)


def _margins(reader: SettingsReader, name: str) -> list[str]:
    """Return the metrics of a role, a list or a table METRIC = MARGIN."""
    expected = "a list of metrics, or a table METRIC = MARGIN such as 0.01 or '2%'"
    value = reader.value(name, expected, lambda v: isinstance(v, list | Mapping | str), [])
    if isinstance(value, Mapping):
        return [f"{metric}={margin}" for metric, margin in value.items()]
    return [value] if isinstance(value, str) else [str(metric) for metric in value]


def _pairs(reader: SettingsReader, name: str, expected: str) -> list[str]:
    value = reader.value(name, expected, lambda v: isinstance(v, Mapping), {})
    return [f"{metric}={columns}" for metric, columns in value.items()]


def _shares(reader: SettingsReader) -> list[str]:
    """Return the planned shares: a table VARIANT = SHARE, or texts as --shares reads them."""
    expected = "a table VARIANT = SHARE, or a list of texts 'DAY:VARIANT=SHARE,…'"
    value = reader.value("shares", expected, lambda v: isinstance(v, list | Mapping | str), [])
    if isinstance(value, Mapping):
        return [",".join(f"{variant}={share}" for variant, share in value.items())] if value else []
    return [value] if isinstance(value, str) else [str(text) for text in value]
