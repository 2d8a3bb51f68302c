"""Indexes of vectors: exact truth, engines, sweeps."""
