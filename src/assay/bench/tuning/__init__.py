"""Tuning: the search for the cheapest configuration that meets the floors."""
