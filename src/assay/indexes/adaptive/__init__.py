"""Adaptive search: a hard query gets more of the budget of an index and an easy one less, at the same mean.

Landmarks of the base tell how hard a query is (`landmarks`, `difficulty`), training queries tell how much of
the budget that is worth (`training`, `allocation`). The engine that does it is `engines.adaptive`.
"""
