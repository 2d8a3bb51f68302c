"""Exact neighbours: how they are found, and how those of others are checked."""
