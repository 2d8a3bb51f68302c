"""Answers from retrieved documents: what they are worth, and the recall per query that they need."""
