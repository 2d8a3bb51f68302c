"""Adapters of engines, one file each; `assay.indexes.registry` loads them by name."""
