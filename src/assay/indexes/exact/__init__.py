"""Exact neighbours: computing them, and auditing truth files that others computed."""
