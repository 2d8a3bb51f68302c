"""Online evidence in a store, as the commands keep it: an A/B test, an interleaving and online metrics."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

from assay.core.online_records import AB_TEST, INTERLEAVING, ONLINE_METRICS
from assay.core.tables import Scores
from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.cells import DAY, Cell, TestSums
from assay.online.ab.design import ABDesign, Margin, MetricRole
from assay.stats.moments import Moments
from assay.store.store import Store
from assay.workflows.online_saving import SaveOnlineRequest, save_online
from tests.stores import experiment

SHARES = {"control": 0.5, "candidate": 0.5}
VARIANTS = ("control", "candidate")
DEFINITION = "queries with a click by all queries"
ROLES = {
    "click_through": MetricRole("goal"),
    "latency_p95": MetricRole("guardrail", Margin(0.05, is_relative=True), lower_is_better=True),
}


def analyse(
    effect: float = 0.05, slowdown: float = 0.0, days: int = 14, shares: Mapping[str, float] = SHARES
) -> ABTest:
    """Analyse a test of 600 units a day with a relative effect on clicks and on latency."""
    generator = np.random.default_rng(5)
    cells = []
    for day in range(1, days + 1):
        for device in ("desktop", "phone"):
            for variant, share in shares.items():
                is_candidate = variant == "candidate"
                n = round(300 * share) * 2
                clicks = generator.normal(0.4 * (1 + effect * is_candidate), 0.2, n)
                latency = generator.normal(120 * (1 + slowdown * is_candidate), 20, n)
                other = generator.normal(1.5, 0.6, n)
                columns = {"click_through": clicks, "latency_p95": latency, "reformulation": other}
                metrics = {name: _moments(values) for name, values in columns.items()}
                cells.append(Cell(variant, (f"2026-03-{day:02d}", device), n, metrics))
    sums = TestSums(cells, (DAY, "device"))
    return analyse_sums(sums, ABDesign(control="control", roles=ROLES, is_watched=True))


def _moments(values: Any) -> Moments:
    return Moments(n=len(values), sum=float(values.sum()), sum_squares=float((values**2).sum()))


def save_test(store: Path, name: str, test: ABTest | Mapping[str, Any], *offline: str) -> str:
    """Keep a test, linked to offline experiments; return its id."""
    body = test.to_dict() if isinstance(test, ABTest) else test
    return save_online(AB_TEST, body, SaveOnlineRequest(name=name, offline=offline, store=str(store))).id


def save_interleaving(store: Path, name: str = "interleaved") -> str:
    """Keep an interleaving that users decided for the candidate."""
    share = {"value": 0.6, "low": 0.55, "high": 0.65, "n": 400}
    body = {
        "method": "team-draft",
        "queries": 2000,
        "baseline": "words",
        "candidate": "vectors",
        "users": 500,
        "wins": 240,
        "losses": 160,
        "ties": 100,
        "preference": {"value": 0.08, "low": 0.04, "high": 0.12, "n": 500},
        "win_share": share,
        "p": 0.0001,
        "test": "wilcoxon",
        "tests": {"wilcoxon": 0.0001, "sign": 0.0002},
        "winner": "vectors",
        "counts": {"queries": 2000, "users": 500},
        "problems": [],
    }
    return save_online(INTERLEAVING, body, SaveOnlineRequest(name=name, store=str(store))).id


def save_metrics(store: Path, days: int = 6, name: str = "week") -> str:
    """Keep online metrics by day, of which the fourth is missing."""
    rows = []
    for day in range(1, days + 1):
        value = 0.4 + 0.01 * day
        e = {"value": value, "low": value - 0.02, "high": value + 0.02, "n": 1000 + day}
        if day != 4:
            metrics = {"click_through": e, "zero_result": {**e, "value": None, "low": None, "high": None}}
            rows.append({"column": "day", "value": f"2026-03-{day:02d}", "units": e["n"], "metrics": metrics})
    problem = {"kind": "missing_id", "count": 3, "example": "log.ndjson:7", "treatment": "left out"}
    whole = {
        "click_through": {"value": 0.43, "low": 0.42, "high": 0.44, "n": 5000},
        "zero_result": {"value": None, "low": None, "high": None, "n": 0},
    }
    for name in VARIANTS:
        own = {"value": 0.42, "low": 0.4, "high": 0.44, "n": 2500}
        row = {"column": "variant", "value": name, "units": 2500, "metrics": {"click_through": own}}
        rows.append(row)
    body = {
        "metrics": whole,
        "counts": {"queries": 9000},
        "problems": [problem],
        "by": rows,
        "definitions": {"click_through": DEFINITION},
        "unit": "client_id",
    }
    return save_online(ONLINE_METRICS, body, SaveOnlineRequest(name=name, store=str(store))).id


def save_releases(store: Path, count: int = 6, reversed_at: int | None = None) -> None:
    """Keep A/B tests whose online difference follows the offline one, but for one that is turned over."""
    generator = np.random.default_rng(3)
    queries = [f"q{number}" for number in range(60)]
    base = 0.2 + 0.4 * generator.random(len(queries))
    for number in range(count):
        effect = 0.03 * (number - count / 2 + 0.25)
        ids = []
        with Store(store) as opened:
            for name, shift in (("base", 0.0), ("next", effect)):
                noise = generator.normal(0, 0.02, len(queries)) * bool(shift)
                values = Scores(queries, {"nDCG@10": base + shift + noise})
                ids.append(opened.put(experiment(f"{name} {number}"), values).id)
        online = -3 * effect if number == reversed_at else 3 * effect
        save_test(store, f"release {number}", analyse(effect=online, days=2), *ids)


def read_table(client: httpx2.Client, path: str, table: int = 1) -> list[list[str]]:
    """Return the rows of a table of a page, as they are exported; empty columns are left out."""
    lines = client.get(f"{path}.csv", params={"table": table}).text.splitlines()
    return list(csv.reader(lines))[1:]


def save_online_evidence(store: Path) -> None:
    """Keep one of each kind, with releases of which one contradicts its offline evidence."""
    save_releases(store, reversed_at=5)
    save_test(store, "lopsided", analyse(days=3, shares={"control": 0.5, "candidate": 0.4}))
    save_interleaving(store)
    save_metrics(store)


def save_hostile_evidence(store: Path, text: str, offline: Sequence[str]) -> None:
    """Keep one of each kind in which every text is this one."""
    for _ in range(2):  # two looks
        save_online(AB_TEST, _hostile(analyse(days=2).to_dict(), text), _request(store, text, offline))
    e = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    needed = {"users_needed": e, "times_as_many": e, "metric": text}
    rankers = {
        "baseline": text,
        "candidate": f"{text} ",
        "winner": text,
        "method": text,
        "test": text,
        "p": 0.1,
    }
    beside = {"power": 0.8, "interleaving": {"users_needed": e}, "ab": [needed]}
    tables = {"tests": {text: 0.1}, "counts": {text: 1}, "beside_ab": beside}
    problem = {"kind": text, "count": 3, "example": text, "treatment": text}
    body = {**rankers, **tables, "users": 9, "wins": 1, "losses": 8, "ties": 0, "win_share": e}
    save_online(INTERLEAVING, {**body, "problems": [problem]}, _request(store, text, offline))
    for unit in (text, f"{text} "):
        by = [{"column": column, "value": text, "metrics": {text: e}} for column in ("variant", text)]
        log = {"metrics": {text: e}, "by": by, "problems": [problem], "unit": unit}
        log |= {"definitions": {text: text}, "reasons": {text: text}}
        save_online(ONLINE_METRICS, log, _request(store, text, ()))


def _request(store: Path, name: str, offline: Sequence[str]) -> SaveOnlineRequest:
    return SaveOnlineRequest(name=name, offline=offline, store=str(store))


def _hostile(value: Any, text: str) -> Any:
    """Return a body in which names and words end with a text."""
    if isinstance(value, Mapping):
        return {key: _hostile(part, text) for key, part in value.items()}
    if isinstance(value, list):
        return [_hostile(part, text) for part in value]
    return (
        f"{value}{text}"
        if isinstance(value, str) and value not in ("goal", "guardrail", "secondary")
        else value
    )
