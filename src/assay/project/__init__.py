"""assay.toml: where a project's data is and what it asks of a candidate."""
