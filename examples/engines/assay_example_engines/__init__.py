"""Engines for `assay bench`, one file each, found by the entry point `assay.indexes`."""
