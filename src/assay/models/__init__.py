"""What turns text into vectors or scores: encoders and rerankers."""
