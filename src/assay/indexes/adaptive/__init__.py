"""Adaptive search: hard queries get more of the search budget of an index than easy ones, at the same mean.

The distances to landmarks of the base predict how hard a query is (`landmarks`, `difficulty`); training
queries show how much budget that is worth (`training`, `allocation`). `engine` has the engine `adaptive`.
"""
