"""Judgments from clicks: click models, their fit to logs, the relevance they give, and off-policy values."""
