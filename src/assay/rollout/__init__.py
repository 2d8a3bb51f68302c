"""Staged releases: who sees the candidate, shadow runs, the stages of a rollout and its record."""
