"""Benchmarks of indexes: sweeps, imported results, studies, selection and tuning."""
