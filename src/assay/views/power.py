"""What a set of queries can tell, in a sentence."""

from __future__ import annotations

from assay.stats.power import BenchmarkSize


def describe_size(size: BenchmarkSize) -> str:
    """Return the verdict on the size of a benchmark, with the numbers it rests on."""
    count = f"{size.n:,} {'query' if size.n == 1 else 'queries'}"
    if size.n < 2:
        return f"{size.verdict}: too few to say anything about a difference ({count})"
    if size.detectable_difference is None:
        return f"{size.verdict} by count: {count}; their differences do not vary"
    count += "" if size.by_count == size.verdict else f" ({size.by_count} by count)"
    needs_more = size.queries_needed is not None and size.queries_needed > size.n
    needed = f"; {size.margin:g} would take {size.queries_needed:,}" if needs_more else ""
    smallest = f"{size.detectable_difference:.4f} at the smallest"
    return f"{size.verdict} for differences of {size.margin:g}: {count} detect {smallest}{needed}"
