"""A choice in words, and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from assay.indexes.choice.floors import LEVEL, Figure, Floor, Known

if TYPE_CHECKING:  # it says what it is in these words
    from assay.indexes.choice.selection import Candidate, Check, Selection

_HELD = "on the queries that were held out"
SAID = {
    "confirmed": f"confirmed: {_HELD}, every floor of recall and robustness holds with its whole interval",
    "cannot be decided": f"cannot be decided: {_HELD} the figures reach their floors, but not with their "
    "whole intervals; more queries would tell",
    "not confirmed": f"not confirmed: {_HELD} it misses a floor; ask for a higher floor, or measure with "
    "more queries",
    "nothing to confirm": "nothing to confirm: no floor is of recall or robustness, and other figures are "
    "the same for all queries",
    "not held out": "not held out: these are the figures it was chosen by",
}
_FITTED = (
    "not held out: its parameters were found on all queries (by bench --recall or by tune), so that none are "
    "without a part in the choice"
)


def many(n: int | str, noun: str) -> str:
    """So many of something.

    >>> many(1, "pass"), many(2, "pass"), many("3 to 40", "query"), many(1200, "trial")
    ('1 pass', '2 passes', '3 to 40 queries', '1,200 trials')
    """
    told = n if isinstance(n, str) else f"{n:,}"
    if told == "1":
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{told} {noun[:-1]}ies"
    return f"{told} {noun}{'es' if noun.endswith('s') else 's'}"


def amount(of: Figure, value: float) -> str:
    """A value as it is written.

    >>> amount(Figure("qps"), 12345.6), amount(Figure("recall"), 0.9), amount(Figure("p99_ms", False), 1.234)
    ('12,346', '0.9000', '1.23')
    """
    if of.of_queries:
        return f"{value:.4f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def shown(of: Figure, found: Known | None) -> str:
    """A figure with its interval, or – where it is not known."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return amount(of, found.value)
    return f"{amount(of, found.value)} ({amount(of, found.low)} … {amount(of, found.high)})"


def why(made: Selection, one: Candidate) -> str:
    """Why a trial won or lost."""
    if one is made.winner:
        return (
            f"chosen: the {'most' if made.objective.more else 'least'} {made.objective.name} of those that "
            + ("reach the floors" if made.floors else "there are")
        )
    if one.out:
        return one.out
    if one.misses:
        return "; ".join(_missed(floor, one) for floor in one.misses)
    return _dominated(made, one) if one.dominated_by else _behind(made, one)


def by(floor: Floor, one: Candidate) -> float:
    """How much a trial lacks to reach a floor."""
    return abs(floor.value - one.value(floor.figure))


def _missed(floor: Floor, one: Candidate) -> str:
    found = one.figures[floor.figure]
    lacks = f"misses {floor.words} by {amount(floor.figure, by(floor, one))}: {shown(floor.figure, found)}"
    best = found and (found.high if floor.figure.more else found.low)
    return lacks + ", whose better end reaches it" * (best is not None and floor.holds(best))


def _dominated(made: Selection, one: Candidate) -> str:
    other = next(c for c in made.candidates if c.name == one.dominated_by)
    return f"dominated by {other.name}: " + ", ".join(_against(of, other, one) for of in one.better_in)


def _behind(made: Selection, one: Candidate) -> str:
    """Why one that nothing dominates is not the winner: the objective, or what decides a tie."""
    assert made.winner is not None
    of = next((a for a in made.axes if a.better(made.winner.value(a), one.value(a))), None)
    if of is None:
        return "the same in every figure: the first by name was taken"
    return f"behind the winner: {_against(of, one, made.winner)}"


def _against(of: Figure, one: Candidate, other: Candidate) -> str:
    """A figure of one trial beside that of another, and whether they are apart."""
    near = "their intervals overlap" if of.of_queries else "within what passes differ by"
    said = f"{of.name} {amount(of, one.value(of))} against {amount(of, other.value(of))}"
    return said + f" ({near})" * _overlap(one.figures[of], other.figures[of])


def _overlap(one: Known | None, other: Known | None) -> bool:
    ends = [one and one.low, one and one.high, other and other.low, other and other.high]
    low, high, least, most = ends
    if low is None or high is None or least is None or most is None:
        return False
    return low <= most and least <= high


def verdict(made: Selection) -> str:
    """What is to be said of the winner, in one line."""
    if all(one.out for one in made.candidates):
        return f"no trial can be chosen: {_unfit(made)}"
    if made.confirmation is None or made.winner is None:
        return "no trial reaches all floors"
    return _FITTED if made.winner.fitted else SAID[made.confirmation.verdict]


def _unfit(made: Selection) -> str:
    """How many trials cannot be chosen, by why."""
    kinds = Counter(_kind(made, one) for one in made.candidates)
    return ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common())


def _kind(made: Selection, one: Candidate) -> str:
    if one.trial.status in ("failed", "skipped"):
        return one.trial.status
    if one.trial.indexed is False:
        return "not indexed"
    return "of another K" if one.trial.k != made.k else "of which a figure is not known"


def notes(made: Selection) -> list[str]:
    """What a reader must know and does not see in the table."""
    if all(one.out for one in made.candidates):
        return list(filter(None, [_begun(made)]))
    said = [_parts(made), _timed(made), _begun(made), _fitted(made)]
    for of in made.unknown:
        said.append(f"{of.name} is not known of every trial: not compared by it")
    if made.winner is None:
        said += [f"{floor.words}: {_nearest(made, floor)}" for floor in made.floors]
    if made.price is not None:
        said.append(f"cost: of a million queries at {made.price:g} an hour, at the throughput beside it")
    said.append(_elsewhere(made))
    told = dict.fromkeys(one.trial.note for one in made.candidates if one.trial.reported)
    return [*filter(None, said), *filter(None, told)]


