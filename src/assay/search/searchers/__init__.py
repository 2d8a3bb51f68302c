"""Searchers: one file each, loaded by the kind that a system in assay.toml names."""
