"""Models that turn text into vectors or scores: encoders and rerankers."""
