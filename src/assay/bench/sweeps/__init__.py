"""Engines × parameters: what to run, running it so that nothing is lost, and what came out as trials."""