def _elsewhere(made: Selection) -> str:
    """Whose throughput, latency and size are of another machine, where others were measured on this one."""
    there = [one for one in made.candidates if not one.out]
    foreign = [one.name for one in there if one.trial.source != "assay"]
    if not foreign or len(foreign) == len(there):
        return ""
    named = ", ".join(foreign[:3]) + " …" * (len(foreign) > 3)
    return (
        f"times and sizes of {named} were measured elsewhere: beside those of this sweep they may say more "
        "of the machine than of the index"
    )


def _parts(made: Selection) -> str:
    if made.parts:
        chosen, held = len(made.parts.choosing), len(made.parts.held)
        how = "in the other part" if made.winner and made.winner.fitted else "held out"
        on = f"chosen on {many(chosen, 'query')}, {held:,} others {how} (seed {made.parts.seed})"
        return f"K = {made.k}; {on}"
    if any(one.hits is not None for one in made.study.observed):
        return f"K = {made.k}; chosen on all queries: nothing was held out"
    queries = _counted(made, "queries")
    sure = f"they are of {many(queries, 'query')}" if queries else "how many queries they are of is not known"
    return f"K = {made.k}; answers to single queries are not kept: chosen by the figures as stated; {sure}"


def _timed(made: Selection) -> str:
    """Where figures that are not of queries come from, and why they have no part in the confirmation."""
    passes = _counted(made, "passes")
    said = [f"throughput is the middle of {many(passes, 'pass')} (least … most)"] * bool(passes)
    if passes == "1":
        said = ["throughput is of one pass: its spread is not known"]
    if made.parts and not all(of.of_queries for of in made.axes):
        said.append("throughput, latency and sizes are the same for both parts of the queries")
    return "; ".join(said)


def _begun(made: Selection) -> str:
    """What is said of trials that were interrupted."""
    begun = [one.trial for one in made.candidates if one.trial.status == "begun"]
    if not begun:
        return ""
    asked = made.study.about.get("options", {}).get("repetitions")
    there = _from_to(trial.qps.repetitions if trial.qps else 0 for trial in begun)
    said = f"{there} of {many(asked, 'pass')}" if asked else many(there, "pass")
    return f"{many(len(begun), 'trial')} only begun: {said}; the same bench command goes on"


def _fitted(made: Selection) -> str:
    """What is said of trials whose parameters were found by the queries that are held out as well."""
    fitted = sum(one.fitted for one in made.candidates)
    if not fitted or not made.parts:
        return ""
    return f"{many(fitted, 'trial')} with parameters that were found on all queries: none are held out there"


def _counted(made: Selection, over: str) -> str:
    """How many queries or passes figures rest on: a number, or the least and the most."""
    figures = [found for one in made.candidates for found in one.figures.values() if found]
    return _from_to(found.n for found in figures if found.over == over and found.n is not None)


def _from_to(numbers: Iterable[int]) -> str:
    """The least and the most of some numbers, or the one that there is."""
    known = sorted(numbers)
    return " to ".join(f"{n:,}" for n in dict.fromkeys([*known[:1], *known[-1:]]))


def _nearest(made: Selection, floor: Floor) -> str:
    """The trial that comes nearest to a floor."""
    fit, of = [one for one in made.candidates if not one.out], floor.figure
    best = (max if of.more else min)(fit, key=lambda one: one.value(of))
    return f"the best is {shown(of, best.figures[of])}, of {best.name}"


def to_dict(made: Selection) -> dict[str, Any]:
    """A choice with the keys that `assay select --format json` prints."""
    winner, parts = made.winner, made.parts
    return {
        "source": made.study.source,
        "k": made.k,
        "mode": made.study.observed[0].trial.mode,
        "floors": [_floor(floor) for floor in made.floors],
        "objective": made.objective.name,
        "compared_by": [of.name for of in made.axes],
        "price": made.price,
        "level": LEVEL,
        "parts": parts
        and {
            "chosen_on": len(parts.choosing),
            "held_out": len(parts.held),
            "share": parts.share,
            "seed": parts.seed,
        },
        "winner": winner and winner.name,
        "front": [one.name for one in made.front],
        "verdict": made.confirmation and made.confirmation.verdict,
        "words": verdict(made),
        "checks": [_check(check) for check in made.confirmation.checks] if made.confirmation else [],
        "confirmed_objective": made.confirmation and _known(made.confirmation.objective),
        "trials": [_candidate(made, one) for one in made.candidates],
        "notes": notes(made),
    }


def _candidate(made: Selection, one: Candidate) -> dict[str, Any]:
    return {
        "name": one.name,
        "key": one.trial.key,
        "engine": one.trial.engine,
        "build": dict(one.trial.build),
        "search": dict(one.trial.search),
        "meets": one.meets,
        "on_front": one.on_front,
        "fitted": one.fitted,
        "misses": [_floor(floor) | {"by": by(floor, one)} for floor in one.misses],
        "dominated_by": one.dominated_by,
        "better_in": [of.name for of in one.better_in],
        "why": why(made, one),
        "figures": {of.name: _known(found) for of, found in one.figures.items()},
    }


def _floor(floor: Floor) -> dict[str, Any]:
    condition = "at_least" if floor.figure.more else "at_most"
    return {"figure": floor.figure.name, "condition": condition, "threshold": floor.value}


def _check(check: Check) -> dict[str, Any]:
    return _floor(check.floor) | {"status": check.status, "found": _known(check.known)}


def _known(found: Known | None) -> dict[str, Any] | None:
    return found and found._asdict()
