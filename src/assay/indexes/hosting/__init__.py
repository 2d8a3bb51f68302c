"""Engines in processes of their own, asked and timed there."""
