"""Compare the users that interleaving and an A/B test need on simulated traffic, and count false alarms.

needed: two searches of the help centre (latent semantic analysis of different dimensions); users who see
interleaved lists, and users of either search alone. The number of users at which the measured difference
is found with a power of 0.8, and how many times as many an A/B test needs, with intervals of 95 %.
power: in how many groups of as many users the difference is found; it should be near 0.8.
alarms: users who click by rank alone, so that no search is better; one search returns 3 documents, the
other 10. In how many groups of 300 users is a preference found at α 0.05 although there is none: with the
credit that the lists carry, and with a click that counts for the team of each document, whatever its rank.
Wilcoxon's test and the sign test are no tests of probabilistic credit, and shown to say why.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from report import format_table, print_progress, print_sections

from assay.core.arrays import Floats
from assay.core.events import Events
from assay.datasets import helpcentre
from assay.online.interleaving import METHODS
from assay.online.interleaving.event_credits import credit_events
from assay.online.interleaving.preference import TEST_NAMES, compare_rankers, measure_preference, tests_of
from assay.online.interleaving.sensitivity import METRICS, Sensitivity, compare_sensitivity
from assay.online.simulation import INTERLEAVED, TrafficSettings, simulate
from assay.search.in_memory import LSASearcher
from assay.stats import Estimate
from assay.stats.intervals import estimate_share
from assay.workflows.simulated_traffic import list_documents

USERS, AB_USERS = 20_000, 40_000
DIMENSIONS = {"large": (30, 150), "small": (60, 150)}  # of the baseline and of the candidate
GROUP, GROUPS = 300, 400  # users in each of the A/A tests
SHORT = 3  # documents of the ranker that runs out
ALPHA, POWER = 0.05, 0.8
MOST_ALARMS, LEAST_POWER = 0.065, 0.72  # the ends of intervals that must not be beyond
Rankings = Mapping[str, Mapping[str, list[str]]]
Section = Callable[[], tuple[str, list[str]]]


@cache
def search(dimensions: int) -> Mapping[str, list[str]]:
    """Return the documents of all queries of the help centre."""
    queries, _, documents = helpcentre()
    return list_documents(LSASearcher(documents, "lsa", dimensions=dimensions).search(queries, 10))


@cache
def rankers(name: str) -> Rankings:
    """Return the two searches of a difference."""
    return dict(zip(("baseline", "candidate"), map(search, DIMENSIONS[name]), strict=True))


def simulate_events(rankings: Rankings, users: int, **settings: object) -> Events:
    """Return the log of users of the help centre."""
    queries, qrels, _ = helpcentre()
    return simulate(rankings, queries, qrels, TrafficSettings(users=users, **settings)).events()  # type: ignore[arg-type]


def values_of_users(events: Events) -> Floats:
    """Return the preferences of all users in random order, 0 without a credit."""
    result = compare_rankers(credit_events(events), "baseline", "candidate")
    values = result.preferences[0].values
    every = np.concatenate((values, np.zeros(result.counts["users"] - len(values))))
    return np.random.default_rng(0).permutation(every)


# users needed, and the power that they have


@cache
def interleaved(name: str, method: str, users: int) -> Events:
    """Return the log of users who see interleaved lists."""
    return simulate_events(rankers(name), users, seed=1, method=method, arms={INTERLEAVED: 1.0})


@cache
def sensitivity(name: str, method: str, users: int, ab_users: int) -> Sensitivity:
    """Return the users that an interleaving and an A/B test of a difference need."""
    result = compare_rankers(credit_events(interleaved(name, method, users)), "baseline", "candidate")
    return compare_sensitivity(result, simulate_events(rankers(name), ab_users, seed=2))


def format_users(estimate: Estimate) -> str:
    """Return a number of users with its interval."""
    value, low, high = ("–" if end is None else f"{end:,.0f}" for end in estimate[:3])
    return f"{value} ({low} … {high})"


def format_times(estimate: Estimate) -> str:
    """Return how many times as many with its interval."""
    value, low, high = ("–" if end is None else f"{end:.1f}" for end in estimate[:3])
    return f"{value}× ({low} … {high})"


def needed_section(users: int, ab_users: int) -> tuple[str, list[str]]:
    """Return the users that each method needs beside an A/B test, and which needs more of them."""
    head = ["difference", "method", "users needed", *(f"A/B: {metric}" for metric in METRICS)]
    rows, missed = [], []
    for name in DIMENSIONS:
        for method in METHODS:
            print_progress(f"needed: {name} {method}")
            found = sensitivity(name, method, users, ab_users)
            times = [metric.times_as_many for metric in found.metrics]
            rows.append([name, method, format_users(found.interleaving), *map(format_times, times)])
            missed += [f"{name} {method}: an A/B test needs fewer" for t in times if (t.high or 99) < 1]
    return f"## Users needed\n\n{format_table(head, rows)}", missed


def share_found(values: Floats, size: int) -> Estimate:
    """Return in how many groups of users a difference is found, of as many groups as there are."""
    groups = values[: len(values) // size * size].reshape(-1, size)
    found = [is_found(group) for group in groups]
    return estimate_share(float(sum(found)), len(found), 0.95)


def is_found(values: Floats) -> bool:
    """Whether the test of the command finds that the candidate is preferred."""
    found = measure_preference("b", np.maximum(-values, 0), "c", np.maximum(values, 0))
    return found.winner() == "c"


def power_section(users: int, ab_users: int) -> tuple[str, list[str]]:
    """Return the share of groups in which each method finds the difference."""
    rows, missed = [], []
    for name in DIMENSIONS:
        for method in METHODS:
            print_progress(f"power: {name} {method}")
            size = round(sensitivity(name, method, users, ab_users).interleaving.value or 0)
            share = share_found(values_of_users(interleaved(name, method, users)), size)
            rows.append([name, method, f"{size:,}", f"{share.n}", format_share(share)])
            if share.high is not None and share.high < LEAST_POWER:
                missed.append(f"{name} {method}: power {format_share(share)} < {LEAST_POWER}")
    head = ["difference", "method", "users of a group", "groups", "found"]
    return f"## Power at this number of users\n\n{format_table(head, rows)}", missed


def format_share(share: Estimate) -> str:
    """Return a share with its interval."""
    if share.value is None or share.low is None or share.high is None:
        return "–"  # more users than were simulated
    return f"{share.value:.3f} ({share.low:.3f} … {share.high:.3f})"


# false alarms


def random_clicks(method: str, groups: int) -> Events:
    """Return the log of users who click by rank alone, on lists of which one runs out."""
    rankings = {
        "baseline": {query: docs[:SHORT] for query, docs in search(80).items()},
        "candidate": search(150),
    }
    arms = {INTERLEAVED: 1.0}
    flat = (0.3,) * 4  # the chance of a click is the same for all grades
    return simulate_events(rankings, GROUP * groups, seed=3, method=method, arms=arms, attraction=flat)


def without_credit(events: Events) -> Events:
    """Return a log whose queries have the teams of documents, but not what a click is worth."""
    attributes = events.queries["attributes"].str.replace(r',"(credit_by_doc|uncredited_docs)":.*$', "}")
    return replace(events, queries=events.queries.with_columns(attributes=attributes))


def alarms(events: Events) -> dict[str, Estimate]:
    """Return in how many groups of users each test finds a preference."""
    credits_of_pages = credit_events(events)
    users, totals = credits_of_pages.of_users()
    group = np.array([(int(user[1:]) - 1) // GROUP for user in users])
    parts = [totals[group == number] for number in np.unique(group)]
    found = [measure_preference("b", part[:, 0], "c", part[:, 1]).p_values for part in parts]
    counts = {test: sum(is_alarm(ps[test]) for ps in found) for test in TEST_NAMES}
    return {test: estimate_share(float(count), len(found), 0.95) for test, count in counts.items()}


def is_alarm(p: float | None) -> bool:
    return p is not None and p <= ALPHA


def alarms_section(groups: int) -> tuple[str, list[str]]:
    """Return the false alarms of each method, and which has too many."""
    rows, missed = [], []
    for method in METHODS:
        print_progress(f"alarms: {method}")
        events = random_clicks(method, groups)
        for credit, log in (("of the list", events), ("of the team", without_credit(events))):
            shares = alarms(log)
            rows.append([method, credit, *map(format_share, shares.values())])
            if credit == "of the list":
                missed += [
                    f"{method}, {test}: {format_share(share)} > {MOST_ALARMS}"
                    for test, share in shares.items()
                    if test in tests_of(method) and (share.low or 0) > MOST_ALARMS
                ]
    text = format_table(["method", "credit", *TEST_NAMES], rows)
    return f"## False alarms in {groups} A/A tests of {GROUP} users, α {ALPHA}\n\n{text}", missed


def sections(options: argparse.Namespace) -> Iterator[Section]:
    """Yield the sections that are asked for."""
    sizes = (options.users, options.ab_users)
    named: dict[str, Section] = {
        "needed": lambda: needed_section(*sizes),
        "power": lambda: power_section(*sizes),
        "alarms": lambda: alarms_section(options.groups),
    }
    yield from (section for name, section in named.items() if options.only in (None, name))


def main() -> None:
    """Print the tables; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=USERS, help=f"of interleaved lists (default: {USERS:,})")
    parser.add_argument(
        "--ab-users", type=int, default=AB_USERS, help=f"of both arms (default: {AB_USERS:,})"
    )
    parser.add_argument("--groups", type=int, default=GROUPS, help=f"A/A tests (default: {GROUPS})")
    parser.add_argument("--only", choices=("needed", "power", "alarms"), help="print one table")
    print_sections(sections(parser.parse_args()))


if __name__ == "__main__":
    main()
